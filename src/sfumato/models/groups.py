"""Equivalence classes and the sensitive values inside them, counted once for every model to read.

An equivalence class is the set of rows that agree on all quasi-identifiers (Samarati & Sweeney 1998).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.models.pinned import PinnedCounts, pin_classes, pinned
from sfumato.table.coding import Column, only_observed
from sfumato.table.distinct import distinct, tally

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]
SLACK = 1e-9  # of sums of shares


@dataclass(frozen=True, eq=False)
class Histograms:
    """How often each sensitive value occurs in each class, as sorted (class, value, count) triples.

    With a person column, `counts` are persons who have the value, not rows. `reference` is the share of all units that
    have each value, a person counted once for each value however the classes divide that person's rows. `units` are
    those of each class, and `holders` those of them who have a value: a missing one is none, unless declared.
    """

    column: Column
    classes: Counts
    values: Counts
    counts: Counts
    reference: Shares
    units: Counts
    holders: Counts

    @property
    def starts(self) -> Counts:
        """Where each class begins among the triples."""
        return np.flatnonzero(np.diff(self.classes, prepend=-1))

    @property
    def shares(self) -> Shares:
        """The share of its class's units that have each triple's value."""
        return np.asarray(self.counts / self.units[self.classes])

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which triples are of a value, and not of a missing one."""
        return np.asarray(self.values >= self.column.unknown)

    @property
    def masses(self) -> Shares:
        """How many values a unit of each class has on average; a missing one counts here, as t-closeness has it."""
        return np.asarray(np.bincount(self.classes, self.counts, len(self.units)) / self.units)

    @property
    def several(self) -> bool:
        """Whether some person has several values."""
        return bool(self.masses.max() > 1 or self.reference.sum() > 1 + SLACK)

    @cached_property
    def pinned(self) -> PinnedCounts:
        """One value pinned on each unit that has one, as unevenly as the counts allow."""
        return pin_classes(self.classes[self.known], self.counts[self.known], self.holders)


class ClassCounts(NamedTuple):
    """One class as a model sees it: its rows, its protected units, and how often each sensitive value occurs.

    `counts` are by code of `column`, and `reference` is the share of all units that have each code; both are empty for
    a model that speaks of no column. With a person column, `counts` are persons who have the value. `holders` are the
    units that have a value, and `population` the people of the population who fit the class's labels; None where nobody
    counted them.

    >>> next(iter(Groups.of(np.array([0, 0, 1])).each())).units
    2
    """

    rows: int
    units: int
    counts: Counts = np.empty(0, dtype=np.int64)
    reference: Shares = np.empty(0, dtype=np.float64)
    column: Column | None = None
    holders: int | None = None
    population: int | None = None

    @property
    def value_counts(self) -> Counts:
        """The counts of values, without that of a missing one unless it is declared a value."""
        return self.counts[0 if self.column is None else self.column.unknown :]

    @property
    def known_units(self) -> int:
        """The units that have a value; where they were not counted, the fewest that there can be."""
        if self.holders is not None:
            return self.holders
        lacking = int(self.counts.sum() - self.value_counts.sum())
        return max(self.units - lacking, int(self.value_counts.max(initial=0)))

    @property
    def pinned(self) -> list[int]:
        """How many units each value is pinned on, largest first, when each unit counts for one value alone."""
        return pinned(self.value_counts, self.known_units)


@dataclass(frozen=True, eq=False)
class Groups:
    """Classes of rows: their sizes in rows, in protected units, and their sensitive histograms.

    Where a population was counted, `population` is how many of its people fit the labels of each class, and `unfitted`
    how many fit none.

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
    population: Counts | None = None
    unfitted: int = 0

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
            coded = only_observed(column) if references is None else column
            known = _histograms(classes, coded, person, weights, units)
            found[name] = known if references is None else replace(known, reference=references[name])
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
            for number in range(self.count):
                yield ClassCounts(int(self.sizes[number]), int(self.units[number]), population=self._people(number))
            return
        found = self.sensitive[name]
        bounds = np.append(found.starts, len(found.counts))
        for number in range(self.count):
            part = slice(bounds[number], bounds[number + 1])
            counts = np.zeros(found.column.size, dtype=np.int64)
            counts[found.values[part]] = found.counts[part]
            holders = int(found.holders[number])
            yield ClassCounts(
                int(self.sizes[number]),
                int(self.units[number]),
                counts,
                found.reference,
                found.column,
                holders,
                self._people(number),
            )

    def _people(self, number: int) -> int | None:
        return None if self.population is None else int(self.population[number])


def _histograms(
    classes: Counts, column: Column, person: Counts | None, weights: Counts | None, units: Counts
) -> Histograms:
    codes = column.codes.astype(np.int64)
    holders = _holders(classes, column, person, weights, units)
    if person is None:
        shares = tally(codes, weights, column.size) / int(units.sum())
        return Histograms(column, *_triples(classes, codes, column.size, weights), shares, units, holders)
    persons = int(person.max()) + 1
    owned = distinct([codes, person], [column.size, persons]).examples
    held = distinct([classes, codes, person], [int(classes.max()) + 1, column.size, persons]).examples
    triples = _triples(classes[held], codes[held], column.size)
    shares = tally(codes[owned], None, column.size) / len(np.unique(person))
    return Histograms(column, *triples, shares, units, holders)


def _holders(classes: Counts, column: Column, person: Counts | None, weights: Counts | None, units: Counts) -> Counts:
    """Return how many units of each class have a value that is not missing."""
    if not column.unknown:
        return units
    known = column.codes >= column.unknown
    if person is None:
        return tally(classes[known], None if weights is None else weights[known], len(units))
    pairs = distinct([classes[known], person[known]], [len(units), int(person.max()) + 1])
    return np.bincount(classes[known][pairs.examples], minlength=len(units))


def _triples(classes: Counts, codes: Counts, size: int, weights: Counts | None = None) -> tuple[Counts, Counts, Counts]:
    """Return every (class, value) pair that occurs, in order, and how often."""
    pairs = distinct([classes, codes], [int(classes.max()) + 1, size]).with_weights(weights)
    return classes[pairs.examples], codes[pairs.examples], pairs.counts
