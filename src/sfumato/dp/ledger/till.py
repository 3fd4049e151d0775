"""The till: the only code that debits a ledger, whatever door a release leaves by.

The price is what the release's promise costs in the ledger's own terms (`Promise.cost_for`): its unit, its neighbours,
its horizon, its coin. What cannot be priced is refused, and what has no price at all is listed outside the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

from sfumato.dp.deadline import refuse_stopped
from sfumato.dp.ledger.ledger import Contract, Debit, Ledger
from sfumato.errors import ParameterError
from sfumato.promise import Accountant, Budget, Cost, Neighbours, Promise, ProtectRows, Unit, outside_the_bound
from sfumato.promise.cost import ZERO
from sfumato.promise.unit import read_unit
from sfumato.promise.zcdp import epsilon_of, rho_of_pure

ANALYST = "analyst"


@dataclass(frozen=True)
class Purchase:
    """What is bought: the door it leaves by, the words that name it in the ledger, and the data set it is about.

    The same words are the same purchase: they are paid once.

    >>> Purchase("stream", "rank of hours").data is None
    True
    """

    door: str
    question: str
    data: str | None = None


def pay(
    ledger: Ledger, promise: Promise, what: Purchase, *, analyst: str = ANALYST, version: int | None = None
) -> Debit:
    """Return the charge, on the disk, before anything is drawn; refuse what cannot be priced or afforded.

    >>> import tempfile
    >>> from sfumato.promise import Metric, PerRow
    >>> facts = {"protect": "person:drive:30:1", "neighbours": "presence"}
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/l", Budget(epsilon=1), facts)
    >>> event = Promise(Metric(ProtectRows(), Neighbours.VALUE), (), PerRow(Cost(epsilon="0.1"), Neighbours.VALUE))
    >>> pay(ledger, event, Purchase("stream", "hours"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the release protects the value of one row and the ledger the presence of one \
person (drive): the number of rows is public in the release, so that presence is not protected
    >>> ledger.spent
    Cost(epsilon=Decimal('0'), delta=Decimal('0'), rho=Decimal('0'))
    """
    contract = ledger.contract(version)
    cost = price_under(contract, promise)
    refuse_stopped()
    return ledger.debit(what.question, contract.version, analyst, cost, door=what.door, data=what.data)


def price(ledger: Ledger, promise: Promise, version: int | None = None) -> Cost:
    """Return what a promise costs in the ledger's terms and coin; refuse what cannot be said, before anything is drawn.

    >>> import tempfile
    >>> from sfumato.promise import Metric, PerRow
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/l", Budget(1, "1e-6", Accountant.ZCDP), {})
    >>> rows = Metric(ProtectRows(), Neighbours.PRESENCE)
    >>> price(ledger, Promise(rows, (), PerRow(Cost(epsilon="0.1"), Neighbours.PRESENCE)))
    Cost(epsilon=Decimal('0'), delta=Decimal('0'), rho=Decimal('0.005'))
    """
    return price_under(ledger.contract(version), promise)


def price_under(contract: Contract, promise: Promise) -> Cost:
    """Return what a promise costs under a ledger's contract."""
    unit, neighbours = protected(contract)
    cost = in_coin(contract.budget, promise.cost_for(unit, neighbours, contract.terms.horizon), promise.told_at)
    refuse_below_least(contract, cost)
    return cost


def list_outside(ledger: Ledger, model: str, what: Purchase, *, analyst: str = ANALYST) -> str:
    """List a release that no ledger can price, and return the sentence that its card must carry.

    >>> import tempfile
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/l", Budget(epsilon=1), {})
    >>> list_outside(ledger, "k-anonymity", Purchase("table", "people by mondrian"))[:36]
    'k-anonymity has no price in a ledger'
    >>> [(entry.door, entry.outside) for entry in ledger.entries()]
    [('table', True)]
    """
    ledger.list_outside(what.question, ledger.version, analyst, door=what.door, data=what.data)
    return outside_the_bound(model)


def protected(contract: Contract) -> tuple[Unit, Neighbours]:
    """Return whom a ledger protects; one that says nothing protects rows by presence."""
    facts = contract.facts
    unit = read_unit(facts["protect"]) if "protect" in facts else ProtectRows()
    return unit, Neighbours(facts.get("neighbours", Neighbours.PRESENCE))


def in_coin(budget: Budget, cost: Cost, told_at: Decimal = ZERO) -> Cost:
    """Return a cost in what a ledger counts: ε and δ, or ρ; a ρ is told as ε at the δ that its promise declares.

    >>> told = in_coin(Budget(epsilon=1, delta="1e-5"), Cost(rho="0.0243559703595"), Decimal("1e-6"))
    >>> float(told.epsilon), told.delta
    (1.0, Decimal('0.000001'))

    >>> in_coin(Budget(epsilon=1), Cost(rho="0.1"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the release costs rho 0.1 and the ledger counts epsilon and delta; give epsilon, or \
make a ledger that counts rho (zcdp)
    """
    if budget.accountant is Accountant.PURE:
        if cost.rho and told_at:
            return Cost(epsilon_of(cost.rho, told_at), cost.delta + told_at)
        if cost.rho:
            raise ParameterError(
                f"the release costs {cost} and the ledger counts epsilon and delta; give epsilon, or make a ledger "
                "that counts rho (zcdp)"
            )
        return cost
    if cost.delta and not cost.rho:
        raise ParameterError(
            f"the release costs {cost} and the ledger counts rho; it needs a ledger of pure accounting"
        )
    return Cost(rho=cost.rho or rho_of_pure(cost.epsilon), delta=cost.delta)


def refuse_below_least(contract: Contract, cost: Cost) -> None:
    """Refuse a price below the least share of the budget: time and entries are not for nothing."""
    share, budget = contract.terms.least_share, contract.budget
    parts = (("epsilon", cost.epsilon, budget.total.epsilon), ("rho", cost.rho, budget.total.rho))
    for name, asked, total in parts:
        with localcontext() as context:
            context.prec = 150
            least = Decimal(total) * share
        if asked and asked < least:
            raise ParameterError(f"the price is {name} {asked}; the ledger asks for at least {least.normalize()}")
