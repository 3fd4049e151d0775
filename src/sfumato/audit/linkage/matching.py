"""An identified list beside a release: for every person of the list, the classes and rows that may be the person's.

This is the join by which Sweeney (2002) found a governor's hospital record; the published texts alone are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.audit.linkage.fitting import Integers, fit
from sfumato.core.cells import column_text
from sfumato.errors import InputError, ParameterError
from sfumato.schema import Schema
from sfumato.series.published import code_texts
from sfumato.table import Table
from sfumato.table.distinct import Numbering, distinct

if TYPE_CHECKING:
    from sfumato.audit.linkage.matching_kernel import ClassBoxes, Entries, ValueCounts

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Candidates:
    """What an attacker is left with at each point: classes, rows, values, and how often the two commonest values occur.

    `only` is one class that fits, `persons` says how many of the list fit each class.
    """

    classes: Integers
    rows: Integers
    values: Integers
    first: Integers
    second: Integers
    top: Integers
    only: Integers
    persons: Integers


class Join:
    """The distinct persons of a list (points) and the classes of a release, compared on common columns.

    >>> release = Table(pl.DataFrame({"age": ["[20-29]", "[20-29]", "35"], "ill": ["flu", "gout", "flu"]}))
    >>> voters = Table(pl.DataFrame({"name": ["Ana", "Rui", "Eva"], "age": [21, 35, 50]}))
    >>> join = Join(release, voters, ["age"])
    >>> join.candidates("ill").rows[join.persons].tolist()
    [2, 1, 0]
    """

    def __init__(self, release: Table, voters: Table, on: Sequence[str], schema: Schema | None = None) -> None:
        if not on:
            raise ParameterError("no column was named to link by; give those that the two files share with --on")
        if release.rows == 0 or voters.rows == 0:
            raise InputError("a table has no rows; there is nobody to link")
        known = {} if schema is None else schema.columns
        self.on, self.release = tuple(on), release
        shown = [code_texts(column_text(release.frame, name)) for name in self.on]
        self._texts = [texts for texts, _ in shown]
        self._listed = [voters.column(name).cast(pl.String).fill_null("") for name in self.on]
        named = zip(self._texts, self._listed, self.on, strict=True)
        self._fits = [fit(texts, values, known.get(name)) for texts, values, name in named]
        people = distinct([fits.codes for fits in self._fits], [fits.size for fits in self._fits])
        self.persons, self.weights, self.first = people.ids, people.counts, _first_rows(people)
        self.points = np.stack([fits.codes[self.first] for fits in self._fits], axis=1)
        classes = distinct([codes for _, codes in shown], [len(texts) for texts in self._texts])
        self.rows, self.sizes = classes.ids, classes.counts
        self.cells = np.stack([codes[classes.examples] for _, codes in shown], axis=1)
        self._met: dict[tuple[str | None, tuple[str, ...]], Candidates] = {}

    def candidates(self, sensitive: str | None = None, without: Sequence[str] = ()) -> Candidates:
        """What is left to the attacker at each point, without rows whose sensitive value is ruled out."""
        key = sensitive, tuple(without)
        if key not in self._met:
            self._met[key] = self._meet(*key)
        return self._met[key]

    def _meet(self, sensitive: str | None, without: tuple[str, ...]) -> Candidates:
        from sfumato.audit.linkage.matching_kernel import meet

        values, codes = self.values(sensitive)
        ruled_out = [place for place, value in enumerate(values) if value in without]
        kept = np.flatnonzero(~np.isin(codes, ruled_out))
        counts = _counts(self.rows[kept], codes[kept], len(self.sizes), len(values))
        columns = sorted(range(len(self.on)), key=self._effort)
        points = np.ascontiguousarray(self.points[:, columns])
        order = np.argsort(points[:, 0], kind="stable")
        boxes, entries = self._boxes(columns), self._entries(columns[0])
        found, persons = meet(points, self.weights, order, boxes, entries, counts, len(values))
        classes, rows, different, first, second, top, only = found.T.copy()
        return Candidates(classes, rows, different, first, second, top, only, persons)

    def classes_of(self, point: int) -> Integers:
        """The classes that fit a point, looked up one by one."""
        fitting = np.ones(len(self.cells), dtype=np.bool_)
        for column, fits in enumerate(self._fits):
            fitting &= fits.texts_covering(int(self.points[point, column]))[self.cells[:, column]]
        return np.flatnonzero(fitting)

    def values(self, sensitive: str | None) -> tuple[Sequence[str], Integers]:
        """The values of a sensitive column and each row's; without a column all rows are alike."""
        if sensitive is None:
            return [""], np.zeros(self.release.rows, dtype=np.int64)
        return code_texts(column_text(self.release.frame, sensitive))

    def box(self, number: int) -> dict[str, str]:
        """The published texts of a class."""
        cells = self.cells[number].tolist()
        return {name: texts[cell] for name, texts, cell in zip(self.on, self._texts, cells, strict=True)}

    def boxes_of(self, point: int) -> list[dict[str, str]]:
        """The published texts of the first few classes that fit a point."""
        return [self.box(number) for number in self.classes_of(point)[:SHOWN].tolist()]

    def facts_at(self, point: int) -> dict[str, str]:
        """What the list says of the people at a point."""
        row = int(self.first[point])
        return {name: values[row] for name, values in zip(self.on, self._listed, strict=True)}

    def _boxes(self, columns: Sequence[int]) -> ClassBoxes:
        """The classes on columns in this order, with the texts of all columns numbered one after another."""
        from sfumato.audit.linkage.matching_kernel import ClassBoxes

        texts = np.cumsum([0, *(len(texts) for texts in self._texts)])
        runs = np.cumsum([0, *(len(fits.low) for fits in self._fits)])
        starts = [fits.starts[:-1] + before for fits, before in zip(self._fits, runs[:-1], strict=True)]
        low, high = ([getattr(fits, name) for fits in self._fits] for name in ("low", "high"))
        cells = np.ascontiguousarray((self.cells + texts[:-1])[:, columns])
        return ClassBoxes(cells, np.concatenate([*starts, runs[-1:]]), np.concatenate(low), np.concatenate(high))

    def _effort(self, column: int) -> int:
        """How many comparisons a sweep over a column makes."""
        fits = self._fits[column]
        classes = np.bincount(self.cells[:, column], minlength=len(self._texts[column]))
        steps = np.zeros(fits.size + 1, dtype=np.int64)
        per_run = np.repeat(classes, np.diff(fits.starts))
        np.add.at(steps, fits.low, per_run)
        np.add.at(steps, fits.high + 1, -per_run)
        return int(np.cumsum(steps)[:-1] @ np.bincount(self.points[:, column], minlength=fits.size))

    def _entries(self, column: int) -> Entries:
        from sfumato.audit.linkage.matching_kernel import Entries

        fits, texts = self._fits[column], self.cells[:, column]
        lengths = np.diff(fits.starts)[texts]
        owner = np.repeat(np.arange(len(texts)), lengths)
        run = np.repeat(fits.starts[texts] - np.cumsum(lengths) + lengths, lengths) + np.arange(len(owner))
        order = np.argsort(fits.low[run], kind="stable")
        return Entries(fits.low[run][order], fits.high[run][order], owner[order])


def worst(sizes: Integers, points: Integers) -> list[int]:
    """Return the few points with the smallest sizes, which stand for all in the evidence.

    >>> worst(np.array([3, 1, 2]), np.array([0, 1, 2]))
    [1, 2, 0]
    """
    few: list[int] = points[np.lexsort((points, sizes[points]))[:SHOWN]].tolist()
    return few


def _counts(rows: Integers, codes: Integers, classes: int, values: int) -> ValueCounts:
    from sfumato.audit.linkage.matching_kernel import ValueCounts

    pairs, times = np.unique(rows * values + codes, return_counts=True)
    owner, value = np.divmod(pairs, values)
    return ValueCounts(np.searchsorted(owner, np.arange(classes + 1)), value, times)


def _first_rows(people: Numbering) -> Integers:
    """Return the first row of the list at each point."""
    first = np.empty(people.count, dtype=np.int64)
    first[people.ids[::-1]] = np.arange(len(people.ids))[::-1]
    return first
