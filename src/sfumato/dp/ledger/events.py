"""What the links of a ledger's chain say: each thing that can happen to a ledger, as canonical JSON.

An answer is named by its hash; costs are decimal text. The same writer serves new ledgers and migrated ones, and the
verifier reads what it wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sfumato.dp.ledger.store import EntryRecord
from sfumato.promise.cost import Budget, Cost

OPENED, VERSION, ENTRY, SETTLED, FROZEN, THAWED, MIGRATED = (
    "opened",
    "version",
    "entry",
    "settled",
    "frozen",
    "thawed",
    "migrated",
)


def opened(budget: Budget, shares: Mapping[str, Cost] | None, terms: str, secret: bytes) -> str:
    """Return what happened when a ledger was made; the secret is named by its hash.

    >>> opened(Budget(epsilon=1), None, "{}", b"")[:40]
    '{"accountant":"pure","budget":["1","0","'
    """
    named = None if shares is None else {name: costs(share) for name, share in sorted(shares.items())}
    total = [str(budget.epsilon), str(budget.delta), str(budget.rho)]
    made = {"accountant": str(budget.accountant), "budget": total, "shares": named, "terms": terms}
    return write({**made, "secret": fingerprint(secret)})


def declared(number: int, time: str, facts: str) -> str:
    """Return what happened when a version of the data was declared."""
    return write({"number": number, "time": time, "facts": facts})


def entered(number: int, record: EntryRecord) -> str:
    """Return what happened when an entry was written.

    >>> record = EntryRecord(0, "t", "ana", 1, "count", Cost(epsilon=1), again=False, answered=False)
    >>> read(entered(7, record))["cost"]
    ['1', '0', '0']
    """
    return write(
        {
            "number": number,
            "time": record.time,
            "analyst": record.analyst,
            "version": record.version,
            "question": record.question,
            "cost": costs(record.cost),
            "again": record.again,
            "answered": record.answered,
            "door": record.door,
            "data": record.data,
            "outside": record.outside,
        }
    )


def settled(number: int, answer: bytes | None) -> str:
    """Return what happened when an entry was answered; `answer` is None where one was stored before."""
    return write({"number": number, "answer": None if answer is None else fingerprint(answer)})


def reason(text: str) -> str:
    """Return why a ledger was frozen, thawed or migrated."""
    return write({"reason": text})


def fingerprint(content: bytes) -> str:
    """Return the hash by which the chain names an answer or the secret."""
    return hashlib.sha256(content).hexdigest()


def costs(cost: Cost) -> list[str]:
    """Return a cost as decimal text."""
    return [str(cost.epsilon), str(cost.delta), str(cost.rho)]


def write(happened: Mapping[str, Any]) -> str:
    """Return canonical JSON.

    >>> write({"b": 1, "a": None})
    '{"a":null,"b":1}'
    """
    return json.dumps(happened, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read(happened: str) -> dict[str, Any]:
    """Return what `write` wrote."""
    found: dict[str, Any] = json.loads(happened)
    return found
