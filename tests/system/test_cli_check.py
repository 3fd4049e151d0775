"""The command `check` by a schema or a card: which columns it takes, and whether a file is what its card says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.main import run
from sfumato.table import samples

ROLES = ["--quasi", "age,sex", "--sensitive", "disease", "--other", "drop"]
CARD = ["--card", "mean.card.json"]
BY_CARD = ["check", "out.csv", "--card", "out.csv.card.json"]
SCHEMA = '[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "quasi"\n[columns.disease]\nrole = "sensitive"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with made-up patients, their schema, and an anonymous release of them."""
    samples.patients(120).write_csv(tmp_path / "in.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, "--k", "5", "--l", "2"]) == 0
    return tmp_path


def measured(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    capsys.readouterr()
    code = run([*arguments, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


@pytest.mark.usefixtures("folder")
def test_roles_come_from_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    by_schema = measured(["check", "in.csv", "--schema", "s.toml"], capsys)
    by_name = measured(["check", "in.csv", "--quasi", "age,sex", "--sensitive", "disease"], capsys)
    assert by_schema == by_name
    assert by_schema[0] == 0


@pytest.mark.usefixtures("folder")
def test_a_file_is_what_its_card_says(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, wrong = measured(BY_CARD, capsys)
    assert (code, wrong, found["rows"]) == (0, "", 120)
    assert found["card"]["broken"] == []
    assert found["card"]["compared"] == [
        "hash",
        "columns",
        "rows",
        "classes",
        "k-anonymity",
        "distinct l-diversity of disease",
    ]
    assert run(BY_CARD) == 0
    assert "out.csv.card.json: the file is what the card says (hash, " in capsys.readouterr().out


def cut(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:-1])


def rename(text: str) -> str:
    return text.replace("age", "years", 1)


def expose(text: str) -> str:
    head, first, rest = text.split("\n", 2)
    return "\n".join([head, ",".join(["17", *first.split(",")[1:]]), rest])


@pytest.mark.parametrize(
    "change, words",
    [
        (cut, "rows: found 119; the card says 120"),
        (rename, "column 'age' of the card is not in the file"),
        (expose, "k-anonymity: found 1; the card asks for 5"),
    ],
)
def test_a_file_that_was_changed_is_not_what_its_card_says(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[str], str], words: str
) -> None:
    (folder / "out.csv").write_text(change((folder / "out.csv").read_text()))
    code, found, wrong = measured(BY_CARD, capsys)
    assert code == 1
    assert any("SHA-256" in line for line in found["card"]["broken"])
    assert f"sfumato: card: {words}\n" in wrong
    assert run(BY_CARD) == 1
    assert "THE FILE IS NOT WHAT THE CARD SAYS" in capsys.readouterr().out


def test_a_card_whose_models_were_changed_is_found_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = json.loads((folder / "out.csv.card.json").read_text())
    card["released"]["models"][0] |= {"asked": 60, "measured": 60}
    card["guarantee"]["parameters"]["k"] = 60
    (folder / "out.csv.card.json").write_text(json.dumps(card))
    code, _, wrong = measured(BY_CARD, capsys)
    assert code == 1
    assert "card: k-anonymity: found 5; the card asks for 60" in wrong


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "algorithm, asked",
    [("anatomy", ["--l", "2"]), ("mdav", ["--k", "5"]), ("optimal", ["--k", "5", "--suppress", "0.3"])],
)
def test_cards_of_other_algorithms_agree_with_their_files(
    capsys: pytest.CaptureFixture[str], algorithm: str, asked: list[str]
) -> None:
    roles = ["--quasi", "age", "--sensitive", "disease", "--other", "drop", "--algorithm", algorithm]
    assert run(["anonymize", "in.csv", "-o", "two.csv", *roles, *asked]) == 0
    code, found, wrong = measured(["check", "two.csv", "--card", "two.csv.card.json"], capsys)
    assert (code, wrong, found["card"]["broken"]) == (0, "", [])


@pytest.mark.usefixtures("folder")
def test_what_check_cannot_measure_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "in.csv"]) == 2
    assert "name them with --quasi, --schema or --card" in capsys.readouterr().err
    assert run(["local", "mean", "in.csv", "--column", "age", "--bounds", "0", "120", "--epsilon", "1", *CARD]) == 0
    assert run(["check", "out.csv", *CARD]) == 2
    assert "the card is of the local door, which has no classes; use sfumato audit release" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.usefixtures("spark")
def test_a_folder_of_spark_is_what_its_card_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = ["--engine", "spark", "--master", "local[2]"]
    assert run(["anonymize", "in.csv", "-o", "out", *ROLES, "--k", "5", *engine]) == 0
    by_card = ["check", "out", "--card", "out.card.json", *engine]
    code, found, wrong = measured(by_card, capsys)
    assert (code, wrong, found["rows"], found["card"]["broken"]) == (0, "", 120, [])
    next((folder / "out").glob("*.parquet")).rename(folder / "out" / "other.parquet")
    code, found, wrong = measured(by_card, capsys)
    assert (code, len(found["card"]["broken"])) == (1, 1)
    assert "SHA-256" in wrong


def test_persons_are_counted_where_a_column_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "visits.csv"
    visits = ["1,flu,a", "1,gout,a", "1,flu,b", "1,gout,b"]
    file.write_text("zip,ill,id\n" + "\n".join(visits) + "\n")
    asked = ["check", str(file), "--quasi", "zip", "--sensitive", "ill"]
    assert run([*asked, "--require", "k=4,l=2"]) == 0
    capsys.readouterr()
    assert run([*asked, "--person", "id", "--require", "k=3,l=2"]) == 1
    said = capsys.readouterr()
    assert "persons       2" in said.out
    assert "k: found 2; required at least 3" in said.err
    assert "l: found 1; required at least 2" in said.err
    assert run([*asked, "--person", "id", "--engine", "spark"]) == 2
    assert "leave --engine spark out" in capsys.readouterr().err
