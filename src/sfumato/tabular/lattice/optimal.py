"""Optimal: the cheapest full-domain generalisation when a share of the rows may be suppressed.

In the line of OLA (El Emam et al. 2009) and Flash (Kohlmayer et al. 2012), searched by branch and bound; within a
time limit, the best node so far (as Prasser et al. 2021 search lattices of many columns).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from sfumato.core.compiling import working_time
from sfumato.core.parameters import Name, OneOf, Option, Optional, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.explanation import Explanation
from sfumato.tabular.lattice.cheapest import Cheapest, cheapest
from sfumato.tabular.lattice.full_domain import NODE, chosen_partition, named_node, recoded_partition, refuse_worlds
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.limits import no_node_within
from sfumato.tabular.lattice.loss import METRIC, METRICS, refuse_unweighed
from sfumato.tabular.lattice.search import LARGE_SECONDS, MOST_NODES
from sfumato.tabular.lattice.solutions import Choice, explain_choice
from sfumato.tabular.lattice.suppression import LOCAL, SUPPRESS, most_rows, recode_in_rounds, recode_node, stands
from sfumato.tabular.problem import Problem

SECONDS = Option(
    f"How long to search; without it, until the cheapest generalisation is proven, or {LARGE_SECONDS:g} where the "
    f"lattice has more than {MOST_NODES:,} nodes."
)
GAP = "search_gap"  # by which share the loss could still fall, as far as the search can tell


@dataclass(frozen=True)
class Optimal(PartitionAnonymizer):
    """Full-domain generalisation of least loss, at most the share `suppress` of the rows suppressed.

    `local=True` takes many nodes, each for rows that no node before it holds, so that few rows need wide labels.
    `node` names the levels to release. `ranges` and `keep_order` are as for Mondrian. With `seconds` the search ends by
    then, and the steward learns by which share the loss could still fall (`search_gap`); so does Ctrl-C. Without it a
    lattice of more than 67 million nodes is searched for a minute.

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
    node: str | None = None
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False
    seconds: float | None = None

    RULES: ClassVar = {
        "metric": OneOf(tuple(METRICS)),
        "suppress": Real(0, 1),
        "local": OneOf((False, True)),
        "node": Optional(Name("a node, such as '2,0,1' or 'age=2,zip=0'")),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
        "seconds": Optional(Real(0, above=True)),
    }
    OPTIONS: ClassVar = {
        "metric": METRIC,
        "suppress": SUPPRESS,
        "local": LOCAL,
        "node": NODE,
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
        "seconds": SECONDS,
    }
    algorithm: ClassVar = "optimal"
    reads_counts: ClassVar = True
    has_levels: ClassVar = True
    weighs_columns: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(suppress=0.1, local=True),)

    @property
    def fits_people(self) -> Literal["labels", "parts"]:
        """People of a population fit labels; each fits just one where nothing is suppressed."""
        return "labels" if self.suppress or self.local else "parts"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of the cheapest node, or of the best found in time; locally, those of many nodes."""
        lattice, limit = self._lattice(problem), most_rows(self.suppress, problem.rows)
        local = self.metric if self.local else None
        if self.node is not None:
            return chosen_partition(
                problem, lattice, named_node(problem, lattice, self.node, limit), self.ranges, local
            )
        if self.local:
            recoding = recode_in_rounds(lattice, self.metric, self._until(None))
            if recoding.lost_rows(lattice) <= limit and stands(problem, lattice, recoding):
                return recoded_partition(problem, lattice, recoding, self.ranges)
        found = self._search(lattice, limit)
        if found.levels is None:
            raise no_node_within(lattice, limit)
        chosen = chosen_partition(problem, lattice, found.levels, self.ranges, local)
        notes = [*chosen.notes, *self._hurry_words(lattice)]
        return replace(chosen, steward={**chosen.steward, GAP: found.gap}, notes=notes)

    def partition_worlds(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return what partitions worlds; refused where a person chose or limited levels, or the clock decides."""
        refuse_worlds(problem, self.node)
        if self._until(Lattice.of(problem)) is not None:
            raise ParameterError(
                "optimal that stops by the clock never does the same twice, so nobody can try it on other worlds; "
                "leave --seconds out, or take fewer columns"
            )
        return self.partition

    def explain(self, table: Table, schema: Schema, models: Sequence[Model]) -> Explanation:
        """Return the minimal nodes, or the cheapest where rows may be suppressed; first the released one, if known.

        Where the clock ends the search, or `local` takes many nodes, it is not known.
        """
        lattice = self._lattice(Problem.of(table, schema, list(models)))
        limit, released = most_rows(self.suppress, lattice.problem.rows), None
        if self.node is not None:
            released = named_node(lattice.problem, lattice, self.node, limit)
        elif not self.local and self._until(lattice) is None:
            released = self._search(lattice, limit).levels
            if released is None:
                raise no_node_within(lattice, limit)
        return explain_choice(lattice, Choice(self.metric, limit, self._until(lattice)), released)

    def _lattice(self, problem: Problem) -> Lattice:
        lattice = Lattice.of(problem)
        refuse_unweighed(lattice, self.metric)
        lattice.tally(lattice.top)  # loads the kernels, which is no search
        return lattice

    def _search(self, lattice: Lattice, limit: int) -> Cheapest:
        def allowed(levels: Levels) -> bool:
            return stands(lattice.problem, lattice, recode_node(lattice, levels))

        return cheapest(lattice, self.metric, limit, allowed, self._until(lattice))

    def _until(self, lattice: Lattice | None) -> float | None:
        """Return when a search must end, by `working_time`; None where it ends by itself."""
        seconds = LARGE_SECONDS if lattice is not None and self._hurried(lattice) else self.seconds
        return None if seconds is None else working_time() + seconds

    def _hurried(self, lattice: Lattice) -> bool:
        return self.seconds is None and math.prod(lattice.shape) > MOST_NODES

    def _hurry_words(self, lattice: Lattice) -> list[str]:
        if not self._hurried(lattice):
            return []
        nodes = math.prod(lattice.shape)
        words = f"the lattice has {nodes:,} nodes, so the search ended after {LARGE_SECONDS:g} seconds at most"
        return [f"{words}; --seconds gives it another time"]
