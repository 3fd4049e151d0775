"""How far a column tells rows apart: alone (distinct values, values that occur once) and with one or two others.

A value that occurs once leads whoever knows it to one row; a combination that occurs once does so too (Dalenius 1986;
Motwani & Xu 2007 call the share of pairs told apart separation and that of values distinctness).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.schema.kinds import is_missing

FEW = 20  # units below which uniqueness says nothing
NEARLY_DISTINCT = 0.9
OFTEN_ALONE = 0.3
MOST_ROWS = 100_000
MOST_COLUMNS = 20  # 190 pairs
THIRDS = 4  # columns tried as a third
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Distinctness:
    """Cells of a column that are there, their distinct values, the units that have any, and those alone with one.

    >>> Distinctness(cells=100, distinct=95, units=100, alone=90).nearly_unique
    True
    """

    cells: int
    distinct: int
    units: int
    alone: int
    unit: str = "rows"

    @property
    def share_alone(self) -> float:
        """The share of units that a value of theirs singles out."""
        return self.alone / self.units if self.units else 0.0

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly all values differ, or values that occur once single out three units in ten or more.

        Half of a census weight's values occur twice, and the other half still leads to one person each; so counting
        distinct values alone would miss it.
        """
        return self.units >= FEW and (self.distinct > NEARLY_DISTINCT * self.cells or self.share_alone >= OFTEN_ALONE)

    @property
    def words(self) -> str:
        """The numbers in words."""
        return f"{self.distinct:,} distinct values, {self.alone:,} of {self.units:,} {self.unit} alone with theirs"


def distinctness(
    series: pl.Series, marks: tuple[str, ...] = ("",), person: Integers | None = None, times: Integers | None = None
) -> Distinctness:
    """Return how far a column tells rows apart, or the persons that rows belong to; missing cells tell nobody apart.

    Where values were counted before, `times` says how often each occurs.

    >>> distinctness(pl.Series(["a", "b", "b", None]))
    Distinctness(cells=3, distinct=2, units=3, alone=1, unit='rows')
    >>> distinctness(pl.Series(["a", "a", "b"]), person=np.array([0, 0, 1])).alone
    2
    >>> distinctness(pl.Series(["a", "b", None]), times=np.array([1, 2, 1]))
    Distinctness(cells=3, distinct=2, units=3, alone=1, unit='rows')
    """
    present = ~is_missing(series, marks)
    if times is not None:
        counted = times[present.to_numpy()]
        return Distinctness(int(counted.sum()), len(counted), int(counted.sum()), int((counted == 1).sum()))
    values = series.filter(present).cast(pl.String)
    if person is None:
        counts = values.alias("value").value_counts()["count"]
        return Distinctness(len(values), len(counts), len(values), int((counts == 1).sum()))
    pairs = pl.DataFrame({"value": values, "person": person[present.to_numpy()]}).unique()
    owners = pairs.group_by("value").agg(pl.len(), pl.col("person").first())
    alone = owners.filter(pl.col("len") == 1)["person"].n_unique()
    return Distinctness(pairs.height, owners.height, pairs["person"].n_unique(), alone, "persons")


@dataclass(frozen=True)
class Separation:
    """The share of rows that a column singles out alone, and the most with one and with two other columns.

    >>> Separation(0.12, ("zip",), 0.96).words
    'alone it singles out 12 % of rows, with zip 96 %'
    """

    alone: float
    others: tuple[str, ...] = ()
    together: float = 0.0

    @property
    def words(self) -> str:
        """The shares in words."""
        more = f", with {' and '.join(self.others)} {percent(self.together)}" if self.others else ""
        return f"alone it singles out {percent(self.alone)} of rows{more}"


def percent(share: float) -> str:
    """Return a share in whole percent where that is exact enough.

    >>> percent(0.123), percent(0.0041), percent(0), percent(0.9999)
    ('12 %', '0.4 %', '0 %', '99.9 %')
    """
    if 0 < share < 0.01:
        return "below 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"
    return f"{100 * min(share, 0.999):.1f} %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def separations(columns: Mapping[str, pl.Series]) -> dict[str, Separation]:
    """Return the separation of each column: all pairs, and for each column's best pair a few thirds.

    Beyond 100,000 rows a sample is looked at; beyond 20 columns those with the most values.

    >>> found = separations({"zip": pl.Series(["1", "1", "2", "2"]), "sex": pl.Series(["F", "M", "F", "M"])})
    >>> found["sex"]
    Separation(alone=0.0, others=('zip',), together=1.0)
    """
    codes = {name: _codes(series) for name, series in columns.items()}
    sizes = {name: int(code.max(initial=0)) + 1 for name, code in codes.items()}
    names = sorted((name for name in codes if sizes[name] > 1), key=lambda name: -sizes[name])[:MOST_COLUMNS]
    alone = {name: _share_single(code) for name, code in codes.items()}
    pairs = {pair: _share_single(_join(codes, sizes, pair)) for pair in combinations(names, 2)}
    found = {name: Separation(alone[name]) for name in codes}
    for name in names:
        partners = sorted(((share, pair) for pair, share in pairs.items() if name in pair), reverse=True)
        found[name] = _best(name, alone[name], partners, codes, sizes)
    return found


def _best(
    name: str,
    alone: float,
    partners: Sequence[tuple[float, tuple[str, str]]],
    codes: Mapping[str, Integers],
    sizes: Mapping[str, int],
) -> Separation:
    """Return the best pair of a column, or the best three where a third column adds a tenth of the rows."""
    if not partners:
        return Separation(alone)
    share, pair = partners[0]
    others = tuple(other for other in pair if other != name)
    thirds = [other for _, two in partners[1 : THIRDS + 1] for other in two if other != name]
    triples = {third: _share_single(_join(codes, sizes, (name, *others, third))) for third in thirds}
    third = max(triples, key=triples.__getitem__, default=None)
    if third is not None and triples[third] >= share + 0.1:
        return Separation(alone, (*others, third), triples[third])
    return Separation(alone, others, share)


def _codes(series: pl.Series) -> Integers:
    """Return a number for each value of some rows."""
    if len(series) > MOST_ROWS:
        series = series.gather_every(-(-len(series) // MOST_ROWS))
    return series.cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _join(codes: Mapping[str, Integers], sizes: Mapping[str, int], names: Sequence[str]) -> Integers:
    joined = codes[names[0]]
    for name in names[1:]:
        joined = joined * sizes[name] + codes[name]
        if int(joined.max(initial=0)) > 1 << 40:
            joined = np.unique(joined, return_inverse=True)[1]
    return joined


def _share_single(codes: Integers) -> float:
    """Return the share of rows whose value no other row has."""
    if len(codes) == 0:
        return 0.0
    ordered = np.sort(codes)
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    return float((first & np.concatenate([first[1:], [True]])).mean())
