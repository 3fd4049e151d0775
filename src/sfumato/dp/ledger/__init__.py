"""The durable budget: exact amounts of privacy loss, how they add up, and the file that keeps them."""

from sfumato.dp.ledger.amount import Accountant, Budget, Cost
from sfumato.dp.ledger.ledger import Ledger

__all__ = ["Accountant", "Budget", "Cost", "Ledger"]
