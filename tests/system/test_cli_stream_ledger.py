"""Streams and ledgers through the command line: a stream costs what its promise costs in the ledger's own terms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.release import Card

RANK = ["--publisher", "rank", "--bounds", "0", "100", "--column", "hours", "--delay", "20", "--block", "5"]
DAYS = ["--every", "1d", "--time", "day", "--from", "2016-09-01", "--until", "2016-09-04"]
PERSONS = ["--protect", "person:drive:30:1"]
PRESENCE, VALUE = ["--neighbours", "presence"], ["--neighbours", "value"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = [f"2016-09-0{1 + place % 3},d{place % 7},{place % 100}" for place in range(120)]
    (tmp_path / "log.csv").write_text("\n".join(["day,drive,hours", *lines]) + "\n")
    (tmp_path / "log.toml").write_text(
        '[columns.hours]\nrole = "sensitive"\ntype = "number"\nbounds = [0, 100]\n'
        '[columns.drive]\nrole = "identifier"\n[columns.day]\nrole = "other"\ntype = "text"\n'
    )
    return tmp_path


def ledger(*options: str) -> Ledger:
    made = ["budget", "create", "l", "--data", "log.csv", "--schema", "log.toml", "--epsilon", "10", *options]
    assert run(made) == 0
    return Ledger.open("l")


def published(*options: str, name: str = "out.csv") -> int:
    return run(["stream", "log.csv", "-o", name, *options, "--ledger", "l"])


@pytest.mark.parametrize(
    "terms, options, said",
    [
        ([*PERSONS, *PRESENCE], RANK, "the number of records is public in the release"),
        ([*PERSONS, *VALUE], RANK, "does not bound how many records of a person count"),
        ([*PERSONS, *PRESENCE], [*RANK, "--person", "drive"], "the number of records is public in the release"),
        ([*PERSONS, *PRESENCE], [*RANK, *DAYS], "does not bound how many records of a person count"),
        ([*PERSONS, *PRESENCE], [*RANK, *DAYS, "--person", "day2"], "these are not the same persons"),
        ([*PRESENCE], RANK, "the number of records is public in the release"),
        ([*PERSONS, *VALUE], [*RANK, "--person", "drive", "--horizon", "30d", "--time", "day"], "counts for ever"),
        (
            [*PERSONS, *VALUE, "--horizon", "7d"],
            [*RANK, "--person", "drive", "--horizon", "30d", "--time", "day"],
            "promises anew with every horizon of",
        ),
    ],
)
def test_what_the_ledger_cannot_price_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], terms: list[str], options: list[str], said: str
) -> None:
    """The first is a counterexample that once held: 30·ε and an exact count left, and ε = 1 was booked."""
    book = ledger(*terms)
    capsys.readouterr()
    assert published(*options) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert not list(folder.glob("out*"))
    assert book.spent.epsilon == 0
    assert not list(book.entries())


@pytest.mark.parametrize(
    "terms, options, cost",
    [
        ([*VALUE], RANK, "0.5"),
        (["--protect", "rows:3", *VALUE], RANK, "1.5"),
        ([*PRESENCE], [*RANK, *DAYS], "0.5"),
        ([*VALUE], [*RANK, *DAYS], "1"),
        ([*PERSONS, *VALUE], [*RANK, "--person", "drive", "--per-person", "4"], "2"),
        ([*PERSONS, *PRESENCE], [*RANK, *DAYS, "--person", "drive", "--per-person", "4"], "2"),
        ([*PERSONS, *VALUE], [*RANK, *DAYS, "--person", "drive", "--per-person", "4"], "4"),
        (
            [*PERSONS, *PRESENCE, "--horizon", "30d"],
            [*RANK, *DAYS, "--person", "drive", "--per-person", "4", "--horizon", "30d"],
            "2",
        ),
    ],
)
def test_a_stream_costs_what_it_promises_in_the_ledgers_terms(
    folder: Path, terms: list[str], options: list[str], cost: str
) -> None:
    book = ledger(*terms)
    assert published(*options, "--epsilon", "0.5") == 0
    assert str(book.spent.epsilon.normalize()) == cost
    card = Card.from_json((folder / "out.csv.card.json").read_bytes())
    assert card.ledger == book.head.text
    assert [(entry.door, entry.data) for entry in book.entries()] == [("stream", "log.csv")]
    assert run(["budget", "verify", "l", "--against", "out.csv.card.json"]) == 0


@pytest.mark.parametrize("publisher", ["doca", "castle"])
def test_a_stream_without_an_epsilon_is_listed_outside_the_bound(folder: Path, publisher: str) -> None:
    book = ledger()
    (folder / "tuples.toml").write_text('[columns.hours]\nrole = "quasi"\ntype = "number"\nbounds = [0, 100]\n')
    options = {
        "doca": ["--publisher", "doca", "--bounds", "0", "100", "--column", "hours"],
        "castle": ["--publisher", "castle", "--schema", "tuples.toml", "--quasi", "hours", "--k", "3"],
    }[publisher]
    assert published(*options, "--checkpoint", "kept") == 0
    assert published(*options, "--checkpoint", "kept") == 0
    assert book.spent.epsilon == 0
    assert [(entry.door, entry.outside) for entry in book.entries()] == [("stream", True)]
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert any("outside the bound of epsilon and delta" in warning for warning in card["warnings"])
    assert card["ledger"] == book.head.text
