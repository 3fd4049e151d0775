"""What a release has lost of the ties between two columns: correlation, Cramér's V and mutual information.

Cramér's V is that of Cramér 1946 (chapter 21), mutual information that of Shannon 1948. A released cell spreads its
row evenly over the values that it covers, and two cells of a row spread on their own; so a tie inside a class is lost,
as it is for whoever reads the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.evaluate.features import ColumnFeatures
from sfumato.evaluate.regions import Regions, exact_regions
from sfumato.evaluate.sides import read_sides
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.table.distinct import distinct

Floats = npt.NDArray[np.float64]
BLOCK = 1 << 14  # rows that are multiplied at a time
TIED = 1e-12  # less than this, on a scale from 0 to 1, is no variance


@dataclass(frozen=True)
class PairDistance:
    """Two columns' ties, each before and after; `correlation` is None unless both columns are ordered.

    >>> PairDistance("age", "job", cramers_v=(0.5, 0.25), information=(0.8, 0.3)).change
    0.25
    """

    first: str
    second: str
    cramers_v: tuple[float, float]
    information: tuple[float, float]
    correlation: tuple[float, float] | None = None

    @property
    def change(self) -> float:
        """The larger of the changes of Cramér's V and of the correlation."""
        return max(abs(after - before) for before, after in (self.cramers_v, self.correlation or (0.0, 0.0)))


def pair_distances(
    original: Table, schema: Schema, released: Table, columns: Sequence[str] | None = None
) -> list[PairDistance]:
    """Return the ties of every two columns, those that changed most first.

    Without names the columns are quasi-identifiers and sensitive ones. Cramér's V and mutual information (in bits) are
    those of at most 20 words a column, the rarest together, and of ten bins of numbers that hold about as many original
    rows each; a missing value is a word of its own. Correlations are Pearson's, of places for ordered words, over rows
    with both values; 0 where a column does not vary. Never publish them: they are computed from raw rows.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 21, 60, 61], "sex": ["F", "F", "M", "M"]}))
    >>> coarse = Table(pl.DataFrame({"age": ["[20-21]", "[20-21]", "[60-61]", "[60-61]"], "sex": ["*"] * 4}))
    >>> [pair] = pair_distances(people, Schema.from_roles(quasi=["age", "sex"]), coarse)
    >>> pair.cramers_v, pair.information
    ((1.0, 0.0), (1.0, 0.0))
    """
    sides = read_sides(original, schema, released, columns)
    if len(sides) < 2:
        return []
    ties = OriginalTies.of({name: each.column for name, each in sides.items()})
    return ties.compare({name: each.released for name, each in sides.items()})


@dataclass(frozen=True, eq=False)
class OriginalTies:
    """The ties of every two original columns, counted once for all releases that are compared with them.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 60], "sex": ["F", "M"]}))
    >>> sides = read_sides(people, Schema.from_roles(quasi=["age", "sex"]), people)
    >>> ties = OriginalTies.of({name: each.column for name, each in sides.items()})
    >>> ties.compare({name: each.released for name, each in sides.items()})[0].change
    0.0
    """

    features: dict[str, ColumnFeatures]
    products: _Products

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> Self:
        """Return the ties of these columns, as they were coded."""
        features = {name: ColumnFeatures(column) for name, column in columns.items()}
        return cls(features, _Products.of(features, {name: exact_regions(each) for name, each in columns.items()}))

    def compare(self, released: Mapping[str, Regions]) -> list[PairDistance]:
        """Return what became of them where the same columns show these cells, the largest change first."""
        after = _Products.of(self.features, released)
        pairs = combinations(self.features, 2)
        found = [_pair(self.features, first, second, self.products, after) for first, second in pairs]
        return sorted(found, key=lambda pair: -pair.change)


def _pair(
    features: dict[str, ColumnFeatures], first: str, second: str, before: _Products, after: _Products
) -> PairDistance:
    tables = [products.table(first, second) for products in (before, after)]
    ordered = features[first].ordered and features[second].ordered
    correlations = [products.correlation(first, second) for products in (before, after)] if ordered else None
    return PairDistance(
        first,
        second,
        cramers_v=(_cramers_v(tables[0]), _cramers_v(tables[1])),
        information=(_information(tables[0]), _information(tables[1])),
        correlation=None if correlations is None else (correlations[0], correlations[1]),
    )


@dataclass(frozen=True, eq=False)
class _Products:
    """The sums over all rows of the products of every two features; `places` has each column's features."""

    sums: Floats
    places: dict[str, slice]

    @classmethod
    def of(cls, features: Mapping[str, ColumnFeatures], sides: Mapping[str, Regions]) -> _Products:
        """Return the sums of one side, equal rows multiplied once."""
        parts = {name: _encoded(each, sides[name]) for name, each in features.items()}
        ends = np.cumsum([0, *(part.shape[1] for part in parts.values())])
        cells = [sides[name] for name in features]
        rows = distinct([each.index for each in cells], [each.count for each in cells])
        shown = [(parts[name], sides[name].index[rows.examples]) for name in features]
        sums = np.zeros((ends[-1], ends[-1]))
        for start in range(0, rows.count, BLOCK):
            block = np.concatenate([part[index[start : start + BLOCK]] for part, index in shown], axis=1)
            block *= np.sqrt(rows.counts[start : start + BLOCK])[:, None]
            sums += block.T @ block
            tell(min(1.0, (start + BLOCK) / rows.count), "pairs of columns")
        return cls(sums, {name: slice(ends[place], ends[place + 1]) for place, name in enumerate(parts)})

    def table(self, first: str, second: str) -> Floats:
        """Return how many rows fall on each group of the first column with each of the second."""
        (top, end), (left, right) = ((self.places[name].start, self.places[name].stop - 3) for name in (first, second))
        return self.sums[top:end, left:right]

    def correlation(self, first: str, second: str) -> float:
        """Return the correlation of two columns over rows with both values; 0 where one does not vary."""
        ends = [self.places[name].stop for name in (first, second)]
        sums = self.sums[ends[0] - 3 : ends[0], ends[1] - 3 : ends[1]]
        if sums[0, 0] <= 0:
            return 0.0
        means = sums / sums[0, 0]
        covariance = means[1, 1] - means[1, 0] * means[0, 1]
        variances = means[2, 0] - means[1, 0] ** 2, means[0, 2] - means[0, 1] ** 2
        if min(variances) <= TIED:
            return 0.0
        return float(np.clip(covariance / np.sqrt(variances[0] * variances[1]), -1, 1))


def _encoded(features: ColumnFeatures, regions: Regions) -> Floats:
    """Return each region's shares of groups, its share of values, and the two moments of its values."""
    shares = features.shares(regions)
    valued = 1 - shares[:, -1:]
    return np.concatenate([shares, valued, np.nan_to_num(features.moments(regions)) * valued], axis=1)


def _cramers_v(table: Floats) -> float:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    there = expected > 0
    squares = ((table - expected)[there] ** 2 / expected[there]).sum() / table.sum()
    least = min((table.sum(axis=axis) > 0).sum() for axis in (0, 1)) - 1
    return float(np.sqrt(min(1.0, squares / least))) if least > 0 else 0.0


def _information(table: Floats) -> float:
    shares = table / table.sum()
    apart = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = shares > 0
    return max(0.0, float((shares[there] * np.log2(shares[there] / apart[there])).sum()))
