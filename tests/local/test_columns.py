"""A column as reports or as a mean, from Python: the files, cards and refusals of the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.core.progress import listening
from sfumato.errors import InputError, ParameterError
from sfumato.local.intake import reported_codes
from sfumato.release import Card

COLOURS = ("red", "green", "blue")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sf.Table:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"colour": np.repeat(COLOURS, (50, 30, 20)), "age": np.linspace(20, 60, 100)})
    frame.write_csv("in.csv")
    Path("colours.txt").write_text("\n".join(COLOURS) + "\n")
    return sf.Table.from_frame(frame)


@pytest.mark.parametrize("protocol", ["auto", "grr", "subset"])
def test_python_and_the_command_line_write_the_same_card(table: sf.Table, protocol: str) -> None:
    asked = ["--column", "colour", "--epsilon", "2", "--domain", "colours.txt", "--protocol", protocol]
    assert run(["local", "perturb", "in.csv", "-o", "typed.jsonl", *asked]) == 0
    domain = sf.local.read_domain("colours.txt")
    made = sf.local.write_perturbed(
        table, "called.jsonl", column="colour", domain=domain, epsilon=2, protocol=protocol, card="card.json"
    )
    assert Card.from_json(Path("card.json").read_bytes()) == made.card
    typed, called = (json.loads(Path(file).read_text()) for file in ("typed.jsonl.card.json", "card.json"))
    for card in (typed, called):
        assert len(card["released"].pop("sha256")) == 64
        assert card["released"].pop("file").endswith(".jsonl")
    assert typed == called
    assert sf.local.tally_report_files(["typed.jsonl", "called.jsonl"]).users == 200
    assert bool(made.protocol.reason) == (protocol == "auto")


def test_a_mean_has_the_card_of_the_command_line(table: sf.Table) -> None:
    asked = ["--column", "age", "--bounds", "0", "99", "--epsilon", "2", "--protocol", "duchi"]
    assert run(["local", "mean", "in.csv", *asked, "--card", "mean.json"]) == 0
    found = sf.local.estimate_mean(table, column="age", bounds=(0, 99), epsilon=2, protocol="duchi")
    typed, called = json.loads(Path("mean.json").read_text()), json.loads(found.card.to_json())
    for card in (typed, called):
        assert set(card["released"].pop("measures")) == {"mean", "variance", "low", "high", "reports"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", typed.pop("date"))  # the day it was written
    assert called.pop("date") is None
    assert typed == called
    assert found.card.released.measures["mean"] == found.estimate.mean


def test_whoever_listens_hears_how_far_it_is(table: sf.Table) -> None:
    heard: list[tuple[float, str]] = []
    with listening(lambda share, note: heard.append((share, note))):
        sf.local.write_perturbed(table, "reports.bin", column="colour", domain=COLOURS, epsilon=2)
        sf.local.tally_report_files(["reports.bin"])
    assert heard == [(0.0, "reading"), (1.0, "100 of 100"), (0.0, "counting reports.bin")]


def test_what_is_refused_leaves_nothing(table: sf.Table) -> None:
    for domain, words in (
        (("red", "green"), "20 rows have no value of the domain, the first is row 81, and at most 1 %"),
        (("red", "red"), "different strings or integers"),
    ):
        with pytest.raises((InputError, ParameterError), match=words):
            sf.local.write_perturbed(table, "reports.bin", column="colour", domain=domain, epsilon=2)
    with pytest.raises(InputError, match="go to a file"):
        sf.local.write_perturbed(table, "-", column="colour", domain=COLOURS, epsilon=2)
    with pytest.raises(ParameterError, match="there is no protocol 'gr'; did you mean 'grr'"):
        sf.local.write_perturbed(table, "reports.bin", column="colour", domain=COLOURS, epsilon=2, protocol="gr")
    assert {file.name for file in Path.cwd().iterdir()} == {"in.csv", "colours.txt"}


def test_integers_are_coded_as_their_text() -> None:
    protocol = sf.local.GeneralizedResponse([10, 20, 30], 1)
    assert reported_codes(protocol, pl.Series("n", [30, 10])).codes.tolist() == [2, 0]
    with pytest.raises(InputError, match="two values of the domain are the same text"):
        reported_codes(sf.local.GeneralizedResponse([1, "1"], 1), pl.Series("n", [1]))


@pytest.mark.parametrize(
    "content, words",
    [
        (b"red\n\nblue\n", "line 2 is empty; give one value a line"),
        (b"red\nblue\nred\n", "line 3: 'red' is there already, in line 1"),
        (b"red\n", "has 1 values; give at least 2"),
        (b"\xff\xfe", "is not a text file in UTF-8"),
    ],
)
def test_a_bad_domain_is_refused_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "domain.txt").write_bytes(content)
    with pytest.raises(InputError, match=words):
        sf.local.read_domain(tmp_path / "domain.txt")


def test_rows_without_any_value_are_told_apart_from_values_that_are_not_listed() -> None:
    protocol = sf.local.WarnerResponse(["no", "yes"], 1)
    votes = pl.Series("vote", ["yes", None, "maybe", None])
    with pytest.raises(InputError, match=r"3 rows have no value of the domain \(2 of them no value at all\)"):
        reported_codes(protocol, votes)
