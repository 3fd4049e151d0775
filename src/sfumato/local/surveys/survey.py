"""Counts over crossed attributes from reports about several views of them: more than reports of single cells can tell.

A device reports one view of its record (its hour, its district, its station and period …), drawn by a public coin, at
the full ε (attributes are sampled so by Nguyên et al. 2016); the collector fits one table to all views. A device needs
the standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.local.reports.report import Report, Reports
from sfumato.local.surveys.attributes import Attributes
from sfumato.local.surveys.crossing import Crossing, View

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Reals
    from sfumato.local.collector.tally import Tally
    from sfumato.random import Source


@dataclass(frozen=True)
class Survey:
    """Crossed attributes, the views that devices report, coarse ones first, and the ε of every report.

    >>> from sfumato.local.surveys.crossing import Axis
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
