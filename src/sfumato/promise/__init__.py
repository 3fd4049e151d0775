"""What a private release promises: units, neighbours, costs, and how a chain of steps gives a promise."""

from sfumato.promise.chain import (
    CapPersons,
    Clamp,
    Distance,
    Edges,
    Excess,
    GroupBy,
    Input,
    Metric,
    OrderBy,
    PerRow,
    WholeUnit,
    Windows,
)
from sfumato.promise.cost import Accountant, Budget, Cost
from sfumato.promise.group_privacy import group
from sfumato.promise.promise import Promise, derive, outside_the_bound, span_words
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit

__all__ = [
    "Accountant",
    "Budget",
    "CapPersons",
    "Clamp",
    "Cost",
    "Distance",
    "Edges",
    "Excess",
    "GroupBy",
    "Input",
    "Metric",
    "Neighbours",
    "OrderBy",
    "PerRow",
    "Promise",
    "ProtectPersons",
    "ProtectRows",
    "Unit",
    "WholeUnit",
    "Windows",
    "derive",
    "group",
    "outside_the_bound",
    "span_words",
]
