"""What the compiled test of a class needs to know of a problem: sensitive codes, persons and criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.models.criteria import COUNTED, Criteria
from sfumato.table.distinct import distinct
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    from sfumato.tabular.class_test_kernel import Members, Ties

Int64s = npt.NDArray[np.int64]


class ClassTest(NamedTuple):
    """The arguments of `class_holds`; without `ties` rows are counted, and a far smaller test is compiled."""

    members: Members
    ties: Ties | None
    criteria: Criteria


def class_test(problem: Problem, examples: Int64s) -> ClassTest:
    """Return the test of a class for the points that `examples` shows, the smallest that the models can do with."""
    from sfumato.tabular.class_test_kernel import Members

    columns, criteria = list(problem.sensitive.values()), problem.criteria()
    sensitive = np.zeros((len(columns), len(examples)), dtype=np.int32)
    for row, column in enumerate(columns):
        sensitive[row] = column.codes[examples]
    values = max((column.size for column in columns), default=1)
    members = Members(sensitive, np.zeros(values, dtype=np.int64))
    if problem.person is None and np.isin(criteria.kind, COUNTED).all():
        return ClassTest(members, None, criteria)
    return ClassTest(members, _ties(problem, examples, members), criteria)


def _ties(problem: Problem, examples: Int64s, members: Members) -> Ties:
    from sfumato.tabular.class_test_kernel import Ties

    person, pairs, stamps = np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64), 0
    if problem.person is not None:
        person = problem.person[examples]
        stamps = int(person.max()) + 1
        pairs = np.zeros(members.sensitive.shape, dtype=np.int64)
        for row, column in enumerate(problem.sensitive.values()):
            pairs[row] = distinct([person, members.sensitive[row]], [stamps, column.size]).ids
        stamps = max(stamps, len(examples))
    return Ties(person, pairs, np.full(stamps + 1, -1, dtype=np.int64), np.zeros(len(members.counts) + 1))
