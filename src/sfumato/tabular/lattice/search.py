"""Searches over a lattice: every node that satisfies the models, the minimal ones, and the cheapest.

Subset and roll-up properties: LeFevre, DeWitt & Ramakrishnan 2005, sections 3.1 and 3.2. Best-first
search with a floor: the idea of Flash and OLA (Kohlmayer et al. 2012; El Emam et al. 2009).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.loss import METRICS

Bools = npt.NDArray[np.bool_]
MOST_NODES = 1 << 26


def satisfying_nodes(lattice: Lattice, limit: int = 0) -> Bools:
    """Return, by levels, which nodes leave at most `limit` rows in groups that break a model.

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
    _refuse_large(lattice)
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
    return found


def _settle(lattice: Lattice, found: Bools, subset: tuple[int, ...], limit: int) -> None:
    """Mark the nodes that keep exactly the columns of `subset` below their tops."""
    tops = [slice(top, top + 1) for top in lattice.top]
    inner = [slice(0, top) if place in subset else tops[place] for place, top in enumerate(lattice.top)]
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


def cheapest(
    lattice: Lattice, metric: str, limit: int = 0, accepts: Callable[[Levels], bool] = lambda _: True
) -> Levels | None:
    """Return the accepted node of least cost that leaves at most `limit` rows to suppress, or None.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> cheapest(Lattice.of(problem), "ncp", limit=1)
    (0, 1)
    """
    seeds = minimal(satisfying_nodes(lattice if lattice.prunable(limit) else lattice.relaxed, limit))
    cost = METRICS[metric]
    waiting: list[tuple[float, int, Levels]] = [(0.0, sum(levels), levels) for levels in seeds]
    seen = {levels for _, _, levels in waiting}
    heapq.heapify(waiting)
    best, chosen = math.inf, None
    while waiting and waiting[0][0] < best:
        levels = heapq.heappop(waiting)[2]
        tally = lattice.tally(levels)
        floor, total = cost(lattice, tally)
        tell(1 - len(waiting) / len(seen), f"{len(seen) - len(waiting)} of {len(seen)} nodes")
        if tally.failing_rows <= limit and total < best and accepts(levels):
            best, chosen = total, levels
        for upper in _above(lattice, levels):
            if upper not in seen:
                seen.add(upper)
                heapq.heappush(waiting, (floor, sum(upper), upper))
    return chosen


def _above(lattice: Lattice, levels: Levels) -> Iterator[Levels]:
    for place, (level, top) in enumerate(zip(levels, lattice.top, strict=True)):
        if level < top:
            yield (*levels[:place], level + 1, *levels[place + 1 :])


def _refuse_large(lattice: Lattice) -> None:
    nodes = math.prod(lattice.shape)
    if nodes > MOST_NODES:
        raise ParameterError(
            f"the lattice has {nodes:,} nodes and at most {MOST_NODES:,} can be searched; "
            "use fewer quasi-identifiers, shorter hierarchies, or Datafly"
        )
