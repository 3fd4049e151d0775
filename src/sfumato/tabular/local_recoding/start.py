"""Classes that a search starts from: those of many nodes of the lattice, founded ones, or Mondrian's.

Many nodes: Prasser, Bild & Kuhn 2016; growth by the certainty penalty: Xu et al. 2006; Mondrian: LeFevre, DeWitt &
Ramakrishnan 2006.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.core.progress import tell
from sfumato.tabular.class_test import ClassTest, class_test
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.suppression import held_in_rounds
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import WEIGHT, Penalties
from sfumato.tabular.local_recoding.strata import strata_of
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
REACH = 32, 128  # near cells from which a class is grown: at least, and at most
OTHERS, NEAR, NODES = 0.1, 0.6, 0.8  # shares of the seconds that end each part of the start
FAVOUR = 0.95  # what classes of nodes count beside others at equal loss
TRIES = 64  # classes that a row left over may join, cheapest first


def compiled_test(problem: Problem) -> ClassTest | None:
    """Return the compiled test of a class of rows; None where k rows are all that is asked."""
    test = class_test(problem, np.arange(problem.table.rows))
    return test if test.ties is not None or len(test.criteria.kind) else None


class Start(NamedTuple):
    """The class of every row, and the near cells of every cell where they were found in time."""

    labels: Int64s
    near: Int32s | None


class Deadlines(NamedTuple):
    """Moments by `working_time`: when no other start is tried, no near cells are looked for, and no nodes are taken."""

    others: float | None = None
    near: float | None = None
    nodes: float | None = None

    @classmethod
    def of(cls, begun: float, seconds: float | None) -> Deadlines:
        """Return the deadlines of a search of so many seconds in all; none where its attempts are counted alone."""
        return cls() if seconds is None else cls(*(begun + share * seconds for share in (OTHERS, NEAR, NODES)))


def start_classes(problem: Problem, cells: Cells, penalties: Penalties, deadlines: Deadlines | None = None) -> Start:
    """Return classes of many nodes or founded ones, Mondrian's where these cost less; what is not ready is left out.

    A model that only its own slow criterion can test is left to Mondrian, and so is one that weighs all values of a
    class: near rows seldom satisfy it.
    """
    deadlines = deadlines or Deadlines()
    cut = np.asarray(Mondrian().partition(problem).rows)
    if problem.uncompiled:
        return Start(cut, None)
    founding = Founding(problem, cells, penalties, deadlines.near)
    found = cut if strata_of(problem) is not None else _cheapest_start(problem, founding, cut, deadlines)
    try:
        if founding.near is None:
            founding.near = cells.near(penalties, np.arange(cells.count), REACH[0], deadlines.near)
    except TimeoutError:
        pass
    return Start(found, founding.near)


def _cheapest_start(problem: Problem, founding: Founding, cut: Int64s, deadlines: Deadlines) -> Int64s:
    """Return the cheapest classes; those of nodes count as a little cheaper, since a search improves them most.

    What is ready sooner comes first: nodes where k is all that is asked, since sensitive values make them slow. The
    other ones follow where little of the time is over.
    """
    quick, founded, nodes = founding.test is None, None, None
    for first in (quick, not quick):
        if first != quick and deadlines.others is not None and working_time() >= deadlines.others:
            break
        if first:
            until = deadlines.nodes if quick else deadlines.near
            nodes = node_classes(problem, founding.cells, founding.penalties, until)
        else:
            founded = founding.labels()
    total = partial(total_penalty, founding.cells, founding.penalties)
    best = founded if founded is not None and total(founded) < total(cut) else cut
    if nodes is not None and total(nodes) < total(cut) and FAVOUR * total(nodes) < total(best):
        best = nodes
    return best


def node_classes(problem: Problem, cells: Cells, penalties: Penalties, until: float | None = None) -> Int64s | None:
    """Return classes of many nodes, each of little loss and for rows that no node before it holds.

    What no node holds, or none before `until`, is cut by Mondrian; where it cannot be a class, each cell joins the
    class that grows least and still holds. None where a cell fits no class.
    """
    facts, _, costs, _ = penalties
    lattice = replace(Lattice.of(problem), weights=costs[facts[:, WEIGHT]])
    labels = held_in_rounds(lattice, "ncp", until)[lattice.cell_of_point][problem.points.ids]
    rest, count = labels < 0, int(labels.max()) + 1
    if rest.any() and problem.admits(np.flatnonzero(rest)):
        others = replace(problem.only(rest), references=problem.shares)
        labels[rest] = count + np.asarray(Mondrian().partition(others).rows)
    elif rest.any():
        founding = Founding(problem, cells, penalties)
        founding.founded = count
        return founding.placed(labels) if count else None
    return labels


def total_penalty(cells: Cells, penalties: Penalties, labels: Int64s) -> float:
    """Return the penalty of all rows together in given classes."""
    from sfumato.tabular.local_recoding.classes_kernel import class_penalties

    sizes = np.bincount(labels)
    facts, nodes, costs, width = penalties
    each = class_penalties(facts, nodes, costs, cells.codes, cells.of_row, labels, len(sizes), width)
    return float(sizes @ each)


class Founding:
    """Classes founded cheapest first, round after round among the cells left over."""

    def __init__(self, problem: Problem, cells: Cells, penalties: Penalties, until: float | None = None) -> None:
        self.cells, self.penalties, self.until = cells, penalties, until
        self.least, self.test = problem.least_units, compiled_test(problem)
        self.near: Int32s | None = None  # of every cell, from the first round
        self.founded = 0

    def labels(self) -> Int64s | None:
        """Return the class of every row; None where some find no class, or not in time."""
        try:
            return self._in_rounds()
        except TimeoutError:
            return None

    def _in_rounds(self) -> Int64s | None:
        label = np.full(self.cells.count, -1, dtype=np.int64)
        before = -1
        while before < self.founded and (label < 0).any():
            before = self.founded
            places = np.flatnonzero(label < 0)
            tell(1 - len(places) / self.cells.count, f"{self.founded} classes to start from")
            self._found(label, places)
        return self.placed(label[self.cells.of_row]) if self.founded else None

    def _found(self, label: Int64s, places: Int64s) -> None:
        from sfumato.tabular.local_recoding.start_kernel import found_classes

        cells, (facts, nodes, costs, width) = self.cells, self.penalties
        near = cells.near(self.penalties, places, min(max(2 * self.least, REACH[0]), REACH[1]), self.until)
        self.near = near if self.near is None else self.near
        self.founded = found_classes(
            facts,
            nodes,
            costs,
            cells.codes,
            width,
            places,
            near,
            cells.rows,
            cells.first,
            label,
            self.founded,
            self.least,
            self.test,
        )

    def placed(self, labels: Int64s) -> Int64s | None:
        """Return the class of every row, cells left over put where the penalty grows least and every model holds."""
        cells = self.cells
        for cell in np.unique(cells.of_row[labels < 0]).tolist():
            members = cells.rows[cells.first[cell] : cells.first[cell + 1]]
            hosts = self._hosts(labels, cell, len(members))
            group = next(filter(partial(self._may_join, labels, members), hosts), None)
            if group is None:
                return None
            labels[members] = group
        return labels

    def _hosts(self, labels: Int64s, cell: int, rows: int) -> list[int]:
        """Return the classes whose penalty would grow least by a cell, the best first."""
        from sfumato.tabular.local_recoding.classes_kernel import growths

        cells, (facts, nodes, costs, width) = self.cells, self.penalties
        grown = growths(facts, nodes, costs, cells.codes, cells.of_row, labels, self.founded, width, cell, rows)
        return [int(group) for group in np.argsort(grown, kind="stable")[:TRIES]]

    def _may_join(self, labels: Int64s, members: Int64s, group: int) -> bool:
        from sfumato.tabular.class_test_kernel import WEIGHT
        from sfumato.tabular.local_recoding.start_kernel import holds

        rows = np.concatenate([np.flatnonzero(labels == group), members])
        return self.test is None or bool(holds((1 << WEIGHT) + rows, len(rows), self.least, self.test))
