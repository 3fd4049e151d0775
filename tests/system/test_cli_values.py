"""Sensitive values through the command line: variants and missing ones are told, and audits count as cards do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import run

SCHEMA = '[columns.age]\nrole = "quasi"\ntype = "integer"\n[columns.ill]\nrole = "sensitive"\nmissing = ["?"]\n'
COUNTS_MISSING = SCHEMA + "missing_is_value = true\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ills = ["flu", " flu", "gout", "?", "cafe\u0301", "caf\u00e9"]
    rows = "".join(f"{20 + row // 3},{ills[row % 6]}\n" for row in range(60))
    Path("in.csv").write_text("age,ill\n" + rows)
    Path("s.toml").write_text(SCHEMA)
    return tmp_path


@pytest.mark.parametrize("schema", [SCHEMA, COUNTS_MISSING], ids=["missing is none", "missing is a value"])
def test_the_steward_is_told_and_the_audit_counts_alike(schema: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(schema)
    command = ["anonymize", "in.csv", "-o", "out.csv", "--schema", "s.toml", "--k", "2", "--l", "2"]
    assert run(command) == 0
    said = capsys.readouterr().out
    assert "2 texts differ from another only by blanks around it" in said
    assert ("10 missing values count as no value" in said) == (schema == SCHEMA)
    card = Path("out.csv.card.json").read_text()
    assert "missing values count" not in card  # computed from the rows, so for the steward alone
    assert run(["audit", "release", "out.csv.card.json", "out.csv"]) == 0
    assert run(["check", "out.csv", "--card", "out.csv.card.json"]) == 0


def test_what_looked_diverse_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("age,ill\n" + "".join(f"30,{ill}\n" for ill in ("flu", " flu", "?", "flu ")))
    command = ["anonymize", "in.csv", "-o", "out.csv", "--schema", "s.toml", "--k", "2", "--l", "2"]
    assert run(command) == 2
    assert "over the whole table has 1" in capsys.readouterr().err


def test_an_audit_does_not_refute_a_promise_to_persons_by_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """One person has ten rows of flu: most rows have it, and one person in four."""
    others = [f"30,{ill},{ill}-{twin}\n" for ill in ("flu", "gout", "cold", "ulcer") for twin in (1, 2)]
    visits = ["30,flu,flu-1\n"] * 9 + others
    Path("in.csv").write_text("age,ill,id\n" + "".join(visits))
    roles = ["--quasi", "age", "--sensitive", "ill", "--person", "id", "--k", "4", "--alpha", "0.3"]
    assert run(["anonymize", "in.csv", "-o", "out.csv", *roles]) == 0
    assert run(["audit", "release", "out.csv.card.json", "out.csv"]) == 0
    capsys.readouterr()
    card = json.loads(Path("out.csv.card.json").read_text())
    (share,) = [entry for entry in card["released"]["models"] if entry["column"] == "ill"]
    share["asked"] = 0.2
    card["guarantee"]["parameters"]["alpha"] = 0.2
    Path("out.csv.card.json").write_text(json.dumps(card))
    assert (
        run(["audit", "release", "out.csv.card.json", "out.csv"]) == 1
    )  # four values: somebody's share is a quarter at least
