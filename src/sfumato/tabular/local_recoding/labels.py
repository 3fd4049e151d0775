"""Classes written out by their smallest covers: labels of hierarchies, ranges, sets, and calendar periods for dates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.schema import Kind
from sfumato.table.coding import Column
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.population import Masks, TightLabels
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, distinct_texts, limit_columns, recode

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
PERIODS = {Kind.DATE, Kind.TIMESTAMP}


def show_classes(problem: Problem, labels: Int64s, count: int, ranges: str) -> dict[str, list[Coarse]]:
    """Return what each class shows of every quasi-identifier."""
    return {column.name: _show(column, labels, count, ranges) for column in problem.quasi}


def _show(column: Column, labels: Int64s, count: int, ranges: str) -> list[Coarse]:
    if _by_periods(column):
        return _show_periods(Ladder.of(column), column, labels, count, ranges)
    return recode(column, column.codes, labels, count, ranges)


def shown_masks(problem: Problem, labels: Int64s) -> Masks:
    """Return, of each class, which codes of every quasi-identifier stand under what it shows."""
    tight = TightLabels(problem.quasi, labels)
    ladders = {place: Ladder.of(column) for place, column in enumerate(problem.quasi) if _by_periods(column)}

    def masks(number: int) -> list[Bools]:
        found = tight(number)
        for place, ladder in ladders.items():
            codes = problem.quasi[place].codes[tight.rows[number]]
            nodes = next(nodes for nodes in ladder.nodes if len(np.unique(nodes[codes])) == 1)
            found[place] = nodes == nodes[codes[0]]
        return found

    return masks


def _by_periods(column: Column) -> bool:
    return column.attribute.hierarchy is None and column.kind in PERIODS and len(column.levels) > 0


def _show_periods(ladder: Ladder, column: Column, labels: Int64s, count: int, ranges: str) -> list[Coarse]:
    """Return the smallest period of each class, or its first and last day."""
    low, high = np.full(count, np.iinfo(np.int32).max, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    np.minimum.at(low, labels, column.codes)
    np.maximum.at(high, labels, column.codes)
    levels = np.full(count, ladder.top)
    for level in range(ladder.top - 1, -1, -1):
        levels[ladder.nodes[level][low] == ladder.nodes[level][high]] = level
    nodes = np.array([ladder.nodes[level][code] for level, code in zip(levels, low, strict=True)])
    if ranges == "columns" and ladder.edges:
        every = [ladder.limits(level) for level in range(ladder.top + 1)]
        ends = (
            np.array([every[level][part][node] for level, node in zip(levels, nodes, strict=True)]) for part in range(3)
        )
        return limit_columns(column, *ends)
    texts = [ladder.labels[level][node] or None for level, node in zip(levels, nodes, strict=True)]
    return [distinct_texts(column.name, texts, np.arange(count))]
