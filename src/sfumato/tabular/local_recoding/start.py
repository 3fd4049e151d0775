"""Classes that a search starts from: founded cheapest first, or Mondrian's where these cost less.

Growth by the certainty penalty: Xu et al. 2006; Mondrian: LeFevre, DeWitt & Ramakrishnan 2006.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.tabular.class_test import ClassTest, class_test
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import Penalties
from sfumato.tabular.local_recoding.strata import strata_of
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
REACH = 32, 128  # near cells from which a class is grown: at least, and at most
TRIES = 64  # classes that a row left over may join, cheapest first


def compiled_test(problem: Problem) -> ClassTest | None:
    """Return the compiled test of a class of rows; None where k rows are all that is asked."""
    test = class_test(problem, np.arange(problem.table.rows))
    return test if test.ties is not None or len(test.criteria.kind) else None


class Start(NamedTuple):
    """The class of every row, and the near cells of every cell where they were found in time."""

    labels: Int64s
    near: Int32s | None


def start_classes(problem: Problem, cells: Cells, penalties: Penalties, until: float | None = None) -> Start:
    """Return the classes founded from near cells, or Mondrian's where they cost no more, or founding lasts too long.

    A model that only its own slow criterion can test is left to Mondrian, and so is one that weighs all values of a
    class: near rows seldom satisfy it.
    """
    cut = np.asarray(Mondrian().partition(problem).rows)
    if problem.uncompiled:
        return Start(cut, None)
    founding = Founding(problem, cells, penalties, until)
    try:
        if strata_of(problem) is not None:
            return Start(cut, cells.near(penalties, np.arange(cells.count), REACH[0], until))
        founded = founding.labels()
    except TimeoutError:
        return Start(cut, founding.near)
    if founded is None or total_penalty(cells, penalties, cut) <= total_penalty(cells, penalties, founded):
        return Start(cut, founding.near)
    return Start(founded, founding.near)


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
        """Return the class of every row; None where some find no class. It may raise a TimeoutError."""
        label = np.full(self.cells.count, -1, dtype=np.int64)
        before = -1
        while before < self.founded and (label < 0).any():
            before = self.founded
            places = np.flatnonzero(label < 0)
            tell(1 - len(places) / self.cells.count, f"{self.founded} classes to start from")
            self._found(label, places)
        return self._placed(label) if self.founded else None

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

    def _placed(self, label: Int64s) -> Int64s | None:
        """Return the class of every row, cells left over put where the penalty grows least and every model holds."""
        cells, labels = self.cells, label[self.cells.of_row]
        for cell in np.flatnonzero(label < 0).tolist():
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
