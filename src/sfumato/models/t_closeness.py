"""t-closeness: every class's sensitive values are spread as in the whole table (Li, Li & Venkatasubramanian 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Name, OneOf, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import CLOSENESS, SLACK, Criterion
from sfumato.models.groups import Groups
from sfumato.models.measures import t_distance
from sfumato.table.coding import Column

Cuts = tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.float64]]
DISTANCES = ("auto", "equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class TCloseness(Model):
    """A class tells at most t more about the sensitive column than the table does, in earth mover's distance.

    `auto` takes the ordered distance for numbers, dates and ordinals, the hierarchical one where the
    column has a hierarchy, and the equal one otherwise.

    >>> TCloseness(0.2, "disease").parameters()
    {'t': 0.2, 't_distance': 'auto'}
    """

    t: float
    column: str
    distance: Literal["auto", "equal", "ordered", "hierarchical"] = "auto"

    RULES: ClassVar = {"t": Real(0, 1), "column": Name(), "distance": OneOf(DISTANCES)}
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # the table's own distribution moves
    at_least: ClassVar = False

    @property
    def name(self) -> str:
        return "t-closeness"

    @property
    def asked(self) -> float:
        return self.t

    @property
    def sensitive(self) -> str | None:
        return self.column

    def parameters(self) -> dict[str, float | str]:
        return {"t": self.t, "t_distance": self.distance}

    def measure(self, groups: Groups) -> float:
        histograms = groups.sensitive[self.column]
        return t_distance(histograms, *cuts(histograms.column, self.distance))

    def holds(self, measured: float) -> bool:
        return measured <= self.t + SLACK

    def criterion(self, column: Column) -> Criterion:
        (starts, ends), weights = cuts(column, self.distance)
        return Criterion(CLOSENESS, self.t, 0.0, (starts, ends), weights)


def cuts(column: Column, distance: str = "auto") -> Cuts:
    """Return intervals of codes and their weights: the distance is Σ weight · |mass inside the interval|.

    Equal distance is a star (every value half a step from the centre), ordered distance a line
    (prefixes, 1/(m-1) each), hierarchical distance a tree (1/(2·height) per edge).
    """
    count = column.size
    hierarchy = column.attribute.hierarchy
    if distance == "auto":
        distance = "hierarchical" if hierarchy is not None else "ordered" if column.kind.ordered else "equal"
    if distance == "equal":
        return (np.arange(count), np.arange(1, count + 1)), np.full(count, 0.5)
    if distance == "ordered":
        ends = np.arange(1, count)
        return (np.zeros_like(ends), ends), np.full(len(ends), 1 / max(1, count - 1))
    if hierarchy is None:
        raise ParameterError(f"column '{column.name}' has no hierarchy; declare one or choose another distance")
    shift = int(column.has_missing)
    nodes = [(first + shift, last + shift) for _, level, first, last in hierarchy.nodes() if level < hierarchy.height]
    nodes += [(0, 1)] * (shift * hierarchy.height)  # a missing value hangs from the root, at every level alone
    starts, ends = np.array(nodes, dtype=np.int64).T
    return (starts, ends), np.full(len(starts), 0.5 / hierarchy.height)
