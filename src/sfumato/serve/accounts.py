"""Accounts and their roles: who somebody is for the curator. A name is never given to a second person.

Roles are those of role-based access control (Ferraiolo & Kuhn 1992): an account has one, and an operation names those
that may call it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum

from sfumato.errors import InputError
from sfumato.serve import acts
from sfumato.serve.database import Database
from sfumato.serve.names import account_name


class Role(StrEnum):
    """What an account is for; `nobody` is whoever shows no token, and no account has it.

    >>> Role("analyst") is Role.ANALYST
    True
    """

    STEWARD = "steward"
    ANALYST = "analyst"
    READER = "reader"
    NOBODY = "nobody"


@dataclass(frozen=True)
class Account:
    """One account.

    >>> Account("ana", Role.ANALYST, "2026-01-01T00:00:00+00:00").closed is None
    True
    """

    name: str
    role: Role
    opened: str
    closed: str | None = None


def open_account(database: Database, name: str, role: Role, by: str) -> Account:
    """Open an account; a name that was ever used is refused, since ledgers know it.

    >>> from sfumato.serve.home import Home
    >>> import tempfile
    >>> home = Home.open(tempfile.mkdtemp() + "/home")
    >>> open_account(home.database, "ana", Role.ANALYST, "home").role.value
    'analyst'
    >>> open_account(home.database, "ana", Role.STEWARD, "home")
    Traceback (most recent call last):
    sfumato.errors.InputError: the name 'ana' was given before; choose another
    >>> home.close()
    """
    if role is Role.NOBODY:
        raise InputError("no account has the role nobody; choose steward, analyst or reader")
    account = Account(account_name(name), role, acts.now())
    with database.writing() as book:
        if book.execute("SELECT 1 FROM account WHERE name = ?", (name,)).fetchone() is not None:
            raise InputError(f"the name '{name}' was given before; choose another")
        sql = "INSERT INTO account (name, role, opened) VALUES (?, ?, ?)"
        book.execute(sql, (account.name, account.role.value, account.opened))
        acts.record(book, by, "opened an account", {"account": name, "role": role.value})
    return account


def close_account(database: Database, name: str, by: str) -> bool:
    """Close an account and revoke its tokens; return whether there was an open one. The last steward stays."""
    with database.writing() as book:
        found = find_account(book, name)
        if found is None or found.closed is not None:
            return False
        if found.role is Role.STEWARD and _open_stewards(book) == 1:
            raise InputError("the last steward cannot be closed; open another steward's account first")
        time = acts.now()
        book.execute("UPDATE account SET closed = ? WHERE name = ?", (time, name))
        book.execute("UPDATE token SET revoked = ? WHERE account = ? AND revoked IS NULL", (time, name))
        book.execute("DELETE FROM link WHERE account = ? AND used IS NULL", (name,))
        acts.record(book, by, "closed an account", {"account": name})
    return True


def find_account(book: sqlite3.Connection, name: str) -> Account | None:
    """Return an account, or None."""
    row = book.execute("SELECT * FROM account WHERE name = ?", (name,)).fetchone()
    return None if row is None else _account(row)


def page_of_accounts(book: sqlite3.Connection, after: str, most: int) -> list[Account]:
    """Return some accounts that follow a name."""
    rows = book.execute("SELECT * FROM account WHERE name > ? ORDER BY name LIMIT ?", (after, most))
    return [_account(row) for row in rows]


def _account(row: sqlite3.Row) -> Account:
    return Account(row["name"], Role(row["role"]), row["opened"], row["closed"])


def _open_stewards(book: sqlite3.Connection) -> int:
    sql = "SELECT COUNT(*) FROM account WHERE role = 'steward' AND closed IS NULL"
    return int(book.execute(sql).fetchone()[0])
