"""Answers that were given: kept by whom they were given to, so that the same request with the same key is free.

An idempotency key belongs to one account, and to one request of it (draft-ietf-httpapi-idempotency-key-header). What
was refused is not kept, since it cost nothing.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from sfumato.client.wire import AnswerReply, AskBody
from sfumato.random import SecureSource
from sfumato.serve import acts
from sfumato.serve.home import Home
from sfumato.serve.problems import Problem

MOST_KEPT, MOST_BYTES = 1000, 256 << 20  # of one account
KEY = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True)
class Asked:
    """A request for an answer: whose it is, about what, and its idempotency key if it has one.

    >>> Asked("ana", "rides", AskBody(sql="SELECT COUNT(*) FROM rides", epsilon="0.1"), None).key is None
    True
    """

    account: str
    data_set: str
    body: AskBody
    key: str | None

    @property
    def digest(self) -> bytes:
        """The hash of all that is asked."""
        return hashlib.sha256(self.data_set.encode() + b"\0" + msgspec.json.encode(self.body)).digest()


def answer_once(home: Home, asked: Asked, answer: Callable[[], AnswerReply]) -> bytes:
    """Return the body of the answer: the one that was given to this key before, or a new one, which is then kept."""
    if asked.key is not None and not KEY.fullmatch(asked.key):
        raise Problem("input", "the idempotency key is not usable; give 1 to 200 visible ASCII characters")
    number = SecureSource().words(4).tobytes().hex()
    kept = _begin(home, asked, number)
    if kept is not None:
        return kept
    try:
        reply = msgspec.json.encode(msgspec.structs.replace(answer(), id=number))
    except BaseException:
        with home.database.writing() as book:
            book.execute("DELETE FROM answer WHERE id = ?", (number,))
        raise
    with home.database.writing() as book:
        book.execute("UPDATE answer SET reply = ? WHERE id = ?", (reply, number))
        _forget_oldest(book, asked.account)
    return reply


def _forget_oldest(book: sqlite3.Connection, account: str) -> None:
    """Take away what an account was given long ago: the ledger still has the numbers, and the disk has an end."""
    sql = "SELECT rowid, LENGTH(reply) AS bytes FROM answer WHERE account = ? AND reply IS NOT NULL ORDER BY rowid DESC"
    kept = size = 0
    for row in book.execute(sql, (account,)):
        kept, size = kept + 1, size + row["bytes"]
        if kept > MOST_KEPT or (size > MOST_BYTES and kept > 1):
            sql = "DELETE FROM answer WHERE account = ? AND reply IS NOT NULL AND rowid <= ?"
            book.execute(sql, (account, row["rowid"]))
            return


def _begin(home: Home, asked: Asked, number: str) -> bytes | None:
    """Return what was answered before; note that an answer is being made if nothing was."""
    with home.database.writing() as book:
        if asked.key is not None:
            sql = "SELECT request, reply FROM answer WHERE account = ? AND key = ?"
            row = book.execute(sql, (asked.account, asked.key)).fetchone()
            if row is not None:
                return _same(row, asked)
        sql = "INSERT INTO answer (id, account, data_set, key, request, asked) VALUES (?, ?, ?, ?, ?, ?)"
        book.execute(sql, (number, asked.account, asked.data_set, asked.key, asked.digest, acts.now()))
    return None


def _same(row: sqlite3.Row, asked: Asked) -> bytes:
    if row["request"] != asked.digest:
        raise Problem("key-used", "this idempotency key came with another request; take a new one")
    if row["reply"] is None:
        raise Problem("conflict", "the request with this idempotency key is being answered; wait for it")
    reply: bytes = row["reply"]
    return reply


def page_of_answers(book: sqlite3.Connection, account: str, after: str, most: int) -> list[tuple[str, str, str]]:
    """Return id, data set and time of some answers of an account, those asked last first."""
    place = book.execute("SELECT rowid FROM answer WHERE id = ? AND account = ?", (after, account)).fetchone()
    before = 2**62 if place is None else place["rowid"]
    sql = (
        "SELECT id, data_set, asked FROM answer WHERE account = ? AND reply IS NOT NULL AND rowid < ? "
        "ORDER BY rowid DESC LIMIT ?"
    )
    return [(row["id"], row["data_set"], row["asked"]) for row in book.execute(sql, (account, before, most))]


def past_answer(book: sqlite3.Connection, account: str, number: str) -> bytes:
    """Return the body of an answer that this account was given."""
    sql = "SELECT reply FROM answer WHERE id = ? AND account = ? AND reply IS NOT NULL"
    row = book.execute(sql, (number, account)).fetchone()
    if row is None:
        raise Problem("not-found")
    reply: bytes = row["reply"]
    return reply
