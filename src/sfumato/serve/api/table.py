"""All operations of the HTTP door in one table: path, who may call, what goes in, what comes out.

Routes, the check of roles and scopes, the OpenAPI document and the test that walks all operations as everybody are made
from this table, so that none of them can know another truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.client.wire import AnswerReply, AskBody, BudgetReply, DataSetReply, PlanBody, PlanReply
from sfumato.serve.accounts import Role
from sfumato.serve.api import data, openapi_page, pages, people, types
from sfumato.serve.server import Call
from sfumato.serve.settings import LARGEST_DECLARATION, LARGEST_FORM, LARGEST_JSON
from sfumato.serve.tokens import Scope

API = "/api/v1"
EVERYBODY = frozenset(Role)
SIGNED_IN = EVERYBODY - {Role.NOBODY}
STEWARD = frozenset({Role.STEWARD})
ANALYST = frozenset({Role.ANALYST})
ASKING = STEWARD | ANALYST


@dataclass(frozen=True)
class Operation:
    """One operation: everything about it but what it does, which is `call`.

    >>> OPERATIONS[0].name, OPERATIONS[0].path
    ('health', '/health')
    """

    name: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    roles: frozenset[Role]
    scope: Scope | None
    call: Callable[[Call], Any]
    reply: type | None = None
    body: type | None = None
    window: type | None = None
    status: int = 200
    largest: int = LARGEST_JSON
    upload: bool = False  # the body is a file
    form: bool = False  # the body is a page's form
    keyed: bool = False  # the request may have an idempotency key
    told: bool = True  # in the OpenAPI document

    @property
    def words(self) -> str:
        """What it does, in one sentence."""
        return (self.call.__doc__ or "").strip()

    def allows(self, role: Role, scopes: tuple[Scope, ...]) -> bool:
        """Return whether a role with these scopes may call it."""
        return role in self.roles and (self.scope is None or self.scope in scopes)


def _get(
    name: str, path: str, roles: frozenset[Role], call: Callable[[Call], Any], reply: type, **more: Any
) -> Operation:
    return Operation(name, "GET", API + path, roles, Scope.READ, call, reply, **more)


def _steward(
    method: Literal["POST", "PUT", "DELETE"], name: str, path: str, call: Callable[[Call], Any], **more: Any
) -> Operation:
    return Operation(name, method, API + path, STEWARD, Scope.MANAGE, call, **more)


WINDOW: dict[str, Any] = {"window": types.Window}
ONE = "/data-sets/{data_set}"
OPERATIONS = (
    Operation("health", "GET", "/health", EVERYBODY, None, pages.health, types.HealthReply),
    Operation("metrics", "GET", "/metrics", STEWARD, Scope.READ, pages.metrics, told=False),
    Operation(
        "sign_in_page", "GET", "/sign-in", EVERYBODY, None, pages.sign_in_page, window=pages.LinkQuery, told=False
    ),
    Operation(
        "sign_in_form",
        "POST",
        "/sign-in",
        EVERYBODY,
        None,
        pages.sign_in_form,
        form=True,
        largest=LARGEST_FORM,
        told=False,
    ),
    Operation("openapi", "GET", f"{API}/openapi.json", EVERYBODY, None, openapi_page.document, told=False),
    Operation(
        "sign_in",
        "POST",
        f"{API}/sign-in",
        EVERYBODY,
        None,
        people.signed_in,
        types.IssuedReply,
        types.SignInBody,
        largest=LARGEST_FORM,
    ),
    _get("me", "/me", SIGNED_IN, people.me, types.MeReply),
    _get("own_tokens", "/me/tokens", SIGNED_IN, people.own_tokens, types.TokensPage),
    Operation(
        "revoke_token", "DELETE", f"{API}/tokens/{{token}}", SIGNED_IN, Scope.READ, people.revoked_token, status=204
    ),
    _get("accounts", "/accounts", STEWARD, people.accounts, types.AccountsPage, **WINDOW),
    _steward(
        "POST",
        "open_account",
        "/accounts",
        people.new_account,
        reply=types.AccountReply,
        body=types.AccountBody,
        status=201,
    ),
    _steward("DELETE", "close_account", "/accounts/{account}", people.closed_account, status=204),
    _get("tokens", "/accounts/{account}/tokens", STEWARD, people.tokens, types.TokensPage),
    _steward(
        "POST",
        "issue_token",
        "/accounts/{account}/tokens",
        people.new_token,
        reply=types.IssuedReply,
        body=types.TokenBody,
        status=201,
    ),
    _get("log", "/log", STEWARD, people.log, types.ActsPage, **WINDOW),
    _get("files", "/files", STEWARD, data.files, types.FilesPage),
    _steward("PUT", "upload_file", "/files/{file}", data.new_file, reply=types.FileReply, upload=True, status=201),
    _steward("DELETE", "remove_file", "/files/{file}", data.removed_file, status=204),
    _get("data_sets", "/data-sets", ASKING, data.listed, types.DataSetsPage, **WINDOW),
    _steward(
        "POST",
        "register",
        "/data-sets",
        data.registered,
        reply=types.RegisteredReply,
        body=types.DataSetBody,
        status=201,
        largest=LARGEST_DECLARATION,
    ),
    _get("data_set", ONE, ASKING, data.described, DataSetReply),
    _get("left", f"{ONE}/left", ANALYST, data.left, BudgetReply),
    _get("ledger", f"{ONE}/ledger", STEWARD, data.ledger_account, types.LedgerReply),
    _get("entries", f"{ONE}/ledger/entries", STEWARD, data.ledger_entries, types.EntriesPage, **WINDOW),
    _steward("POST", "thaw", f"{ONE}/thaw", data.thawed, reply=types.ThawedReply),
    Operation("plan", "POST", f"{API}{ONE}/plan", ANALYST, Scope.READ, data.planned, PlanReply, PlanBody),
    Operation("rehearse", "POST", f"{API}{ONE}/rehearse", ANALYST, Scope.READ, data.rehearsed, AnswerReply, AskBody),
    Operation("ask", "POST", f"{API}{ONE}/ask", ANALYST, Scope.ASK, data.asked, AnswerReply, AskBody, keyed=True),
    _get("answers", "/answers", ANALYST, data.past_answers, types.AnswersPage, **WINDOW),
    _get("answer", "/answers/{answer}", ANALYST, data.past_answer, AnswerReply),
)
