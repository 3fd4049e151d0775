"""The one verb of every anonymizer: code the table, find classes, recode, check the output, write the card.

A release that fails its own models is withheld; recoding unseen rows later would void the promise, so
there is no fit/transform (see Ciriani et al. 2007 on what k-anonymous tables promise).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.card import Card
from sfumato.distinct import Numbering, distinct
from sfumato.errors import BrokenPromiseError, SchemaError
from sfumato.models.base import Model
from sfumato.models.groups import Groups
from sfumato.parameters import Validated
from sfumato.random import SecureSource, Source, permutation
from sfumato.release import Release
from sfumato.roles import Role
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.card import make_card
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, recode

Classes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of points: which distinct row each row is, the class of each distinct row, and their number."""

    points: Numbering
    classes: Classes
    count: int

    @property
    def rows(self) -> Classes:
        """The class of each row; secret, since it leads back from a class to its people."""
        return self.classes[self.points.ids]


class Anonymizer(Validated, ABC):
    """A frozen dataclass of parameters that turns a table into a release satisfying every model.

    >>> import sfumato as sf
    >>> isinstance(sf.Mondrian(), Anonymizer)
    True
    """

    algorithm: ClassVar[str]
    ranges: str
    keep_order: bool

    @abstractmethod
    def partition(self, problem: Problem) -> Partition:
        """Return classes of the problem's rows that satisfy every model."""

    def anonymize(self, table: Table, schema: Schema, models: Sequence[Model], *, rng: Source | None = None) -> Release:
        """Return an anonymous release of `table`; `rng=None` shuffles it by the secure source.

        >>> import sfumato as sf
        >>> people = sf.Table.from_frame(sf.samples.patients(100))
        >>> schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
        >>> sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)]).card.released.rows
        100
        """
        source = SecureSource() if rng is None else rng
        problem = Problem.of(table, schema, list(models))
        return self.publish(problem, self.partition(problem), source)

    def publish(self, problem: Problem, partition: Partition, source: Source) -> Release:
        """Return the release of finished classes, once every model holds on what is released."""
        table = problem.table
        coarse = self._recode(problem, partition)
        row_class = partition.rows
        groups = self._checked(problem, [column for columns in coarse.values() for column in columns], row_class)
        order = None if self.keep_order else permutation(table.rows, source)
        frame = _write_rows(problem, coarse, row_class, order)
        return Release(Table(frame, table.backend, table.delimiter), self._card(problem, groups, frame, source))

    def settings(self) -> dict[str, Any]:
        """The algorithm's own parameters, as they stand on the card."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def _recode(self, problem: Problem, partition: Partition) -> dict[str, list[Coarse]]:
        examples = partition.points.examples()
        return {
            column.name: recode(column, column.codes[examples], partition.classes, partition.count, self.ranges)
            for column in problem.quasi
        }

    def _checked(self, problem: Problem, coarse: list[Coarse], row_class: Classes) -> Groups:
        """Return the classes that the released values themselves form, once every model holds on them."""
        shown = distinct([column.index for column in coarse], [len(column.values) for column in coarse])
        return kept_promises(problem.groups(shown.ids[row_class]), problem.models)

    def _card(self, problem: Problem, groups: Groups, frame: pl.DataFrame, source: Source) -> Card:
        return make_card(
            problem,
            groups,
            frame.columns,
            algorithm=self.algorithm,
            settings=self.settings(),
            seeded=not source.secure and not self.keep_order,
        )


def kept_promises(groups: Groups, models: Sequence[Model]) -> Groups:
    """Return the released classes, or withhold the release if a model does not hold on them.

    >>> from sfumato.models import KAnonymity
    >>> kept_promises(Groups.of(np.array([0, 0, 1])), [KAnonymity(2)])
    Traceback (most recent call last):
    sfumato.errors.BrokenPromiseError: the release was withheld: k-anonymity asked for 2, the output has 1; \
this is a defect of the algorithm, please report it
    """
    for model in models:
        measured = model.measure(groups)
        if not model.holds(measured):
            raise BrokenPromiseError(
                f"the release was withheld: {model.name} asked for {model.asked:g}, the output has {measured:g}; "
                "this is a defect of the algorithm, please report it"
            )
    return groups


def _write_rows(
    problem: Problem, coarse: dict[str, list[Coarse]], row_class: Classes, order: npt.NDArray[np.int64] | None
) -> pl.DataFrame:
    """Return the released rows in their final order, columns in the order they came in."""
    shown = row_class if order is None else row_class[order]
    series: list[pl.Series] = []
    for name, attribute in problem.schema.columns.items():
        if attribute.role is Role.QUASI:
            series += [column.rows(shown) for column in coarse[name]]
        elif attribute.role is not Role.IDENTIFIER:
            raw = problem.table.column(name)
            series.append(raw if order is None else raw.gather(order))
    names = [column.name for column in series]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(f"the release would have two columns '{twice}'; rename the one in the input")
    return pl.DataFrame(series)
