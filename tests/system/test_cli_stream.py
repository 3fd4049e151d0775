"""The stream command as an operator meets it: formats, pipes, bad records, errors, interrupts, checkpoints."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.release import Card

BOUNDS = ["--bounds", "0", "100"]
DOCA = ["--publisher", "doca", "--delay", "20", *BOUNDS]
RANK = ["--publisher", "rank", "--delay", "20", "--block", "5", *BOUNDS]
LAPLACE = ["--publisher", "laplace", *BOUNDS]
ENDLESS = b"6" * (5 << 20)  # a record without an end


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    hours = np.random.default_rng(3).integers(0, 101, 250)
    pl.DataFrame(
        {"drive": [f"d{place}" for place in range(250)], "hours": hours, "note": ['a "b", c'] * 250}
    ).write_csv("in.csv")
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], arguments: Sequence[str], code: int = 2) -> str:
    """Run a command that must fail and return its one sentence."""
    capsys.readouterr()
    assert run(["stream", *arguments]) == code
    out = capsys.readouterr()
    assert out.out == ""
    said = [line for line in out.err.splitlines(keepends=True) if line.startswith("sfumato: ")]
    assert len(said) == 1
    return said[0]


@pytest.mark.parametrize(
    "options, columns",
    [(DOCA, ["hours", "group", "size", "seq", "position"]), (RANK, ["hours", "group", "size", "seq"])],
)
def test_rows_leave_with_their_group_size_and_number(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], columns: list[str]
) -> None:
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "hours", *options]) == 0
    frame = pl.read_csv("out.csv")
    assert frame.columns == columns
    assert frame["seq"].to_list() == list(range(250))
    sizes = frame.group_by("group").agg(pl.len(), pl.col("size").first())
    assert (sizes["len"] == sizes["size"]).all()
    card = Card.from_json((folder / "out.csv.card.json").read_bytes())
    assert (card.released.rows, card.released.classes) == (250, sizes.height)
    assert capsys.readouterr().out.startswith(f"250 rows in {sizes.height} groups written to out.csv\n")


@pytest.mark.parametrize("name", ["in.csv.gz", "in.jsonl", "in.parquet", "in.tsv"])
def test_every_input_format_is_read(folder: Path, name: str) -> None:
    frame = pl.read_csv("in.csv")
    if name.endswith("gz"):
        (folder / name).write_bytes(gzip.compress((folder / "in.csv").read_bytes()))
    elif name.endswith("jsonl"):
        frame.write_ndjson(name)
    elif name.endswith("parquet"):
        frame.write_parquet(name)
    else:
        frame.write_csv(name, separator="\t")
    wide = ["--publisher", "laplace", "--bounds", "0", "100", "--epsilon", "1e6"]
    assert run(["stream", name, "-o", "out.csv", "--column", "hours", *wide]) == 0
    assert np.allclose(pl.read_csv("out.csv")["hours"], frame["hours"], atol=0.01)


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet", "out.csv.gz"])
def test_every_output_format_is_written(folder: Path, name: str) -> None:
    assert run(["stream", "in.csv", "-o", name, "--column", "hours", *RANK]) == 0
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
        "gz": pl.read_csv,
    }
    assert readers[name.rpartition(".")[2]](folder / name).height == 250
    assert (folder / f"{name}.card.json").exists()


def test_a_named_pipe_is_a_pipe(folder: Path) -> None:
    arguments = [
        "stream",
        "/dev/stdin",
        "-o",
        "out.csv",
        "--column",
        "hours",
        "--publisher",
        "laplace",
        "--bounds",
        "-10",
        "10",
    ]
    command = [sys.executable, "-m", "sfumato", *arguments, "--checkpoint", "kept"]
    done = subprocess.run(command, input=b"hours\n5\n6\n", cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, b"resume from record 0")
    assert pl.read_csv("out.csv").height == 2


@pytest.mark.parametrize("content", ["", "hours\n", "drive,hours\n"])
def test_an_empty_feed_gives_a_header_and_a_card(folder: Path, content: str) -> None:
    (folder / "empty.csv").write_text(content)
    assert run(["stream", "empty.csv", "-o", "out.csv", "--column", "hours", *RANK]) == 0
    assert (folder / "out.csv").read_text() == "hours,group,size,seq\n"
    assert Card.from_json((folder / "out.csv.card.json").read_bytes()).released.rows == 0


BAD = "hours\n5\nabc\n\nNaN\n-7\n300\n7\n"


@pytest.mark.parametrize(
    "action, wanted", [("clamp", [5, 50, 50, 50, 0, 100, 7]), ("default", [5, 50, 50, 50, 50, 50, 7])]
)
def test_bad_records_stand_as_public_values_in_their_places(folder: Path, action: str, wanted: list[float]) -> None:
    (folder / "bad.csv").write_text(BAD)
    arguments = ["--column", "hours", *LAPLACE, "--epsilon", "1e9", "--on-bad", action, "--max-failed", "1"]
    assert run(["stream", "bad.csv", "-o", "out.csv", *arguments]) == 0
    assert np.allclose(pl.read_csv("out.csv")["hours"], wanted, atol=0.01)


def test_a_publisher_without_a_promise_may_put_bad_records_aside(folder: Path) -> None:
    (folder / "bad.csv").write_text(BAD)
    arguments = ["stream", "bad.csv", "-o", "out.csv", "--column", "hours", *DOCA, "--on-bad", "quarantine:aside.jsonl"]
    assert run(arguments) == 0
    assert pl.read_csv("out.csv").height == 2
    aside = [json.loads(line) for line in (folder / "aside.jsonl").read_text().splitlines()]
    assert [(entry["record"], entry["line"]) for entry in aside] == [
        (1, "abc"),
        (2, ""),
        (3, "NaN"),
        (4, "-7"),
        (5, "300"),
    ]
    assert aside[0]["reason"] == "no number in 'hours'"
    assert aside[4]["reason"] == "'hours' is out of bounds"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["none.csv", "-o", "out.csv", "--column", "hours", *RANK], "file 'none.csv' does not exist"),
        (["in.csv", "-o", "out.csv", "--column", "huors", *RANK], "has no column 'huors'; did you mean 'hours'?"),
        (["in.csv", "-o", "out.csv", *RANK], "rank publishes one column; name it with --column"),
        (["in.csv", "-o", "out.csv", "--column", "hours", "--publisher", "rank"], "rank needs --bounds LOW HIGH"),
        (
            ["in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--beta", "3"],
            "--beta is not an option of rank, but of castle, doca",
        ),
        (["in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--on-bad", "drop"], "--on-bad is 'drop'"),
        (
            ["in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--on-bad", "quarantine:b"],
            "leaving one out would tell of it",
        ),
        (["in.csv", "-o", "-", "--column", "hours", *RANK], "say with --card where the card goes"),
        (["in.csv", "-o", "in.csv", "--column", "hours", *RANK], "'in.csv' is both the input and the output"),
        (["in.csv", "-o", "no/out.csv", "--column", "hours", *RANK], "there is no folder 'no'"),
        (["in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--epsilon", "0"], "'epsilon' parameter"),
        (
            ["in.csv", "-o", "out.csv", "--column", "hours", "--publisher", "doca"],
            "doca needs --bounds LOW HIGH, or --sensitivity",
        ),
        (["in.csv", "-o", "out.csv", "--column", "hours", "--publisher", "castle"], "castle needs --schema"),
        (["in.csv", "-o", "out.csv", "--column", "hours", *DOCA, "--ledger", "l"], "there is no ledger"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in refused(capsys, arguments)
    assert sorted(file.name for file in folder.iterdir()) == ["in.csv"]


@pytest.mark.parametrize(
    "content, said",
    [
        (b"\x1f\x8b" + b"nonsense" * 9, "is a damaged gzip file"),
        (gzip.compress(b"hours\n" + b"5\n" * 90000)[:-20], "is a damaged gzip file: it ends in the middle"),
        (b"PAR1" + b"nonsense" * 9, "cannot be read as Parquet"),
        (b"hours\r5\r6\r7\r", "ends its lines with carriage returns alone"),
        (b'"hours\n5\n', "the header cannot be read"),
        (b"hours,hours\n5,6\n", "two columns are called 'hours'"),
    ],
)
def test_a_damaged_feed_is_said_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    (folder / "bad.csv").write_bytes(content)
    assert said in refused(capsys, ["bad.csv", "-o", "out.csv", "--column", "hours", *RANK])


def test_an_error_in_the_middle_says_what_was_held(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.csv").write_bytes(b"hours\n" + b"5\n" * 30 + ENDLESS)
    said = refused(capsys, ["bad.csv", "-o", "out.csv", "--column", "hours", *RANK])
    assert said.endswith("; 10 records were held and not released\n")
    assert pl.read_csv("out.csv").height == 20
    assert Card.from_json((folder / "out.csv.card.json").read_bytes()).released.rows == 20


def test_a_checkpoint_goes_on_once_the_feed_is_repaired(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.csv").write_bytes(b"hours\n" + b"5\n" * 30 + ENDLESS)
    arguments = ["bad.csv", "-o", "out.csv", "--column", "hours", *RANK, "--checkpoint", "kept"]
    assert "a record of more than 4 MiB" in refused(capsys, arguments)
    before = (folder / "out.csv").read_bytes()
    (folder / "bad.csv").write_bytes(b"hours\n" + b"5\n" * 30 + b"6\n7\n")
    assert run(["stream", *arguments]) == 0
    assert (folder / "out.csv").read_bytes().startswith(before)
    assert pl.read_csv("out.csv").height == 32


def started(arguments: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sfumato", "stream", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe)


def test_rows_leave_a_pipe_while_records_come(folder: Path) -> None:
    arguments = ["-", "-o", "-", "--card", "card.json", "--column", "hours", *LAPLACE]
    with started(arguments, folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"hours\n5\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"hours,group,size,seq,position\n"
        assert process.stdout.readline().endswith(b",0,1,0,0\n")  # before the input ends
        process.stdin.write(b"6\n")
        out, complaints = process.communicate(timeout=60)
    assert out.endswith(b",1,1,1,1\n")
    assert "\n2 rows in 2 groups written to standard output\n" in complaints.decode()


def test_a_growing_file_is_followed_and_ctrl_c_keeps_it(folder: Path) -> None:
    (folder / "log.csv").write_text("hours\n" + "5\n" * 30)
    arguments = ["log.csv", "-o", "out.csv", "--column", "hours", *RANK, "--follow", "--checkpoint", "kept"]
    with started(arguments, folder) as process:
        _until(lambda: (folder / "out.csv").exists() and len((folder / "out.csv").read_bytes().splitlines()) == 21)
        with (folder / "log.csv").open("a") as file:
            file.write("6\n" * 13)
        _until(lambda: len((folder / "out.csv").read_bytes().splitlines()) == 41)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted; 3 records are held in checkpoint 'kept'; the same command goes on from there" in complaints
    before = (folder / "out.csv").read_bytes()
    assert run(["stream", *[word for word in arguments if word != "--follow"]]) == 0
    assert (folder / "out.csv").read_bytes().startswith(before)
    assert pl.read_csv("out.csv").height == 43


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_without_a_checkpoint_says_what_was_held(folder: Path, number: signal.Signals) -> None:
    arguments = ["-", "-o", "out.csv", "--column", "hours", *RANK]
    with started(arguments, folder) as process:
        assert process.stdin is not None
        process.stdin.write(b"hours\n" + b"5\n" * 25)
        process.stdin.flush()
        _until(lambda: (folder / "out.csv").exists() and len((folder / "out.csv").read_bytes().splitlines()) == 21)
        process.send_signal(number)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert b"interrupted; 5 records are held and were not released" in process.stderr.read()
    assert Card.from_json((folder / "out.csv.card.json").read_bytes()).released.rows == 20


def test_a_pipe_is_told_where_to_resume(folder: Path) -> None:
    arguments = ["-", "-o", "out.csv", "--column", "hours", *RANK, "--checkpoint", "kept"]
    values = list(range(50))
    with started(arguments, folder) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert process.stderr.readline() == b"resume from record 0\n"
        process.stdin.write(b"hours\n" + b"".join(b"%d\n" % value for value in values[:33]))
        process.stdin.flush()
        _until(lambda: len((folder / "out.csv").read_bytes().splitlines()) == 21)
        process.kill()
    before = (folder / "out.csv").read_bytes()
    with started(arguments, folder) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        start = int(process.stderr.readline().rpartition(b" ")[2])
        process.stdin.write(b"hours\n" + b"".join(b"%d\n" % value for value in values[start:]))
        process.communicate(timeout=60)
    assert start == 33
    assert (folder / "out.csv").read_bytes().startswith(before)
    assert pl.read_csv("out.csv")["seq"].to_list() == values


def test_a_reader_that_leaves_is_no_traceback(folder: Path) -> None:
    arguments = ["in.csv", "-o", "-", "--card", "card.json", "--column", "hours", *LAPLACE]
    with started(arguments, folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_castle_generalises_what_the_schema_declares(folder: Path) -> None:
    (folder / "people.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 100]\n'
        '[columns.sex]\nrole = "quasi"\ncategories = ["F", "M"]\n'
        '[columns.ill]\nrole = "sensitive"\ntype = "category"\ncategories = ["flu", "gout"]\n'
    )
    rows = [f"{20 + place % 60},{'FM'[place % 2]},{('flu', 'gout')[place % 3 > 0]},p{place}" for place in range(200)]
    (folder / "people.csv").write_text("\n".join(["age,sex,ill,name", *rows]) + "\n")
    arguments = [
        "people.csv",
        "-o",
        "out.csv",
        "--publisher",
        "castle",
        "--schema",
        "people.toml",
        "--person",
        "name",
        "--k",
        "5",
        "--delay",
        "40",
    ]
    assert run(["stream", *arguments]) == 0
    frame = pl.read_csv("out.csv")
    assert frame.columns == ["age", "sex", "ill", "group", "size", "seq"]
    assert frame.height == 200
    assert Card.from_json((folder / "out.csv.card.json").read_bytes()).guarantee.parameters == {"k": 5}


@pytest.mark.parametrize("publisher", ["rank", "adaptive"])
def test_several_columns_leave_together(folder: Path, publisher: str) -> None:
    pl.DataFrame({"a": [1.0, 2.0] * 50, "b": [10.0, 90.0] * 50}).write_csv("two.csv")
    arguments = ["two.csv", "-o", "out.csv", "--column", "a,b", "--publisher", publisher, *BOUNDS, "--delay", "50"]
    assert run(["stream", *arguments]) == 0
    frame = pl.read_csv("out.csv")
    assert (frame.columns, frame.height) == (["a", "b", "group", "size", "seq"], 100)
    assert Card.from_json((folder / "out.csv.card.json").read_bytes()).guarantee.parameters == {"epsilon": 1.0}


@pytest.mark.parametrize("publisher", ["rank", "adaptive"])
def test_a_column_of_declared_categories_leaves_as_categories(folder: Path, publisher: str) -> None:
    (folder / "s.toml").write_text('[columns.grade]\nrole = "sensitive"\ncategories = ["low", "middle", "high"]\n')
    (folder / "grades.csv").write_text("grade\n" + "low\nhigh\nno such grade\n" * 100)
    arguments = ["grades.csv", "-o", "out.csv", "--column", "grade", "--publisher", publisher, "--schema", "s.toml"]
    assert run(["stream", *arguments, "--delay", "100", "--epsilon", "5", "--max-failed", "0.5"]) == 0
    frame = pl.read_csv("out.csv")
    assert frame.height == 300
    assert set(frame["grade"]) <= {"low", "middle", "high"}
    assert (frame["grade"] == "low").sum() > 100


def test_only_the_first_records_of_a_person_count(folder: Path) -> None:
    days = [f"2016-09-{1 + place // 10:02d}" for place in range(200)]
    drives = [f"d{place % 10}" for place in range(200)]
    pl.DataFrame({"day": days, "drive": drives, "hours": [100.0] * 10 + [0.0] * 190}).write_csv("log.csv")
    options = ["--epsilon", "1000", "--person", "drive", "--horizon", "30d", "--time", "day", "--delay", "200"]
    arguments = ["log.csv", "-o", "out.csv", "--column", "hours", "--publisher", "rank", "--block", "10", *BOUNDS]
    assert run(["stream", *arguments, *options]) == 0
    values = pl.read_csv("out.csv")["hours"].sort()
    assert values.head(180).is_between(45, 55).all()  # records that do not count stand in the middle
    assert values.tail(5).is_between(90, 100).all()
    card = Card.from_json((folder / "out.csv.card.json").read_bytes())
    assert card.guarantee.unit.startswith("person")


def test_the_clock_on_the_wall_ends_windows_while_a_pipe_is_quiet(folder: Path) -> None:
    options = ["--publisher", "rank", *BOUNDS, "--every", "1s", "--from", str(time.time() - 1), "--epsilon", "50"]
    with started(["-", "-o", "-", "--card", "card.json", "--column", "hours", *options], folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"hours\n" + b"5\n" * 40)
        process.stdin.flush()
        assert process.stdout.readline() == b"hours,window_start,group,size,seq\n"
        assert process.stdout.readline().count(b",") == 4  # though nothing more came, and the pipe is open
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("keep, columns", [("distribution", 4), ("order", 5)])
def test_auto_picks_a_publisher(folder: Path, keep: str, columns: int) -> None:
    assert folder.exists()
    assert (
        run(["stream", "in.csv", "-o", "out.csv", "--column", "hours", *BOUNDS, "--delay", "50", "--keep", keep]) == 0
    )
    assert pl.read_csv("out.csv").shape == (250, columns)


@pytest.mark.parametrize(
    "options, said",
    [
        (["--horizon", "30d"], "name their column with --person"),
        (["--person", "drive", "--horizon", "30d"], "--horizon needs --time COLUMN here"),
        (["--time", "drive"], "--time goes with --every or --horizon"),
        (
            ["--every", "soon", "--time", "drive", "--from", "0", "--until", "9"],
            "the duration 'soon' is not of the form",
        ),
    ],
)
def test_times_and_persons_that_contradict_themselves(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert said in refused(capsys, ["in.csv", "-o", "out.csv", "--column", "hours", *RANK, *options])
    assert sorted(file.name for file in folder.iterdir()) == ["in.csv"]


def test_a_ledger_is_charged_once_for_a_stream_and_refuses_what_it_cannot_afford(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledgers = pytest.importorskip("sfumato.dp.ledger.ledger")
    amounts = pytest.importorskip("sfumato.promise.cost")
    ledger = ledgers.Ledger.create(folder / "l", amounts.Budget(epsilon=2), {"protect": "rows", "neighbours": "value"})
    arguments = ["in.csv", "--column", "hours", *RANK, "--epsilon", "0.75", "--ledger", "l"]
    kept = ["-o", "out.csv", "--checkpoint", "kept"]
    for _ in range(2):
        assert run(["stream", *arguments, *kept]) == 0
        assert str(ledger.spent.epsilon) == "0.75"
    assert run(["stream", *arguments, "-o", "again.csv"]) == 0
    assert str(ledger.spent.epsilon) == "1.5"
    assert "has epsilon 0.5 left" in refused(capsys, [*arguments, "-o", "third.csv"], code=1)
    assert not (folder / "third.csv").exists()


def _until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + seconds, "it never came to be"
        time.sleep(0.02)


def test_a_checkpoint_is_its_owners_secret(folder: Path) -> None:
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "hours", *RANK, "--checkpoint", "kept"]) == 0
    assert oct((folder / "kept").stat().st_mode & 0o777) == "0o700"
    assert {oct(file.stat().st_mode & 0o777) for file in (folder / "kept").iterdir()} == {"0o600"}
