"""What all tests and all examples in docstrings share: a list of ledgers of their own."""

from __future__ import annotations

from itertools import count

import pytest

NUMBERS = count()


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a list of ledgers of its own, so that none knows the rows of another.

    Folders are counted here: pytest would look through all earlier ones for the next number, at every test.
    """
    folder = tmp_path_factory.getbasetemp() / "states" / str(next(NUMBERS))
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
