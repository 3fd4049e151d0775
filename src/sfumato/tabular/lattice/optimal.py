"""Optimal: the cheapest full-domain generalisation when a share of the rows may be suppressed.

In the line of OLA (El Emam et al. 2009) and Flash (Kohlmayer et al. 2012): what may be suppressed
shrinks on the way up, so the lattice is pruned as Incognito prunes it; costs have a floor that grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from sfumato.core.parameters import OneOf, Real
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.lattice.full_domain import chosen_partition
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.loss import METRIC, METRICS
from sfumato.tabular.lattice.search import cheapest
from sfumato.tabular.lattice.suppression import LOCAL, SUPPRESS, most_rows, recode_node, stands
from sfumato.tabular.problem import Problem


@dataclass(frozen=True)
class Optimal(PartitionAnonymizer):
    """Full-domain generalisation of least loss, at most the share `suppress` of the rows suppressed.

    `local=True` then gives suppressed rows wider labels of their own where that holds them.
    `ranges` and `keep_order` are as for Mondrian.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [21, 22, 21, 22, 90]}))
    >>> release = Optimal(suppress=0.2, keep_order=True).anonymize(
    ...     people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    >>> release.frame["age"].to_list(), release.card.warnings[-1]
    (['21', '22', '21', '22'], 'rows that no class could hold were left out of the release')
    """

    metric: Literal["ncp", "discernibility", "height"] = "ncp"
    suppress: float = 0.0
    local: bool = False
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "metric": OneOf(tuple(METRICS)),
        "suppress": Real(0, 1),
        "local": OneOf((False, True)),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "metric": METRIC,
        "suppress": SUPPRESS,
        "local": LOCAL,
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
    }
    algorithm: ClassVar = "optimal"
    reads_counts: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(suppress=0.1, local=True),)

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of the cheapest node."""
        lattice = Lattice.of(problem)
        levels = cheapest(
            lattice,
            self.metric,
            most_rows(self.suppress, problem.rows),
            lambda levels: stands(problem, lattice, recode_node(lattice, levels)),
        )
        return chosen_partition(
            problem, lattice, levels or lattice.top, self.ranges, self.metric if self.local else None
        )
