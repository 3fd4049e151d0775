"""Groups merged with their nearest neighbours until each satisfies every model, not only k.

Merging keeps all these models once they hold (see `Model.merge_monotone`), unless persons have rows in both groups; the
nearest group by centroid costs least.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.table.distinct import distinct
from sfumato.tabular.class_test import class_test
from sfumato.tabular.microaggregation.loss import Labels, Records, dense_labels, group_sums
from sfumato.tabular.microaggregation.records import records
from sfumato.tabular.problem import Problem
from sfumato.tabular.recode import Coarse

Show = Callable[[Labels, int], list[Coarse]]


def merge_until_models_hold(problem: Problem, points: Records, labels: Labels) -> Labels:
    """Return the groups, merged where a model asks for it.

    The whole table satisfies every model (the problem was refused otherwise), so merging ends.
    """
    if problem.person is None and not problem.sensitive and not problem.uncompiled:
        return labels
    sums, sizes = group_sums(points, labels)
    means = sums / sizes[:, None]
    rows = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    test = _Test(problem)
    pending = list(range(len(rows)))
    while pending:
        group = pending.pop()
        if len(rows[group]) == 0 or test.holds(rows[group]):
            continue  # gone into another one, or good enough by now
        nearest = _nearest(means, group)
        rows[nearest] = np.concatenate([rows[nearest], rows[group]])
        rows[group] = rows[group][:0]
        sums[nearest] += sums[group]
        means[nearest], means[group] = sums[nearest] / len(rows[nearest]), np.inf
        pending.append(nearest)
    merged = np.empty_like(labels)
    merged[np.concatenate(rows)] = np.repeat(np.arange(len(rows)), [len(one) for one in rows])
    return dense_labels(merged)


def join_alike(problem: Problem, labels: Labels, show: Show, points: Records | None = None) -> Labels:
    """Return the groups of rows, those that are shown alike joined, and merged until each satisfies every model.

    Groups that show the same are one class. Two that satisfy a model may break it as one where a person has rows in
    both, or where the model does not survive merging; otherwise the groups are returned as they are.
    """
    breaks = problem.person is not None and bool(problem.sensitive)
    if not breaks and all(model.merge_monotone for model in problem.models):
        return labels
    points = records(list(problem.quasi)) if points is None else points
    while True:
        coarse = show(labels, int(labels.max()) + 1)
        shown = distinct([column.index for column in coarse], [len(column.values) for column in coarse])
        if shown.count == int(labels.max()) + 1:
            return labels
        labels = merge_until_models_hold(problem, points, shown.ids[labels])


def _nearest(means: Records, group: int) -> int:
    """Return the group of the nearest mean; groups that are gone lie at infinity."""
    apart = means - means[group]
    distances = np.einsum("ij,ij->i", apart, apart)
    distances[group] = np.inf
    return int(np.argmin(distances))


class _Test:
    """The compiled test of one class, over every row as a point of its own."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.uncompiled = problem, problem.uncompiled
        self.test, self.least = class_test(problem, np.arange(problem.table.rows)), problem.least_units

    def holds(self, rows: Labels) -> bool:
        """Whether these rows may be a class."""
        from sfumato.tabular.class_test_kernel import WEIGHT, class_holds

        if not class_holds((1 << WEIGHT) + rows, *self.test, 0, len(rows), self.least):
            return False
        return not self.uncompiled or self.problem.admits(rows, models=self.uncompiled)
