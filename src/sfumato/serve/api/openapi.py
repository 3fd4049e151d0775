"""The OpenAPI 3.1 document, made from the table of operations and the types of their bodies.

Schemas are those of msgspec (JSON Schema draft 2020-12), so that what is described is what is decoded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from sfumato.client.wire import ProblemReply
from sfumato.serve.accounts import Role
from sfumato.serve.api.table import OPERATIONS, Operation
from sfumato.serve.names import ACCOUNT, FILE, OF_TOKEN, PLAIN
from sfumato.version import __version__

PATTERNS = {"data_set": PLAIN, "file": FILE, "account": ACCOUNT, "token": OF_TOKEN, "answer": r"[0-9a-f]{32}"}
TEMPLATE = "#/components/schemas/{name}"
PROBLEM = {"application/problem+json": {"schema": {"$ref": TEMPLATE.format(name="ProblemReply")}}}
REFUSED = {"description": "Refused, with the reason."}


@lru_cache(maxsize=1)
def describe_api() -> dict[str, Any]:
    """Return the document.

    >>> found = describe_api()
    >>> found["openapi"], found["paths"]["/health"]["get"]["operationId"]
    ('3.1.0', 'health')
    """
    told = [operation for operation in OPERATIONS if operation.told]
    kinds = [kind for one in told for kind in (one.body, one.reply) if kind is not None]
    _, components = msgspec.json.schema_components([*dict.fromkeys(kinds), ProblemReply], ref_template=TEMPLATE)
    paths: dict[str, Any] = {}
    for operation in told:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "sfumato curator", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    roles = [role.value for role in Role if role in operation.roles and role is not Role.NOBODY]
    scope = "" if operation.scope is None else f" Scope: {operation.scope.value}."
    open_to_all = Role.NOBODY in operation.roles
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.words,
        "description": "For everybody." if open_to_all else f"For: {', '.join(roles)}.{scope}",
        "parameters": [*_of_path(operation), *_of_query(operation), *_of_headers(operation)],
        "responses": _responses(operation),
        "security": [] if open_to_all else [{"token": []}],
    }
    body = _body(operation)
    return found if body is None else {**found, "requestBody": {"required": True, "content": body}}


def _body(operation: Operation) -> dict[str, Any] | None:
    if operation.upload:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    if operation.body is None:
        return None
    return {"application/json": {"schema": {"$ref": TEMPLATE.format(name=operation.body.__name__)}}}


def _responses(operation: Operation) -> dict[str, Any]:
    good: dict[str, Any] = {"description": "Done."}
    if operation.reply is not None:
        schema = {"$ref": TEMPLATE.format(name=operation.reply.__name__)}
        good["content"] = {"application/json": {"schema": schema}}
    return {str(operation.status): good, "default": {**REFUSED, "content": PROBLEM}}


def _of_path(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": f"^{PATTERNS[name]}$"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]


def _of_query(operation: Operation) -> list[dict[str, Any]]:
    if operation.window is None:
        return []
    _, components = msgspec.json.schema_components([operation.window])
    properties = next(iter(components.values()))["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]


def _of_headers(operation: Operation) -> list[dict[str, Any]]:
    if not operation.keyed:
        return []
    words = "A retry with the same key is free and gives the same answer."
    schema = {"type": "string", "pattern": "^[!-~]{1,200}$"}
    return [{"name": "Idempotency-Key", "in": "header", "description": words, "schema": schema}]
