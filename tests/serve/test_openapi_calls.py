"""Calls made up from the OpenAPI document, thousands of them: none breaks the server, every answer is as described.

Schemathesis draws them (Hatfield-Dodds & Dygalo 2022, "Deriving semantics-aware fuzzers from web API schemas").
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from curator_calls import Door, listening
from hypothesis import HealthCheck, Phase, given, settings

from sfumato.serve.accounts import Role
from sfumato.serve.api.openapi import describe_api
from sfumato.serve.api.table import OPERATIONS, Operation

pytestmark = pytest.mark.long
EACH = 210  # calls of each operation
LEAST = 5000
TOO_LARGE = 413
QUIETLY = settings(
    max_examples=EACH,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


def token_for(door: Door, operation: Operation) -> dict[str, str]:
    if Role.NOBODY in operation.roles:
        return {}
    who = "steward" if Role.STEWARD in operation.roles else "ana"
    return {"Authorization": f"Bearer {door.tokens[who]}"}


def call_often(made: Any, url: str, token: dict[str, str], wanted: list[Any]) -> Counter[int]:
    """Call one operation with all that its description allows, and with what it forbids; return the statuses."""
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import negative_data_rejection

    seen = Counter[int]()
    right, wrong = (made.as_strategy(generation_mode=mode) for mode in GenerationMode)

    @QUIETLY
    @given(case=right | wrong)
    def call(case: Any) -> None:
        reply = case.call(base_url=url, headers={**dict(case.headers or {}), **token})
        large = reply.status_code == TOO_LARGE  # refused before anybody could say what else is wrong
        checks = [check for check in wanted if not (large and check is negative_data_rejection)]
        case.validate_response(reply, checks=checks)
        seen[reply.status_code] += 1

    call()
    return seen


def test_no_call_that_is_made_up_breaks_the_server(rides: Door) -> None:
    from schemathesis import openapi
    from schemathesis.checks import load_all_checks, not_a_server_error
    from schemathesis.specs.openapi import checks

    load_all_checks()
    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    schema, seen = openapi.from_dict(describe_api()), Counter[int]()
    with listening(rides) as url:
        for operation in OPERATIONS:
            if operation.told:
                made = schema[operation.path][operation.method]
                seen += call_often(made, url, token_for(rides, operation), wanted)
    assert sum(seen.values()) >= LEAST, seen
    assert seen[200] + seen[201] + seen[204] > 100, seen
    assert not [line for line in rides.lines if '"error"' in line]
