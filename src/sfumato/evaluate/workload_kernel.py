"""Counting queries on boxes, compiled: a share per region and query first, then one product per box.

Counting follows chapter 3 of Pereira 2014; `expected` assumes values uniform inside a region, as in
LeFevre, DeWitt & Ramakrishnan 2006.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
INCLUSION, OVERLAP, EXPECTED = 0, 1, 2


class ColumnScales(NamedTuple):
    """The regions of all columns, one column after another, and the grain of each column.

    Column c owns regions `first[c]` to `first[c + 1]`; region r owns runs `starts[r]` to `starts[r + 1]`.
    """

    first: Int64s
    grain: Floats
    starts: Int64s
    low: Floats
    high: Floats
    sizes: Floats
    missing: npt.NDArray[np.bool_]


@kernel
def count(
    scales: ColumnScales, boxes: npt.NDArray[np.int64], weights: Floats, lows: Floats, highs: Floats, how: int
) -> Floats:
    """Return each query's count; `boxes[b, c]` is a region, `lows[q, c]` and `highs[q, c]` a condition."""
    queries, columns = lows.shape
    answers = np.zeros(queries)
    shares = np.empty(len(scales.missing))
    for query in range(queries):
        for column in range(columns):
            for region in range(scales.first[column], scales.first[column + 1]):
                shares[region] = share(
                    scales, region, lows[query, column], highs[query, column], scales.grain[column], how
                )
        total = 0.0
        for box in range(len(boxes)):
            part = weights[box]
            for column in range(columns):
                part *= shares[boxes[box, column]]
                if part == 0.0:
                    break
            total += part
        answers[query] = total
    return answers


@kernel
def share(scales: ColumnScales, region: int, low: float, high: float, grain: float, how: int) -> float:
    """Return the part of a region that a condition counts; a missing value meets no condition."""
    start, end = scales.starts[region], scales.starts[region + 1]
    inside, touched, length = not scales.missing[region] and end > start, False, 0.0
    for run in range(start, end):
        bottom, top = max(scales.low[run], low), min(scales.high[run], high)
        inside = inside and bottom == scales.low[run] and top == scales.high[run]
        if bottom <= top:
            touched = True
            length += top - bottom + grain
    if inside or (how == OVERLAP and touched):
        return 1.0
    if how != EXPECTED or not touched:
        return 0.0
    return length / scales.sizes[region] if scales.sizes[region] > 0 else 1.0
