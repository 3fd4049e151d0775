"""A population at the command line: the list that is counted must be the one that the card names."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

SCHEMA = '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [16, 94]\n'


def test_check_says_that_another_list_was_counted_than_the_card_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    pl.DataFrame({"age": [20, 30, 40, 50]}).write_csv("in.csv")
    pl.DataFrame({"age": [20, 30, 40, 50] * 5}).write_csv("people.csv")
    pl.DataFrame({"age": [20, 30, 40, 50] * 50}).write_csv("others.csv")
    asked = ["--schema", "schema.toml", "--k-map", "5", "--population", "people.csv"]
    assert run(["anonymize", "in.csv", "-o", "out.csv", *asked]) == 0
    check = ["check", "out.csv", "--card", "out.csv.card.json", "--schema", "schema.toml", "--require", "k-map=5"]
    capsys.readouterr()
    assert run([*check, "--population", "people.csv"]) == 0
    assert "population" in capsys.readouterr().out
    assert run([*check, "--population", "others.csv"]) == 1
    said = capsys.readouterr()
    assert "population: found others.csv (200 rows, SHA-256 " in said.out + said.err
    assert "the card says people.csv (20 rows, SHA-256 " in said.out + said.err
