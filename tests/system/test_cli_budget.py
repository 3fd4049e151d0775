"""Budgets at the command line: rolled back or edited ledgers are found, one population has one ledger, freezes lift."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.table import samples

SCHEMA = """
[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]
"""
CREATE = ("--data", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--deadline", "0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    samples.patients(50).select("age").write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["budget", "create", "L", *CREATE]) == 0
    return tmp_path


def ask(output: str, epsilon: str) -> None:
    assert run(["query", "L", "SELECT COUNT(*) FROM people", "--epsilon", epsilon, "-o", output]) == 0


def test_a_ledger_that_was_put_back_is_found_by_a_kept_card(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask("first.csv", "0.1")
    shutil.copy("L", "copy")
    ask("second.csv", "0.2")
    cards = ["first.csv.card.json", "second.csv.card.json"]
    assert run(["budget", "verify", "L", "--against", *cards]) == 0
    assert "NOT REFUTED" in capsys.readouterr().out
    shutil.copy("copy", "L")
    assert Ledger.open(folder / "L").left.epsilon == 1 - Ledger.open(folder / "L").spent.epsilon
    assert run(["budget", "verify", "L"]) == 0
    assert run(["budget", "verify", "L", "--against", *cards]) == 1
    out = capsys.readouterr().out
    assert "second.csv.card.json" in out
    assert "it was cut or rolled back" in out


def test_every_answers_card_carries_the_head(folder: Path) -> None:
    ask("first.csv", "0.1")
    card = json.loads((folder / "first.csv.card.json").read_text(encoding="utf-8"))
    assert card["ledger"] == Ledger.open(folder / "L").head.text


def test_an_edited_ledger_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask("first.csv", "0.1")
    with sqlite3.connect(folder / "L") as connection:
        connection.execute("UPDATE account SET epsilon = '0'")
    connection.close()
    assert run(["budget", "verify", "L"]) == 1
    assert "what was spent: the tables say something else than the chain" in capsys.readouterr().out


def test_a_card_without_a_head_is_refused_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.card.json").write_text("{}", encoding="utf-8")
    assert run(["budget", "verify", "L", "--against", "x.card.json"]) == 2
    assert "carries no head of a ledger" in capsys.readouterr().err


def test_a_second_ledger_over_the_same_rows_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("people.csv", "same.csv")
    again = ["budget", "create", "M", "--data", "same.csv", *CREATE[2:]]
    assert run(again) == 2
    assert "knows these rows already" in capsys.readouterr().err
    assert not (folder / "M").exists()
    assert run([*again, "--other-people"]) == 0


def test_a_population_has_a_name_and_a_frozen_ledger_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--other-people", "--population", "patients of ward 3", "--horizon", "30d"]
    assert run(["budget", "create", "N", *CREATE, *options]) == 0
    capsys.readouterr()
    assert run(["budget", "show", "N", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["population"], shown["horizon"], shown["deadline"]) == ("patients of ward 3", 30 * 86400, 0)
    Ledger.open(folder / "N").freeze("an answer overran its deadline")
    assert run(["budget", "show", "N"]) == 0
    assert "FROZEN: an answer overran its deadline" in capsys.readouterr().out
    assert run(["query", "N", "SELECT COUNT(*) FROM people", "--epsilon", "0.1"]) == 2
    assert "sfumato budget thaw" in capsys.readouterr().err
    assert run(["budget", "thaw", "N"]) == 0
    assert run(["budget", "thaw", "N"]) == 0
    assert "was not frozen" in capsys.readouterr().out
    assert run(["query", "N", "SELECT COUNT(*) FROM people", "--epsilon", "0.1"]) == 0
