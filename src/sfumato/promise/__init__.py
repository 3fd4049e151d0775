"""What a differentially private release promises: units, neighbours, costs, and the maps from one to the other."""

from sfumato.promise.cost import Accountant, Budget, Cost
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit

__all__ = ["Accountant", "Budget", "Cost", "Neighbours", "ProtectPersons", "ProtectRows", "Unit"]
