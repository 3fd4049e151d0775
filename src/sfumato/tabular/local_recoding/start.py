"""Classes that a search starts from: founded cheapest first, or Mondrian's where these cost less.

Growth by the certainty penalty: Xu et al. 2006; Mondrian: LeFevre, DeWitt & Ramakrishnan 2006.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.tabular.class_test import ClassTest, class_test
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.penalties import Penalties
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.problem import Problem

Int64s = npt.NDArray[np.int64]
REACH = 32, 128  # near cells from which a class is grown: at least, and at most
TRIES = 64  # classes that a row left over may join, cheapest first


def compiled_test(problem: Problem) -> ClassTest | None:
    """Return the compiled test of a class of rows; None where k rows are all that is asked."""
    test = class_test(problem, np.arange(problem.table.rows))
    return test if test.ties is not None or len(test.criteria.kind) else None


def start_labels(problem: Problem, cells: Cells, penalties: Penalties) -> Int64s:
    """Return the class of every row: those founded from near cells, or Mondrian's where they cost no more.

    A model that only its own slow criterion can test is left to Mondrian.
    """
    found = Mondrian().partition(problem)
    cut = np.asarray(found.rows)
    if problem.uncompiled:
        return cut
    founded = found_labels(problem, cells, penalties, compiled_test(problem))
    if founded is None or total_penalty(cells, penalties, cut) <= total_penalty(cells, penalties, founded):
        return cut
    return founded


def total_penalty(cells: Cells, penalties: Penalties, labels: Int64s) -> float:
    """Return the penalty of all rows together in given classes."""
    from sfumato.tabular.local_recoding.classes_kernel import class_penalties

    sizes = np.bincount(labels)
    facts, nodes, costs, width = penalties
    each = class_penalties(facts, nodes, costs, cells.codes, cells.of_row, labels, len(sizes), width)
    return float(sizes @ each)


def found_labels(problem: Problem, cells: Cells, penalties: Penalties, test: ClassTest | None) -> Int64s | None:
    """Return classes founded cheapest first, round after round among cells left over; None if some find no class."""
    from sfumato.tabular.local_recoding.start_kernel import found_classes

    facts, nodes, costs, width = penalties
    label = np.full(cells.count, -1, dtype=np.int64)
    founded, least = 0, problem.least_units
    reach = min(max(2 * least, REACH[0]), REACH[1])
    while True:
        places = np.flatnonzero(label < 0)
        tell(1 - len(places) / cells.count, f"{founded} classes to start from")
        if len(places) == 0:
            break
        near = cells.near(penalties, places, reach)
        before = founded
        founded = found_classes(
            facts, nodes, costs, cells.codes, width, places, near, cells.rows, cells.first, label, founded, least, test
        )
        if founded == before:
            break
    return _placed(cells, penalties, label, founded, least, test) if founded else None


def _placed(
    cells: Cells, penalties: Penalties, label: Int64s, founded: int, least: int, test: ClassTest | None
) -> Int64s | None:
    """Return the class of every row, cells left over put where the total penalty grows least and every model holds."""
    from sfumato.tabular.class_test_kernel import WEIGHT
    from sfumato.tabular.local_recoding.classes_kernel import growths
    from sfumato.tabular.local_recoding.start_kernel import holds

    facts, nodes, costs, width = penalties
    labels = label[cells.of_row]
    for cell in np.flatnonzero(label < 0).tolist():
        members = cells.rows[cells.first[cell] : cells.first[cell + 1]]
        grown = growths(facts, nodes, costs, cells.codes, cells.of_row, labels, founded, width, cell, len(members))
        for group in np.argsort(grown, kind="stable")[:TRIES].tolist():
            rows = np.concatenate([np.flatnonzero(labels == group), members])
            if test is None or holds((1 << WEIGHT) + rows, len(rows), least, test):
                labels[members] = group
                break
        else:
            return None
    return labels
