"""Groups merged with their nearest neighbours until each satisfies every model, not only k.

Merging keeps all these models once they hold (see `Model.merge_monotone`); the nearest group by centroid costs least.
"""

from __future__ import annotations

import numpy as np

from sfumato.models.criteria import Criteria
from sfumato.tabular.microaggregation.loss import Labels, Records, group_sums
from sfumato.tabular.microaggregation.polish import dense
from sfumato.tabular.mondrian import members
from sfumato.tabular.problem import Problem


def repaired(problem: Problem, points: Records, labels: Labels) -> Labels:
    """Return the groups, merged where a model asks for it.

    The whole table satisfies every model (the problem was refused otherwise), so merging ends.
    """
    if problem.person is None and not problem.sensitive:
        return labels
    labels = dense(labels)
    sums, sizes = group_sums(points, labels)
    test = _Test(problem)
    pending = [group for group in range(len(sizes)) if not test.holds(np.flatnonzero(labels == group))]
    while pending:
        group = pending.pop()
        if sizes[group] == 0:
            continue
        nearest = _nearest(sums, sizes, group)
        labels[labels == group] = nearest
        sums[nearest] += sums[group]
        sizes[nearest] += sizes[group]
        sizes[group] = 0
        if not test.holds(np.flatnonzero(labels == nearest)):
            pending.append(nearest)
    return dense(labels)


def _nearest(sums: Records, sizes: Labels, group: int) -> int:
    live = sizes > 0
    live[group] = False
    means = sums / np.maximum(sizes, 1)[:, None]
    distances = np.square(means - means[group]).sum(axis=1)
    return int(np.argmin(np.where(live, distances, np.inf)))


class _Test:
    """The compiled test of one class, over every row as a point of its own."""

    def __init__(self, problem: Problem) -> None:
        self.members = members(problem, np.arange(problem.table.rows))
        self.criteria: Criteria = problem.criteria()
        self.least = problem.least_units

    def holds(self, rows: Labels) -> bool:
        """Whether these rows may be a class."""
        from sfumato.tabular.class_test_kernel import WEIGHT, class_holds

        return class_holds((1 << WEIGHT) + rows, self.members, self.criteria, 0, len(rows), self.least)
