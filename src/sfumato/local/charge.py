"""Local collections charged to a ledger about the same people: a collection is paid for once, before it is told.

A charge stands whatever becomes of it (Rogers, Roth, Ullman & Vadhan 2016); a collection that was paid for is found
again by its files' names and its tally. The ledger needs no copy of anybody's values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.dp.ledger.till import Purchase, pay
from sfumato.dp.rows import open_rows
from sfumato.errors import InputError, ParameterError
from sfumato.local.means.tally import MeanTally
from sfumato.local.promise import person_promise
from sfumato.promise import Promise
from sfumato.release import Card
from sfumato.schema import Reading, Schema
from sfumato.table import Table
from sfumato.table.io import read_hashed

if TYPE_CHECKING:
    from sfumato.local.collector.tally import Tally
    from sfumato.local.intake import SilentRows
    from sfumato.local.means.base import MeanProtocol

DOOR = "local"
LEAST_REPORTS = 2  # of which a mean with its error can be told
COLLECTOR = "collector"


@dataclass(frozen=True)
class CollectionCharge:
    """Who pays for a collection, and from which ledger; `person` sends at most `reports` reports, if that is said.

    >>> CollectionCharge.of(Path("riders.ledger"), "rider:3").reports
    3
    """

    ledger: LedgerPlace
    person: str | None = None
    reports: int = 1
    analyst: str = COLLECTOR

    @classmethod
    def of(cls, ledger: LedgerPlace, persons: str | None) -> CollectionCharge:
        """Return the charge; `persons` is ID:REPORTS.

        >>> CollectionCharge.of(Path("riders.ledger"), "rider")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: the persons are 'rider'; give ID:REPORTS, for example rider:1
        """
        if persons is None:
            return cls(ledger)
        name, _, number = persons.rpartition(":")
        if not (name and number.isdecimal() and int(number)):
            raise ParameterError(f"the persons are {persons!r}; give ID:REPORTS, for example rider:1")
        return cls(ledger, name, int(number))

    def pay_tally(self, tally: Tally, names: Sequence[str]) -> None:
        """Pay for the reports behind a tally, from files of these names; the same ones are paid for once."""
        protocol = tally.protocol
        counted = json.dumps([tally.users, tally.rejected, tally.counts.tolist()], sort_keys=True)
        asked = {
            "collection": sorted(names),
            "protocol": protocol.name,
            "design": protocol.design_hash,
            "domain": protocol.domain_hash,
            "tally": hashlib.sha256(counted.encode()).hexdigest(),
        }
        self.buy(protocol.promise, asked, names, lambda: b"counted")

    def buy(self, promise: Promise, asked: dict[str, Any], names: Sequence[str], draw: Callable[[], bytes]) -> bytes:
        """Return what `draw` makes, once it is paid for; or what was paid for before."""
        ledger = Ledger.open(self.ledger)
        whole = promise if self.person is None else person_promise(promise, self.person, self.reports)
        question = json.dumps({**asked, "person": self.person, "reports": self.reports}, sort_keys=True)
        purchase = Purchase(DOOR, question, ", ".join(sorted(names)))
        entry = pay(ledger, whole, purchase, analyst=self.analyst)
        return ledger.settle(entry, draw()) if entry.answer is None else entry.answer

    def on_card(self, card: Card) -> Card:
        """Return a card with the ledger's head, and with what was said about persons among its assumptions."""
        notes = [] if self.person is None else [f"Every person ({self.person}) sent at most {self.reports} reports."]
        told = msgspec.structs.replace(card, assumptions=[*card.assumptions, *notes])
        return told.for_ledger(Ledger.open(self.ledger).head.text)


class PaidTally(NamedTuple):
    """The tally that was paid for, and the rows that have no report in it."""

    tally: MeanTally
    others: SilentRows


def paid_mean_tally(
    charge: CollectionCharge,
    protocol: MeanProtocol,
    table: Table | str | Path,
    column: str,
    reading: Reading | None = None,
    max_failed: float | None = None,
) -> PaidTally:
    """Return the tally of one fresh report of every row, paid for before it is drawn; or the one of an earlier time.

    Columns of which too many rows cannot be reported are refused before anything is paid.
    """
    from sfumato.local.intake import reported_numbers

    if isinstance(table, Table):
        held, digest, name = table, open_rows(table.frame, Schema()).fingerprint(), "rows"
    else:
        held, digest = read_hashed(table, reading=reading)
        name = Path(table).name
    numbers, others = reported_numbers(protocol, held.column(column), reading, max_failed)
    if numbers.size < LEAST_REPORTS:
        raise InputError(f"a mean needs at least {LEAST_REPORTS} reports; the column has {numbers.size} rows")
    asked = {"mean": column, "protocol": protocol.name, "design": protocol.design_hash, "rows": digest}

    def draw() -> bytes:
        return json.dumps(msgspec.structs.asdict(protocol.aggregate(protocol.report_many(numbers)))).encode()

    kept = json.loads(charge.buy(protocol.promise, asked, [name], draw))
    tally = MeanTally(
        design=kept["design"],
        counts=tuple(kept["counts"]),
        sums=tuple(kept["sums"]),
        squares=tuple(kept["squares"]),
        rejected=kept["rejected"],
    )
    return PaidTally(tally, others)
