"""The power of the twin run: every mutant of the library is refuted."""

from __future__ import annotations

from pathlib import Path

import pytest
from twin_mutants import MUTANTS, Mutant

QUICK = [mutant for mutant in MUTANTS if mutant.quick]
OTHERS = [mutant for mutant in MUTANTS if not mutant.quick]


def attack(mutant: Mutant, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    with mutant.patch():
        finding = mutant.path(folder).attack()
    assert finding.refuted, f"{mutant.name} survives"
    assert finding.evidence["reason"]


@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in QUICK])
def test_a_quick_mutant_is_refuted(mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack(mutant, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in OTHERS])
def test_a_mutant_is_refuted(mutant: Mutant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack(mutant, tmp_path, monkeypatch)


def test_there_are_enough_mutants() -> None:
    assert len(MUTANTS) >= 30
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
