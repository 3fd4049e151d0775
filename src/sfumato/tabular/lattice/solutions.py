"""The solution space of a lattice, for the steward: nodes to choose among, what each costs, and which is released.

Minimal nodes: LeFevre, DeWitt & Ramakrishnan 2005, section 2.2. Where rows may be suppressed a node may cost more than
one above it, so that the cheapest nodes are listed instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.tabular.explanation import Explanation
from sfumato.tabular.lattice.cheapest import cheap_nodes
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.lattice.loss import METRICS
from sfumato.tabular.lattice.search import minimal, satisfying_nodes
from sfumato.tabular.lattice.suppression import recode_node, stands

SHOWN = 10  # of the cheapest nodes
MOST_LISTED = 1 << 16  # nodes of a lattice whose minimal ones are listed by an algorithm that need not list them
MINIMAL = "minimal generalisations: each satisfies the models, and none below it does"
CHEAPEST = "cheapest generalisations by {metric}, at most {limit} of {rows} rows suppressed"


@dataclass(frozen=True)
class Node:
    """One generalisation of all rows: each column's level, its classes, and what it costs by every metric.

    `ncp` is the share of detail lost (0 to 1), as a release is measured, suppressed rows wholly; `height` the number
    of steps up; `risk` the highest probability of finding a person in a class that is not suppressed; `names` says what
    the levels show.

    >>> Node({"age": 2, "sex": 0}, height=2, classes=2, ncp=0.1, discernibility=8).levels["age"]
    2
    """

    levels: dict[str, int]
    height: int
    classes: int
    ncp: float
    discernibility: float
    suppressed: int = 0
    risk: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = (
            f"{name} {level}" + f" ({self.names[name]})" * (name in self.names) for name, level in self.levels.items()
        )
        costs = f"{self.classes} classes, {self.ncp:.1%} of detail lost, discernibility {self.discernibility:g}"
        risk = f"{self.suppressed:,} rows suppressed, highest risk {self.risk:.1%}"
        return f"height {self.height}: {', '.join(shown)} ({costs}, {risk})"

    def as_json(self) -> dict[str, object]:
        """Return the node as it stands in JSON."""
        return {
            "levels": self.levels,
            "names": dict(self.names),
            "height": self.height,
            "classes": self.classes,
            "information_loss": self.ncp,
            "discernibility": self.discernibility,
            "rows_suppressed": self.suppressed,
            "highest_risk": self.risk,
        }


def describe_node(lattice: Lattice, levels: Levels) -> Node:
    """Return what a node shows and costs, in counts of its rows, whatever weights its columns have.

    >>> import polars as pl, sfumato as sf
    >>> from sfumato.tabular.problem import Problem
    >>> table = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M", "M"]}))
    >>> problem = Problem.of(table, sf.Schema.from_roles(quasi=["sex"]), [sf.KAnonymity(2)])
    >>> node = describe_node(Lattice.of(problem), (0,))
    >>> node.classes, node.suppressed, node.risk, node.names
    (1, 1, 0.5, {'sex': 'values'})
    """
    plain = lattice.unweighted
    tally = plain.tally(levels)
    kept = plain.units(tally)[~tally.failing]
    named = list(zip(lattice.ladders, levels, strict=True))
    return Node(
        levels={ladder.column.name: level for ladder, level in named},
        height=sum(levels),
        classes=len(kept),
        ncp=METRICS["ncp"](plain, tally).total / (lattice.rows * len(lattice.ladders)),
        discernibility=METRICS["discernibility"](plain, tally).total,
        suppressed=tally.failing_rows,
        risk=1 / int(kept.min()) if len(kept) else 0.0,
        names={ladder.column.name: ladder.level_name(level) for ladder, level in named},
    )


def ranked_minimal(lattice: Lattice, metric: str) -> list[Levels]:
    """Return all minimal nodes within the limits of the columns, cheapest first."""
    cost = METRICS[metric]
    nodes = minimal(satisfying_nodes(lattice))
    return sorted(nodes, key=lambda levels: cost(lattice, lattice.tally(levels)).total)


@dataclass(frozen=True)
class Choice:
    """What an algorithm chooses a node by: its metric, how many rows may be suppressed, and until when it searches.

    >>> Choice("ncp", 0).until is None
    True
    """

    metric: str
    limit: int
    until: float | None = None


def explain_choice(lattice: Lattice, choice: Choice, released: Levels | None) -> Explanation:
    """Return the minimal nodes, or the cheapest where rows may be suppressed, the one that is released first."""
    if choice.limit == 0 and math.prod(lattice.shape) <= MOST_LISTED:
        return nodes_explained(lattice, MINIMAL, ranked_minimal(lattice, choice.metric), released)
    problem = lattice.problem
    found = cheap_nodes(
        lattice,
        choice.metric,
        choice.limit,
        SHOWN,
        lambda levels: stands(problem, lattice, recode_node(lattice, levels)),
        choice.until,
    )
    words = CHEAPEST.format(metric=choice.metric, limit=choice.limit, rows=lattice.rows)
    proof = "" if found.proven else "; the search ended early, so that others may be cheaper"
    return nodes_explained(lattice, words + proof, [levels for _, levels in found.nodes], released, proven=found.proven)


def nodes_explained(
    lattice: Lattice, words: str, nodes: Sequence[Levels], released: Levels | None, *, proven: bool = True
) -> Explanation:
    """Return some nodes as lines and as JSON, the one that is released first, also where it is none of them."""
    first = [] if released is None else [released]
    found = [describe_node(lattice, levels) for levels in [*first, *(levels for levels in nodes if levels != released)]]
    listed = released is None or released in nodes
    also = "" if listed else "; the first is what the algorithm chooses, which is none of them"
    weights = {
        ladder.column.name: weight
        for ladder, weight in zip(lattice.ladders, lattice.weights.tolist(), strict=True)
        if weight != 1
    }
    facts: dict[str, object] = {
        "listed": words,
        "complete": proven,
        "weights": weights,
        "nodes": [{**node.as_json(), "released": bool(first) and place == 0} for place, node in enumerate(found)],
    }
    weighed = f"; ranked with the weights {', '.join(f'{name} {each:g}' for name, each in weights.items())}"
    return Explanation(f"{words}{also}{weighed if weights else ''}", [str(node) for node in found], facts)
