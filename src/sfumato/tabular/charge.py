"""A table paid for from a ledger: charged before anything is drawn, and shown again free of charge.

The order is that of every private answer (Rogers, Roth, Ullman & Vadhan 2016): a crash may charge for a table never
given, it never gives one uncharged. The ledger keeps the table itself, so that asking twice reveals nothing more.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.rows import open_rows
from sfumato.errors import InputError, ParameterError
from sfumato.promise.cost import Accountant, Cost
from sfumato.release import Card, Release
from sfumato.schema import Schema
from sfumato.table import Table


class PaidTable(msgspec.Struct, frozen=True):
    """A released table as a ledger keeps it."""

    rows: bytes
    card: str


@dataclass(frozen=True)
class Charge:
    """Who pays, and from which ledger; `data` is the file the ledger was made for, unless that was a dataframe.

    >>> Charge(Path("people.ledger")).analyst
    'analyst'
    """

    ledger: Path
    data: Path | None = None
    analyst: str = "analyst"

    def release(self, table: Table, asked: dict[str, Any], cost: Cost, draw: Callable[[], Release]) -> Release:
        """Return the table that `draw` makes, once it is paid for; or the one that was paid for before."""
        ledger = Ledger.open(self.ledger)
        if ledger.budget.accountant is not Accountant.PURE:
            raise ParameterError(f"ledger '{self.ledger}' counts rho; a private table costs epsilon and delta")
        self._check_rows(ledger, table)
        entry = ledger.debit(json.dumps(asked, sort_keys=True, default=str), ledger.version, self.analyst, cost)
        kept = ledger.settle(entry, _pack(draw())) if entry.answer is None else entry.answer
        return _unpack(kept, table)

    def _check_rows(self, ledger: Ledger, table: Table) -> None:
        facts = ledger.facts
        if (facts.get("protect"), facts.get("neighbours")) != ("rows", "presence"):
            raise ParameterError(
                f"ledger '{self.ledger}' protects {facts.get('protect')} ({facts.get('neighbours')}); a private table "
                "protects rows (presence), so it needs a ledger made for those"
            )
        rows = open_rows(table.frame if self.data is None else self.data, Schema())
        if rows.fingerprint() != facts.get("fingerprint"):
            raise InputError(
                f"the data are not those that ledger '{self.ledger}' was made for; name their file, or declare the "
                "change with `sfumato budget new-version`"
            )


def _pack(release: Release) -> bytes:
    buffer = io.BytesIO()
    release.table.frame.write_ipc(buffer, compression="zstd")
    return msgspec.msgpack.encode(PaidTable(buffer.getvalue(), release.card.to_json()))


def _unpack(kept: bytes, table: Table) -> Release:
    stored = msgspec.msgpack.decode(kept, type=PaidTable)
    frame = pl.read_ipc(io.BytesIO(stored.rows))
    return Release(Table(frame, table.backend, table.delimiter), Card.from_json(stored.card))
