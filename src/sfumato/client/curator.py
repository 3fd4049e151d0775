"""A data set of a curator, asked over HTTP: the calls of a session, and the answers of a session.

Only questions and noisy answers cross the wire; rows and ledger stay with the curator (McSherry 2009, "Privacy
integrated queries", section 2).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

import msgspec

from sfumato.client.http import Connection
from sfumato.client.wire import (
    AnswerReply,
    AskBody,
    BudgetReply,
    DataSetReply,
    PlanBody,
    PlanReply,
    Step,
)
from sfumato.core.display import as_html, one_line
from sfumato.dp.answer import Answer
from sfumato.dp.plan import Plan
from sfumato.dp.questions.form import write_form
from sfumato.dp.questions.query import Query
from sfumato.dp.questions.sql import parse_sql
from sfumato.dp.questions.sql.tables import KnownTables
from sfumato.errors import InputError, UnavailableError
from sfumato.promise.cost import Cost, Number, amount
from sfumato.schema import Schema

API = "/api/v1"
TOKEN = "SFUMATO_TOKEN"  # noqa: S105  # the name of the variable that holds one
TRIES, PAUSE = 5, 1.0  # of a question that could not be delivered: it is paid for once, by its key
Reply = TypeVar("Reply")


class _Names(msgspec.Struct, frozen=True):
    items: list[str]
    next: str | None


class Curator:
    """One data set behind a curator's address; `url` ends with its name, unless the curator shows only one.

    The calls are those of `sfumato.dp.session.Session`. A question that could not be delivered is sent again with the
    same key, so that it is paid for once.

    >>> Curator("http://127.0.0.1:8460/patients", "sfumato_token")
    <Curator: curator http://127.0.0.1:8460; data set patients>
    """

    def __init__(self, url: str, token: str) -> None:
        self._connection = Connection.to(url, token)
        self._named = self._connection.path.strip("/") or None

    @classmethod
    def of_environment(cls, url: str) -> Curator:
        """Return the curator at an address, with the token in $SFUMATO_TOKEN: arguments of commands can be seen."""
        token = os.environ.get(TOKEN)
        if not token:
            raise InputError(
                f"{TOKEN} is not set; put the token there, since others can see the arguments of a command"
            )
        return cls(url, token)

    def _facts(self) -> dict[str, object]:
        where = f"{self._connection.scheme}://{self._connection.host}:{self._connection.port}"
        return {"curator": where, "data set": self._named}

    def __repr__(self) -> str:
        return one_line("Curator", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Curator", self._facts())

    @cached_property
    def data_set(self) -> str:
        """The name of the data set."""
        if self._named is not None:
            return self._named
        names = self.data_sets()
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            raise InputError(f"this token may ask of {listed}; name one at the end of the address")
        return names[0]

    def data_sets(self) -> list[str]:
        """Return the names of all data sets that this token may ask of."""
        names: list[str] = []
        after: str | None = ""
        while after is not None:
            page = self._get(f"{API}/data-sets?limit=200&after={after}", _Names)
            names, after = [*names, *page.items], page.next
        return names

    @cached_property
    def description(self) -> DataSetReply:
        """What is public of the data set: schema, unit, deadline."""
        return self._get(self._place(), DataSetReply)

    @property
    def schemas(self) -> dict[str, Schema]:
        """The declared schemas of its tables, by name."""
        return {table.name: Schema.from_text(table.schema) for table in self.description.tables}

    @property
    def left(self) -> Cost:
        """What this analyst may still spend."""
        return self._get(self._place("/left"), BudgetReply).left.cost

    def question(self, text: str) -> Query:
        """Return the question written in SQL as data; nothing is asked."""
        return parse_sql(text, KnownTables.of(self.schemas, None))

    def ask(
        self,
        query: Query | str,
        epsilon: Number | None = None,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        post: tuple[str, ...] = (),
        rows: int | None = None,
    ) -> Answer:
        """Answer a question at a price; the same question again is answered with the same numbers, free of charge."""
        body = _body(query, epsilon, delta, rho, post, rows)
        headers = {"Idempotency-Key": secrets.token_urlsafe(24)}

        def send() -> bytes:
            return self._connection.call("POST", self._place("/ask"), body, headers)

        return _read(_repeated(send), AnswerReply).read()

    def sql(self, text: str, epsilon: Number | None = None, **options: Any) -> Answer:
        """Answer a question written in SQL."""
        return self.ask(text, epsilon, **options)

    def rehearse(
        self,
        query: Query | str,
        epsilon: Number | None = None,
        *,
        delta: Number = 0,
        rho: Number | None = None,
        post: tuple[str, ...] = (),
        rows: int | None = None,
    ) -> Answer:
        """Answer a question about made-up rows, free of charge; the card says so."""
        body = _body(query, epsilon, delta, rho, post, rows)
        return _read(self._connection.call("POST", self._place("/rehearse"), body), AnswerReply).read()

    def plan(
        self,
        query: Query | str,
        error: float | None = None,
        confidence: float = 0.95,
        rows: int | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number = 0,
    ) -> Plan:
        """Return the price that keeps every answer's error below `error`, or the errors that a price buys."""
        text, form = (query, None) if isinstance(query, str) else (None, write_form(query))
        prices = _text(epsilon), _text(rho), str(amount(delta))
        body = PlanBody(text, form, error, *prices, confidence, rows)
        return _read(self._connection.call("POST", self._place("/plan"), body), PlanReply).read()

    def _place(self, end: str = "") -> str:
        return f"{API}/data-sets/{self.data_set}{end}"

    def _get(self, path: str, kind: type[Reply]) -> Reply:
        return _read(self._connection.call("GET", path), kind)


def _body(
    query: Query | str,
    epsilon: Number | None,
    delta: Number,
    rho: Number | None,
    post: tuple[str, ...],
    rows: int | None,
) -> AskBody:
    text, form = (query, None) if isinstance(query, str) else (None, write_form(query))
    steps = cast("list[Step]", list(post))
    return AskBody(text, form, _text(epsilon), _text(rho), str(amount(delta)), steps, rows)


def _text(price: Number | None) -> str | None:
    return None if price is None else str(amount(price))


def _repeated(send: Callable[[], bytes]) -> bytes:
    """Send until it is delivered, or often enough."""
    for _ in range(TRIES - 1):
        try:
            return send()
        except UnavailableError:
            time.sleep(PAUSE)
    return send()


def _read(body: bytes, kind: type[Reply]) -> Reply:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        raise InputError("what answered is no curator, or one of another version; look at the address") from None
