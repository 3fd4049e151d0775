"""How far one row can move an answer: on the rows at hand (local) and on any rows within bounds (global).

Dwork, McSherry, Nissim & Smith (2006) scale noise to the global one; Nissim, Raskhodnikova & Smith (2007) define the
local one and show that noise scaled to it is not private. The lecture's example: four people own 4, 2, 7 and 1 houses,
14 in all; without one of them the sum is 10, 12, 7 or 13, so the local sensitivity is 7.

>>> local([4, 2, 7, 1], "sum")
7.0
>>> global_("sum", bounds=(0, 100))
100.0
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence

from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.promise.unit import Neighbours

Query = Callable[[Sequence[float]], float]

QUERIES: dict[str, Query] = {
    "count": len,
    "sum": math.fsum,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "median": statistics.median,
}
OF_NOTHING = ("count", "sum")  # the queries that have an answer without any row


def local(
    values: Sequence[float],
    query: str,
    *,
    neighbours: Neighbours = Neighbours.PRESENCE,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Return how far the answer on exactly these rows moves when one row changes: a teaching number, never published.

    Without bounds, one row is removed (as in the lecture); with bounds, a row anywhere between them may also be added,
    and under changed values one row may move anywhere between them. All these answers are monotone in each value, so
    the bounds themselves are the farthest moves.

    >>> local([4, 2, 7, 1], "count"), local([4, 2, 7, 1], "max")
    (1.0, 3.0)
    >>> local([4, 2, 7, 1], "sum", bounds=(0, 100))
    100.0
    """
    answer = _query(query)
    if not values:
        raise InputError("there are no values; give at least one")
    if neighbours is Neighbours.VALUE and bounds is None:
        raise ParameterError("changed values need bounds between which they may change; give bounds=(low, high)")
    before = answer(values)
    others = [after for after in _neighbours(values, neighbours, bounds) if after or query in OF_NOTHING]
    return max((float(abs(answer(after) - before)) for after in others), default=0.0)


def global_(
    query: str, bounds: tuple[float, float], neighbours: Neighbours = Neighbours.PRESENCE, rows: int = 1
) -> float:
    """Return how far the answer can move on any input of at least `rows` rows within the bounds.

    Minimum and maximum can move by the whole range and the median by half of it, however many rows there are, which is
    why such answers are chosen by the exponential mechanism and not given with Laplace noise.

    >>> global_("count", bounds=(0, 100)), global_("sum", bounds=(-5, 3)), global_("max", bounds=(0, 100))
    (1.0, 5.0, 100.0)
    >>> global_("sum", (0, 100), Neighbours.VALUE), global_("mean", (0, 100), Neighbours.VALUE, rows=50)
    (100.0, 2.0)
    """
    _query(query)
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low <= high) or rows < 1:
        raise ParameterError(
            f"bounds {bounds} with {rows} rows are not usable; give finite low <= high, and rows from 1"
        )
    span, changed = high - low, neighbours is Neighbours.VALUE
    if query == "count":
        return 0.0 if changed else 1.0
    if query == "sum":
        return float(span if changed else max(abs(low), abs(high)))
    if query == "mean":
        return span / (rows if changed else rows + 1)
    if query == "median":
        return span / (1 if changed else 2)
    return float(span)


def ratio_under_local_noise(values: Sequence[float], other: Sequence[float], query: str, epsilon: float) -> float:
    """Return how much likelier one output is on `values` than on its neighbour `other`, with noise scaled locally.

    Promised would be at most exp(epsilon). The output looked at is the answer on `values`, under Laplace noise of scale
    local sensitivity/epsilon on either side; where one side has no noise at all the ratio is infinite.

    >>> quiet, loud = [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1000.0]
    >>> local(quiet, "max"), local(loud, "max")
    (0.0, 1000.0)
    >>> ratio_under_local_noise(quiet, loud, "max", epsilon=1.0)
    inf
    >>> round(ratio_under_local_noise([0, 0, 1], [0, 0, 1, 1000], "max", epsilon=1.0))  # promised: 2.7
    2716
    """
    answer = _query(query)
    near, far = local(values, query) / epsilon, local(other, query) / epsilon
    if near == 0 or far == 0:
        return 1.0 if near == far and answer(values) == answer(other) else math.inf
    return far / near * math.exp(abs(answer(values) - answer(other)) / far)


def _query(name: str) -> Query:
    if name not in QUERIES:
        raise ParameterError(f"the query '{name}' is not known{suggestion(name, QUERIES)}")
    return QUERIES[name]


def _neighbours(
    values: Sequence[float], neighbours: Neighbours, bounds: tuple[float, float] | None
) -> list[list[float]]:
    """Every neighbour that can be farthest: one row less, one more at a bound, or one row moved to a bound."""
    ends = () if bounds is None else bounds
    without = [[*values[:place], *values[place + 1 :]] for place in range(len(values))]
    if neighbours is Neighbours.VALUE:
        return [[*rest, end] for rest, end in itertools.product(without, ends)]
    return [*without, *([*values, end] for end in ends)]
