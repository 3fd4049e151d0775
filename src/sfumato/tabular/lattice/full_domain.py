"""A full-domain generalisation written out: the label of each class's node, or its limits as two columns.

Full-domain generalisation shows one level of its hierarchy for all of a column (Samarati 2001); after
local recoding a class has levels of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.cells import SUPPRESSED
from sfumato.core.parameters import Option
from sfumato.errors import ParameterError, UnsatisfiableError
from sfumato.tabular.base import Partition
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.limits import given_node
from sfumato.tabular.lattice.released_levels import told_levels
from sfumato.tabular.lattice.suppression import Recoding, node_labels, recode_locally, recode_node, stands
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse, distinct_texts, limit_columns

NODE = Option(
    "Release exactly this node: a level for each column in order, as in 2,0,1, or by name, as in age=2,zip=0."
)


def named_node(problem: Problem, lattice: Lattice, text: str, limit: int) -> Levels:
    """Return the node that a person names; refused where its release would break a model or suppress too many rows."""
    levels = given_node(lattice, text, limit)
    if not stands(problem, lattice, recode_node(lattice, levels)):
        raise UnsatisfiableError(
            f"node '{text}' leaves rows out, and the other rows by themselves break a model that compares classes with "
            "all of them; give higher levels"
        )
    return levels


def refuse_worlds(problem: Problem, node: str | None) -> None:
    """Refuse to partition worlds where a person named or limited levels: in some of them no release would be made."""
    limited = next((column.name for column in problem.quasi if column.attribute.max_level is not None), None)
    if node is not None or limited is not None:
        told = "--node names levels" if node is not None else f"column '{limited}' has a max_level"
        raise ParameterError(f"{told}, which other sensitive values could make impossible to keep; audit without it")


def chosen_partition(problem: Problem, lattice: Lattice, levels: Levels, ranges: str, local: str | None) -> Partition:
    """Return the partition of a node; `local` names the metric of local recoding, None goes without."""
    recoding = recode_node(lattice, levels)
    if local is not None:
        finer = recode_locally(lattice, levels, local)
        recoding = finer if stands(problem, lattice, finer) else recoding
    return recoded_partition(problem, lattice, recoding, ranges)


def recoded_partition(problem: Problem, lattice: Lattice, recoding: Recoding, ranges: str) -> Partition:
    """Return the partition of a recoding."""
    rows = np.bincount(recoding.classes + 1, weights=lattice.cell_rows, minlength=len(recoding.levels) + 1)
    starred = int(rows[recoding.suppressed + 1]) if recoding.suppressed >= 0 else 0
    told = told_levels(lattice, recoding)
    return Partition(
        problem.points,
        recoding.classes[lattice.cell_of_point],
        len(recoding.levels),
        {
            ladder.column.name: _write_column(ladder, recoding, lattice.codes[recoding.examples, place], place, ranges)
            for place, ladder in enumerate(lattice.ladders)
        },
        {"rows_starred": starred, **told.measures},
        {"rows_suppressed": int(rows[0])},
        notes=told.notes,
        changes=told.changes,
        levels=_chosen_levels(lattice, recoding),
        labels=node_labels(lattice, recoding),
    )


def _chosen_levels(lattice: Lattice, recoding: Recoding) -> dict[str, tuple[int, int, int]]:
    """Return the lowest and the highest level that each column is shown on, the class of `*` apart, and its top."""
    shown = recoding.levels if recoding.suppressed < 0 else recoding.levels[: recoding.suppressed]
    if not len(shown):
        return {}
    lowest, highest = shown.min(axis=0), shown.max(axis=0)
    return {
        ladder.column.name: (int(low), int(high), ladder.top)
        for ladder, low, high in zip(lattice.ladders, lowest, highest, strict=True)
    }


def _write_column(
    ladder: Ladder, recoding: Recoding, codes: npt.NDArray[np.int32], place: int, ranges: str
) -> list[Coarse]:
    """Return one released column: the label, or the limits, of each class's node."""
    levels = recoding.levels[:, place]
    nodes = np.array([ladder.nodes[level][code] for level, code in zip(levels, codes, strict=True)])
    column = ladder.column
    if ranges == "columns" and ladder.edges:
        every = [ladder.limits(level) for level in range(ladder.top + 1)]
        low, high, missing = (
            np.array([every[level][part][node] for level, node in zip(levels, nodes, strict=True)]) for part in range(3)
        )
        return limit_columns(column, low, high, missing)
    texts = [ladder.labels[level][node] or None for level, node in zip(levels, nodes, strict=True)]
    if recoding.suppressed >= 0:
        texts[recoding.suppressed] = SUPPRESSED
    return [distinct_texts(column.name, texts, np.arange(len(texts)))]
