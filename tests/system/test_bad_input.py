"""Bad input at the command line: one sentence, exit code 2, no traceback, nothing left behind."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run

ROWS = "".join(f"{20 + row},{'FM'[row % 2]},{('flu', 'gout', 'mumps')[row % 3]}\n" for row in range(30))
PEOPLE = f"age,sex,disease\n{ROWS}".encode()
BASIC = ["anonymize", "in.csv", "-o", "out.csv", "--quasi", "age,sex", "--sensitive", "disease"]
ASK = [*BASIC, "--k", "5"]
SCHEMA = ["anonymize", "in.csv", "-o", "out.csv", "--schema", "s.toml", "--other", "keep", "--k", "2"]
CHECK = ["check", "in.csv", "--quasi", "age,sex"]


def parquet(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


def refused(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], files: dict[str, bytes]) -> str:
    """Run a command that must be refused, and return its sentence."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    code = run(arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("sfumato: ")
    assert err.endswith("\n")
    assert len([line for line in err.splitlines() if "(for the steward)" not in line]) == 1
    assert "Traceback" not in err
    assert "internal error" not in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    return err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


NO_ROWS = parquet(pl.DataFrame({"age": []}, schema={"age": pl.Int64}))
FILES = {
    "empty": (b"", "is empty"),
    "byte order mark alone": (b"\xef\xbb\xbf", "is empty"),
    "header alone": (b"age,sex,disease\n", "has a header and no rows"),
    "one row": (b"age,sex,disease\n31,F,flu\n", "at most k=1 is possible"),
    "fewer rows than k": (
        PEOPLE[:55],
        "k-anonymity asks for 5 rows in a class and the table has 4",
    ),
    "mixed types": (PEOPLE + b"old,F,flu\n", "column 'age' row 31: 'old' is not an integer"),
    "not a number": (PEOPLE.replace(b"20,", b"20.5,") + b"NaN,F,flu\n", "column 'age' row 31: nan is not a finite"),
    "infinity": (PEOPLE.replace(b"20,", b"20.5,") + b"-inf,F,flu\n", "column 'age' row 31: -inf is not a finite"),
    "duplicate columns": (b"age,sex,age\n1,F,2\n", "two columns are called 'age'"),
    "nameless column": (b"age,,disease\n1,F,flu\n", "column 2 has no name"),
    "bad utf-8": (PEOPLE + b"31,\xc3\xa4,flu\n31,\xff,flu\n", "line 33: byte 0xFF is no UTF-8"),
    "utf-16 without its mark": (PEOPLE.decode().encode("utf-16-le"), "zero bytes"),
    "short line": (PEOPLE + b"31,F\n", "line 32: found 2 fields; the header has 3"),
    "long line": (PEOPLE + b"31,F,flu,x\n", "line 32: found 4 fields; the header has 3"),
    "blank line": (PEOPLE + b"\n" + PEOPLE[16:], "line 32: found 0 fields"),
    "open quote": (PEOPLE + b'31,"F,flu\n', "line 32"),
    "missing column": (PEOPLE.replace(b"sex", b"gender"), "there is no column 'sex'"),
    "near column": (PEOPLE.replace(b"sex", b"Sex"), "did you mean 'Sex'"),
    "damaged gzip": (gzip.compress(PEOPLE)[:-20], "damaged gzip"),
    "garbled gzip": (gzip.compress(PEOPLE)[:12] + b"\xff" * 40, "damaged gzip"),
    "damaged parquet": (parquet(pl.read_csv(PEOPLE))[:-9], "cannot be read as a table"),
    "damaged json": (b'{"age": 1}\n{"age"\n', "cannot be read as a table"),
    "nested json": (b'{"age": [1]}\n', "column 'age' holds List"),
    "no rows in parquet": (NO_ROWS, "no rows"),
    "a name of two lines": (b'age,sex,"dis\nease"\n1,F,x\n', "there is no column 'disease'"),
    "a value of two lines": (PEOPLE + b'"3\n1",F,flu\n', "column 'age' row 31"),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files(folder: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    content, sentence = FILES[case]
    assert sentence in refused(folder, capsys, ASK, {"in.csv": content})


@pytest.mark.parametrize(
    "case",
    [case for case in FILES if case not in {"one row", "fewer rows than k", "mixed types", "not a number", "infinity"}
     and case not in {"a name of two lines", "a value of two lines"}],
)  # fmt: skip
def test_bad_files_when_checking(folder: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    content, sentence = FILES[case]
    assert sentence in refused(folder, capsys, CHECK, {"in.csv": content})


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["anonymize", "none.csv", *ASK[2:]], "file 'none.csv' does not exist"),
        (["anonymize", ".", *ASK[2:]], "Is a directory"),
        ([*BASIC], "no model was asked for"),
        ([*BASIC, "--k", "1"], "The 'k' parameter of KAnonymity must be an integer of at least 2. Got 1 instead."),
        ([*BASIC, "--k", "-5"], "Got -5 instead"),
        ([*BASIC, "--k", "ten"], "ten"),
        ([*BASIC, "--k", "2.5"], "2.5"),
        ([*BASIC, "--k", "31"], "at most k=30 is possible"),
        ([*BASIC, "--k", "9" * 30], "at most k=30 is possible"),
        ([*ASK, "--l", "4"], "at most 3 is possible"),
        ([*ASK, "--l", "nan"], "Got nan instead"),
        ([*ASK, "--l", "2", "--l-kind", "odd"], "odd"),
        ([*ASK, "--t", "1.5"], "must be a number from 0 to 1"),
        ([*ASK, "--t", "0.1", "--t-distance", "hierarchical"], "has no hierarchy"),
        ([*ASK, "--alpha", "0.2"], "is possible"),
        ([*BASIC, "--alpha", "0.9"], "--alpha needs --k"),
        ([*ASK[:6], "--k", "2", "--l", "2", "--other", "keep"], "name them with --sensitive"),
        ([*ASK[:6], "--k", "2"], "column 'disease' has no role"),
        ([*ASK[:4], "--k", "2", "--other", "keep"], "no column has the role quasi"),
        ([*ASK, "--identifier", "agee"], "there is no column 'agee'; did you mean 'age'"),
        ([*ASK, "--identifier", "sex"], "column 'sex' has two roles, quasi and identifier"),
        ([*ASK, "--person", "sex"], "column 'sex' names the person"),
        ([*ASK, "--person", "id"], "there is no column 'id'"),
        ([*ASK, "--schema", "none.toml"], "schema 'none.toml' cannot be read"),
        ([*ASK, "--other", "maybe"], "maybe"),
        ([*ASK, "--ranges", "odd"], "odd"),
        ([*ASK, "--algorithm", "odd"], "odd"),
        ([*ASK, "--kk", "3"], "did you mean --k?"),
        ([*ASK, "second.csv"], "second.csv"),
        (["anonymize", "in.csv", "--quasi", "age"], "--output"),
        (["anonymize", "-o", "out.csv"], "IN"),
        (["frobnicate"], "frobnicate"),
        ([*BASIC[:3], "in.csv", *ASK[4:]], "output 'in.csv' exists"),
        ([*BASIC[:3], ".", *ASK[4:]], "output '.' is no file; name one with -o"),
        ([*BASIC[:3], "no/such/out.csv", *ASK[4:]], "there is no folder 'no/such'"),
        ([*BASIC[:3], "in.csv/out.csv", *ASK[4:]], "there is no folder 'in.csv'"),
        ([*BASIC[:3], "/proc/out.csv", *ASK[4:], "--card", "c.json"], "cannot be written"),
        ([*BASIC[:3], "x" * 250, *ASK[4:]], "File name too long"),
        ([*ASK, "--card", "out.csv"], "output 'out.csv' is named twice"),
        ([*ASK, "--card", "in.csv"], "output 'in.csv' exists"),
        ([*ASK, "--report", "./out.csv"], "is named twice"),
        ([*BASIC[:3], "-", *ASK[4:]], "say with --card where the card goes"),
        ([*BASIC[:3], "-", *ASK[4:], "--card", "c.json", "--json"], "--json and -o - both write"),
        (["check", "none.csv", "--quasi", "age"], "file 'none.csv' does not exist"),
        (["check", "in.csv"], "--quasi"),
        (["check", "in.csv", "--quasi", ","], "no quasi-identifier was named"),
        (["check", "in.csv", "--quasi", "Age,sexx"], "did you mean 'age'"),
        ([*CHECK, "--sensitive", "disese"], "did you mean 'disease'"),
        ([*CHECK, "--require", "k"], "requirement 'k' is not of the form k=10"),
        ([*CHECK, "--require", "k=ten"], "requirement 'k=ten' is not of the form"),
        ([*CHECK, "--require", "kk=3"], "there is no measure 'kk'"),
        ([*CHECK, "--require", "l=3"], "measure 'l' needs a sensitive column"),
        (["schema", "none.csv"], "file 'none.csv' does not exist"),
    ],
)
def test_bad_usage(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    found = refused(folder, capsys, arguments, {"in.csv": PEOPLE})
    assert sentence.casefold() in found.casefold()


AGE = b'[columns.age]\nrole = "quasi"\n'


@pytest.mark.parametrize(
    "toml, sentence",
    [
        (b"age: quasi", "not valid TOML"),
        (b"\xff", "cannot be read"),
        (b"person = 5", "person must be the name of a column"),
        (AGE + b'tpye = "integer"', "did you mean 'type'"),
        (
            AGE + b'type = "integer"\nbounds = [21, 40]',
            "column 'age' row 1: 20 lies outside the declared bounds [21, 40]",
        ),
        (AGE + b'hierarchy = "h.csv"', "column 'age' row 3: '22' is not in the hierarchy"),
        (AGE + b'hierarchy = "no.csv"', "hierarchy 'no.csv' cannot be read"),
        (AGE + b'hierarchy = "ragged.csv"', "ragged.csv row 2: found 2 levels; wanted 3"),
        (AGE + b'categories = ["20", "21"]', "row 3: '22' is not among the declared categories"),
        (AGE + b'type = "date"', "column 'age': 30 of 30 filled cells are no date, the first is '20' in row 1"),
        (AGE + b'[columns.zip]\nrole = "quasi"', "there is no column 'zip'"),
    ],
)
def test_bad_schemas(folder: Path, capsys: pytest.CaptureFixture[str], toml: bytes, sentence: str) -> None:
    files = {"in.csv": PEOPLE, "s.toml": toml, "h.csv": b"20,*\n21,*\n", "ragged.csv": b"20,x,*\n21,x\n"}
    assert sentence in refused(folder, capsys, SCHEMA, files)


@pytest.mark.parametrize("taken", ["out.csv", "out.csv.card.json", "report.html"])
def test_an_output_that_exists_stays_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str], taken: str) -> None:
    files = {"in.csv": PEOPLE, taken: b"precious"}
    assert f"output '{taken}' exists" in refused(folder, capsys, [*ASK, "--report", "report.html"], files)


@pytest.mark.parametrize("identity", [b"", b'""'])
def test_a_person_without_a_name(folder: Path, capsys: pytest.CaptureFixture[str], identity: bytes) -> None:
    content = b"id,age\np1,1\n" + identity + b",2\np3,3\n"
    arguments = ["anonymize", "in.csv", "-o", "out.csv", "--quasi", "age", "--person", "id", "--k", "2"]
    assert "column 'id' row 2: a person's id is missing" in refused(folder, capsys, arguments, {"in.csv": content})


def test_an_unforeseen_error_is_one_sentence_too(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path, **_: object) -> None:
        raise ZeroDivisionError("two\nlines")

    monkeypatch.delenv("SFUMATO_TRACEBACK", raising=False)
    monkeypatch.setattr("sfumato.tabular.charge.read_hashed", fail)
    assert run(ASK) == 2
    err = capsys.readouterr().err
    assert err.startswith("sfumato: internal error (ZeroDivisionError: two lines)")
    assert (len(err.splitlines()), list(folder.iterdir())) == (1, [])


@pytest.mark.parametrize(
    "arguments, files, sentence",
    [
        (SCHEMA, {"in.csv": PEOPLE}, "schema 's.toml' cannot be read: it does not exist"),
        (
            SCHEMA,
            {"in.csv": PEOPLE, "s.toml": b'[columns.age]\nrole = "quasi"\nhierarchy = "ages.csv"\n'},
            "hierarchy 'ages.csv' cannot be read: it does not exist",
        ),
        (
            SCHEMA,
            {"in.csv": PEOPLE, "s.toml": b"[columns.\xe4ge]\n"},
            "schema 's.toml' cannot be read: byte 9 is not UTF-8; save it as UTF-8",
        ),
        (
            ["audit", "epsilon", "--again", "none.json"],
            {},
            "evidence 'none.json' cannot be read: it does not exist",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named_once_and_without_numbers_of_the_system(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], files: dict[str, bytes], sentence: str
) -> None:
    assert refused(folder, capsys, arguments, files) == f"sfumato: {sentence}\n"
