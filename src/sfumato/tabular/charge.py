"""A table paid for from a ledger: charged before anything is drawn, and shown again free of charge.

The order is that of every private answer (Rogers, Roth, Ullman & Vadhan 2016): a crash may charge for a table never
given, it never gives one uncharged. The ledger keeps the table itself, so that asking twice reveals nothing more. A
table that promises no differential privacy has no price: the ledger lists it outside the bound.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.dp.ledger.till import Purchase, list_outside, pay
from sfumato.dp.rows import open_rows
from sfumato.errors import InputError
from sfumato.promise import Promise
from sfumato.release import Card, Release
from sfumato.schema import Reading, Schema
from sfumato.table import Table
from sfumato.table.database import is_address, without_password
from sfumato.table.io import read_hashed

DOOR = "table"
NOT_ALONE = (
    "the account lists {count} of these persons outside its bound, against an assumption of this card: "
    "together they can undo the promise; a series of tables is what sfumato republish is for"
)


class PaidTable(msgspec.Struct, frozen=True):
    """A released table as a ledger keeps it."""

    rows: bytes
    card: str


@dataclass(frozen=True)
class Charge:
    """Who pays, and from which ledger; `data` is the file the ledger was made for, unless that was a dataframe.

    `digest` is the SHA-256 of the bytes that the table was read from (`sfumato.table.io.read_hashed`); without it the
    file is read again, and must hold the table.

    >>> Charge(Path("people.ledger")).analyst
    'analyst'
    """

    ledger: LedgerPlace
    data: Path | str | None = None
    analyst: str = "analyst"
    digest: str | None = None

    @classmethod
    def read(
        cls, ledger: LedgerPlace | None, data: Path | str, *, empty: bool = False, reading: Reading | None = None
    ) -> tuple[Table, Charge | None]:
        r"""Return a table and who pays for it, if a ledger is named: by the very rows that were read.

        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "people.csv"
        >>> _ = file.write_text("age\n31\n")
        >>> len(Charge.read(Path("people.ledger"), file)[1].digest)
        64
        """
        hashed: Iterable[str] = ()
        if ledger is not None and is_address(data):
            hashed = Schema.from_text(Ledger.open(ledger).facts["schema"]).columns
        table, digest = read_hashed(data, empty=empty, reading=reading, hashed=hashed)
        return table, None if ledger is None else cls(ledger, data, digest=digest)

    def release(self, table: Table, asked: dict[str, Any], promise: Promise, draw: Callable[[], Release]) -> Release:
        """Return the table that `draw` makes, once it is paid for; or the one that was paid for before."""
        ledger = Ledger.open(self.ledger)
        version = self._check_rows(ledger, table)
        entry = pay(ledger, promise, self._purchase(ledger, version, asked), analyst=self.analyst, version=version)
        kept = ledger.settle(entry, _pack(draw())) if entry.answer is None else entry.answer
        return _with_head(_unpack(kept, table), ledger)

    def list_release(self, table: Table, release: Release, schema: Schema) -> Release:
        """Return a release that promises no differential privacy, listed in the account, with a card that says so."""
        ledger, card = Ledger.open(self.ledger), release.card
        version = self._check_rows(ledger, table)
        made = {"algorithm": card.algorithm, card.guarantee.model: card.guarantee.parameters}
        asked = {**made, "settings": card.released.settings, "schema": schema.to_toml()}
        purchase = self._purchase(ledger, version, asked)
        listed = {(entry.question, entry.version) for entry in ledger.entries() if entry.outside}
        others = len(listed - {(purchase.question, version)})
        again = [NOT_ALONE.format(count=f"{others} other release{'s' * (others > 1)}")] if others else []
        named = f"a release by {card.algorithm}" if card.guarantee.model == "none" else card.guarantee.model
        sentence = list_outside(ledger, named, purchase, analyst=self.analyst)
        told = replace(release, card=msgspec.structs.replace(card, warnings=[*card.warnings, *again, sentence]))
        return _with_head(told, ledger)

    def _purchase(self, ledger: Ledger, version: int, asked: dict[str, Any]) -> Purchase:
        question = json.dumps(asked, sort_keys=True, default=str)
        return Purchase(DOOR, question, ledger.facts_of(version).get("table"))

    def _check_rows(self, ledger: Ledger, table: Table) -> int:
        """Return the version of the rows that the table holds; refuse rows that the ledger does not know."""
        version = ledger.version
        if self._fingerprint(table) != ledger.facts_of(version).get("fingerprint"):
            raise InputError(
                f"the data are not those that ledger '{ledger.name}' was made for; name their file, or declare the "
                "change with `sfumato budget new-version`"
            )
        return version

    def _fingerprint(self, table: Table) -> str:
        """The fingerprint of the rows that will be released, not of what a file holds by now."""
        if self.digest is not None:
            return self.digest
        if self.data is None:
            return open_rows(table.frame, Schema()).fingerprint()
        held, digest = read_hashed(self.data, empty=True, reading=table.reading)
        if not held.frame.equals(table.frame):
            place = without_password(self.data)
            raise InputError(f"file '{place}' does not hold the table that is to be released; read it again")
        return digest


def _with_head(release: Release, ledger: Ledger) -> Release:
    return replace(release, card=release.card.for_ledger(ledger.head.text))


def _pack(release: Release) -> bytes:
    buffer = io.BytesIO()
    release.table.frame.write_ipc(buffer, compression="zstd")
    return msgspec.msgpack.encode(PaidTable(buffer.getvalue(), release.card.to_json()))


def _unpack(kept: bytes, table: Table) -> Release:
    stored = msgspec.msgpack.decode(kept, type=PaidTable)
    frame = pl.read_ipc(io.BytesIO(stored.rows))
    return Release(Table(frame, table.backend, table.delimiter), Card.from_json(stored.card))
