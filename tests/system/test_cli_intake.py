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
    for left in folder.glob("out.csv*"):
        left.unlink()
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


def create(*more: str, data: str = "rides.csv") -> int:
    return run(["budget", "create", "L", "--data", data, "--schema", "rides.toml", "--epsilon", "1", *more])


def test_a_budget_over_cells_that_are_no_dates_is_refused_and_nothing_is_made(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create() == 2
    told = capsys.readouterr()
    assert (
        "column 'starttime': 200 of 200 filled cells are no date, the first is '2015-09-01 14:53:16' in row 1, and at "
        'most 1 % may fail; declare type = "timestamp"'
    ) in told.err
    assert told.out == ""
    assert not (folder / "L").exists()
    assert list(folder.glob("state/**/*.json")) == []


def test_a_budget_over_decimal_commas_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rides.csv").write_text("wage\n" + '"2531,50"\n' * 20)
    (folder / "rides.toml").write_text('[columns.wage]\nrole = "other"\ntype = "number"\nbounds = [0, 9000]\n')
    assert create() == 2
    assert "column 'wage': 20 of 20 filled cells are no number, the first is '2531,50' in row 1" in (
        capsys.readouterr().err
    )
    assert not (folder / "L").exists()


TYPED = '[columns.zone]\nrole = "other"\ncategories = ["0", "1", "2"]\n' + SCHEMA[SCHEMA.index("[columns.seconds]") :]


def test_a_budget_tells_its_steward_what_is_clipped_and_what_is_in_no_group(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rides.toml").write_text(TYPED)
    lines = (folder / "rides.csv").read_text().splitlines()
    (folder / "rides.csv").write_text("\n".join([*lines, "2015-09-02,1,", "2015-09-02,1,n/a"]) + "\n")
    assert create("--parse-report", "cells.json") == 0
    told = capsys.readouterr()
    zone = "column 'zone': 113 of 202 filled cells, 56 %, are outside the declared categories (first row 4)"
    failed = "column 'seconds': 1 of 201 filled cells is no number (first row 202), treated as missing"
    clipped = "column 'seconds': 139 of 201 filled cells, 69 %, are outside [0, 3600] (first row 62), counted as the"
    wanted = ["missing cells: seconds 1", f"{zone}, in no group", failed, f"{clipped} nearest bound"]
    assert told.err.splitlines() == [f"sfumato: {line} (for the steward)" for line in wanted]
    seconds = json.loads((folder / "cells.json").read_text())["columns"][1]
    assert seconds["outside"] == {"cells": 139, "first_rows": [62, 63, 64, 65, 66]}
    assert run(["budget", "show", "L", "--json"]) == 0
    assert "139" not in capsys.readouterr().out


def test_a_new_version_is_read_as_the_first_one_was(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rides.toml").write_text(TYPED)
    assert create("--deadline", "0") == 0
    (folder / "later.csv").write_text("zone,seconds\n1,60\n2,60 s\n")
    capsys.readouterr()
    later = ["budget", "new-version", "L", "--data", "later.csv"]
    assert run(later) == 2
    assert "column 'seconds': 1 of 2 filled cells is no number, the first is '60 s' in row 2" in capsys.readouterr().err
    assert run([*later, "--max-failed", "0.5"]) == 0
    told = capsys.readouterr()
    assert "1 of 2 filled cells is no number (first row 2), treated as missing (for the steward)" in told.err
    assert "the data are now version 2" in told.out


def test_only_the_session_that_declared_the_rows_has_the_report(folder: Path) -> None:
    import polars as pl

    import sfumato as sf
    from sfumato.dp.ledger.terms import Terms

    schema = sf.Schema.from_text(TYPED)
    frame = pl.DataFrame({"zone": ["1", "9"], "seconds": [30.0, 4000.0]})
    session = sf.Session.create(folder / "L", frame, schema, sf.Budget(epsilon=1), terms=Terms(deadline=0))
    assert session.parse_report is not None
    assert session.parse_report.columns["seconds"].outside.rows == (2,)
    assert "ParseReport" not in repr(session)
    assert sf.Session.open(folder / "L", data=frame).parse_report is None


def test_an_answer_names_the_bounds_it_clips_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rides.toml").write_text(TYPED)
    assert create("--deadline", "0") == 0
    capsys.readouterr()
    assert run(["query", "L", "SELECT AVG(seconds), MEDIAN(seconds) FROM rides", "--epsilon", "0.5"]) == 0
    assert "values of seconds are clipped to [0, 3600]\n" in capsys.readouterr().err
    assert run(["query", "L", "SELECT zone, SUM(seconds) FROM rides GROUP BY zone", "--epsilon", "0.1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["notes"] == [
        "values of seconds are clipped to [0, 3600]",
        "rows with a value of zone that is not listed, or without one, are in no group",
    ]
    assert answer["card"]["released"]["settings"]["clipped_to"] == {"seconds": [0, 3600]}
    assert set(answer["notes"]) <= set(answer["card"]["warnings"])
    assert run(["query", "L", "SELECT COUNT(*) FROM rides", "--epsilon", "0.1"]) == 0
    assert "clipped" not in capsys.readouterr().err


def test_an_answer_names_the_threshold_of_keys_that_are_not_declared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rides.toml").write_text(TYPED.replace('categories = ["0", "1", "2"]', 'type = "category"'))
    assert create("--deadline", "0", "--delta", "0.001") == 0
    capsys.readouterr()
    asked = ["query", "L", "SELECT zone, COUNT(*) FROM rides GROUP BY zone", "--epsilon", "0.5", "--delta", "0.0001"]
    assert run([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    least = answer["card"]["released"]["settings"]["threshold"]
    present = answer["card"]["released"]["settings"]["present_from"]
    sure = f"a key with {present} rows or more is there with 95 % probability"
    assert answer["notes"] == [
        f"keys with fewer than about {least} rows are withheld (threshold)",
        f"{sure}; how many smaller ones are missing is not told",
        "rows without a value of zone are in no group",
    ]
    assert all(row["count"] >= least for row in answer["answer"])
    assert run(asked) == 0  # asked again: free, and said again
    assert f"keys with fewer than about {least} rows are withheld (threshold)" in capsys.readouterr().err
