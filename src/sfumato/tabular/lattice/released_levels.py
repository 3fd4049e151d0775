"""The levels of a full-domain release: what cards say of them, from released labels alone, and what the steward hears.

A level is read off the labels that are released and the hierarchy that was declared. The level that the search took
could be another one with the same labels, and suppressed rows had a say in that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sfumato.core.cells import SUPPRESSED, literal
from sfumato.hierarchy import Hierarchy
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.suppression import Recoding


class ToldLevels(NamedTuple):
    """What a release says of its levels: sentences and numbers of the card, and notes for the steward."""

    changes: list[str]
    measures: dict[str, float]
    notes: list[str]


def told_levels(lattice: Lattice, recoding: Recoding) -> ToldLevels:
    """Return what is told of the levels of a recoding; of one with many nodes, how many they are.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> from sfumato.tabular.lattice.suppression import recode_node
    >>> table = sf.Table.from_frame(pl.DataFrame({"age": [21, 22, 33, 34]}))
    >>> lattice = Lattice.of(Problem.of(table, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)]))
    >>> told_levels(lattice, recode_node(lattice, (2,))).changes
    ['age: shown by labels such as [20-23].']
    >>> told_levels(lattice, recode_node(lattice, (2,))).notes
    ['levels chosen: age 2 (like [20-23])']
    """
    kept = np.arange(len(recoding.levels)) != recoding.suppressed
    nodes = np.unique(recoding.levels[kept], axis=0) if kept.any() else np.empty((0, 0), dtype=np.int64)
    if len(nodes) != 1:
        return ToldLevels([], {}, [f"rows are shown at {len(nodes):,} combinations of levels"] if len(nodes) else [])
    changes, measures, chosen = list[str](), dict[str, float](), list[str]()
    for place, (ladder, level) in enumerate(zip(lattice.ladders, nodes[0].tolist(), strict=True)):
        name, hierarchy = ladder.column.name, ladder.column.attribute.hierarchy
        chosen.append(f"{name} {level} ({ladder.level_name(level)})")
        labels = _labels(ladder, level, lattice.codes[recoding.examples[kept], place].tolist())
        if not labels or labels == {SUPPRESSED}:
            continue
        if hierarchy is None:
            changes.append(f"{name}: shown by labels such as {min(labels)}.")
            continue
        seen = visible_level(hierarchy, labels)
        measures[f"level of {name}"] = float(seen)
        shown = f"level {seen} of {hierarchy.height} of its hierarchy, as in {min(labels)}" if seen else "its values"
        changes.append(f"{name}: shown {'at' if seen else 'by'} {shown}.")
    return ToldLevels(changes, measures, [f"levels chosen: {', '.join(chosen)}"])


def _labels(ladder: Ladder, level: int, codes: Iterable[int]) -> set[str]:
    """Return the labels that some codes show at a level, without a missing value's own."""
    nodes = {int(ladder.nodes[level][code]) for code in codes}
    if ladder.column.has_missing and level < ladder.top:
        nodes.discard(0)
    return {ladder.labels[level][node] for node in nodes}


def visible_level(hierarchy: Hierarchy, labels: set[str]) -> int:
    """Return the lowest level of a hierarchy that has all these labels.

    >>> visible_level(Hierarchy.from_rows([("1", "low", "*"), ("2", "high", "*")]), {"high"})
    1
    """
    for level in range(hierarchy.height):
        if labels <= {path[level] if level else literal(path[level]) for path in hierarchy.paths}:
            return level
    return hierarchy.height
