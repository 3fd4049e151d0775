"""What comes into the stream command: feeds that do not parse, broken lines, and the steward's report about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise.cost import Budget

LAPLACE = ["--publisher", "laplace", "--bounds", "0", "100", "--epsilon", "1e6"]
RANK = ["--publisher", "rank", "--bounds", "0", "100", "--delay", "20", "--block", "5"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hours(content: str | bytes, *options: str, column: str = "hours") -> list[float]:
    """Publish a feed nearly without noise and return the values."""
    Path("in.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", column, *LAPLACE, *options]) == 0
    values = pl.read_csv("out.csv")[column].round(1).to_list()
    for file in Path().glob("out.csv*"):
        file.unlink()
    return values


def report(name: str = "steward.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(name).read_text())
    return found


MINUTES = "".join(f"2016-09-01 {minute // 60:02d}:{minute % 60:02d}:00,{minute % 9}\n" for minute in range(1200))


@pytest.mark.parametrize("publisher", [LAPLACE, RANK, ["--publisher", "auto", "--bounds", "0", "12"]])
def test_a_column_that_does_not_parse_is_refused_and_nothing_is_charged(
    folder: Path, capsys: pytest.CaptureFixture[str], publisher: list[str]
) -> None:
    (folder / "power.csv").write_text("Datetime,kW\n" + MINUTES)
    ledger = Ledger.create(folder / "l", Budget(epsilon=10**6), {"protect": "rows", "neighbours": "value"})
    given = ["power.csv", "-o", "out.csv", "--column", "Datetime", *publisher, "--ledger", "l", "--checkpoint", "kept"]
    assert run(["stream", *given, "--parse-report", "steward.json"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "sfumato: column 'Datetime': 1000 of the first 1000 filled cells cannot be read, the first one at record 0, "
        "and 1 % may fail; name another column, say how it is written, or give --max-failed\n"
    )
    assert ledger.spent.epsilon == 0
    left = {file.name for file in folder.iterdir() if file.is_file()}
    assert left - {"l"} <= {"power.csv"} | {name for name in left if name.startswith("l")}


@pytest.mark.parametrize(
    "cells, options, code",
    [
        (["5"] * 995 + ["x"] * 5, [], 0),  # half a percent
        (["5"] * 980 + ["x"] * 20, [], 2),
        (["5"] * 980 + ["x"] * 20, ["--max-failed", "0.02"], 0),
        (["5"] * 1000 + ["x"] * 500, [], 0),  # judged are the first 1000; then no record stops the stream
        (["x"] + ["5"] * 9, [], 0),  # one record alone never decides
        (["x"] * 2 + ["5"] * 8, [], 2),
        ([""] * 3, [], 2),  # nothing holds a value
        ([""] * 3 + ["5"], [], 0),
    ],
)
def test_a_share_of_cells_may_fail(folder: Path, cells: list[str], options: list[str], code: int) -> None:
    (folder / "in.csv").write_text("hours,note\n" + "".join(f"{cell},a\n" for cell in cells))
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "hours", *RANK, *options]) == code
    assert (folder / "out.csv").exists() == (code == 0)


def test_a_share_beyond_one_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.csv").write_text("hours\n5\n")
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--max-failed", "5"]) == 2
    assert "--max-failed is 5; give a share from 0 to 1" in capsys.readouterr().err


def test_times_that_do_not_parse_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.csv").write_text("hours,when\n" + "5,1. September 2016\n" * 9)
    windows = ["--every", "1d", "--time", "when", "--from", "2016-09-01", "--until", "2016-09-04"]
    given = ["in.csv", "-o", "out.csv", "--column", "hours", "--publisher", "rank", "--bounds", "0", "9", *windows]
    assert run(["stream", *given]) == 2
    assert "column 'when': 9 of the first 9 filled cells cannot be read" in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["in.csv"]


def test_one_person_alone_does_not_refuse_a_stream(folder: Path) -> None:
    lines = [f"{'x' if place % 3 == 0 else 5},p{place % 3}" for place in range(60)]
    (folder / "in.csv").write_text("\n".join(["hours,who", *lines]) + "\n")
    given = ["stream", "in.csv", "--column", "hours", *RANK]
    assert run([*given, "-o", "persons.csv", "--person", "who"]) == 0
    assert run([*given, "-o", "events.csv"]) == 2


def test_an_open_quote_is_one_broken_record_and_swallows_no_other(folder: Path) -> None:
    assert folder.exists()
    lines = [f"{place % 90},note" for place in range(400)]
    lines[50] = '50,"oops'
    lines[350] = '77,"also" this'
    values = hours("hours,note\n" + "\n".join(lines) + "\n", "--parse-report", "steward.json")
    assert len(values) == 400
    assert values[50] == values[350] == 50  # the public default, in its place
    assert [values[place] for place in (49, 51, 349, 351)] == [49, 51, 79, 81]
    assert report()["intake"]["broken"] == {"cells": 2, "first_records": [50, 350]}


def test_broken_lines_go_aside_with_their_number(folder: Path) -> None:
    (folder / "in.csv").write_text('hours,note\n5,a\n6,"oops\n7,b\n8\n9,c,d\n10,e\n')
    given = ["stream", "in.csv", "-o", "out.csv", "--column", "hours", "--publisher", "doca", "--bounds", "0", "100"]
    assert run([*given, "--on-bad", "quarantine:aside.jsonl"]) == 0
    aside = [json.loads(line) for line in (folder / "aside.jsonl").read_text().splitlines()]
    assert [(entry["record"], entry["line"]) for entry in aside] == [(1, '6,"oops'), (3, "8"), (4, "9,c,d")]
    assert all(entry["reason"].startswith("the line is broken") for entry in aside)
    assert pl.read_csv("out.csv").height == 3


@pytest.mark.parametrize(
    "content, wanted",
    [
        (b"hours,note\n5,a\n6,b\0\n7,c\n", [5, 50, 7]),  # a zero byte
        (b"hours,note\n5,a\r6,b\n7,c\n", [50, 7]),  # a stray carriage return: one broken record, not two merged
        (b"hours,note\n5,a\n\xef\xbb\xbf6,b\n7,c\n", [5, 6, 7]),  # one file behind another
        (b'hours,note\n5,"a ""b"", c"\n6,"d"\r\n7,c\n', [5, 6, 7]),
        (b"hours,note\n5,a\n\n6,b\n", [5, 6]),  # an empty line is no record
        (b'hours,note\n5,a\n6,"b', [5, 50]),  # the last line has no end
        (b'{"hours": 5}\n{"hours": 6\n{"hours": 7}\n', [5, 50, 7]),
        (b'{"hours": 5} {"hours": 6}\n{"hours":\n7}\n', [50, 50, 50]),  # three lines, three records, none is whole
    ],
)
def test_a_record_is_a_line(folder: Path, content: bytes, wanted: list[float]) -> None:
    assert folder.exists()
    assert hours(content, "--max-failed", "1") == wanted


def test_the_report_counts_for_the_steward_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = ["5"] * 300 + ["", "x", "-7", "300"]
    (folder / "in.csv").write_text("hours,note\n" + "".join(f"{cell},a\n" for cell in cells))
    given = ["stream", "in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--parse-report", "steward.json"]
    assert run(given) == 0
    found = report()
    assert found["do_not_publish"] is True
    assert found["intake"]["columns"]["hours"] == {
        "cells": 304,
        "missing": {"cells": 1, "first_records": [300]},
        "failed": {"cells": 1, "first_records": [301]},
        "outside": {"cells": 2, "first_records": [302, 303]},
    }
    assert (folder / "steward.json").stat().st_mode & 0o777 == 0o600
    told = capsys.readouterr()
    counted = "sfumato: column 'hours': 304 cells read, 1 missing, 1 not readable, 2 out of bounds (for the steward)"
    assert counted in told.err.splitlines()
    assert "not readable" not in told.out + (folder / "out.csv.card.json").read_text()
    assert run([*given[:2], "-o", "again.csv", *given[4:]]) == 2
    assert "parse report 'steward.json' exists" in capsys.readouterr().err


def test_what_persons_and_windows_leave_out_is_counted(folder: Path) -> None:
    days = ["2016-09-01"] * 4 + ["2016-09-03"] * 2 + ["2017-01-01", "soon"] + ["2016-09-01"] * 100
    lines = [f"{day},p{min(place, 9)},5" for place, day in enumerate(days)]
    (folder / "in.csv").write_text("\n".join(["day,who,hours", *lines]) + "\n")
    windows = ["--every", "1d", "--time", "day", "--from", "2016-09-01", "--until", "2016-09-04"]
    given = ["--column", "hours", "--publisher", "rank", "--bounds", "0", "9", *windows, "--person", "who"]
    assert run(["stream", "in.csv", "-o", "out.csv", *given, "--parse-report", "steward.json"]) == 0
    found = report()["intake"]
    assert found["left_out"] == {
        "records beyond a person's limit": 98,
        "records whose time lies in no window or cannot be read": 2,
        "windows in which no record counted": 1,
    }
    assert found["columns"]["day"]["failed"] == {"cells": 1, "first_records": [7]}


def test_the_report_goes_on_from_a_checkpoint(folder: Path) -> None:
    good = "hours\n" + "5\n" * 300 + "x\n"
    (folder / "in.csv").write_text(good + "6" * (5 << 20))  # a record without an end
    given = ["stream", "in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--checkpoint", "kept"]
    assert run([*given, "--parse-report", "steward.json"]) == 2
    assert report()["intake"]["records"] == 301
    (folder / "in.csv").write_text(good + "x\n" + "7\n" * 9)
    assert run([*given, "--parse-report", "steward.json"]) == 0
    found = report()["intake"]
    assert (found["records"], found["columns"]["hours"]["failed"]) == (311, {"cells": 2, "first_records": [300, 301]})


def test_the_cells_of_tuples_are_counted(folder: Path) -> None:
    (folder / "s.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 100]\n'
        '[columns.sex]\nrole = "quasi"\ncategories = ["F", "M"]\n'
    )
    rows = [f"{20 + place % 60},{'FM'[place % 2]}" for place in range(150)]
    (folder / "in.csv").write_text("\n".join(["age,sex", *rows, "120,F", "x,", ",Q"]) + "\n")
    given = ["in.csv", "-o", "out.csv", "--publisher", "castle", "--schema", "s.toml", "--k", "5", "--delay", "40"]
    assert run(["stream", *given, "--on-bad", "default", "--parse-report", "steward.json"]) == 0
    found = report()["intake"]["columns"]
    counts = {name: [found[name][sort]["cells"] for sort in ("missing", "failed", "outside")] for name in found}
    assert counts == {"age": [1, 1, 1], "sex": [1, 1, 0]}


def test_a_running_stream_tells_the_steward_when_too_much_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = np.random.default_rng(1).integers(0, 100, 1000)
    (folder / "in.csv").write_text("hours\n" + "".join(f"{value}\n" for value in draw) + "x\n" * 90)
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "hours", *RANK]) == 0
    said = capsys.readouterr().err
    assert "sfumato: more cells of column 'hours' cannot be read than may: 1090 cells read" in said
