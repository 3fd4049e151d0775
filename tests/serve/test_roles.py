"""Who may call what: every operation as every role, against a list that is written here once more."""

from __future__ import annotations

import re
from typing import Any

import pytest
from curator_calls import COUNT, PEOPLE, Door

from sfumato.serve.accounts import Role
from sfumato.serve.api.table import OPERATIONS, Operation
from sfumato.serve.tokens import Scope, scopes_of

STEWARD = ["accounts", "open_account", "close_account", "tokens", "issue_token", "log", "files", "upload_file"]
STEWARD += ["remove_file", "register", "ledger", "entries", "thaw", "metrics"]
ANALYST = ["left", "plan", "rehearse", "ask", "answers", "answer"]
BOTH = ["data_sets", "data_set"]
SIGNED_IN = ["me", "own_tokens", "revoke_token"]
EVERYBODY = ["health", "openapi", "sign_in", "sign_in_page", "sign_in_form"]
ALLOWED = [
    (STEWARD, "steward"),
    (ANALYST, "analyst"),
    (BOTH, "steward analyst"),
    (SIGNED_IN, "steward analyst reader"),
    (EVERYBODY, "steward analyst reader nobody"),
]
EXPECTED = {name: set(roles.split()) for names, roles in ALLOWED for name in names}
WHO = {"steward": "steward", "analyst": "ana", "reader": "rita", "nobody": None}
NAMES = {"data_set": "rides", "file": "other.csv", "account": "zoe", "token": "0" * 16, "answer": "0" * 32}
BODIES: dict[str, Any] = {
    "sign_in": {"code": "unknown"},
    "open_account": {"name": "zoe", "role": "reader"},
    "issue_token": {"scopes": ["read"]},
    "plan": {"sql": COUNT, "epsilon": "0.1"},
    "rehearse": {"sql": COUNT, "epsilon": "0.1"},
    "ask": {"sql": COUNT, "epsilon": "0.1"},
    "register": {"name": "b", "file": "b.csv", "schema": "", "epsilon": "1", "shares": {"ana": "1"}},
}
OPEN = {"sign_in", "sign_in_form"}  # everybody may try; a code that is unknown is refused with 401


def send(door: Door, operation: Operation, who: str | None) -> int:
    path = re.sub(r"{(\w+)}", lambda found: NAMES[found[1]], operation.path)
    if operation.form:
        headers = [("content-type", "application/x-www-form-urlencoded")]
        return door.call(operation.method, path, who, headers=headers, parts=[b"code=unknown"]).status
    return door.call(operation.method, path, who, BODIES.get(operation.name)).status


def test_the_list_here_has_every_operation() -> None:
    assert {operation.name: {role.value for role in operation.roles} for operation in OPERATIONS} == EXPECTED


@pytest.mark.parametrize("role", list(WHO))
def test_every_operation_as_every_role(rides: Door, role: str) -> None:
    for operation in OPERATIONS:
        status = send(rides, operation, WHO[role])
        if role in EXPECTED[operation.name]:
            assert status not in {403, 405, 500}, operation.name
            assert status != 401 or operation.name in OPEN, operation.name
        else:
            assert status == (401 if role == "nobody" else 403), operation.name


def test_a_token_does_no_more_than_its_scopes_say(rides: Door) -> None:
    refused = 0
    for name in ("steward", "ana"):
        for scope in scopes_of(PEOPLE[name]):
            token = rides.token(name, scope)
            for operation in OPERATIONS:
                if PEOPLE[name] in operation.roles and operation.scope not in {None, scope}:
                    assert send(rides, operation, token) == 403, (operation.name, scope)
                    refused += 1
    assert refused > 20


def test_what_changes_anything_is_not_done_with_a_token_to_read() -> None:
    for operation in OPERATIONS:
        if operation.scope is Scope.READ and operation.method != "GET":
            assert operation.name in {"plan", "rehearse", "revoke_token"}


def test_a_method_that_is_not_in_the_table_does_nothing(door: Door) -> None:
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "GIT"):
        assert door.call(method, "/api/v1/accounts", "steward").status == 405


def test_nobody_has_the_role_of_nobody() -> None:
    assert Role.NOBODY not in PEOPLE.values()
    assert scopes_of(Role.NOBODY) == ()
