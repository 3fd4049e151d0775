"""What a node of the lattice costs: NCP, discernibility or height, suppressed rows counted as fully general.

NCP: Xu et al. 2006 (the share of each column's scale that a label covers); discernibility: Bayardo &
Agrawal 2005 (a row costs the rows it cannot be told from, a suppressed row the whole table); height:
Samarati 2001. Each cost comes with a floor that never falls on the way up, so a search can stop early.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Option
from sfumato.errors import ParameterError
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.lattice.lattice import JudgedNode, Lattice

Floats = npt.NDArray[np.float64]


class NodeCost(NamedTuple):
    """The cost of a node, and a floor: no node above it, and not the node itself, can cost less."""

    floor: float
    total: float


def ncp(lattice: Lattice, tally: JudgedNode) -> NodeCost:
    """Return the normalised certainty penalty, added up over rows and quasi-identifiers by their weights."""
    floor = sum(losses[level] for losses, level in zip(lattice.ladder_losses, tally.levels, strict=True))
    spared = lattice.weights.sum() - lattice.group_losses(tally, tally.failing)
    return NodeCost(floor, floor + float(tally.sizes[tally.failing] @ spared))


def discernibility(lattice: Lattice, tally: JudgedNode) -> NodeCost:
    """Return the sum of squared group sizes; a row in a failing group costs the table's rows."""
    squares = tally.sizes.astype(float) ** 2
    kept = float(squares[~tally.failing].sum())
    return NodeCost(float(squares.sum()), kept + float(tally.failing_rows) * lattice.table_rows)


def height(lattice: Lattice, tally: JudgedNode) -> NodeCost:
    """Return the weighted steps up the ladders, added up over rows; a row in a failing group goes to the top."""
    steps, most = (float(lattice.weights @ np.array(levels)) for levels in (tally.levels, lattice.top))
    return NodeCost(lattice.rows * steps, lattice.rows * steps + tally.failing_rows * (most - steps))


METRICS: dict[str, Callable[[Lattice, JudgedNode], NodeCost]] = {
    "ncp": ncp,
    "discernibility": discernibility,
    "height": height,
}


def refuse_unweighed(lattice: Lattice, metric: str) -> None:
    """Refuse weights of columns where the metric has nothing to weigh: discernibility counts rows alone."""
    heavy = next((ladder for ladder, each in zip(lattice.ladders, lattice.weights, strict=True) if each != 1), None)
    if heavy is not None and metric == "discernibility":
        raise ParameterError(
            f"column '{heavy.column.name}' has a weight, and discernibility counts rows and no columns; use the metric "
            "ncp or height, or leave the weight out"
        )


def _height_losses(ladder: Ladder, level: int) -> Floats:
    return np.full(len(ladder.labels[level]), float(level))


def _no_losses(ladder: Ladder, level: int) -> Floats:
    return np.zeros(len(ladder.labels[level]))


STEP_LOSSES: dict[str, Callable[[Ladder, int], Floats]] = {  # what a row of each node of a level costs, where rows do
    "ncp": lambda ladder, level: ladder.losses[level],
    "discernibility": _no_losses,
    "height": _height_losses,
}
METRIC = Option("Cost that the chosen generalisation minimises.")
