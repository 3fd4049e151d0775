"""Files as people have them, at the command line: options say how they are written, and guesses are told."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.table.io import write

ROWS = "".join(
    f"0213{row % 3};{20 + row % 5};{row % 7 + 1},50;{row % 28 + 1:02}.01.19{60 + row % 30};{'FM'[row % 2]}\n"
    for row in range(60)
)
MESSY = f"plz;alter;köst;geboren;ge\n{ROWS}01234;NA;3,50;01.01.1970;F\n"
ROLES = ["--quasi", "plz,alter,ge", "--sensitive", "köst", "--other", "drop", "--k", "3"]
SCHEMA = """
[columns.alter]
role = "other"
type = "integer"
bounds = [0, 120]
[columns."köst"]
role = "other"
type = "number"
bounds = [0, 10]
[columns.ge]
role = "other"
type = "category"
categories = ["F", "M"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "in.csv").write_bytes(MESSY.encode("latin-1"))
    (tmp_path / "s.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def lines_for_the_steward(text: str) -> list[str]:
    start = "sfumato: read as (for the steward): "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


GUESSES = [
    "encoding windows-1252 (guessed: byte 0xF6 in line 1 is no UTF-8)",
    "delimiter ';' (guessed from the header)",
]
LOOKS = "it looks like a missing mark: declare it with --missing or in the schema"
CELLS = [
    f"'NA' in column 'alter' counts as a value ({LOOKS})",
    "decimal mark ',' in column 'köst' (guessed from its cells)",
]


def test_what_was_guessed_is_told_and_what_is_declared_is_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "in.csv", "--quasi", "alter,ge", "--sensitive", "köst"]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == GUESSES + CELLS
    given = ["--encoding", "latin-1", "--delimiter", ";", "--missing", "NA", "--decimal", ","]
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, *given]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == []
    released = pl.read_csv(folder / "out.csv", separator=";", infer_schema=False)
    assert released["alter"].str.contains(r"^\d|^\[|NA").all()
    assert released.columns == ["plz", "alter", "köst", "ge"]
    assert "2,50" in released["köst"]


def test_a_file_without_surprises_is_read_without_a_word(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plain.csv").write_text("age,sex\n" + "31,F\n" * 5)
    assert run(["check", "plain.csv", "--quasi", "age"]) == 0
    assert capsys.readouterr().err == ""


def test_the_proposed_schema_pins_what_was_guessed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "in.csv"]) == 0
    told = capsys.readouterr()
    assert lines_for_the_steward(told.err) == GUESSES
    proposed = tomllib.loads(told.out)
    assert proposed["reading"] == {"delimiter": ";", "encoding": "windows-1252"}
    assert proposed["columns"]["alter"]["missing"] == ["", "NA"]
    assert proposed["columns"]["alter"]["type"] == "integer"
    assert proposed["columns"]["köst"]["decimal"] == ","
    (folder / "proposed.toml").write_text(told.out, encoding="utf-8")
    assert run(["check", "in.csv", "--quasi", "ge", "--schema", "proposed.toml"]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == []
    assert run(["anonymize", "in.csv", "-o", "out.csv", "--schema", "proposed.toml", "--k", "2", *ROLES[:4]]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == []


def test_options_go_before_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.toml").write_text('[reading]\ndelimiter = ","\nencoding = "utf-8"\n')
    command = ["check", "in.csv", "--quasi", "ge", "--schema", "wrong.toml"]
    assert run(command) == 2
    assert "byte 0xF6 is not utf-8" in capsys.readouterr().err
    assert run([*command, "--delimiter", ";", "--encoding", "latin-1"]) == 0


@pytest.mark.parametrize(
    "given, sentence",
    [
        (["--delimiter", ";;"], "delimiter must be one ASCII character, or tab; found ';;'"),
        (["--encoding", "klingon"], "encoding must be one like utf-8"),
        (["--decimal", "x"], "decimal must be '.' or ','"),
        (["--date-format", "%q"], "format"),
        (["--zone", "Nowhere"], "zone must be a time zone"),
        (["--delimiter", ";", "--quote", ";"], "quote must be one ASCII character other than the delimiter"),
    ],
)
def test_options_that_cannot_be_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], sentence: str
) -> None:
    assert run(["anonymize", "in.csv", "-o", "out.csv", *ROLES, *given]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert len(told.splitlines()) == 1
    assert not (folder / "out.csv").exists()


MARKS = ["--missing", "NA", "--decimal", ","]
CREATE = ["budget", "create", "L", "--data", "in.csv", "--schema", "s.toml", "--epsilon", "1000", "--deadline", "0"]


def answer(question: str, capsys: pytest.CaptureFixture[str]) -> float:
    assert run(["query", "L", question, "--epsilon", "100"]) == 0
    told = capsys.readouterr()
    assert "windows-1252" not in told.out + told.err  # a fact of the rows, which an analyst does not learn
    return float(told.out.splitlines()[1].split(",")[0])


@pytest.mark.usefixtures("folder")
def test_a_ledger_reads_its_file_as_it_was_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CREATE, *MARKS]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == GUESSES
    assert abs(answer('SELECT COUNT("alter") FROM "in"', capsys) - 60) < 2
    assert abs(answer('SELECT AVG("köst") FROM "in"', capsys) - 4.4) < 0.5


@pytest.mark.parametrize("quote", ["'", "none"])
def test_a_ledger_remembers_quotes_and_delimiters_of_every_version(
    folder: Path, capsys: pytest.CaptureFixture[str], quote: str
) -> None:
    (folder / "in.csv").write_text(MESSY.replace(";", ":"), encoding="utf-8")
    assert run([*CREATE, *MARKS, "--delimiter", ":", "--quote", quote]) == 0
    capsys.readouterr()
    assert abs(answer('SELECT COUNT(*) FROM "in"', capsys) - 61) < 2
    (folder / "in.csv").write_text(MESSY + "01234;5;3,50;01.01.1970;F\n", encoding="utf-8")
    assert run(["budget", "new-version", "L", "--data", "in.csv", "--decimal", "."]) == 2
    assert "belong to the ledger's schema" in capsys.readouterr().err
    assert run(["budget", "new-version", "L", "--data", "in.csv"]) == 2  # the schema pins another delimiter
    capsys.readouterr()
    assert run(["budget", "new-version", "L", "--data", "in.csv", "--quote", '"', "--delimiter", ";"]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == []
    assert abs(answer('SELECT COUNT(*) FROM "in"', capsys) - 62) < 2


@pytest.mark.parametrize("form", ["xlsx", "utf-16", "utf-16 in gzip"])
def test_a_ledger_over_a_file_that_cannot_be_scanned(
    folder: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    name = "in.xlsx" if form == "xlsx" else "in.csv"
    if form == "xlsx":
        write(pl.read_csv(MESSY.encode(), separator=";", infer_schema=False), folder / name)
    else:
        text = MESSY.encode("utf-16")
        (folder / name).write_bytes(gzip.compress(text) if "gzip" in form else text)
    assert run([name if part == "in.csv" else part for part in (*CREATE, *MARKS)]) == 0
    capsys.readouterr()
    assert abs(answer('SELECT COUNT("alter") FROM "in"', capsys) - 60) < 2
    (folder / name).write_bytes(b"spoiled")
    assert run(["query", "L", 'SELECT COUNT(*) FROM "in"', "--epsilon", "1"]) == 2
    told = capsys.readouterr().err
    assert "line" not in told  # what is wrong with changed rows is no matter for whoever asks


def test_an_open_quote_is_refused_before_a_ledger_is_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.csv").write_text(MESSY.replace("01234;NA", '"01234;NA') + ROWS, encoding="utf-8")
    assert run([*CREATE, *MARKS]) == 2
    assert "line 62: a quote opens here and is never closed" in capsys.readouterr().err
    assert not (folder / "L").exists()


def test_local_reports_and_means_read_alike(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sexes.txt").write_text("F\nM\n")
    local = ["local", "perturb", "in.csv", "-o", "r.bin", "--column", "ge", "--epsilon", "1", "--domain", "sexes.txt"]
    assert run([*local, "--delimiter", ";"]) == 0
    assert lines_for_the_steward(capsys.readouterr().err) == GUESSES[:1]
    mean = ["local", "mean", "in.csv", "--column", "köst", "--bounds", "0", "10", "--epsilon", "30"]
    assert run([*mean, "--decimal", ",", "--json"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["released"]["measures"]["mean"] - 4.4) < 1


@pytest.mark.usefixtures("folder")
def test_spark_says_what_it_does_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "in.csv", "--quasi", "ge", "--engine", "spark", "--delimiter", ";"]) == 2
    assert "--delimiter is for files that one machine reads" in capsys.readouterr().err
    Path("pinned.toml").write_text('[reading]\nencoding = "latin-1"\n')
    assert run(["check", "in.csv", "--quasi", "ge", "--engine", "spark", "--schema", "pinned.toml"]) == 2
    assert "[reading] of the schema is for a file that one machine reads" in capsys.readouterr().err
