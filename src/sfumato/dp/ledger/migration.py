"""A ledger of the first format becomes one of this format at its first use; a copy of the old file is kept.

The old entries become the first links of the chain: what happened before is from then on as fixed as what follows.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sfumato.core.hash_chain import KEY_BYTES
from sfumato.dp.ledger import events
from sfumato.dp.ledger.book import LINKS, SqliteBook
from sfumato.dp.ledger.terms import Terms
from sfumato.errors import InputError
from sfumato.random import SecureSource

FIRST, NOW = 1, 2
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
            _keep_copy(path)
            for statement in (*ADDED, LINKS):
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


def _keep_copy(path: Path) -> None:
    """Write the file as it is before the change, for its owner alone; a file that is in the way is left alone.

    Another connection reads it: the one that is about to write would wait for itself.
    """
    copy = path.with_name(f"{path.name}.format-{FIRST}")
    if copy.exists():
        raise InputError(f"file '{copy}' is in the way of a copy of the old ledger; move it away")
    beside = copy.with_name(f".partial-{os.getpid()}-{copy.name}")
    beside.unlink(missing_ok=True)
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(beside)) as target:
        source.backup(target)
    beside.replace(copy)


def _link_everything(connection: sqlite3.Connection) -> None:
    """Add a link for all that happened under the first format, in its order as far as it is known."""
    book = SqliteBook(connection)
    account = book.account()
    purses = {name: purse.share for name, purse in book.purses().items() if purse.share is not None}
    book.link(events.OPENED, events.opened(account.budget, purses if account.closed else None, book.terms()))
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
