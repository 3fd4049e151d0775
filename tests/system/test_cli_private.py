"""Private tables from the command line: files, ledger and refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run

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
        (["--algorithm", "mondrian", "--k", "5", "--ledger", "l"], "which mondrian does not promise"),
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


def test_a_rate_that_a_large_epsilon_cannot_make_safe_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*INPUT, "-o", "out.csv", "--algorithm", "safepub", "--epsilon", "100", "--k", "5"]
    assert run([*command, "--beta", "0.9"]) == 2
    assert "has delta 0.59, above 1e-06; give k of at least 132" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
