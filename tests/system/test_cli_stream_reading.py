"""How a feed is written, declared at the stream command or in a schema: marks, encodings, formats, zones of times."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.release import Card
from sfumato.stream import build

LAPLACE = ["--publisher", "laplace", "--bounds", "0", "10000", "--epsilon", "1e6"]
RANK = ["--publisher", "rank", "--bounds", "0", "100", "--epsilon", "500"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wages(content: bytes, *options: str) -> list[float]:
    Path("in.csv").write_bytes(content)
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "wage", *LAPLACE, *options]) == 0
    return pl.read_csv("out.csv")["wage"].round(0).to_list()


GERMAN = "wage;ort\n2.531,4;Köln\n1000,0;Zürich\nk.A.;Ulm\n999;Bonn\n"
DECLARED = ["--decimal", ",", "--thousands", ".", "--missing", "k.A.,999"]


@pytest.mark.parametrize(
    "content, options",
    [
        (GERMAN.encode(), DECLARED),
        (GERMAN.encode("latin-1"), [*DECLARED, "--encoding", "latin-1"]),
        (GERMAN.encode("utf-16"), DECLARED),
        (GERMAN.replace(";", "^").encode(), [*DECLARED, "--delimiter", "^"]),
        (GERMAN.replace("Köln", "'a;b'").encode(), [*DECLARED, "--quote", "'"]),
        (GERMAN.replace("Köln", '"').encode(), [*DECLARED, "--quote", "none"]),
    ],
)
def test_a_feed_is_read_as_it_is_written(folder: Path, content: bytes, options: list[str]) -> None:
    assert folder.exists()
    assert wages(content, *options) == [2531, 1000, 5000, 5000]  # missing ones stand in the middle of the bounds


def test_decimal_commas_that_nobody_declared_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.csv").write_text("wage;ort\n" + "2,5;Ulm\n" * 9)
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "wage", *LAPLACE]) == 2
    assert "column 'wage': 9 of the first 9 filled cells cannot be read" in capsys.readouterr().err
    assert wages(b"wage\n2500,4\n1,6\n", "--decimal", ",") == [2500, 2]  # one column has no delimiter


def test_a_schema_says_how_its_feed_is_written(folder: Path) -> None:
    (folder / "s.toml").write_text(
        '[reading]\ndelimiter = ";"\n[columns.wage]\nrole = "sensitive"\ntype = "number"\nbounds = [0, 10000]\n'
        'decimal = ","\nmissing = ["-"]\n'
    )
    assert wages(b"wage;x,y\n3,6;1,1\n-;2,2\n", "--schema", "s.toml") == [4, 5000]


def test_another_encoding_goes_on_from_its_checkpoint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.csv").write_bytes(("wage;ort\n" + "500;Köln\n" * 40).encode("utf-16"))
    given = ["stream", "in.csv", "-o", "out.csv", "--column", "wage", *LAPLACE, "--checkpoint", "kept"]
    for _ in range(2):
        assert run(given) == 0
        assert pl.read_csv("out.csv")["wage"].round(0).to_list() == [500] * 40
    assert run([*given, "--decimal", ","]) == 2
    assert "reading was None, found {'decimal': ','}" in capsys.readouterr().err
    assert run(["stream", "in.csv", "-o", "new.csv", "--column", "wage", *LAPLACE, "--follow"]) == 2
    assert "is utf-16, which cannot be read while it grows" in capsys.readouterr().err
    assert run(["stream", "in.csv", "-o", "new.csv", "--column", "wage", *LAPLACE, "--encoding", "ascii"]) == 0


DAYS = ["--every", "1d", "--time", "when", "--from", "2016-03-26", "--until", "2016-03-29"]


def counted(content: str, *options: str) -> tuple[dict[str, int], Card]:
    Path("in.csv").write_text(content)
    for file in Path().glob("out.csv*"):
        file.unlink()
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "watts", *RANK, *options]) == 0
    rows = pl.read_csv("out.csv").group_by("window_start", maintain_order=True).agg(pl.col("size").first())
    return dict(rows.iter_rows()), Card.from_json(Path("out.csv.card.json").read_bytes())


def test_days_are_those_of_the_declared_zone(folder: Path) -> None:
    assert folder.exists()
    late = "2016-03-26T23:30:00Z"  # half past midnight of the next day in Berlin
    times = [late] * 5 + ["2016-03-28T00:30:00+02:00"] * 7 + ["2016-03-26 12:00"] * 9 + ["1459035000"] * 11
    content = "when,watts\n" + "".join(f"{time},5\n" for time in times)
    local, card = counted(content, *DAYS, "--zone", "Europe/Berlin")
    assert local == {"2016-03-26T00:00:00": 9, "2016-03-27T00:00:00": 5 + 11, "2016-03-28T00:00:00": 7}
    assert card.released.settings["zone"] == "Europe/Berlin"
    assert any("the clock on the wall in Europe/Berlin" in note for note in card.assumptions)
    plain, card = counted(content, *DAYS)
    assert plain == {"2016-03-26T00:00:00Z": 5 + 9 + 11, "2016-03-27T00:00:00Z": 7, "2016-03-28T00:00:00Z": 0}
    assert "Times are UTC, and so are those that name no zone." in card.assumptions


def test_the_hour_that_comes_twice_is_one_window(folder: Path) -> None:
    assert folder.exists()
    times = [f"2016-10-30T0{hour}:30:00Z" for hour in range(4)]  # 02:30 in summer, 02:30 in winter, 03:30, 04:30
    content = "when,watts\n" + "".join(f"{time},5\n" * 6 for time in times)
    edges = ["--from", "2016-10-30T01:00:00", "--until", "2016-10-30T05:00:00"]
    found, _ = counted(content, "--every", "1h", "--time", "when", *edges, "--zone", "Europe/Berlin")
    assert list(found.values()) == [0, 12, 6, 6]


def test_times_in_a_declared_format(folder: Path) -> None:
    assert folder.exists()
    content = "when,watts\n" + "26.03.2016 07:15,5\n" * 8 + "28.03.2016 23:59,5\n" * 4
    assert list(counted(content, *DAYS, "--date-format", "%d.%m.%Y %H:%M")[0].values()) == [8, 0, 4]


@pytest.mark.parametrize(
    "options, said",
    [
        (
            ["--every", "1d", "--from", "2016-03-26", "--time", "when", "--late", "1h", "--zone", "Europe/Berlin"],
            "twice",
        ),
        ([*DAYS, "--zone", "Europe/Nowhere"], "Europe/Nowhere"),
        (["--zone", "Europe/Berlin"], "name their column with --time"),
        (["--sheet", "one"], "--sheet is of workbooks"),
    ],
)
def test_what_a_feed_cannot_be_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    (folder / "in.csv").write_text("when,watts\n2016-03-26,5\n")
    assert run(["stream", "in.csv", "-o", "out.csv", "--column", "watts", *RANK, *options]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1
    assert sorted(file.name for file in folder.iterdir()) == ["in.csv"]


def test_castle_reads_times_and_marks_as_they_are_declared(folder: Path) -> None:
    (folder / "s.toml").write_text(
        '[columns.start]\nrole = "quasi"\ntype = "timestamp"\nformat = "%d.%m.%Y %H:%M"\n'
        "bounds = [2016-01-01T00:00:00, 2016-12-31T23:59:59]\n"
        '[columns.wage]\nrole = "quasi"\ntype = "number"\nbounds = [0, 100]\ndecimal = ","\n'
    )
    rows = [f"{1 + place % 28:02d}.03.2016 {place % 24:02d}:30;{place % 90},5" for place in range(120)]
    (folder / "in.csv").write_text("\n".join(["start;wage", *rows]) + "\n")
    given = ["in.csv", "-o", "out.csv", "--publisher", "castle", "--schema", "s.toml", "--k", "5", "--delay", "40"]
    assert run(["stream", *given]) == 0
    starts = pl.read_csv("out.csv")["start"]
    assert len(starts) == 120
    assert starts.str.contains("2016-03-[0-9]{2} [0-9]{2}:30:00").sum() > 60


def test_python_takes_a_reading_too() -> None:
    from sfumato.schema import Reading

    setup = build("laplace", ["wage"], bounds=(0, 10), reading=Reading(decimal=","))
    assert setup.screen.wanted.marks_of("wage").decimal == ","
