"""The cheapest node of a lattice: the best so far at any moment, a bound on all others, and in the end the proof.

Best-first branch and bound (Land & Doig 1960), and between its rounds a beam search that is four times wider each time
(complete anytime beam search: Zhang 1998), so that a good node is known early and prunes the rest.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import NamedTuple, TypeVar

from sfumato.core.compiling import working_time
from sfumato.core.progress import tell
from sfumato.core.threads import most_threads
from sfumato.tabular.lattice.branch import LEAST_GAIN, Branch, Descent, Tree, View, Visit
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.loss import METRICS

Given = TypeVar("Given")
Made = TypeVar("Made")
BATCH = 8  # branches between two looks at the best cost; threads share them, and the result does not depend on threads
DEEP = 6  # with so few open columns a branch is searched to its end at once
FIRST_VISITS = 32  # before the first beam, for a bound that says something
FIRST_WIDTH, FIRST_ROUND, GROWTH = 16, 1024, 4  # beam and visits of the first round, and their growth
SOME_WIDTH, SOME_VISITS = 4, 128  # beam and visits of a search for a node that holds some rows
SMALL = 2000  # nodes of a lattice that needs no second thread


class Cheapest(NamedTuple):
    """The cheapest node found, None without any; what it costs, and what every node costs at least."""

    levels: Levels | None
    cost: float
    bound: float

    @property
    def gap(self) -> float:
        """By which share the cost could still fall; 0 once the node is proven to be the cheapest."""
        return 0.0 if self.cost <= 0 else max(0.0, 1 - self.bound / self.cost)


def cheapest(
    lattice: Lattice,
    metric: str,
    limit: int = 0,
    accepts: Callable[[Levels], bool] = lambda _: True,
    until: float | None = None,
) -> Cheapest:
    """Return the accepted node of least cost that leaves at most `limit` rows to suppress.

    With `until`, a moment by `working_time`, it is the best found by then. Ctrl-C keeps the best so far.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> cheapest(Lattice.of(problem), "ncp", limit=1)
    Cheapest(levels=(0, 1), cost=4.0, bound=4.0)
    """
    search = _Search(Tree(lattice, metric, limit), accepts, until)
    search.work()
    return Cheapest(search.levels, search.cost, min(search.cost, search.bound))


class CheapNodes(NamedTuple):
    """The cheapest nodes found, each with its cost, cheapest first; and what every other node costs at least."""

    nodes: list[tuple[float, Levels]]
    bound: float

    @property
    def proven(self) -> bool:
        """Whether no node that is not among them costs less than any of them."""
        return not self.nodes or self.bound >= self.nodes[-1][0] * (1 - LEAST_GAIN)


def cheap_nodes(
    lattice: Lattice,
    metric: str,
    limit: int,
    most: int,
    accepts: Callable[[Levels], bool] = lambda _: True,
    until: float | None = None,
) -> CheapNodes:
    """Return the accepted nodes of least cost, at most so many, as `cheapest` finds one: a branch goes by the last one.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> cheap_nodes(Lattice.of(problem), "ncp", 1, most=2).nodes
    [(4.0, (0, 1)), (4.0, (1, 0))]
    """
    search = _Search(Tree(lattice, metric, limit, several=True), accepts, until, most)
    search.work()
    return CheapNodes(search.found, search.bound)


def node_of_some(lattice: Lattice, metric: str, least: int, *, hurried: bool = False) -> Levels | None:
    """Return the node that would cost least without suppression among those found at which `least` rows or more hold.

    Rows that fail there are for other nodes to hold, so they are not counted as suppressed. The search is bounded by
    visits and not by time; `hurried`, it goes down once.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"], "zip": ["a", "a", "b"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex", "zip"]), [sf.KAnonymity(2)])
    >>> node_of_some(Lattice.of(problem), "ncp", least=2)
    (0, 1)
    """
    search = _Search(Tree(lattice, metric, lattice.rows - least, spares=True), lambda _: True, None)
    search.settle(lattice.highs)
    search.push([search.tree.root])
    search.beam(1 if hurried else SOME_WIDTH)
    if not hurried:
        search.best_first(SOME_VISITS)
    return search.levels


@dataclass(eq=False)
class _Search:
    """One search: the best nodes so far, `most` of them, and the branches that wait."""

    tree: Tree
    accepts: Callable[[Levels], bool]
    until: float | None
    most: int = 1
    found: list[tuple[float, Levels]] = field(default_factory=list)
    begun: float = field(default_factory=working_time)
    bound: float = 0.0
    visits: int = 0
    stop: Event = field(default_factory=Event)
    threads: Executor | None = None
    timed: bool = False  # the first way down is taken whatever the time

    def __post_init__(self) -> None:
        self.waiting: list[tuple[float, int, int, Branch]] = []
        self.ticket = itertools.count()

    @property
    def cost(self) -> float:
        """What a node must cost less than to be worth a look: the cost of the last one that is kept."""
        return self.found[-1][0] if len(self.found) == self.most else math.inf

    @property
    def levels(self) -> Levels | None:
        """The best node so far."""
        return self.found[0][1] if self.found else None

    def work(self) -> None:
        """Search with all threads, from the widest node allowed; Ctrl-C ends it where there is a node."""
        self.settle(self.tree.lattice.highs)
        with self.workers():
            try:
                self.run()
            except KeyboardInterrupt:
                if not self.found:
                    raise

    @contextmanager
    def workers(self) -> Iterator[None]:
        """Have threads at hand inside the block, unless the lattice is small."""
        if most_threads() == 1 or math.prod(self.tree.lattice.shape) < SMALL:
            yield
            return
        with ThreadPoolExecutor(most_threads()) as self.threads:
            try:
                yield
            finally:
                self.stop.set()

    def run(self) -> None:
        """Search until no branch is left or the time is over."""
        self.push([self.tree.root])
        self.beam(1)
        self.timed = True
        self.best_first(self.visits + FIRST_VISITS)
        self.beam(GROWTH)
        width, visits = FIRST_WIDTH, FIRST_ROUND
        while self.waiting and not self.over():
            self.beam(width)
            self.best_first(self.visits + visits)
            width, visits = width * GROWTH, visits * GROWTH

    def over(self) -> bool:
        """Whether the search must end."""
        return self.stop.is_set() or (self.timed and self.until is not None and working_time() >= self.until)

    def ceiling(self) -> float:
        """What a node must not reach to be worth a look."""
        return self.cost * (1 - LEAST_GAIN)

    def push(self, branches: list[Branch]) -> None:
        """Let branches wait, lowest bound first, and take what can be no better off the list."""
        for branch in branches:
            heapq.heappush(self.waiting, (branch.bound, -len(branch.columns), next(self.ticket), branch))
        if self.waiting and self.waiting[0][0] >= self.ceiling():
            self.waiting.clear()
        self.bound = self.waiting[0][0] if self.waiting else self.cost

    def best_first(self, visits: int) -> None:
        """Visit the branches of lowest bound, until so many are visited in all."""
        while self.waiting and self.visits < visits and not self.over():
            batch = [heapq.heappop(self.waiting)[-1] for _ in range(min(BATCH, len(self.waiting)))]
            found = self.each(partial(self._advance, self.cost), batch)
            for descent in found:
                self.visits += descent.visits
                for leaf in descent.leaves:
                    self.take(leaf)
            self.push([branch for descent in found for branch in descent.unfinished])
            self.report()

    def _advance(self, best: float, branch: Branch) -> Descent:
        """Return what lies below a branch: all of it if few columns are open, otherwise the branches just below."""
        if self.over():
            return Descent([], [branch], 0)
        if len(branch.lows) - len(branch.columns) <= DEEP:
            upper = branch._replace(columns=branch.columns[:-1], levels=branch.levels[:-1])
            return self.tree.descend(branch, self.tree.enter(upper), best, self.over)
        visit = self.tree.visit(branch, self.tree.enter(branch), best)
        return Descent([] if visit.leaf is None else [visit.leaf], visit.below, 1)

    def beam(self, width: int) -> None:
        """Go down layer by layer with the `width` branches of lowest bound; what is left out still waits."""
        layer = [(self.tree.root, self.tree.whole)]
        while layer and not self.over():
            found = self.each(partial(self._step, self.cost), layer)
            self.visits += len(layer)
            for visit in found:
                self.take(visit.leaf)
            below = ((branch, visit.view) for visit in found for branch in visit.below)
            layer = sorted(below, key=lambda entry: entry[0].bound)[:width]
            self.report()

    def _step(self, best: float, entry: tuple[Branch, View]) -> Visit:
        branch, view = entry
        return self.tree.visit(branch, self.tree.fix(view, branch.columns[-1:], branch.levels[-1:]), best)

    def each(self, work: Callable[[Given], Made], batch: list[Given]) -> list[Made]:
        """Return what the work makes of each, on all threads if there is more than one to do."""
        if self.threads is None or len(batch) == 1:
            return [work(one) for one in batch]
        return list(self.threads.map(work, batch))

    def take(self, leaf: Branch | None) -> None:
        """Keep the node of a branch without open columns, if it is among the best so far."""
        if leaf is not None and leaf.bound < self.ceiling():
            self.settle(leaf.node())

    def settle(self, levels: Levels) -> None:
        """Judge a node and keep it, if it is among the best so far."""
        tally = self.tree.lattice.tally(levels)
        floor, total = METRICS[self.tree.metric](self.tree.lattice, tally)
        cost = floor if self.tree.spares else total
        known = any(levels == each for _, each in self.found)
        if tally.failing_rows <= self.tree.limit and cost < self.ceiling() and not known and self.accepts(levels):
            self.found = sorted([*self.found, (cost, levels)])[: self.most]

    def report(self) -> None:
        """Tell how far the search is: how much of its time is over, or how near the bound is to the best."""
        share = self.bound / self.cost if 0 < self.cost < math.inf else 0.0
        if self.until is not None:
            share = max(share, (working_time() - self.begun) / max(self.until - self.begun, LEAST_GAIN))
        unit = self.tree.lattice.rows * self.tree.lattice.weights.sum()
        best = f"cost {self.cost / unit:.4g}" if self.cost < math.inf else "no cost yet"
        known = f"{best}, at least {self.bound / unit:.4g} a cell"
        tell(min(1.0, share), f"{known}, {self.visits} nodes")
