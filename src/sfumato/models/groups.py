"""Equivalence classes and the sensitive values inside them, counted once for every model to read.

An equivalence class is the set of rows that agree on all quasi-identifiers (Samarati & Sweeney 1998).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.table.coding import Column, only_observed
from sfumato.table.distinct import distinct, tally

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histograms:
    """How often each sensitive value occurs in each class, as sorted (class, value, count) triples.

    With a person column, `counts` are persons who have the value, not rows. `reference` is the share of each value
    in the whole table, a person counted once for each value however the classes divide that person's rows.
    """

    column: Column
    classes: Counts
    values: Counts
    counts: Counts
    reference: Shares

    @property
    def starts(self) -> Counts:
        """Where each class begins among the triples."""
        return np.flatnonzero(np.diff(self.classes, prepend=-1))

    @property
    def totals(self) -> Counts:
        """The counts of each class, added up."""
        return np.add.reduceat(self.counts, self.starts)

    @property
    def shares(self) -> Shares:
        """The share of each triple's value in its class."""
        sizes = np.diff(self.starts, append=len(self.counts))
        return self.counts / np.repeat(self.totals, sizes)


class ClassCounts(NamedTuple):
    """One class as a model sees it: its rows, its protected units, and how often each sensitive value occurs.

    `counts` are by code of `column`, and `reference` is the share of each code in the whole table; both are empty for a
    model that speaks of no column. With a person column, `counts` are persons who have the value.

    >>> next(iter(Groups.of(np.array([0, 0, 1])).each())).units
    2
    """

    rows: int
    units: int
    counts: Counts = np.empty(0, dtype=np.int64)
    reference: Shares = np.empty(0, dtype=np.float64)
    column: Column | None = None


@dataclass(frozen=True, eq=False)
class Groups:
    """Classes of rows: their sizes in rows, in protected units, and their sensitive histograms.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> disease = code(pl.Series("disease", ["flu", "flu", "gout"]), Attribute("disease", Role.SENSITIVE))
    >>> groups = Groups.of(np.array([0, 0, 1]), {"disease": disease})
    >>> groups.sizes.tolist(), groups.sensitive["disease"].counts.tolist()
    ([2, 1], [2, 1])
    """

    sizes: Counts
    units: Counts
    sensitive: Mapping[str, Histograms] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        classes: Counts,
        sensitive: Mapping[str, Column] | None = None,
        person: Counts | None = None,
        weights: Counts | None = None,
        references: Mapping[str, Shares] | None = None,
    ) -> Groups:
        """Return the classes given by a class number per row; `person` makes persons the unit.

        A row with a weight stands for that many equal rows. Rows that are a part of a larger table give the shares of
        sensitive values in all of it as `references`.
        """
        sizes = tally(classes, weights)
        units = sizes
        if person is not None:
            pairs = distinct([classes, person], [len(sizes), int(person.max()) + 1])
            units = np.bincount(classes[pairs.examples], minlength=len(sizes))
        found = {}
        for name, column in (sensitive or {}).items():
            if references is None:
                found[name] = _histograms(classes, only_observed(column), person, weights)
            else:
                found[name] = replace(_histograms(classes, column, person, weights), reference=references[name])
        return cls(sizes, units, found)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    def each(self, name: str | None = None) -> Iterator[ClassCounts]:
        """Yield the classes one by one, each with its counts of one sensitive column if named."""
        if name is None:
            yield from (ClassCounts(int(rows), int(units)) for rows, units in zip(self.sizes, self.units, strict=True))
            return
        found = self.sensitive[name]
        bounds = np.append(found.starts, len(found.counts))
        for number in range(self.count):
            part = slice(bounds[number], bounds[number + 1])
            counts = np.zeros(found.column.size, dtype=np.int64)
            counts[found.values[part]] = found.counts[part]
            yield ClassCounts(int(self.sizes[number]), int(self.units[number]), counts, found.reference, found.column)


def _histograms(classes: Counts, column: Column, person: Counts | None, weights: Counts | None) -> Histograms:
    codes = column.codes.astype(np.int64)
    if person is None:
        shares = _shares(codes, column.size, weights)
        return Histograms(column, *_triples(classes, codes, column.size, weights), shares)
    persons = int(person.max()) + 1
    owned = distinct([codes, person], [column.size, persons]).examples
    held = distinct([classes, codes, person], [int(classes.max()) + 1, column.size, persons]).examples
    triples = _triples(classes[held], codes[held], column.size)
    return Histograms(column, *triples, _shares(codes[owned], column.size))


def _triples(classes: Counts, codes: Counts, size: int, weights: Counts | None = None) -> tuple[Counts, Counts, Counts]:
    """Return every (class, value) pair that occurs, in order, and how often."""
    pairs = distinct([classes, codes], [int(classes.max()) + 1, size]).with_weights(weights)
    return classes[pairs.examples], codes[pairs.examples], pairs.counts


def _shares(codes: Counts, size: int, weights: Counts | None = None) -> Shares:
    return tally(codes, weights, size) / (len(codes) if weights is None else int(weights.sum()))
