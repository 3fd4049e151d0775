"""Datafly: generalise the column with the most distinct values until few enough rows are left to suppress.

Sweeney 1998 (and 2002, section 5.2), with counts rolled up from distinct rows and a declared suppression limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from sfumato.core.compiling import working_time
from sfumato.core.parameters import Name, OneOf, Optional, Real
from sfumato.models.base import Model
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.explanation import Explanation
from sfumato.tabular.lattice.full_domain import NODE, chosen_partition, named_node, refuse_worlds
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.limits import no_node_within
from sfumato.tabular.lattice.search import LARGE_SECONDS
from sfumato.tabular.lattice.solutions import Choice, explain_choice
from sfumato.tabular.lattice.suppression import LOCAL, SUPPRESS, most_rows, recode_node, stands
from sfumato.tabular.problem import Problem


@dataclass(frozen=True)
class Datafly(PartitionAnonymizer):
    """Greedy full-domain generalisation with suppression (Sweeney 1998).

    At most the share `suppress` of the rows is suppressed. `local=True` then gives those rows wider
    labels of their own where that holds them. `node` names the levels to release. `ranges` and `keep_order` are as
    for Mondrian.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [21, 22, 33, 34], "sex": ["F", "F", "M", "M"]}))
    >>> release = Datafly(keep_order=True).anonymize(
    ...     people, sf.Schema.from_roles(quasi=["age", "sex"]), [sf.KAnonymity(2)])
    >>> release.frame.rows()
    [('[20-23]', 'F'), ('[20-23]', 'F'), ('[32-35]', 'M'), ('[32-35]', 'M')]
    """

    suppress: float = 0.0
    local: bool = False
    node: str | None = None
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "suppress": Real(0, 1),
        "local": OneOf((False, True)),
        "node": Optional(Name("a node, such as '2,0,1' or 'age=2,zip=0'")),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "suppress": SUPPRESS,
        "local": LOCAL,
        "node": NODE,
        "ranges": RANGES,
        "keep_order": KEEP_ORDER,
    }
    algorithm: ClassVar = "datafly"
    reads_counts: ClassVar = True
    has_levels: ClassVar = True
    weighs_columns: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(suppress=0.1),)

    @property
    def fits_people(self) -> Literal["labels", "parts"]:
        """People of a population fit labels; each fits just one where nothing is suppressed."""
        return "labels" if self.suppress or self.local else "parts"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of Datafly's node."""
        lattice = Lattice.of(problem)
        levels = self._levels(problem, lattice, most_rows(self.suppress, problem.rows))
        return chosen_partition(problem, lattice, levels, self.ranges, "ncp" if self.local else None)

    def partition_worlds(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return what partitions worlds; refused where a person has chosen or limited the levels."""
        refuse_worlds(problem, self.node)
        return self.partition

    def explain(self, table: Table, schema: Schema, models: Sequence[Model]) -> Explanation:
        """Return the nodes to choose among, the released one first: minimal ones, or the cheapest by NCP."""
        lattice = Lattice.of(Problem.of(table, schema, list(models)))
        limit = most_rows(self.suppress, lattice.problem.rows)
        released = self._levels(lattice.problem, lattice, limit)
        return explain_choice(lattice, Choice("ncp", limit, working_time() + LARGE_SECONDS), released)

    def _levels(self, problem: Problem, lattice: Lattice, limit: int) -> Levels:
        if self.node is not None:
            return named_node(problem, lattice, self.node, limit)
        return datafly(problem, lattice, limit)


def datafly(problem: Problem, lattice: Lattice, limit: int) -> Levels:
    """Return the first node on Datafly's way up that leaves at most `limit` rows to suppress."""
    distinct = _distinct_values(lattice)
    levels = lattice.lows
    while True:
        tally = lattice.tally(levels)
        if tally.failing_rows <= limit and stands(problem, lattice, recode_node(lattice, levels)):
            return levels
        open_columns = [place for place, high in enumerate(lattice.highs) if levels[place] < high]
        if not open_columns:
            raise no_node_within(lattice, limit)
        widest = max(open_columns, key=lambda place: distinct[place][levels[place]])
        levels = (*levels[:widest], levels[widest] + 1, *levels[widest + 1 :])


def _distinct_values(lattice: Lattice) -> list[list[float]]:
    """Return how many values each column shows in the table on each level, divided by its weight."""
    shown = [np.unique(lattice.codes[:, place]) for place in range(len(lattice.ladders))]
    return [
        [len(np.unique(nodes[codes])) / weight for nodes in ladder.nodes]
        for ladder, codes, weight in zip(lattice.ladders, shown, lattice.weights.tolist(), strict=True)
    ]
