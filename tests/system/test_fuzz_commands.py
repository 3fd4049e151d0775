"""Broken files and options at every command: refusals in a sentence, never an internal error and never a hang."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import fuzz, printed


@pytest.mark.parametrize("cases, seed", [(150, 1), pytest.param(2000, 2, marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore")  # what a library warns of in a broken file is no matter here
def test_no_command_ends_in_an_internal_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: int, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_QUIET", "1")
    found = fuzz(tmp_path, cases, seed)
    assert found.cases == cases
    assert not found.failures, printed(found)
    assert found.codes[2] > cases / 3  # most cases are broken enough to be refused
