"""The statement of a ledger: who are protected, what was spent by whom on what, and what lies outside the bound.

What leads back to the rows (their fingerprint and the secrets) is left out.
"""

from __future__ import annotations

from typing import Any

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.store import EntryRecord
from sfumato.promise.cost import Budget
from sfumato.table.database import without_password


def statement(ledger: Ledger) -> dict[str, Any]:
    """Return the whole account as plain values: population, budget, spent, left, the data's facts, and every entry.

    >>> import tempfile
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/rides.ledger", Budget(epsilon=1), {"table": "rides"})
    >>> found = statement(ledger)
    >>> found["budget"], found["left"]["epsilon"], found["facts"]
    ({'epsilon': 1.0, 'delta': 0.0}, 1.0, {'table': 'rides'})
    """
    budget, terms, facts = ledger.budget, ledger.terms, ledger.facts
    entries = [_plain_entry(budget, entry) for entry in ledger.entries()]
    return {
        "population": terms.population or facts.get("table"),
        "other_people": terms.other_people,
        "accountant": str(budget.accountant),
        "promise": {"epsilon": float(budget.epsilon), "delta": float(budget.delta)},
        "budget": budget.numbers(budget.total),
        "spent": budget.numbers(ledger.spent),
        "left": budget.numbers(ledger.left),
        "deadline": terms.deadline,
        "horizon": terms.horizon,
        "frozen": ledger.frozen,
        "head": ledger.head.text,
        "version": ledger.version,
        "facts": _shown(facts),
        "data_sets": sorted({*_names(facts), *(entry["data"] for entry in entries if entry["data"])}),
        "doors": sorted({entry["door"] for entry in entries}),
        "outside_the_bound": [entry["number"] for entry in entries if entry["outside_the_bound"]],
        "entries": entries,
    }


def _shown(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that may be shown; a ledger of an earlier sfumato may hold a password in its address."""
    hidden: dict[str, Any] = {"data": without_password(facts["data"])} if isinstance(facts.get("data"), str) else {}
    if "beside" in facts:
        hidden["beside"] = {name: _shown(table) for name, table in facts["beside"].items()}
    return {name: value for name, value in {**facts, **hidden}.items() if name not in {"fingerprint", "reading"}}


def _names(facts: dict[str, Any]) -> list[str]:
    return [facts["table"], *facts.get("beside", {})] if facts.get("table") else []


def _plain_entry(budget: Budget, entry: EntryRecord) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "analyst": entry.analyst,
        "version": entry.version,
        "question": entry.question,
        "cost": budget.numbers(entry.cost),
        "answered": entry.answered,
        "door": entry.door,
        "data": entry.data,
        "outside_the_bound": entry.outside,
    }
