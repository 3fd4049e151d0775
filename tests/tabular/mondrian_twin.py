"""Mondrian once more, slow and obvious: lists of rows, recursion, and every rule spelled out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sfumato.tabular.problem import Problem

ATTEMPTS = 16
Rows = list[int]
Holds = Callable[[Rows], bool]


def twin(problem: Problem, holds: Holds, *, plain: bool) -> list[Rows]:
    """Return the classes of strict Mondrian as lists of row numbers."""
    finished: list[Rows] = []
    pending = [list(range(problem.table.rows))]
    while pending:
        rows = pending.pop()
        parts = cut(problem, rows, holds, plain=plain)
        if parts is None:
            finished.append(rows)
        else:
            pending += parts
    return finished


def cut(problem: Problem, rows: Rows, holds: Holds, *, plain: bool) -> list[Rows] | None:
    if len(rows) < 2 * problem.least_units:
        return None
    targets = [8] if plain else sorted(range(1, ATTEMPTS), key=lambda j: (abs(j - 8), j < 8))
    for target in targets:
        for column in by_width(problem, rows):
            value = nearest(problem, rows, column, len(rows) * target / ATTEMPTS)
            if value is None:
                continue
            codes = problem.quasi[column].codes
            parts = [[r for r in rows if codes[r] <= value], [r for r in rows if codes[r] > value]]
            if plain or all(holds(part) for part in parts):
                return parts
    return None


def by_width(problem: Problem, rows: Rows) -> list[int]:
    widths = []
    for number, column in enumerate(problem.quasi):
        low, high = min(column.codes[r] for r in rows), max(column.codes[r] for r in rows)
        if high > low:
            widths.append((-(column.positions[high] - column.positions[low]), number))
    return [number for _, number in sorted(widths)]


def nearest(problem: Problem, rows: Rows, number: int, target: float) -> int | None:
    """The last value on the left of the allowable cut whose left side is nearest to `target` rows."""
    column = problem.quasi[number]
    values = sorted({int(column.codes[r]) for r in rows})
    depth = common(column.shared, values)
    best: tuple[float, int] | None = None
    for left, right in itertools.pairwise(values):
        below = sum(column.codes[r] <= left for r in rows)
        if min(below, len(rows) - below) < problem.least_units or common(column.shared, [left, right]) != depth:
            continue
        if best is None or abs(below - target) < best[0]:
            best = (abs(below - target), left)
    return None if best is None else best[1]


def common(shared: npt.NDArray[np.int32], values: Sequence[int]) -> int:
    """How many levels of the hierarchy all values from the first to the last share."""
    return min(int(shared[i]) for i in range(values[0] + 1, values[-1] + 1))


def entropy(counts: Counter[int]) -> float:
    total = counts.total()
    return -sum(n / total * math.log(n / total) for n in counts.values())
