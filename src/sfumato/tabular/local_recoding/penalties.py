"""What it costs to show a class as its smallest cover: one column's penalty by nodes, by reach, or by values of a set.

The normalised certainty penalty of Xu et al. 2006, by which a release is measured (`sfumato.evaluate.utility`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.schema import Kind
from sfumato.table.coding import Column
from sfumato.tabular.lattice.ladder import Ladder

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
LINE, TREE, SET = range(3)
# What is known of each column: how it is shown; where its numbers start; how many codes it has, and how many of them
# (0 or 1) stand for a missing value; the first word of its bits in a cover; where weight and pairs lie in costs.
KIND, START, SIZE, MISSING, BITS, WEIGHT, PAIRS, FACTS = range(8)
WORD_BITS = 64
MOST_PAIRED = 512  # codes of a column whose pairs are computed beforehand


class Penalties(NamedTuple):
    """The penalties of all columns as plain arrays: `facts` by column, `nodes` of trees by level and code, `costs`.

    `costs` has, from START on, what a tree's nodes cost by level and code, where codes lie on a line, or what a set
    costs by its number of values. A cover takes `width` integers.
    """

    facts: Int64s
    nodes: Int32s
    costs: Floats
    width: int


def shown_as(column: Column) -> int:
    """Return whether a class shows a column as a range (LINE), as a node (TREE) or as the values it has (SET).

    Nodes are those of its hierarchy; dates and times without one have calendar periods, texts have `*` alone.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute, Role
    >>> from sfumato.table.coding import code
    >>> age = Attribute("age", Role.QUASI, Kind.INTEGER)
    >>> shown_as(code(pl.Series([31, 35]), age)) == LINE
    True
    """
    if column.attribute.hierarchy is not None or column.kind in {Kind.DATE, Kind.TIMESTAMP, Kind.TEXT}:
        return TREE
    return LINE if column.kind.ordered else SET


def penalties(columns: Sequence[Column], weights: Mapping[str, float] | None = None) -> Penalties:
    """Return the penalties of columns for compiled loops, each column times its weight.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute, Role
    >>> from sfumato.table.coding import code
    >>> age = code(pl.Series("age", [20, 30, 40]), Attribute("age", Role.QUASI, Kind.NUMBER))
    >>> penalties([age]).costs.tolist()
    [0.0, 0.5, 1.0, 1.0, 0.0, 0.5, 1.0, 0.5, 0.0, 0.5, 1.0, 0.5, 0.0]
    """
    from sfumato.tabular.local_recoding.cover_kernel import fill_pairs

    facts = np.zeros((len(columns), FACTS), dtype=np.int64)
    nodes: list[Int32s] = []
    costs: list[Floats] = []
    filled, width = 0, 2 * len(columns)
    for row, column in zip(facts, columns, strict=True):
        kind, weight = shown_as(column), 1.0 if weights is None else weights.get(column.name, 1.0)
        node, cost = _ways(column, kind)
        pairs = column.size**2 if column.size <= MOST_PAIRED else 0
        row[[KIND, START, SIZE, MISSING]] = kind, filled, column.size, column.has_missing
        row[[BITS, WEIGHT, PAIRS]] = width, filled + len(cost), filled + len(cost) + 1 if pairs else -1
        costs += [cost * weight, np.array([weight]), np.zeros(pairs)]
        nodes += [node, np.zeros(1 + pairs + len(cost) - len(node), dtype=np.int32)]
        filled += len(cost) + 1 + pairs
        width += -(-column.size // WORD_BITS) if kind == SET else 0
    found = Penalties(facts, np.concatenate(nodes), np.concatenate(costs), width)
    fill_pairs(found.facts, found.nodes, found.costs)
    return found


def _ways(column: Column, kind: int) -> tuple[Int32s, Floats]:
    """Return the flat numbers of one column: nodes and their costs by level and code, places, or costs by values."""
    none = np.empty(0, dtype=np.int32)
    if kind == TREE:
        ladder = Ladder.of(column)
        nodes = np.concatenate(ladder.nodes)
        return nodes, np.concatenate([loss[node] for loss, node in zip(ladder.losses, ladder.nodes, strict=True)])
    if kind == LINE:
        return none, _places(column)
    counts = np.arange(column.size + 2, dtype=np.float64)
    return none, np.minimum(1.0, np.where(counts > 1, counts, 0.0) / max(1, len(column.levels)))


def _places(column: Column) -> Floats:
    """Return where each code lies on the column's domain as a share of it; a missing value, alone, at 0."""
    shift = np.zeros(int(column.has_missing))
    if not len(column.levels):
        return shift
    low, high = column.domain
    levels = column.levels if column.kind.numeric else np.arange(len(column.levels))
    values = np.asarray(levels, dtype=np.float64)
    half = max(high / 2 - low / 2, np.finfo(np.float64).tiny)  # so that the widest scale stays finite
    return np.concatenate([shift, (values / 2 - low / 2) / half])
