"""Hierarchies from the command line: built, shown, converted, used, and exported for whoever receives a release."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from sfumato import Hierarchy
from sfumato.cli.main import run
from sfumato.hierarchy.file import read_hierarchy

EXAMPLES = Path(__file__).parents[2] / "examples"
RELEASE = (
    "anonymize patients.csv -o out.csv --quasi age,sex,zip --sensitive disease --identifier name --other drop --k 10"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("patients.csv", "patients.toml", "zip.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], line: str) -> str:
    capsys.readouterr()
    assert run(line.split()) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "options, path",
    [
        ("--rule intervals --low 0 --high 99 --widths 5,10", ("42", "[40-44]", "[40-49]", "*")),
        ("--rule intervals --low -5 --high 99 --widths 5,10 --origin 2", ("-5", "[-8--4]", "[-8-1]", "*")),
        ("--rule intervals --low 0 --high 80 --edges 0,18,65 --edges 0,18", ("20", "[18-64]", "[18-80]", "*")),
        ("--rule intervals --values 0.5,1.25 --widths 0.5", ("1.25", "[1..1.5]", "*")),
        ("--rule prefixes --values 0213,0214 --lengths 3,1", ("0213", "021*", "0***", "*")),
        (
            "--rule dates --first 2024-12-30 --last 2025-01-02 --steps month,year",
            ("2024-12-31", "2024-12", "2024", "*"),
        ),
        ("--rule ordered --values low,middle,high,top --sizes 2", ("high", "[high..top]", "*")),
        ("--rule flat --values F,M", ("M", "*")),
    ],
)
def test_a_built_hierarchy_is_the_same_as_toml_as_csv_and_nested(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, path: tuple[str, ...]
) -> None:
    (folder / "a.toml").write_text(said(capsys, f"hierarchy build {options}"))
    said(capsys, f"hierarchy build {options} -o a.csv")
    said(capsys, "hierarchy convert a.csv -o nested.toml")
    said(capsys, "hierarchy convert nested.toml -o again.csv")
    tree = read_hierarchy(folder / "a.toml")
    assert path in tree.paths
    assert tree == read_hierarchy(folder / "a.csv") == read_hierarchy(folder / "nested.toml")
    assert (folder / "again.csv").read_text() == (folder / "a.csv").read_text()
    assert "builder" in (folder / "a.toml").read_text()
    assert "builder" not in (folder / "nested.toml").read_text()


@pytest.mark.parametrize(
    "options, column, public",
    [
        ("--rule intervals --widths 10,20", "age", False),
        ("--rule prefixes --lengths 4,2", "zip", False),
        ("--rule dates --steps month,year", "admission", False),
        ("--rule flat", "sex", False),
        ("--rule ordered --sizes 2,4 --schema patients.toml", "schooling", True),
    ],
)
def test_values_from_a_table_make_a_hierarchy_that_is_not_public(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, column: str, public: bool
) -> None:
    said(capsys, f"hierarchy build patients.csv --column {column} {options} -o made.toml")
    made = read_hierarchy(folder / "made.toml")
    assert made.public is public
    assert set(pl.read_csv("patients.csv", infer_schema=False)[column]) <= set(made.leaves)
    order = "--schema patients.toml --identifier cost" if column == "schooling" else f"--quasi {column} --other drop"
    line = f"anonymize patients.csv -o out.csv {order} --hierarchy {column}=made.toml --k 20 --algorithm optimal"
    assert run([*line.split(), "--suppress", "0.1"]) == 0
    capsys.readouterr()
    assert run([*f"hierarchy build patients.csv --column {column} {options} -o made.csv".split()]) == 0
    assert ("taken from rows, which a CSV file cannot say" in capsys.readouterr().err) is not public
    said(capsys, "hierarchy convert made.toml -o nested.toml")
    assert read_hierarchy(folder / "nested.toml") == made


@pytest.mark.parametrize(
    "line, words",
    [
        ("build --rule intervals --low 0 --high 9", "builder 'intervals' needs the key 'widths'"),
        ("build --rule intervals --low x --high 9 --widths 2", "--low 'x' is not a number; give numbers like 5 or 0.5"),
        ("build --rule intervals --low 0 --high inf --widths 2", "--high 'inf' is not a number"),
        ("build --rule intervals --low 0 --high 9 --widths 2,3", "3 is not a larger multiple of 2"),
        ("build --rule intervals --low 0 --high 999999999 --widths 2", "a hierarchy by rule has at most 100000"),
        ("build --rule prefixes --values 111,112 --widths 2", "builder 'prefixes' has no key 'widths'"),
        ("build --rule dates --first 2024-13-01 --last 2025-01-01", "--first '2024-13-01' is not a day"),
        ("build --rule dates --first 2025-01-01 --last 2024-01-01", "a hierarchy needs days; found none"),
        ("build --rule flat", "builder 'flat' needs the key 'values'"),
        ("build --rule flat --values a,a -o x.csv", "value 'a' stands twice"),
        ("build --rule flat --values a,b -o x.txt", "a hierarchy is written as .toml or .csv; found '.txt'"),
        ("build patients.csv --rule flat", "name both the file and --column, or give the values"),
        ("build patients.csv --rule flat --column sxe", "did you mean 'sex'?"),
        (
            "build patients.csv --rule intervals --column sex --widths 2",
            "column 'sex' has type category; intervals groups",
        ),
        ("build patients.csv --rule dates --column age", "column 'age' has type integer; dates groups dates or times"),
        ("build patients.csv --rule ordered --column schooling", "column 'schooling' has no declared order"),
        ("build --rule sorted --values a", "--rule"),
        ("convert none.toml", "hierarchy 'none.toml' cannot be read: it does not exist"),
        ("convert zip.csv -o zip.csv", "exists"),
        ("show zip.csv patients.csv", "name both the file and --column, or neither"),
        ("show patients.toml", "hierarchy 'patients.toml'"),
        ("export patients.csv --quasi age", "no quasi-identifier has a hierarchy"),
        ("export patients.csv --quasi zip --hierarchy zip=zip.csv -o x.foo", "ending that no format has"),
        (
            "export patients.csv --quasi sex --hierarchy sex=zip.csv",
            "column 'sex' shows 'F', which its hierarchy does not",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(["hierarchy", *line.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_preview_counts_values_and_for_the_steward_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sick.csv").write_text("code\n" + "A1\nA2\nA2\nB1\n?\nC9\n\n")
    (folder / "code.csv").write_text("A1,A*,*\nA2,A*,*\nB1,B*,*\n")
    (folder / "s.toml").write_text('[columns.code]\nrole = "quasi"\nmissing = ["", "?"]\n')
    plain = said(capsys, "hierarchy show code.csv").splitlines()
    assert plain[1] == "level 1: 2 labels, each for 1 to 2 values: A* (2 values), B* (1 value)"
    assert not any("steward" in line or "row" in line for line in plain)
    counted = said(capsys, "hierarchy show code.csv sick.csv --column code --schema s.toml")
    assert "A* (2 values, 3 rows), B* (1 value, 1 row) (for the steward)" in counted
    assert "not in the hierarchy: 'C9' (1 rows) (for the steward)" in counted
    found = json.loads(said(capsys, "hierarchy show code.csv sick.csv --column code --schema s.toml --json"))
    assert [one["rows"] for one in found["levels"][0]] == [1, 2, 1]
    assert found["levels"][2] == [{"label": "*", "values": 3, "rows": 4}]
    assert found["rows_without_value"] + found["rows_not_in_hierarchy"] + 4 == found["rows"]


def slow_values(tree: Hierarchy, label: str) -> list[str]:
    return [path[0] for path in tree.paths if label in path or label == "*"]


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "local-recoding --iterations 50"])
def test_every_released_label_is_exported_with_the_values_that_its_hierarchy_lists(
    folder: Path, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    said(capsys, "hierarchy build --rule intervals --low 0 --high 99 --widths 5,10,20 -o age.toml")
    tree = "--hierarchy zip=zip.csv --hierarchy age=age.toml"
    suppress = " --suppress 0.02" if algorithm == "optimal" else ""
    said(capsys, f"{RELEASE} {tree} --algorithm {algorithm}{suppress}")
    assert run(f"hierarchy export out.csv --quasi age,sex,zip {tree} -o labels.json".split()) == 0
    assert "export only values that were declared without looking at the rows" in capsys.readouterr().err
    found = json.loads((folder / "labels.json").read_text())
    released = pl.read_csv("out.csv", infer_schema=False)
    for column, file in (("zip", "zip.csv"), ("age", "age.toml")):
        assert set(found[column]) == set(released[column])
        hierarchy = read_hierarchy(folder / file)
        assert all(values == slow_values(hierarchy, label) for label, values in found[column].items())
    assert "sex" not in found
    rows = list(csv.DictReader(said(capsys, f"hierarchy export out.csv --quasi age,sex,zip {tree}").splitlines()))
    assert {(row["column"], row["label"], row["value"]) for row in rows} == {
        (column, label, value)
        for column, labels in found.items()
        for label, values in labels.items()
        for value in values
    }


def test_values_that_only_suppressed_rows_have_are_not_told_apart_from_those_that_nobody_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tables that differ in a suppressed row have the same export."""
    (folder / "code.csv").write_text("A1,A*,*\nA2,A*,*\nA3,A*,*\nB1,B*,*\nB2,B*,*\n")
    told = []
    for lonely in ("B1", "B2"):
        (folder / "in.csv").write_text("code\n" + "A1\nA2\n" * 3 + lonely + "\n")
        line = "anonymize in.csv -o out.csv --quasi code --hierarchy code=code.csv --k 3 --keep-order --force"
        said(capsys, f"{line} --algorithm optimal --suppress 0.2")
        told.append(
            (
                said(capsys, "hierarchy export out.csv --quasi code --hierarchy code=code.csv"),
                Path("out.csv").read_text(),
            )
        )
    assert told[0] == told[1]
    assert "A3" not in told[0][1]


def test_a_hierarchy_that_was_taken_from_rows_is_neither_exported_nor_used_for_private_tables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "zip.toml").write_text(said(capsys, "hierarchy suggest patients.csv --column zip"))
    assert not read_hierarchy(folder / "zip.toml").public
    said(capsys, f"{RELEASE} --hierarchy zip=zip.toml --algorithm optimal --suppress 0.02")
    assert run(["hierarchy", "export", "out.csv", "--quasi", "zip", "--hierarchy", "zip=zip.toml"]) == 2
    assert "taken from rows and would tell which values occur" in capsys.readouterr().err
    (folder / "s.toml").write_text('[columns.zip]\nrole = "quasi"\nhierarchy = "zip.toml"\n')
    line = "anonymize patients.csv -o p.csv --schema s.toml --other drop --algorithm safepub --epsilon 1 --k 5"
    assert run(line.split()) == 2
    assert "column 'zip': the values of its hierarchy were taken from rows" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_schema_is_proposed_with_how_columns_tell_rows_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "patients.csv"]) == 0
    plain, quiet = capsys.readouterr()
    assert run(["schema", "patients.csv", "--explain"]) == 0
    out, err = capsys.readouterr()
    assert out == plain
    lines = [line for line in err.splitlines() if line not in quiet.splitlines()]
    assert lines[0].startswith("sfumato: how columns tell rows apart (for the steward): 2,000 rows")
    assert any(line.startswith("zip, admission: 1,964 different values") for line in lines)
    assert any(line.startswith("age: 79 different values, distinctness 4 %, separation 98 %") for line in lines)
