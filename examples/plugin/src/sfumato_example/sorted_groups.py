"""Rows sorted by one column and cut into runs: the simplest anonymizer that keeps any model.

Classes that break a model join their neighbour until none does, as in the merging step of Machanavajjhala et al. 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.parameters import Name, OneOf, Option, Optional
from sfumato.errors import ParameterError
from sfumato.tabular.base import KEEP_ORDER, RANGES, Classes, Partition, PartitionAnonymizer
from sfumato.tabular.problem import Problem


@dataclass(frozen=True)
class SortedGroups(PartitionAnonymizer):
    """Runs of rows that are near each other in one quasi-identifier.

    >>> SortedGroups(by="age").algorithm
    'sorted-groups'
    """

    by: str | None = None
    ranges: str = "text"
    keep_order: bool = False

    RULES: ClassVar = {"by": Optional(Name()), "ranges": OneOf(("text", "columns")), "keep_order": OneOf((False, True))}
    OPTIONS: ClassVar = {
        "by": Option("Quasi-identifier to sort by; the first one unless given."),
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
    }
    algorithm: ClassVar = "sorted-groups"

    def partition(self, problem: Problem) -> Partition:
        """Return runs of distinct rows in the order of one column, merged until every model holds."""
        points = problem.points
        order = np.argsort(self._codes(problem)[points.examples], kind="stable")
        before = np.cumsum(points.counts[order]) - points.counts[order]
        runs = np.empty(points.count, dtype=np.int64)
        runs[order] = before // problem.least_units
        classes = np.unique(runs, return_inverse=True)[1]
        while (failing := self._failing(problem, classes[points.ids])).any() and len(failing) > 1:
            joined = np.maximum(np.cumsum(~failing) - 1, 0)  # a failing run joins the one before it
            classes = joined[classes]
        return Partition(points, classes, int(classes.max()) + 1)

    def _codes(self, problem: Problem) -> Classes:
        columns = {column.name: column for column in problem.quasi}
        if self.by is not None and self.by not in columns:
            raise ParameterError(
                f"--by names '{self.by}', which is no quasi-identifier; there are {', '.join(columns)}"
            )
        return columns[self.by or problem.quasi[0].name].codes.astype(np.int64)

    def _failing(self, problem: Problem, classes: Classes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which classes break a model: any model can say so, also one without a compiled test."""
        groups = problem.groups(classes)
        failing = np.zeros(groups.count, dtype=np.bool_)
        for model in problem.models:
            failing |= model.failing(groups)
        return failing
