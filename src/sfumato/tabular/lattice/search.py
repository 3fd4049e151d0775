"""Every node of a lattice that satisfies the models, and the minimal ones among them.

Subset and roll-up properties: LeFevre, DeWitt & Ramakrishnan 2005, sections 3.1 and 3.2.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.tabular.lattice.lattice import Lattice, Levels

Bools = npt.NDArray[np.bool_]
MOST_NODES = 1 << 26
LARGE_SECONDS = 60.0  # for a search of a lattice of more nodes, where no time is given


def satisfying_nodes(lattice: Lattice, limit: int = 0) -> Bools:
    """Return, by levels, which allowed nodes leave at most `limit` rows in groups that break a model.

    A quasi-identifier at its top is one left out, so subsets of the quasi-identifiers are nodes too:
    small subsets are settled first, and a node is judged only when all its subsets satisfy the models
    and no node below it does. Where nothing follows from one node for another, all that
    could satisfy the models are judged.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> satisfying_nodes(Lattice.of(problem), limit=1).tolist()
    [[False, True], [True, True]]
    """
    refuse_large(lattice)
    if not lattice.prunable(limit):
        found = satisfying_nodes(lattice.relaxed, limit)
        for levels in np.argwhere(found).tolist():
            found[tuple(levels)] = lattice.tally(tuple(levels)).failing_rows <= limit
        return found
    found = np.zeros(lattice.shape, dtype=np.bool_)
    found[lattice.top] = lattice.tally(lattice.top).failing_rows <= limit
    columns = range(len(lattice.shape))
    settled, subsets = 0, 2 ** len(columns) - 1
    for size in range(1, len(columns) + 1):
        for subset in combinations(columns, size):
            tell(settled / subsets, f"{settled} of {subsets} sets of columns")
            _settle(lattice, found, subset, limit)
            settled += 1
    return found & _allowed(lattice)


def _allowed(lattice: Lattice) -> Bools:
    """Return, by levels, which nodes lie within the limits of every column."""
    inside = np.zeros(lattice.shape, dtype=np.bool_)
    inside[tuple(slice(low, high + 1) for low, high in zip(lattice.lows, lattice.highs, strict=True))] = True
    return inside


def _settle(lattice: Lattice, found: Bools, subset: tuple[int, ...], limit: int) -> None:
    """Mark the nodes that keep exactly the columns of `subset` below their tops."""
    tops = [slice(top, top + 1) for top in lattice.top]
    lows = lattice.lows
    inner = [slice(lows[place], top) if place in subset else tops[place] for place, top in enumerate(lattice.top)]
    block = found[tuple(inner)]
    candidates = np.ones(block.shape, dtype=np.bool_)
    for place in subset:
        candidates &= found[(*inner[:place], tops[place], *inner[place + 1 :])]
    places = np.argwhere(candidates)
    for place in places[np.argsort(places.sum(axis=1), kind="stable")].tolist():
        if block[tuple(place)]:
            continue
        levels = tuple(step + (part.start or 0) for step, part in zip(place, inner, strict=True))
        if lattice.tally(levels).failing_rows <= limit:
            block[tuple(slice(step, None) for step in place)] = True


def minimal(found: Bools) -> list[Levels]:
    """Return the marked nodes above no other marked node, lowest first.

    >>> minimal(np.array([[False, True], [True, True]]))
    [(0, 1), (1, 0)]
    """
    reached = found
    for axis in range(found.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    below = np.zeros_like(found)
    for axis in range(found.ndim):
        upper, lower = [slice(None)] * found.ndim, [slice(None)] * found.ndim
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        below[tuple(upper)] |= reached[tuple(lower)]
    return sorted((tuple(place) for place in np.argwhere(found & ~below).tolist()), key=lambda node: (sum(node), node))


def refuse_large(lattice: Lattice) -> None:
    """Refuse to list a lattice of too many nodes, with what to do instead."""
    nodes = math.prod(lattice.shape)
    if nodes > MOST_NODES:
        raise ParameterError(
            f"the lattice has {nodes:,} nodes and at most {MOST_NODES:,} can be listed; use fewer quasi-identifiers, "
            "shorter hierarchies, or --algorithm optimal, which searches without a list"
        )
