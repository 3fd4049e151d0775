"""The ledger against a twin of a few lines in memory: any order of questions, crashes, versions and reopenings."""

from __future__ import annotations

import os
import shutil
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from ledger_places import Files, Ledgers, Schemas

from sfumato.dp.ledger.ledger import Debit, Ledger
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount

NO_SERVER = "needs a PostgreSQL server: set SFUMATO_POSTGRES to its address, postgresql://user@host/database"
NAMES = ["ana", "bea", "eve"]
QUESTIONS = st.sampled_from(["count", "median\n'x' -- ε"])
ANALYSTS = st.sampled_from(NAMES)
PRICES = st.sampled_from(["0.1", "0.0000000001"])


class Twin:
    """The rules once more, in fractions and dictionaries, with no care for speed or crashes."""

    def __init__(self, total: Fraction, shares: dict[str, Fraction] | None) -> None:
        self.total, self.shares = total, shares
        self.charges: list[tuple[str, str, int, Fraction, bool]] = []
        self.answers: dict[tuple[str, int], bytes] = {}

    def spent(self) -> Fraction:
        return sum((price for *_, price, again in self.charges if not again), Fraction(0))

    def spent_by(self, analyst: str) -> Fraction:
        return sum((price for who, *_, price, _ in self.charges if who == analyst), Fraction(0))

    def paid(self, question: str, version: int, analyst: str) -> bool:
        return (analyst, question, version) in [charge[:3] for charge in self.charges]

    def debit(self, question: str, version: int, analyst: str, price: Fraction) -> str:
        stored = (question, version) in self.answers
        if self.shares is not None and analyst not in self.shares:
            return "stranger"
        if stored and self.paid(question, version, analyst):
            return "free"
        if self.shares is not None and self.spent_by(analyst) + price > self.shares[analyst]:
            return "refused"
        if not stored and self.spent() + price > self.total:
            return "refused"
        self.charges.append((analyst, question, version, price, stored))
        return "again" if stored else "charged"


class LedgerMachine(RuleBasedStateMachine):
    """Every step is done to both; whatever can be seen must agree."""

    server: ClassVar[str | None] = None

    def _ledgers(self) -> Ledgers:
        return Files(self.folder) if self.server is None else Schemas(self.server)

    @initialize(accountant=st.sampled_from(list(Accountant)), named=st.booleans())
    def create(self, accountant: Accountant, named: bool) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.ledgers = self._ledgers()
        self.place = self.ledgers.at()
        self.accountant = accountant
        budget = Budget("0.55") if accountant is Accountant.PURE else Budget(3, "1e-5", accountant, rho="0.2")
        shares = {"ana": amount("0.3"), "bea": amount("2")} if named else None
        self.ledger = Ledger.create(self.place, budget, {"version": 1}, analysts=shares)
        self.total = Fraction("0.55") if accountant is Accountant.PURE else Fraction("0.2")
        own = None if shares is None else {name: self._coin(share, budget) for name, share in shares.items()}
        self.twin = Twin(self.total, own)
        self.version = 1
        self.open_entries: list[tuple[Debit, str, int]] = []
        self.drawn = 0

    def _coin(self, share: Decimal, budget: Budget) -> Fraction:
        if self.accountant is Accountant.PURE:
            return Fraction(share)
        from sfumato.promise.zcdp import rho_of

        return Fraction(rho_of(share, budget.delta - budget.keys))  # the rest of δ finds keys

    def _cost(self, price: str) -> Cost:
        return Cost(epsilon=price) if self.accountant is Accountant.PURE else Cost(rho=price)

    def _number(self, cost: Cost) -> Fraction:
        return Fraction(cost.epsilon if self.accountant is Accountant.PURE else cost.rho)

    @rule(question=QUESTIONS, analyst=ANALYSTS, price=PRICES, back=st.integers(0, 1), settle=st.booleans())
    def ask(self, question: str, analyst: str, price: str, back: int, settle: bool) -> None:
        """A charge that is not settled stands for a crash, or for a slow asker who settles later."""
        version = max(1, self.version - back)
        text = f"{question}; {price}"  # the price is part of the question, as a session writes it
        wanted = self.twin.debit(text, version, analyst, Fraction(price))
        try:
            entry = self.ledger.debit(text, version, analyst, self._cost(price))
        except BudgetExceeded:
            assert wanted == "refused"
            return
        except ParameterError:
            assert wanted == "stranger"
            return
        assert wanted in {"free", "again", "charged"}
        assert entry.answer == self.twin.answers.get((text, version))
        assert (entry.cost == Cost()) == (wanted == "free")
        if wanted == "charged":
            self.open_entries.append((entry, text, version))
            if settle:
                self._settle(len(self.open_entries) - 1)

    @rule(choice=st.integers(0, 9))
    def settle_late(self, choice: int) -> None:
        if self.open_entries:
            self._settle(choice % len(self.open_entries))

    def _settle(self, place: int) -> None:
        entry, text, version = self.open_entries.pop(place)
        self.drawn += 1
        shown = self.ledger.settle(entry, f"noise {self.drawn}".encode())
        assert shown == self.twin.answers.setdefault((text, version), f"noise {self.drawn}".encode())

    @rule(question=QUESTIONS, analyst=ANALYSTS, price=PRICES)
    def find(self, question: str, analyst: str, price: str) -> None:
        text = f"{question}; {price}"
        stored = self.twin.answers.get((text, self.version))
        wanted = stored if self.twin.paid(text, self.version, analyst) else None
        assert self.ledger.find(text, self.version, analyst) == wanted

    @rule()
    def declare(self) -> None:
        self.version += 1
        assert self.ledger.declare_version({"version": self.version}) == self.version

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger.open(self.place)

    @invariant()
    def agree(self) -> None:
        assert self._number(self.ledger.spent) == self.twin.spent() <= self.total
        assert self._number(self.ledger.left) == self.total - self.twin.spent()
        assert (self.ledger.version, self.ledger.facts) == (self.version, {"version": self.version})
        records = list(self.ledger.entries())
        seen = [(r.analyst, r.question, r.version, self._number(r.cost), r.again) for r in records]
        assert seen == self.twin.charges
        assert sum(not record.answered for record in records) == len(self.open_entries)
        for analyst in NAMES if self.twin.shares is None else self.twin.shares:
            own = self.twin.spent_by(analyst)
            assert self._number(self.ledger.spent_by(analyst)) == own
            share = self.total - self.twin.spent() if self.twin.shares is None else self.twin.shares[analyst] - own
            assert self._number(self.ledger.left_for(analyst)) == min(share, self.total - self.twin.spent())

    def teardown(self) -> None:
        self.ledgers.clear()
        shutil.rmtree(self.folder)


class ServerMachine(LedgerMachine):
    """The same on a server."""

    server = os.environ.get("SFUMATO_POSTGRES", "")


TestLedgerModel = LedgerMachine.TestCase
TestLedgerModel.settings = settings(max_examples=25, stateful_step_count=30, deadline=None, derandomize=True)
TestServerModel = pytest.mark.skipif(not ServerMachine.server, reason=NO_SERVER)(ServerMachine.TestCase)
TestServerModel.settings = settings(max_examples=10, stateful_step_count=30, deadline=None, derandomize=True)
