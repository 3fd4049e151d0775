"""A release in the making: classes of rows that can be merged and thinned, and what an attacker would see of them.

Classes are written tight around their rows, as LeFevre, DeWitt & Ramakrishnan 2006 do; class -1 is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.series.published import PublishedClasses
from sfumato.table.distinct import Numbering, distinct
from sfumato.tabular.base import Partition
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import recode

Integers = npt.NDArray[np.int64]
Coded = tuple[tuple[str, ...], Integers]


@dataclass(frozen=True, eq=False)
class Draft:
    """Rows with their classes, numbered 0…count-1 as their released texts tell them apart; -1 is left out."""

    problem: Problem
    classes: Integers
    texts: tuple[tuple[str, ...], ...]
    cells: Integers

    @classmethod
    def of(cls, problem: Problem, classes: Integers) -> Draft:
        """Return the draft of classes; those that would be written alike become one."""
        kept = np.flatnonzero(classes >= 0)
        if len(kept) == 0:
            return cls(problem, classes, tuple(() for _ in problem.quasi), np.empty((0, len(problem.quasi)), np.int64))
        numbers = np.unique(classes[kept], return_inverse=True)[1]
        count = int(numbers.max()) + 1
        columns = [recode(column, column.codes[kept], numbers, count, "text")[0] for column in problem.quasi]
        shown = distinct([column.index for column in columns], [len(column.values) for column in columns])
        renumbered = np.full(len(classes), -1, dtype=np.int64)
        renumbered[kept] = shown.ids[numbers]
        examples = shown.examples
        texts = tuple(tuple("" if text is None else str(text) for text in column.values) for column in columns)
        return cls(problem, renumbered, texts, np.stack([column.index[examples] for column in columns], axis=1))

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.cells)

    def published_classes(self, coded: Coded) -> PublishedClasses:
        """Return what would be published of the classes with one sensitive column."""
        kept = self.classes >= 0
        values, codes = coded
        pairs = self.classes[kept] * len(values) + codes[kept]
        counts = np.bincount(pairs, minlength=self.count * len(values)).reshape(self.count, len(values))
        return PublishedClasses(self.texts, self.cells, values, counts, self.classes[kept])

    @cached_property
    def centres(self) -> npt.NDArray[np.float64]:
        """The middle of each class on the scale of every quasi-identifier."""
        kept = self.classes >= 0
        sizes = np.bincount(self.classes[kept], minlength=self.count)
        sums = [
            np.bincount(self.classes[kept], weights=column.positions[column.codes[kept]], minlength=self.count)
            for column in self.problem.quasi
        ]
        return np.stack(sums, axis=1) / sizes[:, None]

    def nearest(self, number: int, among: Sequence[int] | Integers) -> int | None:
        """Return the class among others whose middle lies nearest, or None without any."""
        others = np.asarray([other for other in among if other != number], dtype=np.int64)
        if len(others) == 0:
            return None
        return int(others[np.abs(self.centres[others] - self.centres[number]).sum(axis=1).argmin()])

    def satisfies(self, rows: Integers) -> bool:
        """Return whether some rows, as one class, satisfy every model."""
        groups = self.problem.class_of(rows)
        return all(model.holds(model.measure(groups)) for model in self.problem.models)

    def join_failing(self, classes: Integers, touched: Iterable[int]) -> None:
        """Let each touched class that no longer satisfies a model join its nearest one, or leave it out (-1)."""
        waiting = sorted(touched)
        while waiting:
            number = waiting.pop()
            rows = np.flatnonzero(classes == number)
            if len(rows) == 0 or self.satisfies(rows):
                continue
            partner = self.nearest(number, np.unique(classes[classes >= 0]))
            classes[rows] = -1 if partner is None else partner
            waiting += [] if partner is None else [partner]

    def finish(self) -> tuple[Problem, Partition]:
        """Return the rows that stay, as a problem of their own, and their classes."""
        kept = self.classes >= 0
        rows = int(kept.sum())
        each = Numbering(np.arange(rows), np.ones(rows, dtype=np.int64))
        return self.problem.only(kept), Partition(each, self.classes[kept], self.count)


def coded_values(series: pl.Series) -> Coded:
    """Return a sensitive column's values as released text, and each row's place among them.

    >>> words, places = coded_values(pl.Series([7, 5, 7]))
    >>> words, places.tolist()
    (('5', '7'), [1, 0, 1])
    """
    texts = series.cast(pl.String).fill_null("")
    words = texts.unique().sort().to_list()
    return tuple(words), texts.cast(pl.Enum(words)).to_physical().cast(pl.Int64).to_numpy()
