"""Incognito: every minimal full-domain generalisation that satisfies the models, and the cheapest of them.

LeFevre, DeWitt & Ramakrishnan 2005: subsets of the quasi-identifiers first, a priori pruning, roll-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from sfumato.core.parameters import Name, OneOf, Optional
from sfumato.models.base import Model
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.explanation import Explanation
from sfumato.tabular.lattice.full_domain import NODE, chosen_partition, named_node, refuse_worlds
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.limits import no_node_within
from sfumato.tabular.lattice.loss import METRIC, METRICS, refuse_unweighed
from sfumato.tabular.lattice.solutions import MINIMAL, Node, describe_node, nodes_explained, ranked_minimal
from sfumato.tabular.problem import Problem


@dataclass(frozen=True)
class Incognito(PartitionAnonymizer):
    """Optimal full-domain generalisation without suppression (LeFevre, DeWitt & Ramakrishnan 2005).

    Of all minimal nodes the one of least `metric` is released, or the one that `node` names; `minimal_nodes` lists them
    all.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [21, 22, 33, 34], "sex": ["F", "F", "M", "M"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"])
    >>> [node.levels for node in Incognito().minimal_nodes(people, schema, [sf.KAnonymity(2)])]
    [{'age': 2, 'sex': 0}]
    """

    metric: Literal["ncp", "discernibility", "height"] = "ncp"
    node: str | None = None
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "metric": OneOf(tuple(METRICS)),
        "node": Optional(Name("a node, such as '2,0,1' or 'age=2,zip=0'")),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {"metric": METRIC, "node": NODE, "ranges": RANGES, "keep_order": KEEP_ORDER}
    algorithm: ClassVar = "incognito"
    reads_counts: ClassVar = True
    has_levels: ClassVar = True
    weighs_columns: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(metric="discernibility"),)

    @property
    def fits_people(self) -> Literal["parts"]:
        """Everybody in a population fits one class of a node."""
        return "parts"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of the cheapest minimal node."""
        lattice = Lattice.of(problem)
        return chosen_partition(problem, lattice, self._levels(lattice), self.ranges, None)

    def partition_worlds(self, problem: Problem) -> Callable[[Problem], Partition]:
        """Return what partitions worlds; refused where a person has chosen or limited the levels."""
        refuse_worlds(problem, self.node)
        return self.partition

    def minimal_nodes(self, table: Table, schema: Schema, models: Sequence[Model]) -> list[Node]:
        """Return all minimal nodes, the one that is released first."""
        lattice = Lattice.of(Problem.of(table, schema, list(models)))
        return [describe_node(lattice, levels) for levels in self._ranked(lattice)]

    def explain(self, table: Table, schema: Schema, models: Sequence[Model]) -> Explanation:
        """Return all minimal nodes, the released one first."""
        lattice = Lattice.of(Problem.of(table, schema, list(models)))
        nodes = self._ranked(lattice)
        released = nodes[0] if self.node is None else self._levels(lattice)
        return nodes_explained(lattice, MINIMAL, nodes, released)

    def _levels(self, lattice: Lattice) -> Levels:
        if self.node is not None:
            return named_node(lattice.problem, lattice, self.node, 0)
        return self._ranked(lattice)[0]

    def _ranked(self, lattice: Lattice) -> list[Levels]:
        """Return the minimal nodes, cheapest first; refused if there is none within the limits."""
        refuse_unweighed(lattice, self.metric)
        nodes = ranked_minimal(lattice, self.metric)
        if not nodes:
            raise no_node_within(lattice, 0)
        return nodes
