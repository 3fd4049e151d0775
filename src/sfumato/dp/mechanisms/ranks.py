"""Scores for choosing a quantile on a public ladder of positions: integers whose sensitivity is proven.

Smith (2011) chooses a quantile by the exponential mechanism on ranks; here the score of a position is minus the
distance of the wanted rank to the ranks that rows at this position hold, so that ties cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.dp.unit import Neighbours
from sfumato.errors import ParameterError

FINEST = 10**6  # the largest denominator of a level: scores then fit 64 bits for 10^12 rows


def quantile_scores(counts: Sequence[int] | npt.NDArray[np.int64], alpha: Fraction, margin: int = 1) -> list[int]:
    """Return each position's score: minus the distance of the wanted rank to its own, times alpha's denominator.

    `counts[p]` rows lie at position p. With n rows the wanted rank is alpha·n. At the ends (alpha 0 or 1) it is
    `margin` rows inside, at most half the rows: without, every position outside the rows would be as good as the
    extreme itself. A group without rows scores 0 everywhere, so that every position is equally likely.

    >>> quantile_scores([0, 2, 0, 1, 1], Fraction(1, 2))
    [-4, 0, 0, 0, -2]
    >>> quantile_scores([0, 2, 0, 1, 1], Fraction(0)), quantile_scores([0, 2, 0, 1, 1], Fraction(1))
    ([-1, 0, -1, -1, -2], [-3, -1, -1, 0, 0])
    """
    level = _level(alpha)
    held = np.asarray(counts, dtype=np.int64)
    rank = _rank(level, int(held.sum()), margin)
    reached = level.denominator * np.cumsum(held)
    passed = reached - level.denominator * held
    scores: list[int] = np.minimum(0, np.minimum(reached - rank, rank - passed)).tolist()
    return scores


def quantile_sensitivity(alpha: Fraction, rows: int, neighbours: Neighbours) -> int:
    """Return by how much one unit with at most `rows` rows can move any score, whatever the margin.

    A row that comes or goes moves a rank by at most max(alpha, 1 - alpha) against the wanted one; a row that changes
    its value moves it by at most one; times alpha's denominator.

    >>> [quantile_sensitivity(Fraction(1, 4), 2, neighbours) for neighbours in Neighbours]
    [6, 8]
    """
    level = _level(alpha)
    if neighbours is Neighbours.VALUE:
        return rows * level.denominator
    return rows * max(level.numerator, level.denominator - level.numerator)


def _rank(level: Fraction, rows: int, margin: int) -> int:
    """The wanted rank times the level's denominator; between n and n + 1 rows it grows by at most one row."""
    inside = min(margin, (rows + 1) // 2)
    ends = {Fraction(0): inside, Fraction(1): rows - inside}
    return ends.get(level, level.numerator * rows)


def _level(alpha: Fraction) -> Fraction:
    level = Fraction(alpha)
    if not 0 <= level <= 1 or level.denominator > FINEST:
        raise ParameterError(f"the level of a quantile is {alpha}; give a fraction from 0 to 1 in terms up to {FINEST}")
    return level
