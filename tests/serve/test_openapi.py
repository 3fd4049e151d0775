"""The OpenAPI document: it is whole, it tells of every operation that it should, and it says what is decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
from curator_calls import COUNT, Door

from sfumato.serve.api.openapi import describe_api
from sfumato.serve.api.table import OPERATIONS

HIDDEN = {"metrics", "openapi", "sign_in_page", "sign_in_form"}


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == "$ref" and isinstance(value, str))
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_every_reference_leads_somewhere() -> None:
    document = describe_api()
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    found = set(references(document))
    assert len(found) > 30
    assert found <= known


def test_it_tells_of_every_operation() -> None:
    told = {
        (path, method.upper()): what
        for path, entry in describe_api()["paths"].items()
        for method, what in entry.items()
    }
    wanted = {(one.path, one.method): one.name for one in OPERATIONS if one.name not in HIDDEN}
    assert {place: what["operationId"] for place, what in told.items()} == wanted
    for operation in OPERATIONS:
        if operation.name not in HIDDEN:
            what = told[operation.path, operation.method]
            assert what["summary"].endswith("."), operation.name
            names = {one["name"] for one in what["parameters"] if one["in"] == "path"}
            assert names == set(re.findall(r"{(\w+)}", operation.path))


def test_schemas_are_schemas() -> None:
    for schema in describe_api()["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_an_answer_is_what_the_document_says(rides: Door) -> None:
    document = rides.call("GET", "/api/v1/openapi.json").json()
    replies = {
        "AnswerReply": rides.ask("ana", {"sql": COUNT, "epsilon": "0.1"}),
        "DataSetReply": rides.call("GET", "/api/v1/data-sets/rides", "ana"),
        "PlanReply": rides.call("POST", "/api/v1/data-sets/rides/plan", "ana", {"sql": COUNT, "error": 9}),
        "ProblemReply": rides.call("GET", "/api/v1/me"),
        "LedgerReply": rides.call("GET", "/api/v1/data-sets/rides/ledger", "steward"),
    }
    for name, reply in replies.items():
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        jsonschema.validate(reply.json(), schema)
        assert list(jsonschema.Draft202012Validator(schema).iter_errors({"status": 1})), name
