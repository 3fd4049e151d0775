"""What every microaggregation algorithm shares: groups of at least k near rows, each shown as its centroid.

Domingo-Ferrer & Mateo-Sanz 2002; each algorithm cites its own paper. A seed steers a search and is no secret.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from sfumato.core.parameters import OneOf, Option, Optional, Real, Rule, Whole
from sfumato.errors import ParameterError
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER as ORDER
from sfumato.tabular.base import Partition, PartitionAnonymizer
from sfumato.tabular.microaggregation.loss import Labels, Records, information_loss
from sfumato.tabular.problem import Problem

CENTROIDS = (
    "Quasi-identifiers are shown as their group's centroid (mean, middle, commonest word or common node), "
    "not as the persons' own values."
)
ORDER_RULES: dict[str, Rule] = {"keep_order": OneOf((False, True))}
SEED_RULES: dict[str, Rule] = {"seed": Whole(0), **ORDER_RULES}
SEARCH_RULES: dict[str, Rule] = {"seconds": Optional(Real(0, above=True)), **SEED_RULES}
ORDER_OPTIONS = {"keep_order": ORDER}
SEED_OPTIONS = {"seed": Option("Seed of the search; it need not be secret."), **ORDER_OPTIONS}
SEARCH_OPTIONS = {
    "seconds": Option("How long to search, the start included; reading, attacks, writing and report come on top."),
    **SEED_OPTIONS,
}


class Microaggregator(PartitionAnonymizer):
    """Finds groups of near rows; what they are shown as is the same for all.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 22, 70, 74]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> sf.MDAV(keep_order=True).anonymize(people, schema, [sf.KAnonymity(2)]).frame["age"].to_list()
    [21.0, 21.0, 72.0, 72.0]
    """

    notes: ClassVar = (CENTROIDS,)
    shown: ClassVar = (
        "{quasi}: replaced by the centroid of the group, which is its mean, its middle, its most frequent word or its "
        "common node."
    )

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        """Return instances with small parameters, for the conformance suite."""
        return (cls(),)

    @abstractmethod
    def groups(self, points: Records, k: int) -> Labels:
        """Return the group of every point; each group has at least k of them, or there is one."""

    def groups_until(self, points: Records, k: int, moment: float | None) -> Labels:
        """Return groups by a moment (of `working_time`) if the algorithm can stop; most go on to their end."""
        del moment
        return self.groups(points, k)

    def partition_worlds(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return what partitions worlds; groups begin alike, since near rows are found by quasi-identifiers alone."""
        from sfumato.tabular.microaggregation.records import records

        points = records(list(problem.quasi))
        near = self.groups(points, max(2, problem.least_units))
        each = Numbering(np.arange(problem.table.rows), np.ones(problem.table.rows, dtype=np.int64))

        def merge(world: Problem) -> Partition:
            labels = _merged(world, points, near.copy())
            return Partition(each, labels, int(labels.max()) + 1)

        return merge

    def partition(self, problem: Problem) -> Partition:
        """Return the groups, merged where a model beyond k asks for it, with their centroids."""
        from sfumato.tabular.microaggregation.centroids import centroid
        from sfumato.tabular.microaggregation.records import records

        points = records(list(problem.quasi))
        labels = _merged(problem, points, self.groups(points, max(2, problem.least_units)))
        count = int(labels.max()) + 1
        rows = problem.table.rows
        return Partition(
            Numbering(np.arange(rows), np.ones(rows, dtype=np.int64)),
            labels,
            count,
            {column.name: [centroid(column, labels, count)] for column in problem.quasi},
            steward={"information_loss": information_loss(points, labels)},
        )


def _merged(problem: Problem, points: Records, labels: Labels) -> Labels:
    """Return near rows' groups, merged until every model holds on what is released."""
    from sfumato.tabular.microaggregation.centroids import centroid
    from sfumato.tabular.microaggregation.repair import join_alike, merge_until_models_hold

    return join_alike(
        problem,
        merge_until_models_hold(problem, points, labels),
        lambda found, groups: [centroid(column, found, groups) for column in problem.quasi],
        points,
    )


def refuse_endless(search: Microaggregator, name: str, count: int | None, seconds: float | None) -> None:
    """Refuse a search that neither a number of steps nor a time would end.

    >>> import sfumato as sf
    >>> sf.Improve(seconds=None)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: Improve would never stop; give 'iterations', 'seconds' or both
    """
    if count is None and seconds is None:
        raise ParameterError(f"{type(search).__name__} would never stop; give '{name}', 'seconds' or both")
