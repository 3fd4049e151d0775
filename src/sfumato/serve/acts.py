"""The log of privileged acts: who did what, in order; a line is never changed, and a chain of hashes shows if one was.

The chain is that of the ledger (Haber & Stornetta 1991). A line has names and numbers, never a token or a cell.
"""

from __future__ import annotations

import hmac
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sfumato.core.hash_chain import EMPTY, Head

HOME = "home"  # whoever may read the home folder
Fact = str | int | float | bool | Sequence[str] | None


@dataclass(frozen=True)
class Act:
    """One line of the log.

    >>> Act(1, "2026-01-01T00:00:00+00:00", "ana", "opened an account", {"name": "bo"}).number
    1
    """

    number: int
    time: str
    who: str
    what: str
    about: dict[str, Any]


def now() -> str:
    """Return the time as the records hold it.

    >>> now()[-6:]
    '+00:00'
    """
    return datetime.now(UTC).isoformat(timespec="seconds")


def record(book: sqlite3.Connection, who: str, what: str, about: Mapping[str, Fact]) -> None:
    """Add a line within the transaction that does what it tells.

    >>> from sfumato.serve.home import Home
    >>> import tempfile
    >>> home = Home.open(tempfile.mkdtemp() + "/home")
    >>> with home.database.writing() as book:
    ...     record(book, "home", "tried the log", {"times": 1})
    >>> with home.database.reading() as book:
    ...     page(book, 0, 10)[-1].about, broken_link(book)
    ({'times': 1}, None)
    >>> home.close()
    """
    last = book.execute("SELECT number, digest FROM act ORDER BY number DESC LIMIT 1").fetchone()
    head = EMPTY if last is None else Head(last["number"], last["digest"])
    time, words = now(), json.dumps(dict(about), sort_keys=True)
    after = head.then(_key(book), _line(time, who, what, words))
    sql = "INSERT INTO act (number, time, who, what, about, digest) VALUES (?, ?, ?, ?, ?, ?)"
    book.execute(sql, (after.number, time, who, what, words, after.digest))


def page(book: sqlite3.Connection, after: int, most: int) -> list[Act]:
    """Return some lines that follow a number, in order."""
    rows = book.execute("SELECT * FROM act WHERE number > ? ORDER BY number LIMIT ?", (after, most))
    return [Act(row["number"], row["time"], row["who"], row["what"], json.loads(row["about"])) for row in rows]


def broken_link(book: sqlite3.Connection) -> int | None:
    """Return the number of the first line that is not as it was written, None where all are."""
    head, key = EMPTY, _key(book)
    for row in book.execute("SELECT * FROM act ORDER BY number"):
        head = head.then(key, _line(row["time"], row["who"], row["what"], row["about"]))
        if head.number != row["number"] or not hmac.compare_digest(head.digest, row["digest"]):
            return int(row["number"])
    return None


def _line(time: str, who: str, what: str, about: str) -> bytes:
    return json.dumps([time, who, what, about]).encode()


def _key(book: sqlite3.Connection) -> bytes:
    found: bytes = book.execute("SELECT chain_key FROM secret").fetchone()["chain_key"]
    return found
