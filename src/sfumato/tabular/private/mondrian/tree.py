"""The tree of a private Mondrian: boxes of a public domain, cut where rows lie least evenly, with noisy counts.

The first cuts are chosen by the exponential mechanism (McSherry & Talwar 2007) by how far the two sides are from their
share of the box; later ones halve the widest side, which costs nothing: the hybrid tree of Cormode et al. 2012. Proof:
docs/algorithms/private-mondrian.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.random import Noise

Points = npt.NDArray[np.int64]
QUARTERS = (1, 2, 3)  # cuts are tried at each quarter of a side
SIXTEENTHS = 16
CUT_SHARE = Fraction(2, 5)  # of ε, for choosing cuts
COUNT_SHARE = Fraction(1, 4)  # of ε, for counts on the way down; the last box of a row has the rest


@dataclass(eq=False)
class Box:
    """One box of the public domain: its ends on every column, its noisy count and that count's variance.

    >>> box = Box((0,), (9,))
    >>> box.measured(100, Fraction(10))
    >>> box.measured(120, Fraction(10))
    >>> round(box.count), round(box.variance)
    (110, 100)
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    count: float = 0.0
    variance: float = math.inf
    sides: tuple[Box, Box] | None = None
    share: float = 0.5
    rows: Points = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    def measured(self, noisy: int, scale: Fraction) -> None:
        """Join one more noisy count to what is known, weighted by precision."""
        variance = 2.0 * float(scale) ** 2
        weight = 1.0 / (1.0 / self.variance + 1.0 / variance) if math.isfinite(self.variance) else variance
        known = self.count / self.variance if math.isfinite(self.variance) else 0.0
        self.count, self.variance = weight * (known + noisy / variance), weight


@dataclass(frozen=True)
class Spending:
    """How ε is spent on the way from the whole domain to a smallest box: cuts and counts, level by level.

    >>> spending = Spending.of(Fraction(1, 10), depth=10, chosen=5)
    >>> spending.total, spending.left(10)
    (Fraction(1, 10), Fraction(0, 1))
    """

    cuts: tuple[Fraction, ...]
    counts: tuple[Fraction, ...]

    @classmethod
    def of(cls, epsilon: Fraction, depth: int, chosen: int) -> Spending:
        """Return ε shared out: the first `chosen` cuts, a count of every box on the way, and one of the last box."""
        chosen = min(chosen, depth)
        cuts = (epsilon * CUT_SHARE / chosen,) * chosen + (Fraction(0),) * (depth - chosen)
        last = epsilon * (1 - CUT_SHARE - COUNT_SHARE)
        return cls(cuts, (*(epsilon * COUNT_SHARE / depth,) * depth, last))

    @property
    def total(self) -> Fraction:
        """What one row can lose at most: everything that is spent on its way down."""
        return sum(self.cuts, Fraction(0)) + sum(self.counts, Fraction(0))

    def left(self, level: int) -> Fraction:
        """Return what a box that ends at a level has not spent yet, after its count at that level."""
        return sum(self.cuts[level:], Fraction(0)) + sum(self.counts[level + 1 :], Fraction(0))


def scale_of(epsilon: Fraction) -> Fraction:
    """Return the scale of a count's noise, rounded up to a sixteenth: never less noise than ε asks for.

    >>> scale_of(Fraction(3, 100))
    Fraction(267, 8)
    """
    return Fraction(math.ceil(SIXTEENTHS / epsilon), SIXTEENTHS)


def grow(points: Points, sizes: Sequence[int], spending: Spending, least: float, noise: Noise) -> Box:
    """Return the tree of boxes over rows `points[row, column]`; a box below `least` noisy rows is not cut again."""
    whole = Box((0,) * len(sizes), tuple(size - 1 for size in sizes), rows=np.arange(len(points)))
    level = [whole]
    for depth, epsilon in enumerate(spending.counts):
        _count(level, epsilon, noise)
        last = depth == len(spending.cuts)
        below: list[Box] = []
        for box in level:
            at = None
            if not last and box.count >= least:
                at = _chosen(box, points, spending.cuts[depth], noise) if spending.cuts[depth] else _widest(box, sizes)
            if at is not None:
                below += _cut(box, points, *at)
            elif not last:
                _count([box], spending.left(depth), noise)
        level = below
    return whole


def _count(boxes: Sequence[Box], epsilon: Fraction, noise: Noise) -> None:
    scale = scale_of(epsilon)
    for box, noisy in zip(boxes, noise.laplace([len(box.rows) for box in boxes], scale), strict=True):
        box.measured(noisy, scale)


def _chosen(box: Box, points: Points, epsilon: Fraction, noise: Noise) -> tuple[int, int] | None:
    """Return the column and place of a cut by the exponential mechanism; None where there is nothing to cut."""
    candidates = [
        (column, low + width)
        for column, (low, high) in enumerate(zip(box.low, box.high, strict=True))
        for width in sorted({(high - low + 1) * part // 4 for part in QUARTERS} - {0})
    ]
    if not candidates:
        return None
    scores = [cut_score(points[box.rows, column], box.low[column], box.high[column], at) for column, at in candidates]
    return candidates[noise.exponential(scores, 2 / epsilon)]


def _widest(box: Box, sizes: Sequence[int]) -> tuple[int, int] | None:
    """Return the middle of the side that covers most of its column, whatever the rows are; None for a single point."""
    widths = [high - low + 1 for low, high in zip(box.low, box.high, strict=True)]
    shares = [width / size if width > 1 else 0.0 for width, size in zip(widths, sizes, strict=True)]
    column = max(range(len(sizes)), key=shares.__getitem__)
    return (column, box.low[column] + widths[column] // 2) if shares[column] else None


def _cut(box: Box, points: Points, column: int, at: int) -> tuple[Box, Box]:
    """Return the two sides of a box that is cut before point `at` of a column."""
    left = points[box.rows, column] < at
    high, low = list(box.high), list(box.low)
    high[column], low[column] = at - 1, at
    box.share = (at - box.low[column]) / (box.high[column] - box.low[column] + 1)
    box.sides = (Box(box.low, tuple(high), rows=box.rows[left]), Box(tuple(low), box.high, rows=box.rows[~left]))
    return box.sides


def cut_score(values: Points, low: int, high: int, at: int) -> int:
    """Return how many rows too many lie on one side of a cut, per row that one row can move it.

    With w of W points on the left, n rows and l of them on the left: ⌊|l·W - n·w| / max(w, W-w)⌋, which one row more
    or less moves by at most 1.

    >>> cut_score(np.array([0, 0, 0, 9]), 0, 9, 5)
    2
    """
    width, left = high - low + 1, at - low
    found = int(np.count_nonzero(values < at))
    return abs(found * width - len(values) * left) // max(left, width - left)
