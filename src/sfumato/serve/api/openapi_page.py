"""The call that answers with the OpenAPI document of this door."""

from __future__ import annotations

from typing import Any

from sfumato.serve.server import Call


def document(call: Call) -> dict[str, Any]:
    """Describe all operations (OpenAPI 3.1)."""
    from sfumato.serve.api.openapi import describe_api

    del call
    return describe_api()
