"""The lattice as a tree: columns get their levels one after the other, and every node has a bound on all below it.

Branch and bound (Land & Doig 1960). A branch fixes some columns; the others are at their tops. What fails there
fails at every node of the lattice that agrees on the fixed columns, so it bounds what all of these cost. The next
column is the one with the fewest levels left (Haralick & Elliott 1980).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.loss import STEP_LOSSES

if TYPE_CHECKING:
    from sfumato.tabular.lattice.branch_kernel import Cells, Parts, Steps

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
LEAST_GAIN = 1e-9  # as a share of the best cost: a node that gains less is not looked for


class Branch(NamedTuple):
    """Some columns at levels of their own; `lows` tells from which level each column can still cost less than the best.

    No node of the lattice that agrees on the fixed columns costs less than `bound`.
    """

    bound: float
    columns: tuple[int, ...]
    levels: Levels
    lows: Levels

    def node(self) -> Levels:
        """The node of the lattice, once all columns are fixed."""
        return tuple(level for _, level in sorted(zip(self.columns, self.levels, strict=True)))

    def open(self) -> Int64s:
        """The columns that are not fixed."""
        return np.array([place for place in range(len(self.lows)) if place not in self.columns], dtype=np.int64)


class View(NamedTuple):
    """The cells that a branch tells apart, and their groups."""

    cells: Cells
    parts: Parts


class Visit(NamedTuple):
    """What a visit found: a node that may be the cheapest, or the branches just below and what they start from."""

    leaf: Branch | None
    below: list[Branch]
    view: View


class Descent(NamedTuple):
    """What a descent found: nodes that may be the cheapest, branches not finished, and how many it visited."""

    leaves: list[Branch]
    unfinished: list[Branch]
    visits: int


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of a lattice for one metric and a number of rows that may fail.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> tree = Tree(Lattice.of(problem), "ncp", limit=1)
    >>> [(leaf.bound, leaf.node()) for leaf in tree.descend(tree.root, tree.whole, 9.0, lambda: False).leaves]
    [(4.0, (0, 1))]
    """

    lattice: Lattice
    metric: str
    limit: int
    several: bool = False  # looks for several nodes, so that a leaf bounds nothing by itself
    spares: bool = False  # suppressed rows cost what they would if they were not, for whoever recodes them later

    @cached_property
    def steps(self) -> Steps:
        """The ladders as the kernels read them."""
        from sfumato.tabular.lattice.branch_kernel import Steps

        ladders = self.lattice.ladders
        losses = [
            [weight * STEP_LOSSES[self.metric](ladder, level) for level in range(ladder.top + 1)]
            for ladder, weight in zip(ladders, self.lattice.weights.tolist(), strict=True)
        ]
        return Steps(
            nodes=np.concatenate([nodes for ladder in ladders for nodes in ladder.nodes]),
            node_start=_starts([[len(nodes) for nodes in ladder.nodes] for ladder in ladders]),
            losses=np.concatenate([loss for column in losses for loss in column]),
            loss_start=_starts([[len(loss) for loss in column] for column in losses]),
            sizes=_padded([[len(loss) for loss in column] for column in losses]),
            tops=np.array(self.lattice.top, dtype=np.int64),
            stars=np.array([column[-1][0] for column in losses]),
        )

    @cached_property
    def root(self) -> Branch:
        """The branch that holds every node."""
        return Branch(0.0, (), (), self.lattice.lows)

    @cached_property
    def whole(self) -> View:
        """All cells in one group."""
        from sfumato.tabular.lattice.branch_kernel import Cells, Parts

        finest = self.lattice.finest.example
        codes = np.ascontiguousarray(self.lattice.codes[finest].T)
        cells = Cells(codes, self.lattice.cell_rows, np.zeros(len(finest)))
        return View(cells, Parts(np.arange(len(finest)), np.array([0, len(finest)]), 0))

    @cached_property
    def unsuppressed(self) -> Floats:
        """What each column costs at each level if no row is suppressed."""
        from sfumato.tabular.lattice.branch_kernel import foresee

        free = np.arange(len(self.lattice.ladders))
        return foresee(self.steps, *self.whole, free, np.zeros_like(free), 0, self.lattice.rows)[1]

    @cached_property
    def closed(self) -> npt.NDArray[np.bool_]:
        """Which levels of each column lie above the highest one allowed; the top of a column may be among them."""
        return np.arange(self.steps.sizes.shape[1]) > np.array(self.lattice.highs)[:, None]

    @cached_property
    def exact(self) -> bool:
        """Whether the bound of a branch without open columns is the cost of its node, which may be released."""
        problem = self.lattice.problem
        lattice = self.lattice
        by_size = len(lattice.criteria.kind) == 0 and not lattice.uncompiled and not lattice.of_table
        return by_size and problem.person is None and self.metric != "discernibility"

    @cached_property
    def judge(self) -> Lattice | None:
        """The lattice whose failing groups fail in every branch below; None where few rows are the only reason."""
        lattice = self.lattice
        if lattice.problem.person is None and len(lattice.criteria.kind) == 0 and not lattice.uncompiled:
            return None
        return lattice if lattice.prunable(self.limit) else lattice.relaxed

    def enter(self, branch: Branch) -> View:
        """Return the view of a branch, from the whole table."""
        return self.fix(self.whole, branch.columns, branch.levels)

    def fix(self, view: View, columns: tuple[int, ...], levels: Levels) -> View:
        """Return the view once more columns are fixed, without the groups that fail."""
        from sfumato.tabular.lattice.branch_kernel import Parts, narrow

        where, how = np.array(columns, dtype=np.int64), np.array(levels, dtype=np.int64)
        found = View(*narrow(self.steps, *view, where, how, self.lattice.least_units, self.limit))
        if self.judge is None or found.parts.failing > self.limit:
            return found
        order, start, failing = found.parts
        bad = self.judge.failing_groups(order, start)
        if not bad.any():
            return found
        lengths = start[1:] - start[:-1]
        goes, kept = np.repeat(bad, lengths), lengths[~bad]
        bounds = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum(kept, out=bounds[1:])
        lost = int(found.cells.rows[order[goes]].sum())
        return View(found.cells, Parts(order[~goes], bounds, failing + lost))

    def visit(self, branch: Branch, view: View, best: float) -> Visit:
        """Return the branches just below that may cost less than `best`, cheapest first, and the view they start from.

        Columns with one level left are fixed at once; a branch without open columns is a leaf, bounded by its own cost.
        """
        ceiling = best * (1 - LEAST_GAIN)
        while view.parts.failing <= self.limit:
            free, lows = branch.open(), np.array(branch.lows, dtype=np.int64)
            bound, costs = self._foresee(branch, view, free, lows[free])
            if bound >= ceiling:
                break
            if not free.size:
                return Visit(branch._replace(bound=bound), [], view)
            dearer = costs - costs.min(axis=1, keepdims=True) + bound
            good = dearer < ceiling
            lows[free] = good.argmax(axis=1)
            left = good.sum(axis=1)
            if left.min() > 1:
                chosen = np.lexsort((-costs.min(axis=1), left))[0]
                place = int(free[chosen])
                below = [(float(dearer[chosen, level]), int(level)) for level in np.flatnonzero(good[chosen])]
                branches = [self._below(branch, least, (place,), (level,), lows) for least, level in sorted(below)]
                return Visit(None, branches, view)
            forced = free[left == 1]
            branch = self._below(branch, bound, tuple(forced.tolist()), tuple(lows[forced].tolist()), lows)
            view = self.fix(view, branch.columns[-len(forced) :], branch.levels[-len(forced) :])
        return Visit(None, [], view)

    @staticmethod
    def _below(branch: Branch, bound: float, columns: tuple[int, ...], levels: Levels, lows: Int64s) -> Branch:
        return Branch(bound, branch.columns + columns, branch.levels + levels, tuple(lows.tolist()))

    def lighten(self, visit: Visit) -> View:
        """Return the view below a visit with as few cells as its open columns tell apart."""
        from sfumato.tabular.lattice.branch_kernel import condense

        if not visit.below or self.judge is not None:
            return visit.view
        free, lows = self._open(visit.below[0]._replace(columns=visit.below[0].columns[:-1]))
        return View(*condense(self.steps, *visit.view, free, lows))

    @staticmethod
    def _open(branch: Branch) -> tuple[Int64s, Int64s]:
        """Return the columns that a branch leaves open, and their lowest levels."""
        free = branch.open()
        return free, np.array(branch.lows, dtype=np.int64)[free]

    def _foresee(self, branch: Branch, view: View, free: Int64s, lows: Int64s) -> tuple[float, Floats]:
        """Return the bound of a branch, and the least that each open column costs by its level."""
        from sfumato.tabular.lattice.branch_kernel import foresee

        least = self.lattice.least_units
        paid, costs = foresee(self.steps, *view, free, lows, least, self.limit)
        costs = np.where(self.closed, np.inf, costs)[free]
        if free.size and not np.isfinite(costs.min(axis=1)).all():
            return np.inf, costs  # no level of a column is left
        if self.metric == "discernibility":
            return self._squares(view, free, lows), costs
        if self.spares:
            costs = np.where(np.isfinite(costs), self.unsuppressed[free], np.inf)
            paid = self.unsuppressed[list(branch.columns), list(branch.levels)].sum()
            return float(paid + costs.min(axis=1).sum()), costs
        stars = self.steps.stars[list(branch.columns)].sum()
        return float(paid + stars * view.parts.failing + costs.min(axis=1).sum()), costs

    def _squares(self, view: View, free: Int64s, lows: Int64s) -> float:
        """Return what rows cost at least by discernibility: a row in no group all rows, others their finest group."""
        from sfumato.tabular.lattice.branch_kernel import condense

        cells, _ = condense(self.steps, *view, free, lows)
        least, suppressed = (1, 1) if self.spares else (self.lattice.least_units, self.lattice.table_rows)
        sizes = np.maximum(cells.rows, least).astype(np.float64)
        return float((sizes * cells.rows).sum()) + float(view.parts.failing) * suppressed

    def descend(self, branch: Branch, view: View, best: float, stopped: Callable[[], bool]) -> Descent:
        """Return all nodes below a branch that may cost less than `best`, depth first; `view` lacks its last column."""
        waiting, leaves, visits = [(branch, view)], list[Branch](), 0
        while waiting:
            branch, view = waiting.pop()
            if branch.bound >= best * (1 - LEAST_GAIN):
                continue
            if stopped():
                waiting.append((branch, view))
                break
            visit = self.visit(branch, self.fix(view, branch.columns[-1:], branch.levels[-1:]), best)
            view = self.lighten(visit)
            waiting += [(child, view) for child in reversed(visit.below)]
            visits += 1
            if visit.leaf is not None:
                leaves.append(visit.leaf)
                best = min(best, visit.leaf.bound) if self.exact and not self.several else best
        return Descent(leaves, [branch for branch, _ in waiting], visits)


def _starts(sizes: list[list[int]]) -> Int64s:
    """Return where each level of each column starts when all lie one after the other."""
    flat = np.concatenate([[0], np.cumsum([size for column in sizes for size in column])])
    firsts = np.cumsum([0, *(len(column) for column in sizes)])
    return _padded([flat[first : first + len(column)].tolist() for first, column in zip(firsts, sizes, strict=False)])


def _padded(rows: list[list[int]]) -> Int64s:
    """Return rows of different lengths as a table, zeros at their ends."""
    table = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table
