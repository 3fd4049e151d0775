"""How well small sets of columns tell rows apart, which helps to choose quasi-identifiers: for the steward.

Motwani & Xu 2007: the distinctness of a set is its number of different values per row, its separation the share of
pairs of rows that differ in it. A set that tells nearly all pairs apart is almost a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.progress import tell
from sfumato.schema.schema import NamedColumns
from sfumato.schema.separation import percent

MOST_ROWS = 100_000  # that sets are measured on
MOST_COLUMNS = 20  # that sets are made of
ALL_THREES = 10  # columns of which all sets of three are measured
BEST_PAIRS = 20  # that are joined by a third column where there are more
SHOWN = 5  # sets of each size that are told
ALONE, OFTEN, SOME, FLAT = 0.9, 0.2, 0.01, 0.2
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KeySet:
    """A set of columns: its different values, and the shares of rows alone with theirs and of pairs that it separates.

    >>> found = KeySet(("age",), rows=100, distinct=80, alone=0.7, separation=0.99)
    >>> found.distinctness
    0.8
    """

    columns: tuple[str, ...]
    rows: int
    distinct: int
    alone: float
    separation: float

    @property
    def distinctness(self) -> float:
        """The number of different values per row."""
        return self.distinct / self.rows if self.rows else 0.0

    @property
    def reading(self) -> str:
        """What the numbers mean, in plain words."""
        several = len(self.columns) > 1
        if self.alone >= ALONE:
            return "whoever knows it finds nearly every row" + ("" if several else ": drop it, or make it coarser")
        if self.alone >= OFTEN:
            return "whoever knows it finds many rows" + ("; none of these should be left out" if several else "")
        if self.alone >= SOME:
            return "whoever knows it finds some rows: a quasi-identifier if outsiders can know it"
        if self.separation < FLAT:
            return "most rows share one value, so it tells hardly anybody apart"
        return "it finds hardly anybody" + ("" if several else " by itself; look at the sets")

    @property
    def words(self) -> str:
        """The numbers and what they mean."""
        distinct, separation, alone = map(percent, (self.distinctness, self.separation, self.alone))
        counts = f"{self.distinct:,} different values, distinctness {distinct}, separation {separation}"
        return f"{', '.join(self.columns)}: {counts}, alone {alone} of rows: {self.reading}"


@dataclass(frozen=True)
class KeySets:
    """Each column by itself, and the sets of two and three that single out most rows, among those that were measured.

    `apart` are columns left out of sets, since they nearly single out every row by themselves or say nothing.
    """

    rows: int
    measured: int
    single: Sequence[KeySet]
    joined: Sequence[KeySet]
    apart: Sequence[str] = ()
    all_threes: bool = True

    @classmethod
    def of(cls, table: NamedColumns) -> KeySets:
        """Return the measures of a table's columns; beyond 100,000 rows those of a sample, evenly taken.

        >>> class Two:
        ...     names = ("zip", "sex")
        ...     def column(self, name):
        ...         return pl.Series({"zip": ["1", "1", "2", "2"], "sex": ["F", "M", "F", "M"]}[name])
        >>> [(one.columns, one.alone) for one in KeySets.of(Two()).joined]
        [(('zip', 'sex'), 1.0)]
        """
        codes = {name: _codes(table.column(name)) for name in table.names}
        rows = len(table.column(table.names[0])) if table.names else 0
        single = [_measured((name,), code) for name, code in codes.items()]
        able = sorted(
            (one for one in single if one.alone < ALONE and one.distinct > 1), key=lambda one: -one.separation
        )
        names = [one.columns[0] for one in able[:MOST_COLUMNS]]
        chosen = {name: codes[name] for name in codes if name in names}
        joined: list[KeySet] = []
        for size in (2, 3):
            found = sorted(_joined(chosen, size, joined), key=lambda one: (-one.alone, -one.separation))
            joined += found
        told = [one for size in (2, 3) for one in [each for each in joined if len(each.columns) == size][:SHOWN]]
        apart = [name for name in codes if name not in chosen]
        measured = min(rows, len(next(iter(codes.values()), [])))
        return cls(rows, measured, single, told, apart, len(chosen) <= ALL_THREES)

    def lines(self) -> list[str]:
        """Return what was measured, a line for each column and each set that is told."""
        sample = f", on {self.measured:,} of them" if self.measured < self.rows else ""
        lines = [f"{self.rows:,} rows{sample}; a missing cell counts as a value"]
        lines += [one.words for one in self.single]
        for size, count in ((2, "two"), (3, "three")):
            found = [one for one in self.joined if len(one.columns) == size]
            some = "" if size == 2 or self.all_threes else ", of those that were tried"
            lines += [f"sets of {count} columns that single out most rows{some}:"] * bool(found)
            lines += [one.words for one in found]
        if self.apart and self.joined:
            lines.append(f"not in sets, since they say nearly all or nothing by themselves: {', '.join(self.apart)}")
        if self.measured < self.rows:
            lines.append("of a sample more rows are alone, and values more distinct, than of the whole table")
        return lines


def _joined(codes: Mapping[str, Integers], size: int, smaller: Sequence[KeySet]) -> Iterator[KeySet]:
    """Yield the measures of sets of two, or of three: of all, or of the best twos joined by another column."""
    names = list(codes)
    sets = list(combinations(names, size))
    if size > 2 and len(names) > ALL_THREES:
        best = [one.columns for one in smaller[:BEST_PAIRS]]
        wider = {frozenset((*pair, name)) for pair in best for name in names if name not in pair}
        sets = [one for one in sets if frozenset(one) in wider]
    for place, columns in enumerate(sets):
        tell(place / len(sets), f"{place} of {len(sets)} sets of {size} columns")
        yield _measured(columns, _together([codes[name] for name in columns]))


def _codes(series: pl.Series) -> Integers:
    """Return a number for each value of some rows; a missing cell is a value."""
    if len(series) > MOST_ROWS:
        series = series.gather_every(-(-len(series) // MOST_ROWS))
    return series.cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _together(codes: Sequence[Integers]) -> Integers:
    """Return a number for each combination of values; sizes are those of at most 100,000 rows, so three fit 64 bits."""
    joined = codes[0]
    for code in codes[1:]:
        joined = joined * (int(code.max(initial=0)) + 1) + code
    return joined


def _measured(columns: tuple[str, ...], codes: Integers) -> KeySet:
    rows = len(codes)
    counts = np.unique(codes, return_counts=True)[1]
    pairs = rows * (rows - 1)
    alike = int((counts * (counts - 1)).sum())
    alone = float((counts == 1).sum()) / rows if rows else 0.0
    return KeySet(columns, rows, len(counts), alone, 1 - alike / pairs if pairs else 0.0)
