"""A ledger of the first format becomes one of this format at its first use; a copy of the old file is kept.

The old entries become the first links of the chain: what happened before is from then on as fixed as what follows.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sfumato.core.files import create_file, flush_folder
from sfumato.core.hash_chain import KEY_BYTES
from sfumato.dp.ledger import events
from sfumato.dp.ledger.book import SqlBook, read_cost
from sfumato.dp.ledger.tables import links
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.ledger.wholeness import hash_of
from sfumato.errors import InputError
from sfumato.promise.cost import Cost
from sfumato.random import SecureSource

FIRST, NOW = 1, 2
KEPT = 0x6B657074  # "kept", in the header of a copy: it must not be taken for a ledger that has budget left
ADDED = (
    "ALTER TABLE account ADD COLUMN terms TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE account ADD COLUMN frozen TEXT",
    "ALTER TABLE account ADD COLUMN chain_key BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE account ADD COLUMN head_number INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE account ADD COLUMN head BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE entry ADD COLUMN door TEXT NOT NULL DEFAULT 'query'",
    "ALTER TABLE entry ADD COLUMN data TEXT",
    "ALTER TABLE entry ADD COLUMN outside INTEGER NOT NULL DEFAULT 0",
)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring an open ledger of the first format to this one, whole or not at all; its copy is PATH.format-1."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == FIRST:  # not done meanwhile by somebody else
            _refuse_wrong_sums(SqlBook(connection), connection)
            _keep_copy(path)
            for statement in (*ADDED, links("sqlite")):
                connection.execute(statement)
            key = SecureSource().words(KEY_BYTES // 4).tobytes()
            connection.execute("UPDATE account SET chain_key = ?, terms = ?", (key, Terms().to_json()))
            _link_everything(connection)
            connection.execute(f"PRAGMA user_version = {NOW}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _refuse_wrong_sums(book: SqlBook, connection: sqlite3.Connection) -> None:
    """Refuse totals that are not the sums of the entries: all that the first format can tell of damage."""
    total, purses = Cost(), dict.fromkeys(book.purses(), Cost())
    sql = "SELECT hash, question, analyst, again, epsilon, delta, rho FROM entry"
    for question, text, analyst, again, *cost in connection.execute(sql).fetchall():
        if bytes(question) != hash_of(text) or analyst not in purses:
            raise sqlite3.DatabaseError("entry")
        total = total if again else total + read_cost(*cost)
        purses[analyst] += read_cost(*cost)
    account = connection.execute("SELECT epsilon, delta, rho FROM account").fetchone()
    spent = {name: purse.spent for name, purse in book.purses().items()}
    if account is None or read_cost(*account) != total or spent != purses:
        raise sqlite3.DatabaseError("sums")


def _keep_copy(path: Path) -> None:
    """Write the file as it is before the change, for its owner alone; a file that is in the way is left alone.

    A copy that a killed migration left is written again. Another connection reads the ledger: the one that is about
    to write would wait for itself.
    """
    copy = path.with_name(f"{path.name}.format-{FIRST}")
    if copy.exists() and not _is_copy(copy):
        raise InputError(f"file '{copy}' is in the way of a copy of the old ledger; move it away")
    beside = copy.with_name(f".{copy.name}.partial")
    beside.unlink(missing_ok=True)
    os.close(create_file(beside))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(beside)) as target:
        source.backup(target)
        target.execute(f"PRAGMA application_id = {KEPT}")
        target.commit()
    beside.replace(copy)
    flush_folder(copy.parent)


def _is_copy(file: Path) -> bool:
    """Return whether a file is a copy that a migration made, by the mark in SQLite's header (its byte 68)."""
    with file.open("rb") as opened:
        return opened.read(72)[68:] == KEPT.to_bytes(4, "big")


def _link_everything(connection: sqlite3.Connection) -> None:
    """Add a link for all that happened under the first format, in its order as far as it is known."""
    book = SqlBook(connection)
    account = book.account()
    purses = {name: purse.share for name, purse in book.purses().items() if purse.share is not None}
    book.link(
        events.OPENED, events.opened(account.budget, purses if account.closed else None, book.terms(), book.secret())
    )
    book.link(events.MIGRATED, events.reason(f"from format {FIRST}"))
    for number, time, facts in book.versions():
        book.link(events.VERSION, events.declared(number, time, facts))
    kept = {(question, version): answer for question, version, answer in book.answers()}
    sql = "SELECT number, hash FROM entry ORDER BY number"
    hashes = {number: bytes(question) for number, question in connection.execute(sql).fetchall()}
    after = 0
    while page := book.page(after):
        for record in page:
            book.link(events.ENTRY, events.entered(record.number, record))
            stored = kept.pop((hashes[record.number], record.version), None)
            if stored is not None:
                book.link(events.SETTLED, events.settled(record.number, stored))
        after = page[-1].number
