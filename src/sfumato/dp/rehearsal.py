"""Rehearsals: how far off a minimum, maximum or quantile is in the unit of its column, tried on made-up rows.

The exponential mechanism bounds how far off the rank of its choice is (McSherry & Talwar 2007); what a rank is worth in
years or euros depends on the rows. Rows that are drawn evenly from the declared bounds are nobody's, so that trying
them costs nothing.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.dp.questions.estimators import Choosing
from sfumato.dp.questions.grids import CandidateLine, NumberLine
from sfumato.dp.share import Share
from sfumato.random import SeededSource
from sfumato.schema import Kind

Counts = npt.NDArray[np.int64]
SEED = 1  # rows that are nobody's need no secret
TABLES = 400
MOST_DRAWN = 10**6  # rows; beyond, the chance of the draw is nothing against the noise, and rows are laid out evenly


def rehearsed_error(quantile: Choosing, share: Share, confidence: float, rows: int) -> float:
    """Return within which distance of the true quantile the choice lies with this probability, on made-up rows.

    The choice follows the mechanism's own law on each of some made-up tables; half a rung is added where the ladder of
    candidates is coarser than the column's values. Of values that were given, the error stays in rows of rank.

    >>> from sfumato.dp.questions.request import ColumnGrid
    >>> from sfumato.dp.share import Norms
    >>> from sfumato.promise.cost import Accountant
    >>> from sfumato.promise.unit import Neighbours
    >>> ages = NumberLine(ColumnGrid("age", 0, 99, 99), 0, 0.0, Kind.INTEGER)
    >>> share = Share(Accountant.PURE, Fraction(1, 10), Norms(1, 1, False, Neighbours.PRESENCE))
    >>> median = Choosing("median", ages, Fraction(1, 2))
    >>> rehearsed_error(median, share, 0.95, rows=1000), rehearsed_error(median, share, 0.95, rows=10_000)
    (3.0, 1.0)
    """
    line = quantile.line
    if isinstance(line, CandidateLine):
        return quantile.error(share, confidence, rows)
    tables = made_up_counts(line.grid.steps + 1, rows)
    distances = np.concatenate([_distances(counts, quantile.level) for counts in tables])
    chances = np.concatenate([quantile.law(counts, share) for counts in tables]) / len(tables)
    order = np.argsort(distances, kind="stable")
    reached = np.searchsorted(np.cumsum(chances[order]), confidence * (1 - 1e-12))
    farthest = distances[order][min(int(reached), len(order) - 1)]
    return float(farthest * _rung(line) + _fineness(line))


def unit_of_values(line: NumberLine | CandidateLine) -> str:
    """Return what the errors of a quantile count in.

    >>> from sfumato.dp.questions.request import ColumnGrid
    >>> unit_of_values(NumberLine(ColumnGrid("start", 0, 9, 9), 0, 0.0, Kind.DATE))
    'days'
    """
    if isinstance(line, CandidateLine):
        return "rows of rank"
    return {Kind.DATE: "days", Kind.TIMESTAMP: "seconds"}.get(line.kind, f"unit of {line.grid.column}")


@lru_cache(maxsize=8)
def made_up_counts(positions: int, rows: int) -> tuple[Counts, ...]:
    """Return made-up tables, each as the number of its rows at every position; every position is equally likely.

    >>> [int(counts.sum()) for counts in made_up_counts(3, 10)] == [10] * 400
    True
    """
    if rows > MOST_DRAWN:
        return (np.diff(np.arange(positions + 1, dtype=object) * rows // positions).astype(np.int64),)
    source = SeededSource(SEED)
    drawn = (source.words(rows) % np.uint32(positions) for _ in range(max(3, min(TABLES, 5 * MOST_DRAWN // rows))))
    return tuple(np.bincount(places, minlength=positions).astype(np.int64) for places in drawn)


def _distances(counts: Counts, level: Fraction) -> Counts:
    """Return how many positions each one is away from the true quantile of the rows, or from where it may lie."""
    places = np.arange(len(counts))
    held = np.flatnonzero(counts)
    if level in {0, 1}:
        first = last = int(held[0] if level == 0 else held[-1])
    else:
        wanted = level * int(counts.sum())
        upto = np.cumsum(counts)
        first = int(np.searchsorted(upto, float(wanted)))
        last = int(np.searchsorted(upto, float(wanted), side="right"))
    far: Counts = np.maximum(0, np.maximum(first - places, places - last))
    return far


def _rung(line: NumberLine) -> float:
    return (line.grid.high - line.grid.low) / line.grid.steps if line.grid.steps else 0.0


def _fineness(line: NumberLine) -> float:
    """By how much a column's value may lie beside the nearest candidate."""
    coarse = line.kind is Kind.NUMBER or line.grid.steps < line.grid.high - line.grid.low
    return _rung(line) / 2 if coarse else 0.0
