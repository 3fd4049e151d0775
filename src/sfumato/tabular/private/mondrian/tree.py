"""The tree of a private Mondrian: boxes of a public domain, cut where rows lie least evenly, with noisy counts.

The first cuts are chosen by the exponential mechanism (McSherry & Talwar 2007) by how far the two sides are from their
share of the box; later ones halve the widest side, which costs nothing: the hybrid tree of Cormode et al. 2012. Proof:
docs/algorithms/private-mondrian.md. Counts are then made consistent by weighted least squares up and down the tree
(Hay, Rastogi, Miklau & Suciu 2010, for unequal variances as in Cormode et al. 2012), which works on noisy counts alone.
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
    >>> box.add_count(100, Fraction(10))
    >>> box.add_count(120, Fraction(10))
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

    def add_count(self, noisy: int, scale: Fraction) -> None:
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
                at = (
                    _choose_cut(box, points, spending.cuts[depth], noise)
                    if spending.cuts[depth]
                    else _halve_widest(box, sizes)
                )
            if at is not None:
                below += _cut(box, points, *at)
            elif not last:
                _count([box], spending.left(depth), noise)
        level = below
    return whole


def _count(boxes: Sequence[Box], epsilon: Fraction, noise: Noise) -> None:
    scale = scale_of(epsilon)
    for box, noisy in zip(boxes, noise.laplace([len(box.rows) for box in boxes], scale), strict=True):
        box.add_count(noisy, scale)


def _choose_cut(box: Box, points: Points, epsilon: Fraction, noise: Noise) -> tuple[int, int] | None:
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


def _halve_widest(box: Box, sizes: Sequence[int]) -> tuple[int, int] | None:
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


def make_consistent(box: Box) -> None:
    """Replace every count by its best estimate from the box itself and from all boxes inside it.

    >>> whole = Box((0,), (9,), 100.0, 2.0, (Box((0,), (4,), 60.0, 1.0), Box((5,), (9,), 60.0, 1.0)))
    >>> make_consistent(whole)
    >>> whole.count, whole.variance
    (110.0, 1.0)
    """
    if box.sides is None:
        return
    left, right = box.sides
    make_consistent(left)
    make_consistent(right)
    added, variance = left.count + right.count, left.variance + right.variance
    weight = 1.0 / (1.0 / box.variance + 1.0 / variance)
    box.count, box.variance = weight * (box.count / box.variance + added / variance), weight


def merge_even_cuts(box: Box, penalty: float) -> float:
    """Merge sides again where their counts do not differ from an even spread by more than noise; return the evidence.

    The evidence for a cut is the squared deviation of its sides from their shares, in variances, less `penalty`; a cut
    without evidence stays where cuts inside it have enough for both.

    >>> even = Box((0,), (9,), 120.0, 1.0, (Box((0,), (4,), 60.0, 1.0), Box((5,), (9,), 60.0, 1.0)))
    >>> merge_even_cuts(even, penalty=1.0), even.sides
    (0.0, None)
    """
    if box.sides is None:
        return 0.0
    left, right = box.sides
    deviation = (1 - box.share) * left.count - box.share * right.count
    variance = (1 - box.share) ** 2 * left.variance + box.share**2 * right.variance
    evidence = deviation**2 / variance - penalty + merge_even_cuts(left, penalty) + merge_even_cuts(right, penalty)
    if evidence <= 0:
        box.sides = None
    return max(0.0, evidence)


def share_out(box: Box, total: int) -> list[tuple[Box, int]]:
    """Return the smallest boxes with whole counts that are not negative and add up to `total`.

    What a box has more or less than its two sides is shared between them by their variances.

    >>> whole = Box((0,), (9,), 110.0, 1.0, (Box((0,), (4,), 70.0, 1.0), Box((5,), (9,), 50.0, 1.0)))
    >>> [count for _, count in share_out(whole, 110)]
    [65, 45]
    """
    if box.sides is None:
        return [(box, total)]
    left, right = box.sides
    rest = total - left.count - right.count
    wanted = left.count + rest * left.variance / (left.variance + right.variance)
    part = min(max(round(wanted), 0), total)
    return [*share_out(left, part), *share_out(right, total - part)]
