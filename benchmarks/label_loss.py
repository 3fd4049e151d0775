"""The loss of a released file, from its labels alone: a cell whose label covers m of D leaves costs (m - 1)/(D - 1).

The measure of ARX (Iyengar 2002); it reads what every tool writes, and knows no tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

import sfumato as sf


def leaves_under(tree: sf.Hierarchy) -> dict[str, int]:
    """Return how many leaves every label of a hierarchy covers."""
    found = Counter(label for path in tree.paths for label in set(path))
    return {**found, "*": len(tree.paths)}


def label_loss(released: pl.DataFrame, trees: Mapping[str, sf.Hierarchy]) -> float:
    """Return the mean loss of all cells of the columns that have a hierarchy."""
    total = 0.0
    for name, tree in trees.items():
        leaves, whole = leaves_under(tree), len(tree.paths)
        for label, count in released[name].cast(pl.String).value_counts().iter_rows():
            total += count * (leaves[label] - 1) / max(1, whole - 1)
    return total / released.height / len(trees)
