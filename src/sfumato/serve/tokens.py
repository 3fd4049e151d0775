"""Tokens and one-time sign-in links: 256 random bits, shown once, kept as SHA-256, with scopes and an end.

A token is found by its hash, so that how long the search takes tells nothing of a token that is nearly right; guessing
256 bits needs no slow hash (OWASP, "Session management cheat sheet").
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sfumato.errors import InputError
from sfumato.random import SecureSource
from sfumato.serve import acts
from sfumato.serve.accounts import Account, Role, find_account
from sfumato.serve.database import Database

PREFIX = "sfumato_"
WRITTEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
WORDS = 8  # of 32 bits
DAY = 86_400.0
LONGEST_DAYS = 366
SIGNED_IN = 0.5  # days for which a token that a link was exchanged for is good
LINK_SECONDS = 3600.0
MOST_TOKENS = 100  # of an account, revoked and old ones left out


class Scope(StrEnum):
    """What a token may be used for; the account's role bounds it as well.

    >>> [scope.value for scope in scopes_of(Role.ANALYST)]
    ['read', 'ask']
    """

    READ = "read"
    ASK = "ask"
    MANAGE = "manage"


OF_ROLE = {
    Role.STEWARD: (Scope.READ, Scope.MANAGE),
    Role.ANALYST: (Scope.READ, Scope.ASK),
    Role.READER: (Scope.READ,),
    Role.NOBODY: (),
}


def scopes_of(role: Role) -> tuple[Scope, ...]:
    """Return the scopes that tokens of a role may have."""
    return OF_ROLE[role]


@dataclass(frozen=True)
class Token:
    """What is known of a token: not its text, which only its owner has.

    >>> Token("0a", "ana", (Scope.READ,), "2026-01-01T00:00:00+00:00", 0.0).revoked is None
    True
    """

    id: str
    account: str
    scopes: tuple[Scope, ...]
    made: str
    expires: float
    revoked: str | None = None


@dataclass(frozen=True)
class Issued:
    """A new token with its text, which is shown once; its picture does not show it.

    >>> Issued(Token("0a", "ana", (), "", 0.0), "sfumato_secret")
    Issued(token=Token(id='0a', account='ana', scopes=(), made='', expires=0.0, revoked=None))
    """

    token: Token
    text: str = field(repr=False)


@dataclass(frozen=True)
class Caller:
    """Whoever calls: an account by a token of certain scopes, or nobody.

    >>> Caller.nobody().role.value
    'nobody'
    """

    name: str
    role: Role
    scopes: tuple[Scope, ...] = ()
    token: str | None = None
    expires: float | None = None

    @classmethod
    def nobody(cls) -> Caller:
        """Return whoever shows no token."""
        return cls("nobody", Role.NOBODY)


def issue_token(database: Database, account: str, scopes: Sequence[Scope], days: float, by: str) -> Issued:
    """Make a token for an account and return it with its text, which nobody can find again.

    >>> from sfumato.serve.accounts import open_account
    >>> from sfumato.serve.home import Home
    >>> import tempfile
    >>> home = Home.open(tempfile.mkdtemp() + "/home")
    >>> ana = open_account(home.database, "ana", Role.ANALYST, "home")
    >>> issued = issue_token(home.database, "ana", [Scope.READ], 30, "home")
    >>> find_caller(home.database, issued.text).name, find_caller(home.database, issued.text[:-1]) is None
    ('ana', True)
    >>> home.close()
    """
    if not 0 < days <= LONGEST_DAYS:
        raise InputError(f"the token is for {days:g} days; give more than 0, and at most {LONGEST_DAYS}")
    with database.writing() as book:
        found = find_account(book, account)
        if found is None or found.closed is not None:
            raise InputError(f"there is no open account '{account}'; open one first")
        issued = _issue(book, found, scopes, days)
        about = {"account": account, "token": issued.token.id, "scopes": [scope.value for scope in scopes]}
        acts.record(book, by, "issued a token", {**about, "days": days})
    return issued


def _issue(book: sqlite3.Connection, account: Account, scopes: Sequence[Scope], days: float) -> Issued:
    allowed = scopes_of(account.role)
    wrong = [scope.value for scope in scopes if scope not in allowed]
    if wrong or not scopes:
        words = ", ".join(scope.value for scope in allowed)
        raise InputError(f"a token of a {account.role.value} has some of the scopes {words}; found {wrong or 'none'}")
    good = "SELECT COUNT(*) FROM token WHERE account = ? AND revoked IS NULL AND expires > ?"
    if book.execute(good, (account.name, time.time())).fetchone()[0] >= MOST_TOKENS:
        raise InputError(f"'{account.name}' has {MOST_TOKENS} tokens; revoke some first")
    text = PREFIX + _random_text()
    token = Token(
        SecureSource().words(2).tobytes().hex(), account.name, tuple(scopes), acts.now(), time.time() + days * DAY
    )
    sql = "INSERT INTO token (id, digest, account, scopes, made, expires) VALUES (?, ?, ?, ?, ?, ?)"
    listed = " ".join(scope.value for scope in token.scopes)
    book.execute(sql, (token.id, _digest(text), token.account, listed, token.made, token.expires))
    return Issued(token, text)


def find_caller(database: Database, text: str) -> Caller | None:
    """Return who shows a token, None for one that is unknown, revoked, over, or of a closed account."""
    if not WRITTEN.fullmatch(text):
        return None
    digest = _digest(text)
    sql = "SELECT token.*, role, closed FROM token JOIN account ON account.name = token.account WHERE digest = ?"
    with database.reading() as book:
        row = book.execute(sql, (digest,)).fetchone()
    if row is None or not hmac.compare_digest(row["digest"], digest):
        return None
    if row["revoked"] is not None or row["closed"] is not None or row["expires"] <= time.time():
        return None
    role = Role(row["role"])
    scopes = tuple(scope for scope in _scopes(row["scopes"]) if scope in scopes_of(role))
    return Caller(row["account"], role, scopes, row["id"], row["expires"])


def revoke_token(database: Database, token: str, by: str, *, of: str | None = None) -> bool:
    """Revoke a token at once; return whether there was a good one. `of` allows only an account's own."""
    with database.writing() as book:
        row = book.execute("SELECT account FROM token WHERE id = ? AND revoked IS NULL", (token,)).fetchone()
        if row is None or (of is not None and row["account"] != of):
            return False
        book.execute("UPDATE token SET revoked = ? WHERE id = ?", (acts.now(), token))
        acts.record(book, by, "revoked a token", {"account": row["account"], "token": token})
    return True


def tokens_of(book: sqlite3.Connection, account: str) -> list[Token]:
    """Return the tokens of an account, without their texts."""
    rows = book.execute("SELECT * FROM token WHERE account = ? ORDER BY made, id", (account,))
    return [
        Token(row["id"], row["account"], _scopes(row["scopes"]), row["made"], row["expires"], row["revoked"])
        for row in rows
    ]


def make_link(database: Database, account: str) -> str:
    """Return a code that signs an account in once, within the hour."""
    code = _random_text()
    with database.writing() as book:
        book.execute("DELETE FROM link WHERE expires <= ? OR account = ?", (time.time(), account))
        sql = "INSERT INTO link (digest, account, expires) VALUES (?, ?, ?)"
        book.execute(sql, (_digest(code), account, time.time() + LINK_SECONDS))
        acts.record(book, acts.HOME, "made a sign-in link", {"account": account})
    return code


def sign_in(database: Database, code: str) -> Issued | None:
    """Return a token for a link's code, which is then used up; None for one that is unknown, used or over."""
    digest = _digest(code)
    with database.writing() as book:
        row = book.execute("SELECT * FROM link WHERE digest = ? AND used IS NULL", (digest,)).fetchone()
        if row is None or not hmac.compare_digest(row["digest"], digest) or row["expires"] <= time.time():
            return None
        found = find_account(book, row["account"])
        if found is None or found.closed is not None:
            return None
        book.execute("UPDATE link SET used = ? WHERE digest = ?", (acts.now(), digest))
        issued = _issue(book, found, scopes_of(found.role), SIGNED_IN)
        acts.record(book, found.name, "signed in by a link", {"token": issued.token.id})
    return issued


def _random_text() -> str:
    return base64.urlsafe_b64encode(SecureSource().words(WORDS).tobytes()).rstrip(b"=").decode()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _scopes(listed: str) -> tuple[Scope, ...]:
    return tuple(Scope(word) for word in listed.split())
