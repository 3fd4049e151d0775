"""Optimal: the cheapest full-domain generalisation when a share of the rows may be suppressed.

In the line of OLA (El Emam et al. 2009) and Flash (Kohlmayer et al. 2012), searched by branch and bound; within a
time limit, the best node so far (as Prasser et al. 2021 search lattices of many columns).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from sfumato.core.compiling import working_time
from sfumato.core.parameters import OneOf, Option, Optional, Real
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.lattice.cheapest import cheapest
from sfumato.tabular.lattice.full_domain import chosen_partition, recoded_partition
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.loss import METRIC, METRICS
from sfumato.tabular.lattice.search import refuse_large
from sfumato.tabular.lattice.suppression import LOCAL, SUPPRESS, most_rows, recode_in_rounds, recode_node, stands
from sfumato.tabular.problem import Problem

SECONDS = Option("How long to search; without it, until the cheapest generalisation is proven.")
GAP = "search_gap"  # by which share the loss could still fall, as far as the search can tell


@dataclass(frozen=True)
class Optimal(PartitionAnonymizer):
    """Full-domain generalisation of least loss, at most the share `suppress` of the rows suppressed.

    `local=True` takes many nodes, each for rows that no node before it holds, so that few rows need wide labels.
    `ranges` and `keep_order` are as for Mondrian. With `seconds` the search ends by then, and the steward learns by
    which share the loss could still fall (`search_gap`); so does Ctrl-C.

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
    seconds: float | None = None

    RULES: ClassVar = {
        "metric": OneOf(tuple(METRICS)),
        "suppress": Real(0, 1),
        "local": OneOf((False, True)),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
        "seconds": Optional(Real(0, above=True)),
    }
    OPTIONS: ClassVar = {
        "metric": METRIC,
        "suppress": SUPPRESS,
        "local": LOCAL,
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
        "seconds": SECONDS,
    }
    algorithm: ClassVar = "optimal"
    reads_counts: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(suppress=0.1, local=True),)

    @property
    def fits_people(self) -> Literal["labels", "parts"]:
        """People of a population fit labels; each fits just one where nothing is suppressed."""
        return "labels" if self.suppress or self.local else "parts"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of the cheapest node, or of the best found in time; locally, those of many nodes."""
        lattice, limit = Lattice.of(problem), most_rows(self.suppress, problem.rows)
        lattice.tally(lattice.top)  # loads the kernels, which is no search
        until = None if self.seconds is None else working_time() + self.seconds
        if self.local:
            recoding = recode_in_rounds(lattice, self.metric, until)
            if recoding.lost_rows(lattice) <= limit and stands(problem, lattice, recoding):
                return recoded_partition(problem, lattice, recoding, self.ranges)
        if until is None:
            refuse_large(lattice, "set a limit on the search with --seconds, ")
        found = cheapest(
            lattice, self.metric, limit, lambda levels: stands(problem, lattice, recode_node(lattice, levels)), until
        )
        local = self.metric if self.local else None
        chosen = chosen_partition(problem, lattice, found.levels or lattice.top, self.ranges, local)
        return replace(chosen, steward={**chosen.steward, GAP: found.gap})
