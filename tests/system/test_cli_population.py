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


def test_check_names_the_schema_where_a_guess_cannot_read_a_label_and_tells_what_it_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out.csv").write_text("age,zip\n[30-31],80***\n[30-31],80***\n")
    Path("people.csv").write_text("age;zip\n30;80331\n31;80333\n40;90999\n")
    Path("schema.toml").write_text(SCHEMA + '[columns.zip]\nrole = "quasi"\ntype = "category"\n')
    assert run(["check", "out.csv", "--quasi", "age,zip", "--population", "people.csv"]) == 2
    refused = capsys.readouterr().err
    assert "'80***' cannot be read" in refused
    assert "of population 'people.csv', whose type (integer) was guessed; declare the column with --schema" in refused
    assert run(["check", "out.csv", "--schema", "schema.toml", "--population", "people.csv"]) == 0
    said = capsys.readouterr()
    assert "read as (for the steward): population 'people.csv': delimiter ';'" in said.err
    assert "k_map         2" in said.out
