"""Mondrian once more, slow and obvious: lists of rows, recursion, and every rule spelled out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from sfumato.table.coding import Column
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
    ranked = by_worth(problem, rows)
    for attempt, target in enumerate(targets):
        for number in ranked:
            codes = problem.quasi[number].codes
            if problem.quasi[number].attribute.hierarchy is not None:
                left = dict(enumerate(pieces(problem, rows, number))).get(attempt)
            else:
                value = nearest(problem, rows, number, len(rows) * target / ATTEMPTS)
                left = None if value is None else {int(code) for code in codes if code <= value}
            if left is None:
                continue
            parts = [[r for r in rows if codes[r] in left], [r for r in rows if codes[r] not in left]]
            if plain or all(holds(part) for part in parts):
                return parts
    return None


def by_worth(problem: Problem, rows: Rows) -> list[int]:
    """The columns that vary: the widest first, where one with a hierarchy counts as what its best cut is worth."""
    worths = []
    for number, column in enumerate(problem.quasi):
        codes = [int(column.codes[r]) for r in rows]
        if column.attribute.hierarchy is not None:
            found = pieces(problem, rows, number)
            if found:
                worths.append((-worth(column, codes, found[0]), number))
        elif max(codes) > min(codes):
            worths.append((-float(column.positions[max(codes)] - column.positions[min(codes)]), number))
    return [number for _, number in sorted(worths)]


def pieces(problem: Problem, rows: Rows, number: int) -> list[set[int]]:
    """The codes that a cut along a hierarchy may part from the others, those first for which it is worth most."""
    column = problem.quasi[number]
    codes = [int(column.codes[r]) for r in rows]
    values = sorted(set(codes))
    found = [tuple(values[:end]) for end in range(1, len(values))]
    for value in values:
        for level in range(len(path(column, value))):
            below = tuple(v for v in values if path(column, v)[level:] == path(column, value)[level:])
            if values[0] not in below and values[-1] not in below:
                found.append(below)
    sides = {part: sum(code in part for code in codes) for part in found}
    fit = [part for part in sides if min(sides[part], len(rows) - sides[part]) >= problem.least_units]
    return [set(part) for part in sorted(fit, key=lambda part: (-worth(column, codes, set(part)), part[0], part[-1]))]


def worth(column: Column, codes: list[int], part: set[int]) -> float:
    """The loss that a cut saves, over the geometric mean of its sides."""
    left, right = [code for code in codes if code in part], [code for code in codes if code not in part]
    saved = len(codes) * loss(column, codes) - len(left) * loss(column, left) - len(right) * loss(column, right)
    return max(0.0, saved) / math.sqrt(float(len(left)) * len(right))


def loss(column: Column, codes: list[int]) -> float:
    """The share of the leaves below the lowest label that all codes have; 1 without one, 0 for a single code."""
    if len(set(codes)) == 1:
        return 0.0
    first, *others = [path(column, code) for code in sorted(set(codes))]
    for level in range(len(first)):
        if all(other[level:] == first[level:] for other in others):
            leaves = range(column.has_missing, column.size)
            return sum(path(column, leaf)[level:] == first[level:] for leaf in leaves) / len(leaves)
    return 1.0


def path(column: Column, code: int) -> tuple[str, ...]:
    """A code's labels from the value to the root; the missing value has none but its own."""
    tree = column.attribute.hierarchy
    assert tree is not None
    place = code - column.has_missing
    return ("missing",) if place < 0 else tree.paths[place]


def by_width(problem: Problem, rows: Rows) -> list[int]:
    """The columns that vary, the widest first; none of them has a hierarchy."""
    assert all(column.attribute.hierarchy is None for column in problem.quasi)
    return by_worth(problem, rows)


def nearest(problem: Problem, rows: Rows, number: int, target: float) -> int | None:
    """The last value on the left of the allowable cut whose left side is nearest to `target` rows."""
    column = problem.quasi[number]
    values = sorted({int(column.codes[r]) for r in rows})
    best: tuple[float, int] | None = None
    for left in values[:-1]:
        below = sum(column.codes[r] <= left for r in rows)
        if min(below, len(rows) - below) < problem.least_units:
            continue
        if best is None or abs(below - target) < best[0]:
            best = (abs(below - target), left)
    return None if best is None else best[1]


def entropy(counts: Counter[int]) -> float:
    total = counts.total()
    return -sum(n / total * math.log(n / total) for n in counts.values())
