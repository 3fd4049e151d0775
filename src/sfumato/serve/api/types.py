"""The bodies that the curator alone reads and writes: accounts, tokens, data sets, pages of a list, the log.

Limits stand with the types, so that the OpenAPI document says them and the decoder keeps them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sfumato.client.wire import Amount, Amounts

LONGEST_SCHEMA = 1_000_000
MOST_SHARES = 1_000
MOST_LISTED = 200
Short = Annotated[str, Meta(max_length=100)]


class AccountBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new account."""

    name: Short
    role: Literal["steward", "analyst", "reader"]


class AccountReply(msgspec.Struct, frozen=True):
    """An account."""

    name: str
    role: str
    opened: str
    closed: str | None


class TokenBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new token: what it may be used for, and for how many days."""

    scopes: Annotated[list[Literal["read", "ask", "manage"]], Meta(min_length=1, max_length=3)]
    days: Annotated[float, Meta(gt=0, le=366)] = 90


class TokenReply(msgspec.Struct, frozen=True):
    """A token, without its text; `expires` is in seconds since 1970."""

    id: str
    account: str
    scopes: list[str]
    made: str
    expires: float
    revoked: str | None


class IssuedReply(msgspec.Struct, frozen=True):
    """A new token; its text is shown this once."""

    token: str
    id: str
    account: str
    scopes: list[str]
    expires: float


class SignInBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The code of a one-time link."""

    code: Short


class MeReply(msgspec.Struct, frozen=True):
    """Whose token this is."""

    account: str
    role: str
    scopes: list[str]
    expires: float


class DataSetBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A data set to register: an uploaded file, its schema, its budget, and who may ask for how much of it."""

    name: Short
    file: Short
    schema: Annotated[str, Meta(max_length=LONGEST_SCHEMA)]
    epsilon: Amount
    delta: Amount = "0"
    delta_keys: Amount = "0"
    accountant: Literal["pure", "zcdp"] = "pure"
    protect: Annotated[str, Meta(max_length=200)] = "rows"
    neighbours: Literal["presence", "value"] = "presence"
    deadline: Annotated[float, Meta(ge=0.1, le=600)] = 1.0
    population: Annotated[str, Meta(max_length=1_000)] | None = None
    other_people: bool = False
    shares: Annotated[dict[Short, Amount], Meta(min_length=1, max_length=MOST_SHARES)]


class RegisteredReply(msgspec.Struct, frozen=True):
    """A registered data set, with what its steward alone is told of the rows."""

    name: str
    notes: list[str]


class FileReply(msgspec.Struct, frozen=True):
    """An uploaded file that is not registered yet."""

    name: str
    bytes: int


class EntryReply(msgspec.Struct, frozen=True):
    """One line of a ledger."""

    number: int
    time: str
    analyst: str
    question: str
    cost: Amounts
    answered: bool
    version: int


class LedgerReply(msgspec.Struct, frozen=True):
    """The account of a ledger, for its steward."""

    accountant: str
    total: Amounts
    spent: Amounts
    left: Amounts
    shares: dict[str, Amounts]
    frozen: str | None
    head: str


class ThawedReply(msgspec.Struct, frozen=True):
    """Why a data set was frozen; nothing if it was not."""

    reason: str | None


class PastAnswerReply(msgspec.Struct, frozen=True):
    """An answer that was given before; its body is at its own address."""

    id: str
    data_set: str
    asked: str


class ActReply(msgspec.Struct, frozen=True):
    """One line of the log of privileged acts."""

    number: int
    time: str
    who: str
    what: str
    about: dict[str, Any]


class HealthReply(msgspec.Struct, frozen=True):
    """Whether this server answers."""

    status: Literal["ok"] = "ok"


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of a list: so many entries after one that is named by what `next` said."""

    after: Short = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = 50


class AccountsPage(msgspec.Struct, frozen=True):
    """Some accounts."""

    items: list[AccountReply]
    next: str | None


class TokensPage(msgspec.Struct, frozen=True):
    """The tokens of an account."""

    items: list[TokenReply]


class FilesPage(msgspec.Struct, frozen=True):
    """The uploaded files."""

    items: list[FileReply]


class DataSetsPage(msgspec.Struct, frozen=True):
    """Some names of data sets."""

    items: list[str]
    next: str | None


class EntriesPage(msgspec.Struct, frozen=True):
    """Some lines of a ledger."""

    items: list[EntryReply]
    next: str | None


class AnswersPage(msgspec.Struct, frozen=True):
    """Some answers that were given before."""

    items: list[PastAnswerReply]
    next: str | None


class ActsPage(msgspec.Struct, frozen=True):
    """Some lines of the log, and the number of its first line that was changed, if one was."""

    items: list[ActReply]
    next: str | None
    broken: int | None
