"""Mondrian: cut the widest quasi-identifier at its median for as long as every model still holds.

LeFevre, DeWitt & Ramakrishnan 2006, strict and relaxed, on distinct rows counted once; where the paper
leaves the choice open we take the most balanced allowable cut, and try further cuts for models beyond k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.distinct import Numbering, distinct
from sfumato.parameters import OneOf
from sfumato.tabular.base import Anonymizer, Partition
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    from sfumato.tabular.mondrian_kernel import Domain, Points


@dataclass(frozen=True)
class Mondrian(Anonymizer):
    """Multidimensional k-anonymity by recursive median cuts (LeFevre, DeWitt & Ramakrishnan 2006).

    `relaxed` may put rows with the same value on both sides of a cut, which balances classes better.
    `ranges="columns"` writes numeric ranges as two columns; `keep_order` leaves the rows where they were.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80]}))
    >>> release = sf.Mondrian(keep_order=True).anonymize(
    ...     people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    >>> release.frame["age"].to_list()
    ['[20-25]', '[20-25]', '[70-80]', '[70-80]']
    """

    relaxed: bool = False
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "relaxed": OneOf((False, True)),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    algorithm: ClassVar = "mondrian"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of Mondrian's cuts."""
        from sfumato.tabular.mondrian_kernel import mondrian

        numbering = _each_row(problem) if self.relaxed else problem.points
        points = _points(problem, numbering)
        labels, count = mondrian(points, _domain(problem), problem.criteria(), problem.least_units, self.relaxed)
        return Partition(numbering, labels, count)


def _each_row(problem: Problem) -> Numbering:
    """Return every row as a point of its own, since a relaxed cut may part equal rows."""
    rows = problem.table.rows
    return Numbering(np.arange(rows), np.ones(rows, dtype=np.int64))


def _points(problem: Problem, numbering: Numbering) -> Points:
    from sfumato.tabular.mondrian_kernel import Points

    examples = numbering.examples()
    sensitive = [column.codes[examples] for column in problem.sensitive.values()]
    person, pairs = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64)
    if problem.person is not None:
        person = problem.person[examples]
        persons = int(person.max()) + 1
        pairs = _stack(
            [
                distinct([person, column.codes[examples]], [persons, column.size]).ids
                for column in problem.sensitive.values()
            ],
            np.int64,
        )
    return Points(
        codes=_stack([column.codes[examples] for column in problem.quasi], np.int32),
        weights=numbering.counts,
        sensitive=_stack(sensitive, np.int32),
        person=person,
        pairs=pairs,
    )


def _domain(problem: Problem) -> Domain:
    from sfumato.tabular.mondrian_kernel import Domain

    return Domain(
        positions=np.concatenate([column.positions for column in problem.quasi]),
        shared=np.concatenate([column.shared for column in problem.quasi]),
        start=np.cumsum([0, *(column.size for column in problem.quasi)]),
        branching=np.array([column.attribute.hierarchy is not None for column in problem.quasi]),
    )


def _stack(columns: list[npt.NDArray[Any]], dtype: type[np.int32 | np.int64]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(columns, dtype=dtype) if columns else np.empty((0, 0), dtype=dtype)
