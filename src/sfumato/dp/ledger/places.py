"""Where a ledger lies: in a file, or in a database that an address names.

Addresses are URIs (RFC 3986); every place where a file may be named takes one.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.core.address import is_address
from sfumato.dp.ledger.sqlite import SqliteStore
from sfumato.dp.ledger.store import HomedStore

LedgerPlace = Path | str


def store_of(place: LedgerPlace) -> HomedStore:
    """Return the store of a ledger's file or address.

    >>> store_of("rides.ledger").name.endswith("rides.ledger"), store_of("postgresql://server/city?ledger=rides").name
    (True, 'postgresql://server/city?ledger=rides')
    """
    if is_address(place):
        from sfumato.dp.ledger.postgres import PostgresStore  # its driver is heavy, and not everybody has it

        return PostgresStore.at(str(place))
    return SqliteStore(Path(place).absolute())


def ledger_file(place: LedgerPlace | None) -> Path | None:
    """Return the file of a ledger, None where it lies in a database: no output can be the same file.

    >>> ledger_file("postgresql://server/city?ledger=rides") is None
    True
    """
    return None if place is None or is_address(place) else Path(place)
