"""What a private release promises: units, neighbours, costs, and how a chain of steps gives a promise."""

from sfumato.promise.chain import (
    CapPersons,
    Clamp,
    Copies,
    Distance,
    Edges,
    Excess,
    GroupBy,
    Input,
    JoinPersons,
    Metric,
    OrderBy,
    PerRow,
    WholeUnit,
    Windows,
)
from sfumato.promise.cost import Accountant, Budget, Cost
from sfumato.promise.group_privacy import group
from sfumato.promise.linear import Disjoint, LinearNoise
from sfumato.promise.promise import Promise, derive, outside_the_bound, span_words
from sfumato.promise.successive import SuccessiveWindows
from sfumato.promise.together import Overlapping, Together
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit

__all__ = [
    "Accountant",
    "Budget",
    "CapPersons",
    "Clamp",
    "Copies",
    "Cost",
    "Disjoint",
    "Distance",
    "Edges",
    "Excess",
    "GroupBy",
    "Input",
    "JoinPersons",
    "LinearNoise",
    "Metric",
    "Neighbours",
    "OrderBy",
    "Overlapping",
    "PerRow",
    "Promise",
    "ProtectPersons",
    "ProtectRows",
    "SuccessiveWindows",
    "Together",
    "Unit",
    "WholeUnit",
    "Windows",
    "derive",
    "group",
    "outside_the_bound",
    "span_words",
]
