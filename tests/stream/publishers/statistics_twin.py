"""Window statistics without noise, slow and obvious: every window from its records, one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = tuple[str | None, str, str | None, float]
BINS = 4


def window_rows(records: Sequence[tuple[float, float]]) -> list[Row]:
    """The rows of one window of (cost, zone): cost from 0 to 100 in four bins, zone among a, b, c."""
    costs = [50.0 if math.isnan(cost) else min(max(cost, 0.0), 100.0) for cost, _ in records]
    zones = [int(zone) if zone in {0, 1, 2} else 0 for _, zone in records]
    bins = [min(int(cost // 25), 3) for cost in costs]
    rows: list[Row] = [
        (None, "count", None, float(len(records))),
        ("cost", "mean", None, sum(costs) / len(costs) if costs else 50.0),
        ("cost", "sum", None, sum(costs)),
        ("cost", "quantile", "0.25", median_bin(bins, 0.25)),
        ("cost", "quantile", "0.5", nearest_candidate(costs, (10.0, 20.0, 50.0), 0.5)),
    ]
    rows += [("cost", "histogram", f"[{25 * at}..{25 * at + 25}]", float(bins.count(at))) for at in range(BINS)]
    return rows + [("zone", "histogram", name, float(zones.count(at))) for at, name in enumerate("abc")]


ASKED = "count, mean, sum, quantile 0.25 of cost, median of cost at 10 20 50, histogram"


def median_bin(bins: list[int], level: float) -> float:
    """The middle of the first bin whose ranks are nearest to the wanted one."""
    ranks = [(sum(one < at for one in bins), sum(one <= at for one in bins)) for at in range(BINS)]
    return 25.0 * first_nearest(ranks, level * len(bins)) + 12.5


def nearest_candidate(costs: list[float], candidates: tuple[float, ...], level: float) -> float:
    """The first candidate whose ranks are nearest to the wanted one."""
    ranks = [(sum(cost < one for cost in costs), sum(cost <= one for cost in costs)) for one in candidates]
    return candidates[first_nearest(ranks, level * len(costs))]


def first_nearest(ranks: list[tuple[int, int]], wanted: float) -> int:
    far = [max(0.0, low - wanted, wanted - high) for low, high in ranks]
    return far.index(min(far))


def sliding(records: Sequence[Any], step: int, last: int) -> list[list[Any]]:
    """The records of every window: after each `step` of them and at the end, the last `last`, in whole steps."""
    ends = [*range(step, len(records) + 1, step), *([len(records)] if len(records) % step else [])]
    return [list(records[max(0, -(-end // step) * step - last) : end]) for end in ends]
