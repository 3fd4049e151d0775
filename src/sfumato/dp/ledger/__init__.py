"""The durable budget: exact amounts of privacy loss, how they add up, and the file that keeps them."""

from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise.cost import Accountant, Budget, Cost

__all__ = ["Accountant", "Budget", "Cost", "Ledger"]
