"""How much a generalised tuple says less than the tuples it stands for: the information loss of CASTLE.

Cao, Carminati, Ferrari & Tan (2011), section 3: a range of a number loses its share of the domain, a node of a
hierarchy the share of the leaves below it beyond the first; a tuple loses the mean of its attributes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NUMBER = -1


ATTRIBUTE = np.dtype([("tree", "i8"), ("leaves", "i8"), ("weight", "f8")], align=True)
SPAN = np.dtype([("first", "i8"), ("many", "i8")], align=True)


class Attributes(NamedTuple):
    """The quasi-identifiers: where each one's hierarchy starts (or NUMBER), its leaves, and one over its domain.

    Hierarchies lie level by level, leaves first, in `spans`: for each leaf, the first leaf below its ancestor on that
    level, and how many there are. The last level of each is one root.
    """

    columns: npt.NDArray[Any]
    spans: npt.NDArray[Any]


@kernel
def lowest(attributes: Attributes, attribute: int, low: int, high: int) -> int:
    """Where in `first` and `many` the lowest node over two leaves stands."""
    place = attributes.columns[attribute].tree
    while attributes.spans[place + low].first != attributes.spans[place + high].first:
        place += attributes.columns[attribute].leaves
    return int(place + low)


@kernel
def spread(attributes: Attributes, attribute: int, low: float, high: float) -> float:
    """The loss of one attribute whose values lie between `low` and `high`."""
    if attributes.columns[attribute].tree == NUMBER:
        return float((high - low) * attributes.columns[attribute].weight)
    node = lowest(attributes, attribute, int(low), int(high))
    return float((attributes.spans[node].many - 1) * attributes.columns[attribute].weight)


@kernel
def loss_of(attributes: Attributes, low: Numbers, high: Numbers) -> float:
    """The loss of a tuple generalised to the bounds `low` and `high`."""
    total = 0.0
    for attribute in range(low.size):
        total += spread(attributes, attribute, low[attribute], high[attribute])
    return total / low.size


@kernel
def loss_with(attributes: Attributes, low: Numbers, high: Numbers, other_low: Numbers, other_high: Numbers) -> float:
    """The loss of the bounds that cover two pairs of bounds (for a single tuple both are its values)."""
    total = 0.0
    for attribute in range(low.size):
        total += spread(
            attributes,
            attribute,
            min(low[attribute], other_low[attribute]),
            max(high[attribute], other_high[attribute]),
        )
    return total / low.size


@kernel
def widen(low: Numbers, high: Numbers, other_low: Numbers, other_high: Numbers) -> None:
    """Make the first bounds cover the second."""
    for attribute in range(low.size):
        low[attribute] = min(low[attribute], other_low[attribute])
        high[attribute] = max(high[attribute], other_high[attribute])


@kernel
def generalise(attributes: Attributes, low: Numbers, high: Numbers) -> None:
    """Make the bounds of hierarchies those of whole nodes, in place."""
    for attribute in range(low.size):
        if attributes.columns[attribute].tree != NUMBER:
            node = lowest(attributes, attribute, int(low[attribute]), int(high[attribute]))
            low[attribute] = attributes.spans[node].first
            high[attribute] = attributes.spans[node].first + attributes.spans[node].many - 1


@kernel
def covers(low: Numbers, high: Numbers, record: Numbers) -> bool:
    """Whether a record lies within generalised bounds."""
    for attribute in range(low.size):
        if record[attribute] < low[attribute] or record[attribute] > high[attribute]:
            return False
    return True
