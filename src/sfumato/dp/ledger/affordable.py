"""The filter's decision, before anything is written: is a price within an analyst's share and the ledger's total?

Rogers, Roth, Ullman & Vadhan (2016): continue while the sum of all prices with the next one is within the budget.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.dp.ledger.store import Account, Book, EntryRecord, Purse
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.promise.cost import Budget, Cost


def purse_of(book: Book, account: Account, analyst: str) -> Purse:
    """Return an analyst's purse; a ledger that names its analysts knows no others."""
    purse = book.purse(analyst_name(analyst))
    if purse is None and account.closed:
        raise ParameterError(f"analyst '{analyst}' is not named in this ledger; only named ones may ask")
    return purse or Purse(None, Cost())


def charge(book: Book, account: Account, purse: Purse, record: EntryRecord) -> None:
    """Charge the analyst and, unless the answer is shown again, the ledger; refuse before anything is written."""
    rest = rest_of_share(account, purse)
    if rest is not None:
        _afford(account.budget, record.cost, rest, f"analyst '{record.analyst}'")
    if not record.again:
        _afford(account.budget, record.cost, account.left, "the ledger")
        book.spend(account.spent + record.cost)
    book.fill_purse(record.analyst, purse.spent + record.cost)


def rest_of_share(account: Account, purse: Purse) -> Cost | None:
    """Return what is left of a share, if there is one; it bounds ε or ρ, and for δ the ledger's total is the bound.

    >>> account = Account(Budget(epsilon=1), closed=True, spent=Cost())
    >>> rest_of_share(account, Purse(Cost(epsilon="0.5"), Cost(epsilon="0.2"))).epsilon
    Decimal('0.3')
    """
    if purse.share is None:
        return None
    return replace(purse.share, delta=account.budget.total.delta).less(purse.spent)


def _afford(budget: Budget, cost: Cost, left: Cost, whose: str) -> None:
    if not cost <= left:
        raise BudgetExceeded(budget.amounts(left), budget.amounts(cost), whose)


def analyst_name(analyst: str) -> str:
    """Return the name of an analyst, or refuse what is none.

    >>> analyst_name("")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the analyst has no name; give one
    """
    if not analyst:
        raise ParameterError("the analyst has no name; give one")
    if str(analyst) != analyst or not analyst.isprintable():
        raise ParameterError(f"the analyst is called {analyst!r}; give a name of printable characters")
    return analyst
