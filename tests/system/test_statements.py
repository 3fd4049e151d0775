"""A statement lies beside every card that a command writes, in both forms, and `statement` makes one from any card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.release.card import Card
from sfumato.release.statement import Statement, beside_card
from sfumato.stream.runtime.hooks import Hooks
from sfumato.stream.runtime.job import publish
from sfumato.stream.setup import build
from sfumato.table import samples

NAMES = ["--title", "Visits in spring", "--dataset", "Clinic", "--signed-by", "Ada"]
TABLE = ["--quasi", "age,sex", "--sensitive", "disease", "--other", "drop", "--k", "5"]
QUERY_SCHEMA = 'other = "drop"\n[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 120]\n'
DOORS = {
    "table": (["anonymize", "people.csv", "-o", "o.csv", *TABLE], "o.csv.card.json"),
    "named card": (["anonymize", "people.csv", "-o", "o.csv", *TABLE, "--card", "c.json"], "c.json"),
    "standard output": (["anonymize", "people.csv", "-o", "-", *TABLE, "--card", "c.json"], "c.json"),
    "series": (["republish", "people.csv", "-o", "o.csv", *TABLE, "--l", "2", "--history", "h"], "o.csv.card.json"),
    "query": (["query", "l", "SELECT COUNT(*) FROM people", "--epsilon", "0.1", "-o", "o.csv"], "o.csv.card.json"),
    "stream": (
        ["stream", "people.csv", "-o", "o.csv", "--column", "age", "--bounds", "0", "120", "--publisher", "laplace"],
        "o.csv.card.json",
    ),
    "reports": (
        ["local", "perturb", "people.csv", "-o", "o.bin", "--column", "sex", "--domain", "d.txt", "--epsilon", "1"],
        "o.bin.card.json",
    ),
    "counts": (["local", "estimate", "r.bin", "-o", "o.csv"], "o.csv.card.json"),
    "mean": (
        [
            "local",
            "mean",
            "people.csv",
            "--column",
            "age",
            "--bounds",
            "0",
            "120",
            "--epsilon",
            "1",
            "--card",
            "m.json",
        ],
        "m.json",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = samples.patients(60)
    people.write_csv("people.csv")
    Path("d.txt").write_text("\n".join(sorted(people["sex"].unique().to_list())) + "\n")
    Path("s.toml").write_text(QUERY_SCHEMA)
    return tmp_path


def prepare(door: str) -> None:
    """Make what a door needs beforehand."""
    if door == "query":
        assert run(["budget", "create", "l", "--data", "people.csv", "--schema", "s.toml", "--epsilon", "1"]) == 0
    if door == "counts":
        common = ["--column", "sex", "--domain", "d.txt", "--epsilon", "1"]
        assert run(["local", "perturb", "people.csv", "-o", "r.bin", *common]) == 0


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.usefixtures("folder")
def test_every_door_states_what_its_card_says(door: str, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(door)
    arguments, place = DOORS[door]
    assert run([*arguments, *NAMES]) == 0
    card = Card.read(place)
    assert (card.title, card.dataset, card.signed_by) == ("Visits in spring", "Clinic", "Ada")
    text, page = (file.read_text(encoding="utf-8") for file in beside_card(Path(place)))
    assert text == Statement.of(card).text()
    assert page == Statement.of(card).html()
    for needed in ("Visits in spring", "Clinic", "Ada", str(card.date)):
        assert needed in text
    assert card.changes or door == "stream"
    capsys.readouterr()
    assert run(["statement", place]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.usefixtures("folder")
def test_the_command_writes_either_form_and_takes_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(DOORS["table"][0]) == 0
    card = json.loads(Path("o.csv.card.json").read_text())
    assert (card["dataset"], card["title"]) == (None, None)
    assert "people.csv" not in Path("o.csv.statement.txt").read_text()
    assert run(["statement", "o.csv.card.json", "-o", "page.html", "--dataset", "Clinic"]) == 0
    assert "Clinic" in Path("page.html").read_text()
    for arguments, sentence in (
        (["o.csv.card.json", "-o", "page.pdf"], "a statement is .txt or .html; found '.pdf'"),
        (["o.csv.card.json", "-o", "page.html"], "output 'page.html' exists"),
        (["people.csv"], "file 'people.csv' is not a card"),
        (["none.json"], "card 'none.json' cannot be read"),
        (["o.csv.card.json", "--title", " "], "is no name"),
    ):
        capsys.readouterr()
        assert run(["statement", *arguments]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_title_that_is_none_is_refused_before_anything_is_paid(capsys: pytest.CaptureFixture[str]) -> None:
    prepare("query")
    assert run([*DOORS["query"][0], "--title", ""]) == 2
    assert "the title '' is no name" in capsys.readouterr().err
    assert run(["budget", "show", "l", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spent"]["epsilon"] in {0, "0"}


@pytest.mark.usefixtures("folder")
def test_a_stream_has_its_statement_from_the_first_rows_on() -> None:
    Path("feed.csv").write_text("age\n" + "30\n" * 200_000)
    seen: list[bool] = []

    def stop() -> bool:
        seen.append(all(Path(f"o.csv{ending}").exists() for ending in (".card.json", ".statement.html")))
        return False

    setup = build("laplace", ["age"], bounds=(0, 120))
    publish(Path("feed.csv"), Path("o.csv"), setup, hooks=Hooks(stop=stop))
    assert seen
    assert all(seen)
    assert "200,000 rows so far" in Path("o.csv.statement.txt").read_text()
