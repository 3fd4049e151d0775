"""Classes written out by their smallest covers: labels of hierarchies, ranges, sets, and calendar periods for dates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.schema import Kind
from sfumato.table.coding import Column
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, distinct_texts, limit_columns, recode

Int64s = npt.NDArray[np.int64]
PERIODS = {Kind.DATE, Kind.TIMESTAMP}


def show_classes(problem: Problem, labels: Int64s, count: int, ranges: str) -> dict[str, list[Coarse]]:
    """Return what each class shows of every quasi-identifier."""
    return {column.name: _show(column, labels, count, ranges) for column in problem.quasi}


def _show(column: Column, labels: Int64s, count: int, ranges: str) -> list[Coarse]:
    if column.attribute.hierarchy is None and column.kind in PERIODS and len(column.levels):
        return _show_periods(Ladder.of(column), column, labels, count, ranges)
    return recode(column, column.codes, labels, count, ranges)


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
