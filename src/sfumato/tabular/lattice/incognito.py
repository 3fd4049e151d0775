"""Incognito: every minimal full-domain generalisation that satisfies the models, and the cheapest of them.

LeFevre, DeWitt & Ramakrishnan 2005: subsets of the quasi-identifiers first, a priori pruning, roll-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from sfumato.core.parameters import OneOf
from sfumato.models.base import Model
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.lattice.full_domain import chosen_partition
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.loss import METRIC, METRICS
from sfumato.tabular.lattice.search import minimal, satisfying_nodes
from sfumato.tabular.problem import Problem


@dataclass(frozen=True)
class Node:
    """One generalisation of all rows: each column's level, its classes, and what it costs by every metric.

    `ncp` is the share of detail lost (0 to 1), as a release is measured; `height` the number of steps up.

    >>> Node({"age": 2, "sex": 0}, height=2, classes=2, ncp=0.1, discernibility=8).levels["age"]
    2
    """

    levels: dict[str, int]
    height: int
    classes: int
    ncp: float
    discernibility: float

    def __str__(self) -> str:
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        costs = f"{self.classes} classes, {self.ncp:.1%} of detail lost, discernibility {self.discernibility:g}"
        return f"height {self.height}: {levels} ({costs})"


@dataclass(frozen=True)
class Incognito(PartitionAnonymizer):
    """Optimal full-domain generalisation without suppression (LeFevre, DeWitt & Ramakrishnan 2005).

    Of all minimal nodes the one of least `metric` is released; `minimal_nodes` lists them all.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [21, 22, 33, 34], "sex": ["F", "F", "M", "M"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"])
    >>> [node.levels for node in Incognito().minimal_nodes(people, schema, [sf.KAnonymity(2)])]
    [{'age': 2, 'sex': 0}]
    """

    metric: Literal["ncp", "discernibility", "height"] = "ncp"
    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {
        "metric": OneOf(tuple(METRICS)),
        "ranges": OneOf(("text", "columns")),
        "keep_order": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {"metric": METRIC, "ranges": RANGES, "keep_order": KEEP_ORDER}
    algorithm: ClassVar = "incognito"
    reads_counts: ClassVar = True

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
        return chosen_partition(problem, lattice, self._rank_nodes(lattice)[0], self.ranges, None)

    def minimal_nodes(self, table: Table, schema: Schema, models: Sequence[Model]) -> list[Node]:
        """Return all minimal nodes, the one that is released first."""
        lattice = Lattice.of(Problem.of(table, schema, list(models)))
        return [_node(lattice, levels) for levels in self._rank_nodes(lattice)]

    def explain(self, table: Table, schema: Schema, models: Sequence[Model]) -> list[str]:
        """Return a line for every minimal node, the released one first."""
        return [str(node) for node in self.minimal_nodes(table, schema, models)]

    def _rank_nodes(self, lattice: Lattice) -> list[Levels]:
        cost = METRICS[self.metric]
        nodes = minimal(satisfying_nodes(lattice))
        return sorted(nodes, key=lambda levels: cost(lattice, lattice.tally(levels)).total)


def _node(lattice: Lattice, levels: Levels) -> Node:
    tally = lattice.tally(levels)
    return Node(
        levels={ladder.column.name: level for ladder, level in zip(lattice.ladders, levels, strict=True)},
        height=sum(levels),
        classes=len(tally.sizes),
        ncp=METRICS["ncp"](lattice, tally).total / (lattice.rows * len(lattice.ladders)),
        discernibility=METRICS["discernibility"](lattice, tally).total,
    )
