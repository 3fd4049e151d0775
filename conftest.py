"""What all tests and all examples in docstrings share: a list of ledgers of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a list of ledgers of its own, so that none knows the rows of another."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state", numbered=True)))
