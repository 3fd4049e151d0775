"""The local door at the command line: reports, counts and means, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.release.card import Card, json_schema

STATIONS = ("Grove St", "Hamilton Park", "Newport", "Paulus Hook")
COUNTS = (400, 300, 200, 100)
PERTURB = ["local", "perturb", "in.csv", "--column", "station", "--epsilon", "4", "--domain", "stations.txt"]
MEAN = ["local", "mean", "in.csv", "--column", "age", "--bounds", "16", "94", "--epsilon", "4"]


def changed(arguments: list[str], option: str, *values: str) -> list[str]:
    """The same arguments with other values of one option."""
    place = arguments.index(option) + 1
    return [*arguments[:place], *values, *arguments[place + len(values) :]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a thousand riders and the public list of stations."""
    stations = np.random.default_rng(1).permutation(np.repeat(STATIONS, COUNTS))
    frame = pl.DataFrame({"station": stations, "age": np.linspace(16, 94, 1000).astype(int)})
    frame.write_csv(tmp_path / "in.csv")
    (tmp_path / "stations.txt").write_text("\n".join(STATIONS) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"in.csv", "stations.txt"}


def counts(path: Path) -> dict[str, float]:
    frame = pl.read_csv(path)
    assert frame.columns == ["value", "count", "variance", "low", "high"]
    return dict(frame.select("value", "count").iter_rows())


@pytest.mark.parametrize("protocol", ["auto", "grr", "sue", "oue", "olh", "ss", "subset", "hr", "rappor"])
@pytest.mark.parametrize("ending", ["bin", "jsonl", "jsonl.gz"])
def test_reports_become_counts(folder: Path, protocol: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    reports = f"reports.{ending}"
    assert run([*PERTURB, "--protocol", protocol, "-o", reports]) == 0
    assert "1000 reports by " in capsys.readouterr().out
    assert run(["local", "estimate", reports, "-o", "counts.csv"]) == 0
    beside = ("", ".card.json", ".statement.txt", ".statement.html")
    assert names(folder) == {f"{file}{ending}" for file in (reports, "counts.csv") for ending in beside}
    found = counts(folder / "counts.csv")
    assert list(found) == list(STATIONS)
    if protocol != "rappor":  # whose Bloom filters need more reports than these
        assert sum(found.values()) == pytest.approx(1000)
        assert abs(found["Grove St"] - 400) < 150
    for file in (f"{reports}.card.json", "counts.csv.card.json"):
        card = Card.from_json((folder / file).read_bytes())
        assert card.door == "local"
        assert 0 < card.guarantee.parameters["epsilon"] <= 4


def test_two_answers_go_by_randomised_response(folder: Path) -> None:
    (folder / "votes.csv").write_text("vote\n" + "yes\n" * 300 + "no\n" * 700)
    (folder / "votes.txt").write_text("no\nyes\n")
    arguments = ["local", "perturb", "votes.csv", "--column", "vote", "--epsilon", "3", "--domain", "votes.txt"]
    assert run([*arguments, "--protocol", "rr", "-o", "votes.bin"]) == 0
    assert run(["local", "estimate", "votes.bin", "-o", "votes-out.csv"]) == 0
    assert abs(counts(folder / "votes-out.csv")["yes"] - 300) < 100


def test_files_add_up_and_raw_counts_are_unbiased(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        assert run([*PERTURB, "--protocol", "oue", "-o", f"{number}.bin"]) == 0
    assert run(["local", "estimate", "1.bin", "2.bin", "-o", "both.csv", "--raw", "--json"]) == 0
    card: dict[str, Any] = json.loads(capsys.readouterr().out.partition("each\n")[2].partition("each\n")[2])
    assert card["released"]["settings"]["reports"] == 2000
    assert card["released"]["settings"]["consistency"] == "none"
    assert sum(counts(folder / "both.csv").values()) == pytest.approx(2000, abs=400)


def test_damaged_reports_are_counted_and_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*PERTURB, "--protocol", "oue", "-o", "reports.jsonl"]) == 0
    lines = (folder / "reports.jsonl").read_text().splitlines(keepends=True)
    (folder / "some.jsonl").write_text("".join([*lines[:501], "nonsense\n", lines[501].replace('"oue"', '"sue"')]))
    assert run(["local", "estimate", "some.jsonl", "-o", "counts.csv"]) == 0
    out = capsys.readouterr().out
    assert "4 counts from 500 reports by oue" in out
    assert "2 reports were rejected" in out


def test_a_steward_gets_a_page_and_standard_output_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*PERTURB, "-o", "reports.bin"]) == 0
    assert run(["local", "estimate", "reports.bin", "-o", "counts.csv", "--report", "page.html"]) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "1,000 reports" in page
    assert "Hamilton Park" in page
    capsys.readouterr()
    assert run(["local", "estimate", "reports.bin", "-o", "-", "--card", "card.json"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("4 counts from 1000 reports")


@pytest.mark.parametrize("protocol", ["auto", "laplace", "duchi", "piecewise", "hybrid"])
def test_a_mean_is_estimated(folder: Path, protocol: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*MEAN, "--protocol", protocol]) == 0
    assert capsys.readouterr().out.startswith("mean of age: ")
    assert run([*MEAN, "--protocol", protocol, "--json", "--card", "mean.json"]) == 0
    out = capsys.readouterr().out
    card = Card.from_json((folder / "mean.json").read_bytes())
    assert json.loads(out) == json.loads(card.to_json())
    assert abs(card.released.measures["mean"] - 55) < 10
    assert card.released.measures["low"] <= card.released.measures["mean"] <= card.released.measures["high"]


def test_cards_keep_to_their_published_schema(folder: Path) -> None:
    import jsonschema

    assert run([*PERTURB, "-o", "reports.bin"]) == 0
    assert run(["local", "estimate", "reports.bin", "-o", "counts.csv"]) == 0
    assert run([*MEAN, "--card", "mean.json"]) == 0
    for file in ("reports.bin.card.json", "counts.csv.card.json", "mean.json"):
        jsonschema.validate(json.loads((folder / file).read_text()), json_schema())


REFUSED = {
    "no such column": ([*changed(PERTURB, "--column", "sttion"), "-o", "r.bin"], "did you mean 'station'"),
    "no domain": ([*changed(PERTURB, "--domain", "no.txt"), "-o", "r.bin"], "domain 'no.txt' cannot be read"),
    "domain too small": (
        [*changed(PERTURB, "--domain", "small.txt"), "-o", "r.bin"],
        "has 3 values|no value of",
    ),
    "one value": ([*changed(PERTURB, "--domain", "one.txt"), "-o", "r.bin"], "has 1 values; give at least 2"),
    "repeated value": (
        [*changed(PERTURB, "--domain", "twice.txt"), "-o", "r.bin"],
        "line 3: 'Newport' is there already, in line 1",
    ),
    "empty line": ([*changed(PERTURB, "--domain", "gap.txt"), "-o", "r.bin"], "line 2 is empty"),
    "bad epsilon": ([*changed(PERTURB, "--epsilon", "0"), "-o", "r.bin"], "'epsilon' parameter"),
    "two answers only": ([*PERTURB, "--protocol", "rr", "-o", "r.bin"], "a sequence of 2"),
    "standard output": ([*PERTURB, "-o", "-"], "go to a file"),
    "existing output": ([*PERTURB, "-o", "in.csv"], "exists"),
    "no reports": (["local", "estimate", "-o", "c.csv"], "no report file"),
    "not a report file": (["local", "estimate", "in.csv", "-o", "c.csv"], "does not begin with the header"),
    "missing file": (["local", "estimate", "no.bin", "-o", "c.csv"], "cannot be read"),
    "bounds in disorder": (changed(MEAN, "--bounds", "94", "16"), "must be the smaller one"),
    "out of bounds": (
        changed(MEAN, "--bounds", "20", "94"),
        "rows have no number within 20 and 94, the first",
    ),
    "not a number": (
        changed(MEAN, "--column", "station"),
        "1000 rows have no number within 16 and 94",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    folder: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "small.txt").write_text("Newport\nGrove St\nPaulus Hook\n")
    (folder / "one.txt").write_text("Newport\n")
    (folder / "twice.txt").write_text("Newport\nGrove St\nNewport\n")
    (folder / "gap.txt").write_text("Newport\n\nGrove St\n")
    before = names(folder)
    arguments, words = REFUSED[case]
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert any(part in captured.err for part in words.split("|"))
    assert names(folder) == before


def test_many_rows_outside_the_domain_are_refused_and_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "small.txt").write_text("Grove St\nHamilton Park\nNewport\n")
    assert run([*changed(PERTURB, "--domain", "small.txt"), "-o", "r.bin"]) == 2
    said = capsys.readouterr().err
    assert "100 rows have no value of the domain, the first is row" in said
    assert "Paulus Hook" not in said
    assert "at most 1 % of 1000 rows may have none" in said
    assert run([*changed(PERTURB, "--domain", "small.txt"), "-o", "r.bin", "--max-failed", "0.1"]) == 0
    assert "900 reports by" in capsys.readouterr().out


def damage(folder: Path, cells: dict[int, tuple[str, str]]) -> None:
    """Put other cells into some rows, counted from 1."""
    lines = (folder / "in.csv").read_text(encoding="utf-8").splitlines()
    for row, (station, age) in cells.items():
        lines[row] = f"{station},{age}"
    (folder / "in.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


SILENT = "(first row {}), in no report (for the steward)"
DAMAGED = {3: ("?", "x"), 4: ("", ""), 8: ("Nowhere", "200"), 9: ("Newport", "50")}


def test_few_bad_rows_have_no_report_and_only_the_steward_hears_of_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(folder, DAMAGED)
    assert run([*PERTURB, "-o", "r.bin", "--parse-report", "cells.json", "--missing", "?"]) == 0
    told = capsys.readouterr()
    assert "997 reports by" in told.out
    assert told.err.splitlines() == [
        "sfumato: missing cells: station 2 (for the steward)",
        f"sfumato: column 'station': 1 of 998 filled cells is outside the domain {SILENT.format(8)}",
        "sfumato: 3 of 1000 rows have no report, which the number of reports shows (for the steward)",
    ]
    assert (folder / "cells.json").stat().st_mode & 0o777 == 0o600
    (cells,) = json.loads((folder / "cells.json").read_text())["columns"]
    assert cells["missing"] == {"cells": 2, "first_rows": [3, 4]}
    assert cells["outside"] == {"cells": 1, "first_rows": [8]}
    card = Card.from_json((folder / "r.bin.card.json").read_bytes())
    assert card.released.rows == 997
    assert any("has no report" in sentence for sentence in card.assumptions)


def test_a_mean_leaves_few_bad_rows_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(folder, DAMAGED)
    assert run([*MEAN, "--parse-report", "cells.json", "--card", "mean.json"]) == 0
    told = capsys.readouterr()
    assert "from 997 reports by" in told.out
    assert told.err.splitlines() == [
        "sfumato: missing cells: age 1 (for the steward)",
        f"sfumato: column 'age': 1 of 999 filled cells is no number {SILENT.format(3)}",
        f"sfumato: column 'age': 1 of 999 filled cells is outside [16, 94] {SILENT.format(8)}",
        "sfumato: 3 of 1000 rows have no report, which the number of reports shows (for the steward)",
    ]
    (cells,) = json.loads((folder / "cells.json").read_text())["columns"]
    assert (cells["cells"], cells["failed"]["first_rows"], cells["example"]) == (1000, [3], "x")
    assert run([*MEAN, "--parse-report", "cells.json"]) == 2  # it exists
    assert "cells.json" in capsys.readouterr().err


def test_the_number_of_bad_rows_is_on_no_card(folder: Path) -> None:
    cards = []
    for name, damaged in (("a", {}), ("b", DAMAGED)):
        damage(folder, damaged)
        assert run([*PERTURB, "--protocol", "oue", "-o", f"{name}.bin"]) == 0
        card = json.loads((folder / f"{name}.bin.card.json").read_text())
        for key in ("rows", "file", "sha256"):  # the number of reports is public
            card["released"].pop(key)
        cards.append(card)
    assert cards[0] == cards[1]


@pytest.mark.parametrize("command", [[*PERTURB, "-o", "r.bin"], MEAN])
def test_one_bad_row_alone_decides_nothing_unless_a_share_is_named(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "in.csv").write_text("station,age\nNewport,30\nGrove St,40\n?,?\n")
    assert run([*command, "--max-failed", "0"]) == 2
    assert "1 row has no" in capsys.readouterr().err
    assert run([*command, "--max-failed", "2"]) == 2
    assert "give a share from 0 to 1" in capsys.readouterr().err
    assert run(command) == 0
    assert "1 of 3 rows has no report" in capsys.readouterr().err


def test_a_paid_mean_leaves_few_bad_rows_out_and_refuses_many_before_it_pays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(folder, DAMAGED)
    make_ledger(folder, *VALUE)
    assert run([*changed(MEAN, "--bounds", "50", "94"), "--ledger", "l"]) == 2
    assert account(capsys)["spent"]["epsilon"] == 0
    assert run([*MEAN, "--ledger", "l"]) == 0
    told = capsys.readouterr()
    assert "from 997 reports" in told.out
    assert "3 of 1000 rows have no report" in told.err


def test_a_compressed_file_holds_what_its_name_says(folder: Path) -> None:
    import gzip

    assert run([*PERTURB, "-o", "reports.jsonl.gz"]) == 0
    lines = gzip.decompress((folder / "reports.jsonl.gz").read_bytes()).splitlines()
    assert len(lines) == 1001
    assert json.loads(lines[0])["format"] == "sfumato-local-reports"


def test_a_value_may_hold_what_some_call_a_line_break(folder: Path) -> None:
    (folder / "odd.csv").write_text("kind\n" + "a\u2028b\n" * 40 + "c\n" * 60, encoding="utf-8")
    (folder / "odd.txt").write_bytes("a\u2028b\r\nc\r\n".encode())
    arguments = ["local", "perturb", "odd.csv", "--column", "kind", "--epsilon", "8", "--domain", "odd.txt"]
    assert run([*arguments, "-o", "odd.bin"]) == 0
    assert run(["local", "estimate", "odd.bin", "-o", "odd-out.csv"]) == 0
    assert set(counts(folder / "odd-out.csv")) == {"a\u2028b", "c"}


@pytest.mark.parametrize("command", ["perturb", "estimate", "mean"])
def test_help_offers_nothing_that_is_not_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["local", command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "--empty" not in out
    assert "--no-" not in out


def test_files_of_two_protocols_do_not_add_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*PERTURB, "--protocol", "oue", "-o", "a.bin"]) == 0
    assert run([*PERTURB, "--protocol", "sue", "-o", "b.bin"]) == 0
    capsys.readouterr()
    assert run(["local", "estimate", "a.bin", "b.bin", "-o", "c.csv"]) == 2
    assert "cannot join" in capsys.readouterr().err
    assert run(["local", "estimate", "a.bin", "./a.bin", "-o", "c.csv"]) == 2
    assert "named twice" in capsys.readouterr().err
    assert "c.csv" not in names(folder)


def make_ledger(folder: Path, *further: str) -> None:
    """A ledger about the riders, over another table of theirs."""
    columns = {"rider": "category", "age": "integer"}
    text = "".join(f'[columns.{name}]\nrole = "sensitive"\ntype = "{kind}"\n' for name, kind in columns.items())
    (folder / "riders.toml").write_text(text)
    (folder / "riders.csv").write_text("rider,age\na,31\nb,47\n")
    command = ["budget", "create", "l", "--data", "riders.csv", "--schema", "riders.toml", "--epsilon", "9"]
    assert run([*command, "--population", "riders", *further]) == 0


def account(capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run(["budget", "show", "l", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


VALUE = ("--neighbours", "value")


def test_a_collection_is_paid_for_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger(folder, *VALUE)
    assert run([*PERTURB, "-o", "june.bin"]) == 0
    for output, raw in (("a.csv", []), ("b.csv", ["--raw"])):
        assert run(["local", "estimate", "june.bin", "-o", output, "--ledger", "l", *raw]) == 0
    found = account(capsys)
    assert (found["spent"]["epsilon"], found["doors"], found["population"]) == (4, ["local"], "riders")
    assert found["data_sets"] == ["june.bin", "riders"]
    card = json.loads((folder / "b.csv.card.json").read_text())
    assert card["ledger"] == found["head"]
    assert card["guarantee"]["model"] == "local differential privacy"
    assert card["guarantee"]["parameters"]["epsilon"] == 4
    assert card["guarantee"]["unit"] == "report (what one device holds)"
    assert run(["budget", "verify", "l", "--against", "a.csv.card.json", "b.csv.card.json"]) == 0


def test_other_collections_are_paid_for_until_nothing_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger(folder, *VALUE)
    for month, code in (("june", 0), ("july", 0), ("august", 1)):
        assert run([*PERTURB, "-o", f"{month}.bin"]) == 0
        assert run(["local", "estimate", f"{month}.bin", "-o", f"{month}.csv", "--ledger", "l"]) == code
    assert "the ledger has epsilon 1 left" in capsys.readouterr().err
    assert account(capsys)["spent"]["epsilon"] == 8
    assert not (folder / "august.csv").exists()


@pytest.mark.parametrize(
    "terms, persons, said",
    [
        ((), [], "the number of reports is public in the release, so that presence is not protected"),
        ((*VALUE, "--protect", "person:rider:2:1"), [], "does not bound how many reports of a person count"),
        ((*VALUE, "--protect", "person:rider:2:1"), ["--persons", "driver:1"], "not the same persons"),
        (("--protect", "person:rider:2:1"), ["--persons", "rider:1"], "presence is not protected"),
        (VALUE, ["--persons", "rider"], "give ID:REPORTS"),
        (VALUE, ["--persons", "rider:0"], "give ID:REPORTS"),
    ],
)
def test_a_ledger_that_reports_cannot_be_priced_for_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], terms: tuple[str, ...], persons: list[str], said: str
) -> None:
    make_ledger(folder, *terms)
    assert run([*PERTURB, "-o", "june.bin"]) == 0
    capsys.readouterr()
    assert run(["local", "estimate", "june.bin", "-o", "a.csv", "--ledger", "l", *persons]) == 2
    assert said in capsys.readouterr().err
    assert run([*MEAN, "--ledger", "l", *persons, "--card", "m.json"]) == 2
    assert said in capsys.readouterr().err
    assert account(capsys)["entries"] == []
    reports = {f"june.bin{ending}" for ending in ("", ".card.json", ".statement.txt", ".statement.html")}
    assert names(folder) == {*reports, "l", "riders.csv", "riders.toml"}


def test_several_reports_of_a_person_add_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger(folder, *VALUE, "--protect", "person:rider:2:1")
    assert run([*PERTURB, "-o", "june.bin"]) == 0
    paid = ["local", "estimate", "june.bin", "--ledger", "l", "--persons", "rider:2"]
    assert run([*paid, "-o", "a.csv"]) == 0
    assert account(capsys)["spent"]["epsilon"] == 8
    card = json.loads((folder / "a.csv.card.json").read_text())
    assert "Every person (rider) sent at most 2 reports." in card["assumptions"]


def test_a_mean_is_paid_for_before_it_is_drawn_and_told_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_ledger(folder, *VALUE)
    for card in ("a.json", "b.json"):
        assert run([*MEAN, "--ledger", "l", "--card", card]) == 0
    cards = [json.loads((folder / name).read_text()) for name in ("a.json", "b.json")]
    assert cards[0]["released"] == cards[1]["released"]
    found = account(capsys)
    assert (found["spent"]["epsilon"], found["data_sets"]) == (4, ["in.csv", "riders"])
    assert cards[1]["ledger"] == found["head"]
    assert run([*changed(MEAN, "--epsilon", "6"), "--ledger", "l"]) == 1
    assert run([*changed(MEAN, "--bounds", "16", "50"), "--ledger", "l"]) == 2
    assert account(capsys)["spent"]["epsilon"] == 4


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--persons", "rider:1"], "name the ledger with --ledger"),
        (["--ledger", "none"], "there is no ledger"),
    ],
)
def test_payments_that_cannot_be_made(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run([*PERTURB, "-o", "june.bin"]) == 0
    assert run(["local", "estimate", "june.bin", "-o", "a.csv", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "a.csv").exists()
