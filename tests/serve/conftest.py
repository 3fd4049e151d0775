"""A curator for each test, whose questions are answered at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from curator_calls import Door

from sfumato.dp.session import Session


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """Give a curator with a steward, two analysts and a reader; its answers leave when they are ready."""
    slow = Session.open
    monkeypatch.setattr(Session, "open", lambda path: slow(path, deadline=0))
    made = Door.make(tmp_path, upload=1)
    yield made
    made.server.close()


@pytest.fixture
def rides(door: Door) -> Door:
    """Give the same curator with a data set."""
    found = door.register()
    assert found.status == 201, found.body
    return door
