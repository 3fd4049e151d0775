"""A process that calls a ledger at random and logs each call when it begins and when it ends; it may be killed.

Usage: ledger_worker.py LEDGER LOG SEED CALLS. The log is written before a call begins, so that a call in which the
process dies is known.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.dp.ledger.ledger import Debit, Ledger
from sfumato.dp.ledger.places import store_of
from sfumato.errors import BudgetExceeded, InputError
from sfumato.promise import Cost

PRICES = ("0.01", "0.02", "0.05")
QUESTIONS = 12
WEIGHTS = {"debit": 8, "settle": 5, "find": 4, "total": 6, "version": 1, "freeze": 1}


class Worker:
    """Random calls of one analyst, and their log."""

    def __init__(self, ledger: Ledger, log: Path, seed: int) -> None:
        self.ledger, self.chance = ledger, random.Random(seed)  # noqa: S311 - a schedule is no secret
        self.analyst = f"analyst {seed}"
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.calls, self.versions = 0, 1
        self.open_debits: list[Debit] = []
        self.paid: set[tuple[str, int]] = set()

    def call(self, kind: str, asked: dict[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what a call gave, having logged its begin and its end."""
        self.calls += 1
        self._write({"phase": "invoke", "call": self.calls, "kind": kind, "asked": asked})
        result = work()
        self._write({"phase": "complete", "call": self.calls, "result": result})
        return result

    def _write(self, event: dict[str, Any]) -> None:
        os.write(self.log, json.dumps({**event, "at": time.monotonic_ns()}).encode() + b"\n")

    def step(self) -> None:
        """Make one call."""
        kind = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        getattr(self, f"do_{kind}")()

    def do_debit(self) -> None:
        """Pay for a question; the price is a part of it, as a session writes it."""
        price = self.chance.choice(PRICES)
        question = f"question {self.chance.randrange(QUESTIONS)} at {price}"
        version = self.chance.randint(max(1, self.versions - 1), self.versions)
        asked = {"question": question, "version": version, "analyst": self.analyst, "price": price}

        def work() -> dict[str, Any]:
            try:
                entry = self.ledger.debit(question, version, self.analyst, Cost(price))
            except BudgetExceeded:
                return {"how": "refused"}
            except InputError as error:
                if "frozen" not in str(error):
                    raise
                return {"how": "frozen"}
            self.paid.add((question, version))
            if entry.answer is None:
                self.open_debits.append(entry)
                return {"how": "charged", "number": entry.number}
            how = "free" if entry.cost == Cost() else "again"
            return {"how": how, "number": entry.number, "answer": entry.answer.hex()}

        if self.call("debit", asked, work)["how"] == "frozen" and self.chance.random() < 0.3:
            self.do_thaw()  # whoever froze it may be dead

    def do_settle(self) -> None:
        """Store an answer to one of the own debits."""
        if self.open_debits:
            entry = self.open_debits.pop(self.chance.randrange(len(self.open_debits)))
            answer = os.urandom(4)
            asked = {"question": entry.question, "version": entry.version, "answer": answer.hex()}
            self.call("settle", asked, lambda: {"answer": self.ledger.settle(entry, answer).hex()})

    def do_find(self) -> None:
        """Look for an answer; a frozen ledger shows none."""
        question = f"question {self.chance.randrange(QUESTIONS)} at {self.chance.choice(PRICES)}"
        asked = {"question": question, "version": self.versions, "paid": (question, self.versions) in self.paid}

        def work() -> dict[str, Any]:
            try:
                found = self.ledger.find(question, self.versions, self.analyst)
            except InputError:
                return {}
            return {"answer": None if found is None else found.hex()}

        self.call("find", asked, work)

    def do_total(self) -> None:
        """Read what was spent, from a ledger that is opened anew every other time."""

        def work() -> dict[str, Any]:
            ledger = Ledger.of_store(store_of(sys.argv[1])) if self.chance.random() < 0.5 else self.ledger
            return {"spent": str(ledger.spent.epsilon)}

        self.call("total", {}, work)

    def do_version(self) -> None:
        """Declare that the data changed."""
        done = self.call("version", {}, lambda: {"number": self.ledger.declare_version({})})
        self.versions = done["number"]

    def do_freeze(self) -> None:
        """Freeze the ledger, and thaw it soon."""

        def freeze() -> dict[str, Any]:
            self.ledger.freeze("a test froze it")
            return {}

        self.call("freeze", {}, freeze)
        self.do_thaw()

    def do_thaw(self) -> None:
        """Thaw the ledger."""
        self.call("thaw", {}, lambda: {"reason": self.ledger.thaw()})


def main() -> None:
    """Make as many calls as were asked for."""
    worker = Worker(Ledger.open(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    print("ready", flush=True)  # noqa: T201 - the test waits for it
    for _ in range(int(sys.argv[4])):
        worker.step()


if __name__ == "__main__":
    main()
