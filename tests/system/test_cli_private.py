"""Private tables from the command line: files, ledger and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.table import io

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = """
other = "drop"
[columns.age]
role = "quasi"
type = "integer"
bounds = [16, 94]
[columns.sex]
role = "quasi"
type = "category"
categories = ["F", "M"]
"""
INPUT = ["anonymize", "patients.csv", "--schema", "people.toml"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(EXAMPLES / "patients.csv", tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_safepub_writes_rows_that_check_confirms(folder: Path) -> None:
    assert run([*INPUT, "-o", "out.csv", "--algorithm", "safepub", "--epsilon", "1", "--k", "5"]) == 0
    assert run(["check", "out.csv", "--quasi", "age,sex", "--require", "k=5"]) == 0
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert card["guarantee"]["parameters"]["k"] == 5
    assert card["guarantee"]["parameters"]["delta"] <= 1e-6
    assert card["audits"]
    assert {audit["verdict"] for audit in card["audits"]} == {"NOT_REFUTED"}


def test_private_mondrian_writes_boxes_without_a_model(folder: Path) -> None:
    assert run([*INPUT, "-o", "out.csv", "--algorithm", "private-mondrian", "--epsilon", "0.5", "--depth", "4"]) == 0
    assert abs(pl.read_csv(folder / "out.csv").height - 2000) < 300
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert card["guarantee"]["parameters"] == {"epsilon": 0.5}
    assert [audit["verdict"] for audit in card["audits"]] == ["NOT_REFUTED"]
    assert "made-up rows" in card["audits"][0]["evidence"]["reason"]


def test_a_card_made_in_python_has_the_same_audits(folder: Path) -> None:
    schema, people = sf.Schema.from_toml("people.toml"), sf.read("patients.csv")
    assert run([*INPUT, "-o", "out.csv", "--algorithm", "safepub", "--epsilon", "1", "--k", "5"]) == 0
    card = sf.SafePub(epsilon=1).anonymize(people, schema, [sf.KAnonymity(5)]).card
    assert json.loads(card.to_json())["audits"] == json.loads((folder / "out.csv.card.json").read_text())["audits"]
    boxes = sf.PrivateMondrian(epsilon=0.5, depth=4).anonymize(people, schema).card
    assert [(audit.claim, audit.verdict) for audit in boxes.audits] == [
        ("differential privacy with ε=0.5", "NOT_REFUTED")
    ]
    assert "made-up rows" in boxes.audits[0].evidence["reason"]


def test_a_ledger_is_charged_once_for_the_same_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", "create", "l", "--data", "patients.csv", "--schema", "people.toml", "--epsilon", "1"]) == 0
    paid = [*INPUT, "--algorithm", "private-mondrian", "--epsilon", "0.6", "--ledger", "l"]
    assert [run([*paid, "-o", name]) for name in ("a.csv", "b.csv")] == [0, 0]
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    assert run([*INPUT, "-o", "c.csv", "--algorithm", "private-mondrian", "--epsilon", "0.5", "--ledger", "l"]) == 1
    assert "the ledger has epsilon 0.4 left" in capsys.readouterr().err
    assert not (folder / "c.csv").exists()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--algorithm", "safepub", "--k", "5"], "safepub needs --epsilon"),
        (["--algorithm", "safepub", "--epsilon", "1"], "safepub needs k or the sampling rate"),
        (["--algorithm", "safepub", "--epsilon", "-1", "--k", "5"], "must be a number above 0"),
        (["--algorithm", "private-mondrian", "--epsilon", "1", "--k", "5"], "not k-anonymity; leave it out"),
        (["--algorithm", "private-mondrian", "--epsilon", "1", "--beta", "0.1"], "--beta is no option of"),
        (["--algorithm", "mondrian", "--k", "5", "--ledger", "none"], "there is no ledger"),
        (["--algorithm", "safepub", "--epsilon", "1", "--k", "5", "--report", "r.html"], "--report compares classes"),
        (["--algorithm", "safepub", "--epsilon", "1", "--k", "5", "--ledger", "none"], "none"),
        (["--algorithm", "safepub", "--epsilon", "1", "--k", "5", "--sensitive", "disease"], "no public domain"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert run([*INPUT, "-o", "out.csv", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_series_does_not_take_private_tables(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["republish", "patients.csv", "--schema", "people.toml", "--k", "5", "--history", "h"]
    assert run([*arguments, "--algorithm", "safepub", "--epsilon", "1"]) == 2
    assert "a series of classes cannot go on with" in capsys.readouterr().err


def make_ledger(*further: str) -> None:
    ledger = ["budget", "create", "l", "--data", "patients.csv", "--schema", "people.toml", "--epsilon", "1"]
    assert run([*ledger, "--delta", "1e-3", *further]) == 0


def account(capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run(["budget", "show", "l", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_has_no_price_is_listed_outside_the_bound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger()
    for name in ("a.csv", "b.csv"):
        assert run([*INPUT, "-o", name, "--k", "5", "--ledger", "l"]) == 0
    assert run([*INPUT, "-o", "c.csv", "--k", "6", "--ledger", "l"]) == 0
    found = account(capsys)
    assert found["outside_the_bound"] == [1, 2]
    assert (found["spent"]["epsilon"], found["doors"], found["data_sets"]) == (0, ["table"], ["patients"])
    card = json.loads((folder / "c.csv.card.json").read_text())
    assert card["ledger"] == found["head"]
    assert any("listed in the account, outside the bound" in warning for warning in card["warnings"])
    assert run(["budget", "verify", "l", "--against", "a.csv.card.json", "c.csv.card.json"]) == 0


def test_what_is_refused_is_not_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger()
    assert run([*INPUT, "-o", "a.csv", "--k", "5000", "--ledger", "l"]) == 2
    assert account(capsys)["entries"] == []
    assert not (folder / "a.csv").exists()


def test_the_card_and_the_account_say_the_same_price(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger("--neighbours", "value")
    paid = [*INPUT, "--ledger", "l"]
    assert run([*paid, "-o", "a.csv", "--algorithm", "private-mondrian", "--epsilon", "0.2"]) == 0
    assert run([*paid, "-o", "b.csv", "--algorithm", "safepub", "--epsilon", "0.3", "--k", "20"]) == 0
    cards = [json.loads((folder / f"{name}.csv.card.json").read_text()) for name in "ab"]
    assert [card["guarantee"]["parameters"]["epsilon"] for card in cards] == [0.2, 0.3]
    assert {card["guarantee"]["unit"] for card in cards} == {"row"}
    assert {card["guarantee"]["neighbours"] for card in cards} == {"presence: one unit is there or not"}
    found = account(capsys)
    assert [entry["cost"]["epsilon"] for entry in found["entries"]] == [0.4, 0.6]
    assert cards[1]["ledger"] == found["head"]
    assert run([*paid, "-o", "c.csv", "--algorithm", "private-mondrian", "--epsilon", "0.1"]) == 1


def test_a_ledger_for_persons_refuses_rows_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger("--protect", "person:sex:3:1")
    assert run([*INPUT, "-o", "a.csv", "--algorithm", "private-mondrian", "--epsilon", "0.2", "--ledger", "l"]) == 2
    said = "does not bound how many rows of a person count; cap them by that person"
    assert said in capsys.readouterr().err
    assert account(capsys)["entries"] == []
    assert not (folder / "a.csv").exists()


@pytest.mark.parametrize("algorithm", [["--algorithm", "private-mondrian", "--epsilon", "0.2"], ["--k", "5"]])
def test_the_rows_that_were_hashed_are_the_rows_that_leave(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], algorithm: list[str]
) -> None:
    """Other rows lie in the file while it is read, and the right ones again when a check would look at it."""
    make_ledger()
    right, real = (folder / "patients.csv").read_bytes(), io.read_hashed

    def swapped(path: Path, **options: Any) -> Any:
        (folder / "patients.csv").write_bytes(right + right.splitlines()[-1] + b"\n")
        found = real(path, **options)
        (folder / "patients.csv").write_bytes(right)
        return found

    monkeypatch.setattr("sfumato.tabular.charge.read_hashed", swapped)
    assert run([*INPUT, "-o", "a.csv", *algorithm, "--ledger", "l"]) == 2
    assert "the data are not those that ledger" in capsys.readouterr().err
    assert account(capsys)["entries"] == []


SIXTY = 60


def drawn_schemes(folder: Path, name: str) -> set[str]:
    """The schemes of sixty releases of one file, each through the command line."""
    command = ["anonymize", name, "--schema", "people.toml", "--algorithm", "safepub", "--epsilon", "1", "--k", "5"]
    found = set()
    for number in range(SIXTY):
        assert run([*command, "-o", f"{number}.csv"]) == 0
        card = json.loads((folder / f"{number}.csv.card.json").read_text())
        assert (folder / f"{number}.csv").read_text() == "age,sex\n"
        found.add(str(card["released"]["settings"]["scheme"]))
    return found


@pytest.mark.parametrize("name, text", [("none.csv", "age,sex\n"), ("one.csv", "age,sex\n31,F\n")])
def test_a_scheme_of_no_rows_is_drawn_like_one_of_one_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """Twelve schemes, all alike: fewer than six of them in sixty draws happens once in 10^15 runs."""
    monkeypatch.setattr("sfumato.tabular.private.base.PrivateAnonymizer._attack", lambda _, release: release)
    (folder / name).write_text(text)
    assert len(drawn_schemes(folder, name)) >= 6


def test_private_mondrian_takes_no_rows_and_plain_mondrian_refuses_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "none.csv").write_text("age,sex\n")
    command = ["anonymize", "none.csv", "--schema", "people.toml", "-o"]
    assert run([*command, "boxes.csv", "--algorithm", "private-mondrian", "--epsilon", "1"]) == 0
    assert run([*command, "classes.csv", "--k", "2"]) == 2
    assert "has a header and no rows" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", ["0.9", "44", "45", "60", "100"])
def test_delta_is_never_below_the_chance_of_a_whole_class(folder: Path, epsilon: str) -> None:
    command = [*INPUT, "-o", "out.csv", "--algorithm", "safepub", "--epsilon", epsilon]
    assert run([*command, "--k", "5"]) == 0
    stated = json.loads((folder / "out.csv.card.json").read_text())["guarantee"]["parameters"]
    assert stated["beta"] ** stated["k"] <= stated["delta"] <= 1e-6


def test_a_tiny_epsilon_is_released_and_attacked_in_time(folder: Path) -> None:
    """The attack on the card works δ out again; it must not go through a million sizes of a class."""
    command = [*INPUT, "-o", "out.csv", "--algorithm", "safepub", "--epsilon", "0.0003", "--k", "50"]
    assert run(command) == 0
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert card["audits"][0]["verdict"] == "NOT_REFUTED"


def test_a_rate_that_a_large_epsilon_cannot_make_safe_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*INPUT, "-o", "out.csv", "--algorithm", "safepub", "--epsilon", "100", "--k", "5"]
    assert run([*command, "--beta", "0.9"]) == 2
    assert "has delta 0.59, above 1e-06; give k of at least 132" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
