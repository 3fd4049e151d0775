"""What a cell says in numbers: the mean of the features of all values that it may stand for.

A value's features are its group (a word, or a bin of numbers), a flag where it is missing, and its place on the
column's scale. A generalised cell has their mean over what it covers, every value alike (Inan, Kantarcioglu & Bertino
2009), so that originals and releases lie in one space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.core import cells
from sfumato.evaluate.regions import Regions, domain, is_continuous, is_worded
from sfumato.schema import Kind
from sfumato.schema.times import DAY
from sfumato.table.coding import Column

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """How one column's cells become numbers: groups are at most `most` words, or `bins` bins of numbers.

    Bins hold about as many original rows each. Of words beyond `most` the rarest are one group; ordered ones are cut
    into bins.

    >>> import polars as pl
    >>> from sfumato.evaluate.sides import read_sides
    >>> from sfumato.schema import Schema
    >>> from sfumato.table import Table
    >>> people, coarse = Table(pl.DataFrame({"sex": ["F", "M"]})), Table(pl.DataFrame({"sex": ["{F, M}", "M"]}))
    >>> sides = read_sides(people, Schema.from_roles(quasi=["sex"]), coarse)["sex"]
    >>> ColumnFeatures(sides.column).shares(sides.released).tolist()
    [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
    """

    column: Column
    bins: int = 10
    most: int = 20

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many original rows have each level."""
        return np.bincount(self.column.codes, minlength=self.column.size)[int(self.column.has_missing) :]

    @cached_property
    def points(self) -> Floats | None:
        """Where each level lies, in the column's own units; None where words have no order."""
        column = self.column
        if column.kind is Kind.ORDINAL:
            return np.arange(len(column.levels), dtype=np.float64)
        if not column.kind.numeric:
            return None
        if column.attribute.hierarchy is None:
            return np.asarray(column.levels, dtype=np.float64)
        numbers = [cells.number(str(level)) for level in column.levels]
        known = [number for number in numbers if number is not None]
        return np.array(known, dtype=np.float64) if len(known) == len(numbers) else None

    @property
    def ordered(self) -> bool:
        """Whether the column's values lie on a scale."""
        return self.points is not None

    @property
    def unit(self) -> float:
        """How long one unit of the scale is: a day where it counts microseconds, else 1."""
        return float(DAY) if self.column.kind is Kind.TIMESTAMP else 1.0

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest value of the scale."""
        if is_worded(self.column):
            points = np.zeros(1) if self.points is None else self.points
            return float(points.min()), float(points.max())
        return domain(self.column)

    @cached_property
    def group_of(self) -> npt.NDArray[np.int64]:
        """The group of each level."""
        if self._edges is not None and self.points is not None:
            return np.searchsorted(self._edges, self.points, side="right").astype(np.int64)
        return np.where(self._alone, np.cumsum(self._alone) - 1, self._alone.sum()).astype(np.int64)

    def shares(self, regions: Regions) -> Floats:
        """Return the share of each group in each region, and last that of a missing value; each row adds up to 1."""
        parts, alone = _run_shares(regions)
        groups = self._run_groups(regions) * parts[:, None]
        values = np.zeros((regions.count, groups.shape[1]))
        np.add.at(values, regions.owners, groups)
        return np.concatenate([values * (1 - alone)[:, None], alone[:, None]], axis=1)

    def observed_shares(self, regions: Regions) -> Floats:
        """Return the share of each group that occurs in the original.

        Each row adds up to 1 over these; a region with none of them, or with a missing value alone, has zeros.
        """
        shares = self.shares(regions)[:, :-1][:, self.observed]
        sums = shares.sum(axis=1, keepdims=True)
        whole: Floats = np.divide(shares, sums, out=np.zeros_like(shares), where=sums > 0)
        return whole

    @cached_property
    def observed(self) -> npt.NDArray[np.int64]:
        """The groups that hold original rows."""
        return np.unique(self.group_of[self.counts > 0])

    def moments(self, regions: Regions) -> Floats:
        """Return the mean place of each region's values and of its square, on a scale from 0 to 1; NaN without values.

        Words without an order have none.
        """
        parts, _ = _run_shares(regions)
        first, second = self._run_moments(regions)
        sums = [np.bincount(regions.owners, weights=each * parts, minlength=regions.count) for each in (first, second)]
        moments = np.stack(sums, axis=1).astype(np.float64)
        moments[np.diff(regions.starts) == 0] = np.nan
        return moments

    def run_masses(self, regions: Regions) -> Floats:
        """Return how many rows fall on each run, those without a value left out."""
        parts, alone = _run_shares(regions)
        rows: Floats = np.bincount(regions.index, minlength=regions.count) * (1.0 - alone)
        masses: Floats = rows[regions.owners] * parts
        return masses

    def silent(self, regions: Regions) -> Flags:
        """Return which regions cover the whole domain, and so say nothing, however they are written."""
        valued = np.diff(regions.starts) > 0
        low, high = domain(self.column)
        if is_worded(self.column):
            whole = np.bincount(regions.owners, regions.high - regions.low + 1, regions.count) >= len(
                self.column.levels
            )
        else:
            ends = np.full(regions.count, np.inf), np.full(regions.count, -np.inf)
            np.minimum.at(ends[0], regions.owners, regions.low)
            np.maximum.at(ends[1], regions.owners, regions.high)
            whole = (ends[0] <= low) & (ends[1] >= high)
        silent: Flags = valued & whole & (high > low)
        return silent

    @cached_property
    def _alone(self) -> Flags:
        """Which levels are a group of their own; the others are one together."""
        if len(self.counts) <= self.most:
            return np.ones(len(self.counts), dtype=np.bool_)
        alone = np.zeros(len(self.counts), dtype=np.bool_)
        alone[np.argsort(-self.counts, kind="stable")[: self.most - 1]] = True
        return alone

    @cached_property
    def _edges(self) -> Floats | None:
        """The inner ends of bins that hold about as many original rows each; None where groups are words."""
        points = self.points
        if points is None or (not self.column.kind.numeric and len(points) <= self.most):
            return None
        seen = self.counts > 0
        order = np.argsort(points[seen], kind="stable")
        values, rows = points[seen][order], np.cumsum(self.counts[seen][order])
        quotas = rows[-1] * np.arange(1, self.bins) / self.bins if len(values) > self.bins else rows[:-1]
        ends = np.unique(np.searchsorted(rows, quotas))
        ends = ends[ends < len(values) - 1]
        middles = (values[ends] + values[ends + 1]) / 2
        edges: Floats = middles if is_continuous(self.column) else np.floor(middles) + 0.5
        return edges

    def _run_groups(self, regions: Regions) -> Floats:
        """Return the share of each group in each run."""
        if self._edges is not None and not is_worded(self.column):
            below = np.stack([_below(regions, edge) for edge in self._edges], axis=1) if len(self._edges) else None
            ends = np.zeros((len(regions.low), 1)), np.ones((len(regions.low), 1))
            return np.diff(np.concatenate([ends[0], *([] if below is None else [below]), ends[1]], axis=1))
        running = np.concatenate([np.zeros((1, self._groups)), np.cumsum(np.eye(self._groups)[self.group_of], axis=0)])
        low, high = regions.low.astype(np.int64), regions.high.astype(np.int64) + 1
        shares: Floats = (running[high] - running[low]) / (high - low)[:, None]
        return shares

    @property
    def _groups(self) -> int:
        return int(self.group_of.max()) + 1

    def _run_moments(self, regions: Regions) -> tuple[Floats, Floats]:
        """Return the mean place of each run and of its square, on a scale from 0 to 1."""
        if self.points is None:
            return np.zeros(len(regions.low)), np.zeros(len(regions.low))
        bottom, top = self.scale
        span = top - bottom or 1.0
        if is_worded(self.column):
            places = (self.points - bottom) / span
            low, high = regions.low.astype(np.int64), regions.high.astype(np.int64) + 1
            sums = (np.concatenate([[0.0], np.cumsum(each)]) for each in (places, places**2))
            first, second = ((running[high] - running[low]) / (high - low) for running in sums)
            return first, second
        width = (regions.high - regions.low) / span
        middle = ((regions.low - bottom) + (regions.high - bottom)) / 2 / span
        step = regions.grain / span
        return middle, middle**2 + width * (width + 2 * step) / 12


def _below(regions: Regions, edge: float) -> Floats:
    """Return the share of each run that lies below an edge."""
    low, high = regions.low - regions.grain / 2, regions.high + regions.grain / 2
    point = high == low
    length = np.where(point, 1.0, high - low)
    below: Floats = np.where(point, low < edge, (np.clip(edge, low, high) - low) / length)
    return below


def _run_shares(regions: Regions) -> tuple[Floats, Floats]:
    """Return each run's share among its region's values, and each region's share of a missing value."""
    owners = regions.owners
    lengths = regions.high - regions.low + regions.grain
    totals = np.bincount(owners, weights=lengths, minlength=regions.count)
    runs = np.diff(regions.starts)
    parts = np.where(totals[owners] > 0, lengths / np.where(totals > 0, totals, 1.0)[owners], 1 / runs[owners])
    joined = regions.grain * regions.missing / np.maximum(totals + regions.grain * regions.missing, 1e-300)
    return parts, np.where(runs == 0, 1.0, joined)
