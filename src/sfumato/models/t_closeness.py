"""t-closeness: every class's sensitive values are spread as in the whole table (Li, Li & Venkatasubramanian 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Name, OneOf, Option, Real
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.criteria import CLOSENESS, Criterion
from sfumato.models.groups import ClassCounts, Groups, Histograms
from sfumato.models.measures import t_distance
from sfumato.schema import Kind
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
    OPTIONS: ClassVar = {
        "t": Option("Every class is within distance t of the whole table in each sensitive column."),
        "distance": Option(
            "How far apart two sensitive values are; auto follows the column's type.", name="t_distance"
        ),
    }
    called: ClassVar = "t-closeness"
    asks: ClassVar = "t"
    at_least: ClassVar = False
    card_names: ClassVar = ("t-closeness",)
    merge_monotone: ClassVar = True
    suppression_monotone: ClassVar = False  # the table's own distribution moves

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls(0.2, "disease"), cls(0.2, "income")

    @property
    def sentence(self) -> str:
        return (
            "Among the {units} that share {one}, {column} is spread almost as in the whole table: "
            "the distance is at most {asked} on a scale from 0 to 1."
        )

    def class_value(self, one: ClassCounts) -> float:
        if one.column is None:
            raise ParameterError(f"t-closeness needs the counts of column '{self.column}'")
        (starts, ends), weights = with_surplus(cuts(one.column, self.distance), one.column.size)
        mass = one.counts.sum() / one.units
        gaps = one.counts / one.units - one.reference * min(1.0, mass / one.reference.sum())
        crossing = (abs(gaps[start:end].sum()) for start, end in zip(starts, ends, strict=True))
        return float(sum(weight * mass for weight, mass in zip(weights, crossing, strict=True)))

    def measure(self, groups: Groups) -> float:
        return closeness(groups.sensitive[self.column], self.distance)

    @property
    def untold(self) -> str:
        return "the card does not tell the order or the hierarchy behind its distance"

    def measure_again(self, groups: Groups, kind: str | None) -> float | None:
        """The value of a released file; its card tells neither the order of words nor a hierarchy."""
        return None if kind == Kind.ORDINAL or self.distance == "hierarchical" else self.measure(groups)

    def criterion(self, column: Column) -> Criterion:
        (starts, ends), weights = cuts(column, self.distance)
        return Criterion(CLOSENESS, self.t, 0.0, (starts, ends), weights)

    def criterion_of_persons(self, column: Column) -> Criterion:
        found, weights = with_surplus(cuts(column, self.distance), column.size)
        return Criterion(CLOSENESS, self.t, 0.0, found, weights)


def closeness(histograms: Histograms, distance: str) -> float:
    """Return the largest distance of a class from the table, also where persons have several values."""
    plain = cuts(histograms.column, distance)
    return t_distance(histograms, *(with_surplus(plain, histograms.column.size) if histograms.several else plain))


def with_surplus(plain: Cuts, size: int) -> Cuts:
    """Return the cuts with what only matters if the persons of a class have more values each than those of the table.

    A surplus comes from outside, at distance 1 from every value. The cuts of a line are counted from both ends, half
    each. Where masses are equal, as with one value for each person, both ends agree and nothing crosses the outer cut.

    >>> prefix = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    >>> (starts, ends), weights = with_surplus((prefix, np.ones(1)), 2)
    >>> starts.tolist(), ends.tolist(), weights.tolist()
    ([0, 1, 0], [1, 2, 2], [0.5, 0.5, 0.5])
    """
    (starts, ends), weights = plain
    line = len(starts) == size - 1 and not starts.any()  # every prefix, and no other interval
    if line:
        starts, ends = np.append(starts, ends), np.append(ends, np.full_like(ends, size))
        weights = np.append(weights, weights) / 2
    return (np.append(starts, 0), np.append(ends, size)), np.append(weights, 0.5)


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
