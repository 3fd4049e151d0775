"""Counts over crossed attributes from reports about several views of them: more than reports of single cells can tell.

Crossed attributes have cells, public groups of their values, and views that show some of them; the tables behind
contingency counts and their margins are those of Bishop, Fienberg & Holland (1975). A device reports one view of its
record (its hour, its district, its station and period …), drawn by a public coin, at the full ε (attributes are sampled
so by Nguyên et al. 2016); the collector fits one table to all views. A device needs the standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.local.reports.report import Report, Reports
from sfumato.local.surveys.attributes import Attributes

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Reals
    from sfumato.local.collector.tally import Tally
    from sfumato.promise import Promise
    from sfumato.random import Source


@dataclass(frozen=True)
class Axis:
    """One attribute with its public values and, at will, public groups of them (hours by period of the day).

    >>> hour = Axis("hour", ("7", "8", "17"), {"period": ("morning", "morning", "evening")})
    >>> hour.labels("period"), hour.positions("period")
    (('evening', 'morning'), [1, 1, 0])
    """

    name: str
    values: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for group, labels in self.groups.items():
            if len(labels) != len(self.values):
                raise ParameterError(
                    f"group '{group}' of axis '{self.name}' has {len(labels)} labels; give one for each of its "
                    f"{len(self.values)} values"
                )

    def labels(self, level: str) -> tuple[str, ...]:
        """The labels at a level: the values themselves under the axis's own name, else the group's labels, sorted."""
        return self.values if level == self.name else tuple(sorted(set(self.groups[level])))

    def positions(self, level: str) -> list[int]:
        """For each value, the position of its label at a level."""
        place = {label: position for position, label in enumerate(self.labels(level))}
        return [place[label] for label in self.shown(level)]

    def shown(self, level: str) -> tuple[str, ...]:
        """For each value, its label at a level."""
        return self.values if level == self.name else self.groups[level]


@dataclass(frozen=True)
class View:
    """One way of looking at a record: some of the axes, each at one level, and the share of devices that report it.

    >>> View(("station", "period"), 0.25).levels
    ('station', 'period')
    """

    levels: tuple[str, ...]
    share: float

    @property
    def name(self) -> str:
        """The view's levels in one word."""
        return " × ".join(self.levels)


class Crossing:
    """The cells of crossed axes, with the map from cells to the cells of any view.

    >>> crossing = Crossing([Axis("sex", ("f", "m")), Axis("hour", ("8", "17"))])
    >>> crossing.domain(View(("sex", "hour"), 1.0))
    ('f | 8', 'f | 17', 'm | 8', 'm | 17')
    >>> import numpy as np
    >>> crossing.project(np.ones((2, 2)), View(("hour",), 1.0)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.axes = tuple(axes)
        self.shape = tuple(len(axis.values) for axis in axes)
        levels = [(level, number) for number, axis in enumerate(axes) for level in (axis.name, *axis.groups)]
        self._home = dict(levels)
        if len(self._home) < len(levels):
            raise ParameterError("two axes or groups have the same name; give each its own")

    def domain(self, view: View) -> tuple[str, ...]:
        """The labels of a view's cells, the last level turning fastest."""
        labels = [""]
        for level in view.levels:
            axis = self.axes[self._axis_of(level)]
            labels = [f"{left} | {right}" if left else right for left in labels for right in axis.labels(level)]
        return tuple(labels)

    def shown(self, record: Sequence[str], view: View) -> str:
        """What a view shows of a record, which has one value for each axis."""
        if len(record) != len(self.axes):
            raise InputError(f"a record has a value for each of {len(self.axes)} axes; found {len(record)}")
        for axis, value in zip(self.axes, record, strict=True):
            if value not in axis.values:
                raise InputError(f"{value!r} is no value of axis '{axis.name}'{suggestion(value, axis.values)}")
        homes = [(level, self._axis_of(level)) for level in view.levels]
        axes = [(self.axes[home], record[home], level) for level, home in homes]
        return " | ".join(axis.shown(level)[axis.values.index(value)] for axis, value, level in axes)

    def cells(self, view: View) -> Codes:
        """For each cell of the crossing, the number of the view's cell it lies in."""
        import numpy as np

        number = np.zeros(self.shape, dtype=np.int64)
        for level in view.levels:
            place = self._axis_of(level)
            positions = np.array(self.axes[place].positions(level))
            along = [1] * len(self.shape)
            along[place] = -1
            number = number * len(self.axes[place].labels(level)) + positions.reshape(along)
        return number

    def project(self, table: Reals, view: View) -> Reals:
        """Return the counts of a view's cells in a table over the crossing."""
        import numpy as np

        totals: Reals = np.bincount(self.cells(view).ravel(), table.ravel(), len(self.domain(view))).astype(float)
        return totals

    def _axis_of(self, level: str) -> int:
        if level not in self._home:
            raise ParameterError(f"no axis has a level '{level}'{suggestion(level, self._home)}")
        return self._home[level]


@dataclass(frozen=True)
class Survey:
    """Crossed attributes, the views that devices report, coarse ones first, and the ε of every report.

    >>> crossing = Crossing([Axis("sex", ("f", "m")), Axis("hour", ("8", "17"))])
    >>> survey = Survey(crossing, (View(("sex",), 0.5), View(("hour",), 0.5)), epsilon=4, users=1000)
    >>> tallies = survey.aggregate([survey.perturb(("f", "17")) for _ in range(400)])
    >>> int(survey.estimate(tallies).sum().round())
    400
    """

    crossing: Crossing
    views: tuple[View, ...]
    epsilon: float
    users: int

    @cached_property
    def plan(self) -> Attributes:
        """Every view as an attribute of its own, of which a device reports one."""
        domains = {view.name: self.crossing.domain(view) for view in self.views}
        shares = {view.name: view.share for view in self.views}
        return Attributes.choose(domains, self.epsilon, self.users, shares=shares)

    @property
    def promise(self) -> Promise:
        """What one device is promised, which reports one view.

        >>> crossing = Crossing([Axis("sex", ("f", "m")), Axis("hour", ("8", "17"))])
        >>> Survey(crossing, (View(("sex",), 0.5), View(("hour",), 0.5)), 4, 1000).promise.cost.epsilon
        Decimal('4')
        """
        return self.plan.promise

    def perturb(self, record: Sequence[str]) -> dict[str, Report]:
        """The fresh report of a record, one value for each axis: a view drawn at random, and what it shows."""
        return self.plan.perturb({view.name: self.crossing.shown(record, view) for view in self.views})

    def report_many(self, cells: Codes, source: Source) -> dict[str, Iterator[Reports]]:
        """Fresh reports of many users, given the number of each one's cell in the crossing (the last axis fastest)."""
        import numpy as np

        given, size = np.asarray(cells), math.prod(self.crossing.shape)
        if given.size and not (given.min() >= 0 and given.max() < size):
            raise InputError(f"a cell is not one of the crossing; its cells are 0 to {size - 1}")
        codes = {view.name: self.crossing.cells(view).ravel()[given] for view in self.views}
        return self.plan.report_many(codes, source)

    def aggregate(self, reports: Iterable[Mapping[str, Report]] | Mapping[str, Iterable[Reports]]) -> dict[str, Tally]:
        """The tallies by view, of single devices' reports or of packed ones."""
        return self.plan.aggregate(reports)

    def estimate(self, tallies: Mapping[str, Tally]) -> Reals:
        """The expected count of every cell among all users, from what the views' reports say."""
        from sfumato.local.surveys.structure import Observed, fit

        raw = self.plan.estimate(tallies, consistent=False)
        users = sum(tally.users for tally in tallies.values())
        observed = []
        for view in self.views:
            still, one = (self.plan.variance(view.name, users, count) for count in (0.0, 1.0))
            observed.append(Observed(view, raw[view.name].counts, still, one - still))
        return fit(self.crossing, observed, users)
