"""What is counted of a pane: whole numbers that one record moves by a public amount, one kind for each statistic.

Sums are of values clamped to public bounds and rounded to a public grid, so that all is exact in integers (Dwork &
Roth 2014, section 3.3; Mironov 2012 on why not in floats). The score of a quantile's candidate is that of
`sfumato.dp.mechanisms.selection` (Smith 2011).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from sfumato.dp.mechanisms.selection import quantile_scores, quantile_sensitivity
from sfumato.errors import ParameterError
from sfumato.promise import Neighbours
from sfumato.stream.base import Integers, Numbers, PublicBounds
from sfumato.stream.noise import grid_steps, step_for

STEPS = 2**16


class Measure(ABC):
    """Some whole numbers of a pane's records; `label` tells it apart from every other one of the same publisher."""

    label: str

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many numbers there are."""

    @abstractmethod
    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return how far one record can move the numbers, in sum; a score, where one of several is chosen."""

    @abstractmethod
    def tally(self, values: Numbers) -> Integers:
        """Return the numbers of some records, one row of values each; those of two panes add up."""


@dataclass(frozen=True)
class RecordCount(Measure):
    """How many records there are.

    >>> RecordCount().tally(np.zeros((3, 1))).tolist()
    [3]
    """

    label: str = "count"

    @property
    def cells(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return 1: a record that changes its value alone is not counted anew, but its number is public then."""
        del neighbours
        return 1

    def tally(self, values: Numbers) -> Integers:
        return np.array([len(values)], dtype=np.int64)


@dataclass(frozen=True)
class CentredSum(Measure):
    """The sum of a column's distances from a public centre, in steps of a public grid.

    >>> sum_of = CentredSum("sum of cost", 0, (0.0, 10.0), 5.0)
    >>> float(sum_of.tally(np.array([[7.0], [99.0], [np.nan]]))[0] * sum_of.step)
    7.0
    >>> [sum_of.sensitivity(neighbours) * sum_of.step for neighbours in Neighbours]
    [5.0, 10.0]
    """

    label: str
    place: int
    bounds: PublicBounds
    centre: float

    @cached_property
    def step(self) -> float:
        """The width of the grid's steps, a power of two."""
        low, high = (Fraction(bound) for bound in self.bounds)
        reach = max(high - low, abs(low - Fraction(self.centre)), abs(high - Fraction(self.centre)))
        step = step_for(reach, STEPS)
        for bound in self.bounds:
            grid_steps(bound, step)  # refused where floats around the bounds are wider than the grid
        return step

    @property
    def cells(self) -> int:
        return 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        low, high = (int(end) for end in self._steps(np.array(self.bounds, dtype=np.float64)))
        return high - low if neighbours is Neighbours.VALUE else max(abs(low), abs(high))

    def tally(self, values: Numbers) -> Integers:
        clamped = clamp(values[:, self.place], self.bounds)
        total: Integers = self._steps(clamped).sum(keepdims=True)
        return total

    def _steps(self, clamped: Numbers) -> Integers:
        return np.rint((clamped - self.centre) / self.step).astype(np.int64)


@dataclass(frozen=True)
class BinCounts(Measure):
    """How many values lie in each of some public bins; the last one has both its ends.

    >>> BinCounts("histogram of cost", 0, (0.0, 1.0, 10.0)).tally(np.array([[0.0], [1.0], [10.0], [np.nan]])).tolist()
    [1, 3]
    """

    label: str
    place: int
    edges: tuple[float, ...]

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return 1 for a record that is there or not, 2 for one that leaves a bin and enters another one."""
        return 2 if neighbours is Neighbours.VALUE else 1

    def tally(self, values: Numbers) -> Integers:
        clamped = clamp(values[:, self.place], (self.edges[0], self.edges[-1]))
        bins = np.searchsorted(np.array(self.edges[1:-1]), clamped, side="right")
        return np.bincount(bins, minlength=self.cells).astype(np.int64)


@dataclass(frozen=True)
class CodeCounts(Measure):
    """How many values are each of some public categories, by their codes; what is none of them counts as the first.

    >>> CodeCounts("histogram of zone", 0, ("a", "b")).tally(np.array([[1.0], [7.0], [np.nan]])).tolist()
    [2, 1]
    """

    label: str
    place: int
    categories: tuple[str, ...]

    @property
    def cells(self) -> int:
        return len(self.categories)

    def sensitivity(self, neighbours: Neighbours) -> int:
        """Return as for bins."""
        return 2 if neighbours is Neighbours.VALUE else 1

    def tally(self, values: Numbers) -> Integers:
        codes = values[:, self.place]
        known = (codes >= 0) & (codes < self.cells) & (codes == np.floor(codes))
        return np.bincount(np.where(known, codes, 0).astype(np.int64), minlength=self.cells).astype(np.int64)


class RankMeasure(Measure):
    """How many values lie where, as far as it tells the ranks of a quantile's candidates, which are given scores."""

    level: Fraction

    @property
    @abstractmethod
    def candidates(self) -> tuple[float, ...]:
        """What the quantile may be."""

    @abstractmethod
    def scores(self, counts: Integers) -> list[int]:
        """Return each candidate's score: minus the distance of the wanted rank to its own."""

    def sensitivity(self, neighbours: Neighbours) -> int:
        return quantile_sensitivity(self.level, 1, neighbours)


@dataclass(frozen=True)
class BinRanks(RankMeasure):
    """Ranks of bins: whatever the values, one bin holds the quantile; its middle stands for it.

    >>> ranks = BinRanks("quantile 0.5 of cost", 0, (0.0, 2.0, 4.0), Fraction(1, 2))
    >>> counts = ranks.tally(np.array([[1.0], [3.0], [3.0]]))
    >>> counts.tolist(), ranks.scores(counts), ranks.candidates
    ([1, 2], [-1, 0], (1.0, 3.0))
    """

    label: str
    place: int
    edges: tuple[float, ...]
    level: Fraction

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def candidates(self) -> tuple[float, ...]:
        """The middles of the bins."""
        return tuple(middle_of(pair) for pair in pairwise(self.edges))

    def tally(self, values: Numbers) -> Integers:
        return BinCounts(self.label, self.place, self.edges).tally(values)

    def scores(self, counts: Integers) -> list[int]:
        return quantile_scores(counts, self.level)


@dataclass(frozen=True)
class CandidateRanks(RankMeasure):
    """Ranks of declared candidates, from the numbers of values before, at and between them.

    >>> ranks = CandidateRanks("quantile 0.5 of cost", 0, (0.0, 9.0), (3.0, 5.0), Fraction(1, 2))
    >>> counts = ranks.tally(np.array([[1.0], [3.0], [4.0], [9.0]]))
    >>> counts.tolist(), ranks.scores(counts)
    ([1, 1, 1, 0, 1], [0, -2])
    """

    label: str
    place: int
    bounds: PublicBounds
    known: tuple[float, ...]
    level: Fraction

    @property
    def cells(self) -> int:
        return 2 * len(self.known) + 1

    @property
    def candidates(self) -> tuple[float, ...]:
        return self.known

    def tally(self, values: Numbers) -> Integers:
        clamped, known = clamp(values[:, self.place], self.bounds), np.array(self.known)
        cells = np.searchsorted(known, clamped, side="left") + np.searchsorted(known, clamped, side="right")
        return np.bincount(cells, minlength=self.cells).astype(np.int64)

    def scores(self, counts: Integers) -> list[int]:
        return quantile_scores(counts, self.level)[1::2]


def clamp(values: Numbers, bounds: PublicBounds) -> Numbers:
    """Return values within bounds, the middle of these for what is no number.

    >>> clamp(np.array([-1.0, np.nan, 3.0]), (0.0, 10.0)).tolist()
    [0.0, 5.0, 3.0]
    """
    low, high = bounds
    return np.where(np.isnan(values), middle_of(bounds), np.clip(values, low, high))


def middle_of(bounds: PublicBounds) -> float:
    """Return the public value that stands for a bad one.

    >>> middle_of((0.0, 10.0))
    5.0
    """
    return bounds[0] + (bounds[1] - bounds[0]) / 2


def equal_edges(bounds: PublicBounds, bins: int) -> tuple[float, ...]:
    """Return the edges of bins of one width between bounds.

    >>> equal_edges((0.0, 10.0), 2)
    (0.0, 5.0, 10.0)
    """
    low, high = bounds
    inner = (low + (high - low) * place / bins for place in range(1, bins))
    edges = (float(low), *inner, float(high))
    if not all(first < second for first, second in pairwise(edges)) or math.isinf(high - low):
        raise ParameterError(f"{bins} bins do not fit between the bounds {low:g} and {high:g}; give fewer bins")
    return edges
