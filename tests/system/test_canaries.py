"""Canary rows through every door: what a release leaves out is in no byte of any public file.

A canary is a text, or a number, that stands in one row alone. It is in a column that is dropped, in a row that is
withheld, or in a cell that could not be read. After a command, every file is searched, packed parts unpacked.
"""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from unpacked import files_with

from sfumato.cli.main import run

ENDINGS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl", "jsonl.gz", "xlsx")
NAME = "Zebediah Quillfeather Canary"  # in the identifiers, of which none is released
TOWN = "Canary-on-the-Withheld-Row"  # a quasi-identifier of the one row that is withheld
ILL = "canary fever of the withheld row"  # its sensitive value
CELL = "canary cell that is no number"  # in a column of numbers
COST = 91_827_364_554.015625
WHOLE = 8_123_456_789_012_345
SECRETS = (*(text.encode() for text in (NAME, TOWN, ILL, CELL)), struct.pack("<d", COST), struct.pack("<q", WHOLE))
OUTPUT = "out"
ROWS = 60
ALGORITHMS = ("mondrian", "datafly", "incognito", "optimal", "anatomy", "mdav", "kanonymeans", "safepub")
SCHEMA = """\
[columns.name]
role = "identifier"
[columns.note]
role = "identifier"
[columns.age]
role = "quasi"
type = "integer"
[columns.town]
role = "quasi"
[columns.ill]
role = "sensitive"
[columns.visits]
role = "VISITS"
"""
ROLES = ("--schema", "secret/roles.toml", "--max-failed", "0.5")


def people() -> pl.DataFrame:
    """Plain rows, and one that is alone in its town, has a disease of its own and costs that nobody else has."""
    plain = pl.DataFrame(
        {
            "name": [f"person number {row} of the table" for row in range(ROWS)],
            "note": [float(row) for row in range(ROWS)],
            "age": [str(20 + row % 9) for row in range(ROWS)],
            "town": [f"a town of the {'north' if row % 2 else 'south'}" for row in range(ROWS)],
            "ill": [f"an illness with the number {row % 5}" for row in range(ROWS)],
            "visits": [row % 7 for row in range(ROWS)],
        }
    )
    canary = {"name": NAME, "note": COST, "age": "24", "town": TOWN, "ill": ILL, "visits": WHOLE}
    unread = {**plain.row(3, named=True), "age": CELL}
    return pl.concat([plain.head(20), pl.DataFrame([canary, unread]), plain.tail(ROWS - 20)])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for outputs, apart from that of the inputs and from that of temporary files."""
    monkeypatch.chdir(tmp_path)
    for name in (OUTPUT, "tmp", "secret"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    people().write_parquet("secret/in.parquet")
    Path("secret/roles.toml").write_text(SCHEMA.replace("VISITS", "sensitive"))
    return tmp_path


def nothing_found(folder: Path) -> None:
    """Check that no public file holds a canary, and that no temporary file stays."""
    assert list((folder / OUTPUT).iterdir())
    for secret in SECRETS:
        assert not files_with(folder / OUTPUT, secret), secret
    assert not [path for path in (folder / "tmp").rglob("*") if path.is_file()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_withheld_row_is_in_no_byte_of_any_format(folder: Path, ending: str) -> None:
    options = ["--algorithm", "optimal", "--suppress", "0.05", "--k", "3"]
    command = ["anonymize", "secret/in.parquet", "-o", f"{OUTPUT}/out.{ending}", *ROLES, *options]
    assert run(command) == 0
    nothing_found(folder)


@pytest.mark.parametrize("given", ["csv", "arrow", "xlsx", "jsonl"])
def test_from_any_format(folder: Path, given: str) -> None:
    frame = people()
    words = frame.with_columns(pl.col("ill", "town").cast(pl.Categorical))
    if given == "csv":
        frame.write_csv("secret/in.csv")
    elif given == "arrow":
        words.write_ipc("secret/in.arrow")
    elif given == "jsonl":
        frame.write_ndjson("secret/in.jsonl")
    else:
        frame.write_excel("secret/in.xlsx")
    options = ["--algorithm", "optimal", "--suppress", "0.05", "--k", "3"]
    for ending in ("arrow", "parquet"):
        assert run(["anonymize", f"secret/in.{given}", "-o", f"{OUTPUT}/out.{ending}", *ROLES, *options]) == 0
    nothing_found(folder)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_dropped_columns_are_in_no_byte_of_any_algorithm(folder: Path, algorithm: str, ending: str) -> None:
    models = ["--l", "2"] if algorithm == "anatomy" else ["--k", "3"]
    roles = ["--schema", "secret/roles.toml"]
    Path("secret/roles.toml").write_text(SCHEMA.replace("VISITS", "identifier"))
    if algorithm == "safepub":
        models, roles = _declared(folder)
    secret = people().filter(pl.col("ill") != ILL).with_columns(name=pl.lit(NAME), note=COST, visits=WHOLE)
    secret.write_parquet("secret/some.parquet")
    options = ["--algorithm", algorithm, "--max-failed", "0.5", *models]
    command = ["anonymize", "secret/some.parquet", "-o", f"{OUTPUT}/out.{ending}", *roles, *options]
    assert run(command) in {0, 1}  # 1: the gate may blame a column
    nothing_found(folder)


def _declared(folder: Path) -> tuple[list[str], list[str]]:
    towns = ", ".join(f'"a town of the {side}"' for side in ("north", "south"))
    ills = ", ".join(f'"an illness with the number {number}"' for number in range(5))
    (folder / "secret/s.toml").write_text(
        'other = "drop"\n'
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n'
        f'[columns.town]\nrole = "quasi"\ntype = "category"\ncategories = [{towns}]\n'
        f'[columns.ill]\nrole = "quasi"\ntype = "category"\ncategories = [{ills}]\n'
    )
    return ["--epsilon", "4", "--delta", "0.05", "--k", "3"], ["--schema", "secret/s.toml"]


def test_the_report_of_the_steward_shows_no_identifier(folder: Path) -> None:
    """The report is not public; it shows what it says, and no raw row of a dropped column."""
    options = ["--algorithm", "optimal", "--suppress", "0.05", "--k", "3"]
    outputs = ["-o", f"{OUTPUT}/out.csv", "--report", "secret/report.html", "--parse-report", "secret/cells.json"]
    assert run(["anonymize", "secret/in.parquet", *outputs, *ROLES, *options]) == 0
    nothing_found(folder)
    report = Path("secret/report.html").read_bytes()
    for text in (NAME, str(COST)):
        assert text.encode() not in report


def test_questions(folder: Path) -> None:
    Path("secret/s.toml").write_text(
        '[columns.name]\nrole = "identifier"\n[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n'
        '[columns.ill]\nrole = "sensitive"\ntype = "category"\ncategories = ["flu", "an illness with the number 1"]\n'
    )
    people().write_csv("secret/people.csv")
    create = ["--data", "secret/people.csv", "--schema", "secret/s.toml", "--epsilon", "9", "--deadline", "0"]
    assert run(["budget", "create", f"{OUTPUT}/people.ledger", *create, "--max-failed", "0.5"]) == 0
    for number, sql in enumerate(("SELECT COUNT(*) FROM people", "SELECT ill, COUNT(*) FROM people GROUP BY ill")):
        for ending in ("csv", "parquet", "arrow", "xlsx"):
            answer = ["-o", f"{OUTPUT}/answer-{number}.{ending}", "--epsilon", "1"]
            assert run(["query", f"{OUTPUT}/people.ledger", sql, *answer]) == 0
    nothing_found(folder)


def test_a_release_that_a_ledger_keeps(folder: Path) -> None:
    """A ledger stores a private release, so that a killed command can give it out again."""
    models, roles = _declared(folder)
    people().write_csv("secret/people.csv")
    create = ["--data", "secret/people.csv", "--schema", "secret/s.toml", "--epsilon", "9", "--delta", "0.5"]
    assert run(["budget", "create", f"{OUTPUT}/people.ledger", *create, "--max-failed", "0.5"]) == 0
    command = ["anonymize", "secret/people.csv", "-o", f"{OUTPUT}/out.arrow", "--algorithm", "safepub", *models, *roles]
    assert run([*command, "--max-failed", "0.5", "--ledger", f"{OUTPUT}/people.ledger"]) in {0, 1}
    nothing_found(folder)


def test_a_series_of_releases(folder: Path) -> None:
    """The history is the steward's and holds rows; what leaves does not."""
    Path("secret/roles.toml").write_text(SCHEMA.replace("VISITS", "identifier"))
    for number in (1, 2):
        people().filter(pl.col("ill") != ILL).write_parquet(f"secret/in-{number}.parquet")
        command = [
            "republish",
            f"secret/in-{number}.parquet",
            "--history",
            "secret/kept",
            *ROLES,
            "--k",
            "3",
            "--l",
            "2",
        ]
        assert run([*command, "--layer", "bpg", "-o", f"{OUTPUT}/out-{number}.csv"]) in {0, 1}
    nothing_found(folder)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("publisher", ["laplace", "rank", "doca", "castle"])
def test_streams_and_their_checkpoints(folder: Path, publisher: str, ending: str) -> None:
    people().write_csv("secret/feed.csv")
    Path("secret/age.toml").write_text('[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n')
    options = {
        "laplace": ["--column", "visits", "--bounds", "0", "10"],
        "rank": ["--column", "visits", "--bounds", "0", "10", "--delay", "8", "--block", "2"],
        "doca": ["--column", "visits", "--bounds", "0", "10", "--delay", "8"],
        "castle": ["--quasi", "age", "--schema", "secret/age.toml", "--k", "3", "--delay", "8", "--on-bad", "default"],
    }[publisher]
    command = ["stream", "secret/feed.csv", "-o", f"{OUTPUT}/out.{ending}", "--publisher", publisher, *options]
    assert run([*command, "--max-failed", "0.5", "--checkpoint", f"{OUTPUT}/kept"]) == 0
    nothing_found(folder)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_reports_of_devices(folder: Path, ending: str) -> None:
    people().write_csv("secret/in.csv")
    Path("secret/ills.txt").write_text("".join(f"an illness with the number {number}\n" for number in range(5)))
    options = ["--column", "ill", "--epsilon", "1", "--domain", "secret/ills.txt", "--max-failed", "0.5"]
    assert run(["local", "perturb", "secret/in.csv", "-o", f"{OUTPUT}/out.jsonl", *options]) == 0
    assert run(["local", "estimate", f"{OUTPUT}/out.jsonl", "-o", f"{OUTPUT}/counts.{ending}"]) == 0
    nothing_found(folder)


def test_a_refused_release_leaves_nothing(folder: Path) -> None:
    command = [
        "anonymize",
        "secret/in.parquet",
        "-o",
        f"{OUTPUT}/out.arrow",
        *ROLES,
        "--k",
        "999",
        "--max-failed",
        "0.5",
    ]
    assert run(command) != 0
    assert not list((folder / OUTPUT).iterdir())
    assert not [path for path in (folder / "tmp").rglob("*") if path.is_file()]
