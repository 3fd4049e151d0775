"""Partitions of cells, refined column by column and compiled: what fails already, what each open column costs at least.

Groups that fail already are dropped, after the stripped partitions of Huhtala, Kärkkäinen, Porkka & Toivonen 1999
(TANE, section 2); each open column is tried by itself, which is forward checking (Haralick & Elliott 1980).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Steps(NamedTuple):
    """Ladders as flat arrays: code c of column j has node nodes[node_start[j, l] + c] at level l.

    A row of node n costs losses[loss_start[j, l] + n] there, a suppressed one stars[j]; sizes[j, l] nodes there are.
    """

    nodes: Int32s
    node_start: Int64s
    losses: Floats
    loss_start: Int64s
    sizes: Int64s
    tops: Int64s
    stars: Floats


class Cells(NamedTuple):
    """Distinct rows: their codes (a row per column), how many rows each stands for, and what these paid so far."""

    codes: Int32s
    rows: Int64s
    paid: Floats


class Parts(NamedTuple):
    """Cells whose groups may still hold, group after group from `start[g]` on, and how many rows are in no group."""

    order: Int64s
    start: Int64s
    failing: int


@kernel
def narrow(
    steps: Steps, cells: Cells, parts: Parts, columns: Int64s, levels: Int64s, least: int, limit: int
) -> tuple[Cells, Parts]:
    """Return the parts refined by some columns at their levels, and what rows have paid by then.

    It stops when more than `limit` rows fail.
    """
    order, start, failing = parts.order, parts.start, parts.failing
    for index in range(len(columns)):
        if levels[index] < steps.tops[columns[index]]:
            order, start, lost = refine(steps, cells, order, start, columns[index], levels[index], least)
            failing += lost
            if failing > limit:
                break
    paid = cells.paid.copy()
    for index in range(len(columns)):
        column, level = columns[index], levels[index]
        base, own = steps.node_start[column, level], steps.loss_start[column, level]
        for cell in order:
            paid[cell] += steps.losses[own + steps.nodes[base + cells.codes[column, cell]]]
    return Cells(cells.codes, cells.rows, paid), Parts(order, start, failing)


@kernel
def refine(
    steps: Steps, cells: Cells, order: Int64s, start: Int64s, column: int, level: int, least: int
) -> tuple[Int64s, Int64s, int]:
    """Return the groups of at least `least` rows once a column tells them apart, and the number of other rows."""
    base, size = steps.node_start[column, level], steps.sizes[column, level]
    shown = np.empty(len(order), dtype=np.int32)
    for index in range(len(order)):
        shown[index] = steps.nodes[base + cells.codes[column, order[index]]]
    rows = np.zeros(size, dtype=np.int64)
    held = np.zeros(size, dtype=np.int64)
    place = np.full(size, -1, dtype=np.int64)
    kept = np.empty(len(order), dtype=np.int64)
    bounds = np.empty(len(order) + 1, dtype=np.int64)
    filled, count, lost = 0, 0, 0
    for group in range(len(start) - 1):
        for index in range(start[group], start[group + 1]):
            rows[shown[index]] += cells.rows[order[index]]
            held[shown[index]] += 1
        for index in range(start[group], start[group + 1]):
            node = shown[index]
            if rows[node] < least:
                lost += cells.rows[order[index]]
                continue
            if place[node] < 0:
                place[node] = filled
                bounds[count] = filled
                count += 1
                filled += held[node]
            kept[place[node]] = order[index]
            place[node] += 1
        for index in range(start[group], start[group + 1]):
            rows[shown[index]] = 0
            held[shown[index]] = 0
            place[shown[index]] = -1
    bounds[count] = filled
    return kept[:filled].copy(), bounds[: count + 1].copy(), lost


@kernel
def condense(steps: Steps, cells: Cells, parts: Parts, columns: Int64s, lows: Int64s) -> tuple[Cells, Parts]:
    """Return the same groups of fewer cells: those that the open columns at `lows` do not tell apart are one."""
    order, start = parts.order, parts.start
    for index in range(len(columns)):
        if lows[index] < steps.tops[columns[index]]:
            order, start, _ = refine(steps, cells, order, start, columns[index], lows[index], 1)
    count = len(start) - 1
    codes = np.empty((len(cells.codes), count), dtype=np.int32)
    rows = np.zeros(count, dtype=np.int64)
    paid = np.empty(count, dtype=np.float64)
    for group in range(count):
        paid[group] = cells.paid[order[start[group]]]
        for index in range(start[group], start[group + 1]):
            rows[group] += cells.rows[order[index]]
    for index in range(len(columns)):
        for group in range(count):
            codes[columns[index], group] = cells.codes[columns[index], order[start[group]]]
    bounds = np.searchsorted(start, parts.start)
    return Cells(codes, rows, paid), Parts(np.arange(count), bounds, parts.failing)


@kernel
def foresee(
    steps: Steps, cells: Cells, parts: Parts, columns: Int64s, lows: Int64s, least: int, limit: int
) -> tuple[float, Floats]:
    """Return what the rows have paid, and by open column and level the least that the column adds to it.

    Infinite is a level below `lows` or one at which more than `limit` rows fail; suppressed rows are left to others.
    """
    costs = np.full(steps.sizes.shape, np.inf)
    size = len(parts.order)
    rows = np.empty(size, dtype=np.int64)
    shown = np.empty(size, dtype=np.int32)
    tallies = np.zeros(steps.sizes.max(), dtype=np.int64)
    paid = 0.0
    for index in range(size):
        rows[index] = cells.rows[parts.order[index]]
        paid += rows[index] * cells.paid[parts.order[index]]
    for place in range(len(columns)):
        column = columns[place]
        for index in range(size):
            shown[index] = cells.codes[column, parts.order[index]]
        for level in range(steps.tops[column], lows[place] - 1, -1):
            asked = 0 if level == steps.tops[column] else least
            lost, cost = weigh(steps, parts.start, shown, rows, tallies, column, level, asked, limit - parts.failing)
            if lost > limit - parts.failing:
                break
            costs[column, level] = cost + (parts.failing + lost) * steps.stars[column]
    return paid, costs


@kernel
def weigh(
    steps: Steps,
    start: Int64s,
    shown: Int32s,
    rows: Int64s,
    tallies: Int64s,
    column: int,
    level: int,
    least: int,
    most: int,
) -> tuple[int, float]:
    """Return the rows in groups of fewer than `least` once a column tells them apart, and what the others pay for it.

    It stops when there are more than `most` of the former.
    """
    base, own = steps.node_start[column, level], steps.loss_start[column, level]
    lost, cost = 0, 0.0
    for group in range(len(start) - 1):
        first, end = start[group], start[group + 1]
        for index in range(first, end):
            tallies[steps.nodes[base + shown[index]]] += rows[index]
        for index in range(first, end):
            node = steps.nodes[base + shown[index]]
            tally = tallies[node]
            if tally >= least:
                cost += tally * steps.losses[own + node]
            else:
                lost += tally
            tallies[node] = 0
        if lost > most:
            break
    return lost, cost
