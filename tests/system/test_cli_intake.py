"""What the steward is told of cells that cannot be read, and what is refused, at every door where rows come in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.cli.main import run

RIDES = [f"2015-09-{1 + day % 28:02d} 14:53:16,{day % 7},{60 * day}" for day in range(200)]
SCHEMA = """
[columns.starttime]
role = "other"
type = "{start}"
bounds = [{bounds}]
[columns.zone]
role = "quasi"
type = "integer"
[columns.seconds]
role = "other"
type = "number"
bounds = [0, 3600]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rides.csv").write_text("\n".join(["starttime,zone,seconds", *RIDES]) + "\n")
    schema = SCHEMA.replace("{start}", "date").replace("{bounds}", "2015-01-01, 2016-12-31")
    (tmp_path / "rides.toml").write_text(schema)
    return tmp_path


def people(folder: Path, bad: int = 1, rows: int = 200) -> None:
    """A table of which some of the ages are no integers, and two are missing."""
    ages = ["unknown"] * bad + [""] * 2 + [str(20 + row % 40) for row in range(rows - bad - 2)]
    lines = [f"{age},{'FM'[row % 2]},flu" for row, age in enumerate(ages)]
    (folder / "people.csv").write_text("\n".join(["age,sex,ill", *lines]) + "\n")
    (folder / "people.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n'
        '[columns.sex]\nrole = "quasi"\ncategories = ["F", "M"]\n[columns.ill]\nrole = "sensitive"\n'
    )


ANONYMIZE = ["anonymize", "people.csv", "-o", "out.csv", "--schema", "people.toml", "--k", "5"]


def test_a_table_with_too_many_failed_cells_is_refused_by_their_number(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(folder, bad=3)
    assert run(ANONYMIZE) == 2
    told = capsys.readouterr().err
    assert "column 'age': 3 of 198 filled cells, 1.5 %, are no integer, the first is 'unknown' in row 1" in told
    assert "at most 1 % may fail" in told
    assert not (folder / "out.csv").exists()


def test_failed_cells_within_the_share_are_missing_and_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people(folder)
    report = ["--report", "out.html", "--parse-report", "cells.json"]
    assert run([*ANONYMIZE, *report]) == 0
    told = capsys.readouterr().err.splitlines()
    assert "sfumato: missing cells: age 2 (for the steward)" in told
    assert (
        "sfumato: column 'age': 1 of 198 filled cells is no integer (first row 1), treated as missing (for the steward)"
    ) in told
    card = json.loads((folder / "out.csv.card.json").read_text())
    assert "cells that could not be read and were treated as missing: age 1" in card["warnings"]
    assert "unknown" not in (folder / "out.csv").read_text()
    assert "How cells were read" in (folder / "out.html").read_text()
    cells = json.loads((folder / "cells.json").read_text())["columns"][0]
    assert cells["failed"] == {"cells": 1, "first_rows": [1]}
    assert cells["missing"] == {"cells": 2, "first_rows": [2, 3]}
    assert (folder / "cells.json").stat().st_mode & 0o777 == 0o600


def test_the_share_is_declared_on_the_command_line_or_in_the_schema(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(folder)
    assert run([*ANONYMIZE, "--max-failed", "0"]) == 2
    assert "at most 0 % may fail" in capsys.readouterr().err
    people(folder, bad=20)
    assert run([*ANONYMIZE, "--max-failed", "0.2"]) == 0
    (folder / "out.csv").unlink()
    (folder / "out.csv.card.json").unlink()
    schema = folder / "people.toml"
    schema.write_text("failed = 0.2\n" + schema.read_text())
    assert run(ANONYMIZE) == 0
    assert run([*ANONYMIZE, "--max-failed", "2"]) == 2
    assert "failed must be a share between 0 and 1" in capsys.readouterr().err


def test_decimal_commas_declared_as_numbers_are_refused_though_no_model_reads_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(folder, bad=0)
    table = folder / "people.csv"
    table.write_text(table.read_text().replace(",flu", ',"2531,5"'))
    schema = folder / "people.toml"
    schema.write_text(schema.read_text() + 'type = "number"\n')
    assert run(ANONYMIZE) == 2
    assert "column 'ill': 200 of 200 filled cells are no number, the first is '2531,5' in row 1" in (
        capsys.readouterr().err
    )


def test_a_private_table_is_told_about_and_not_refused_unless_a_share_is_declared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people(folder, bad=20)
    schema = folder / "people.toml"
    schema.write_text(schema.read_text() + 'categories = ["flu", "gout"]\n')
    private = [*ANONYMIZE[:-2], "--algorithm", "private-mondrian", "--epsilon", "1"]
    assert run([*private, "--max-failed", "0.05"]) == 2
    assert "20 of 198 filled cells, 10 %, are no integer" in capsys.readouterr().err
    assert run(private) == 0
    told = capsys.readouterr()
    assert (
        "20 of 198 filled cells, 10 %, are no integer (first row 1), treated as missing (for the steward)" in told.err
    )
    card = (folder / "out.csv.card.json").read_text()
    assert "could not be read" not in card + told.out


def test_a_table_that_is_published_again_is_read_the_same_way(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people(folder, bad=3)
    again = ["republish", *ANONYMIZE[1:], "--history", "kept", "--l", "2"]
    assert run(again) == 2
    assert "3 of 198 filled cells, 1.5 %, are no integer" in capsys.readouterr().err
    assert not (folder / "kept").exists()


def test_a_check_reads_sensitive_columns_as_declared_and_others_as_they_are_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["[20-39],2.5"] * 150 + ["[40-59],3.5"] * 49 + ["[40-59],n/a"]
    (folder / "costs.csv").write_text("\n".join(["age,cost", *lines]) + "\n")
    (folder / "costs.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\n[columns.cost]\nrole = "sensitive"\ntype = "number"\n'
    )
    check = ["check", "costs.csv", "--quasi", "age", "--sensitive", "cost", "--schema", "costs.toml"]
    assert run(check) == 0
    told = capsys.readouterr()
    assert "column 'cost': 1 of 200 filled cells is no number (first row 200), treated as missing" in told.err
    assert "k             50" in told.out
    assert run([*check, "--max-failed", "0"]) == 2
    assert "the first is 'n/a' in row 200, and at most 0 % may fail" in capsys.readouterr().err
