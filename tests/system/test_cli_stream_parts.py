"""Where the parts of streams meet: what a card, a ledger, a name or a folder says must be so for every publisher."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.core.files import hold_folder
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError

CLOCK = ["--time", "second", "--every", "10s", "--from", "0", "--until", "60"]
TOTALS = ["--publisher", "totals", "--column", "watts", "--bounds", "0", "100"]
SEQUENCE = ["--publisher", "w-event", "--column", "watts", *CLOCK]
FAR = ["--bounds", "1000000000000", "1000000000001"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = [f"{at},{at % 100},h{at % 5},{at % 10}" for at in range(60)]
    Path("feed.csv").write_text("\n".join(["second,watts,house,window_start", *lines]) + "\n")
    Path("feed.toml").write_text(
        '[columns.watts]\nrole = "sensitive"\ntype = "number"\nbounds = [0, 100]\n'
        '[columns.house]\nrole = "identifier"\n'
        '[columns.second]\nrole = "other"\ntype = "number"\nbounds = [0, 60]\n'
        '[columns.window_start]\nrole = "other"\ntype = "number"\nbounds = [0, 10]\n'
    )
    return tmp_path


def stream(*options: str) -> int:
    return run(["stream", "feed.csv", "-o", "out.csv", *options])


def assumptions() -> str:
    return "\n".join(json.loads(Path("out.csv.card.json").read_text())["assumptions"])


@pytest.mark.parametrize("windows", [["--delay", "20"], CLOCK], ids=["by arrivals", "by the clock"])
@pytest.mark.usefixtures("folder")
def test_a_card_in_rho_says_what_several_records_of_a_person_lose(windows: list[str]) -> None:
    assert stream(*TOTALS, "--delta", "1e-6", *windows) == 0
    told = assumptions()
    assert "c·ε" not in told
    assert "30·ε" not in told
    assert "a person with c records is promised c²·ρ only" in told
    assert "Noise is discrete Gaussian" in told
    assert "Noise is discrete Laplace" not in told


@pytest.mark.usefixtures("folder")
def test_a_card_in_rho_for_persons_says_nothing_of_single_records() -> None:
    assert stream(*TOTALS, "--delta", "1e-6", *CLOCK, "--person", "house", "--per-person", "2") == 0
    assert "event level" not in assumptions()


@pytest.mark.usefixtures("folder")
def test_a_card_in_epsilon_keeps_its_words() -> None:
    assert stream(*TOTALS, *CLOCK) == 0
    assert "c·ε" in assumptions()
    assert "Noise is discrete Laplace" in assumptions()


@pytest.mark.parametrize("publisher", [SEQUENCE, ["--publisher", "totals", "--total", "histogram", *SEQUENCE[2:]]])
@pytest.mark.usefixtures("folder")
def test_bins_far_from_zero_have_a_name_each(publisher: list[str]) -> None:
    assert stream(*publisher, *FAR, "--bins", "20") == 0
    names = pl.read_csv("out.csv").columns
    assert len([name for name in names if name.startswith("watts_")]) == 20


@pytest.mark.usefixtures("folder")
def test_bins_of_statistics_far_from_zero_have_a_name_each() -> None:
    assert stream("--publisher", "statistics", "--column", "watts", *FAR, "--bins", "20", *CLOCK) == 0
    rows = pl.read_csv("out.csv").filter(pl.col("statistic") == "histogram", pl.col("group") == 0)
    assert rows["at"].n_unique() == 20


@pytest.mark.usefixtures("folder")
def test_bins_that_are_none_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert stream(*SEQUENCE, "--bounds", "1e15", "1000000000000001", "--bins", "20") == 2
    assert "20 bins do not fit between the bounds" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, said",
    [
        ([*SEQUENCE, "--bounds", "0", "1", "--bins", "100000000000"], "bins are more than 4096; give fewer"),
        ([*SEQUENCE, "--bounds", "0", "1", "--successive", "100000000000"], "are more than 1048576; give fewer"),
        ([*TOTALS, "--last-windows", "100000000000"], "would keep more than 4194304; give fewer"),
        ([*TOTALS, "--windows", "100000000000000000000"], "more than 4294967296 are none; leave it out"),
        ([*TOTALS, "--windows", "1000000000000", "--delta", "1e-6"], "more than 4294967296 are none; leave it out"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_sizes_that_no_machine_has_are_refused(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert stream(*options) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "options, what",
    [
        (
            ["--publisher", "statistics", "--column", "watts,second", "--schema", "feed.toml"],
            "statistics of watts, second",
        ),
        ([*TOTALS, *CLOCK], "clock-totals of watts"),
        ([*SEQUENCE, "--bounds", "0", "100"], "w-event of watts"),
    ],
    ids=["statistics", "totals", "w-event"],
)
@pytest.mark.usefixtures("folder")
def test_a_ledger_names_the_publisher_and_the_columns_of_the_source(options: list[str], what: str) -> None:
    made = ["budget", "create", "l", "--data", "feed.csv", "--schema", "feed.toml", "--epsilon", "9"]
    assert run([*made, "--neighbours", "value"]) == 0
    assert stream(*options, "--ledger", "l") == 0
    entries = list(Ledger.open("l").entries())
    assert len(entries) == 1
    assert f": {what}, " in entries[0].question


@pytest.mark.usefixtures("folder")
def test_a_column_may_have_the_name_of_one_that_leaves_beside_others() -> None:
    assert (
        stream("--publisher", "w-event", "--column", "window_start", "--bounds", "0", "10", "--bins", "2", *CLOCK) == 0
    )
    names = ["window_start_0_to_5", "window_start_5_to_10", "window_start", "group", "size", "seq"]
    assert pl.read_csv("out.csv").columns == names


@pytest.mark.usefixtures("folder")
def test_a_column_that_would_leave_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert stream("--publisher", "rank", "--column", "window_start", "--bounds", "0", "10", *CLOCK) == 2
    assert "a column 'window_start' cannot be published" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_columns_whose_names_read_like_other_statistics_are_told_apart() -> None:
    odd = "watts at 0.0 50.0 75.0 100.0"
    lines = [f"10,{90 + at % 10}" for at in range(60)]
    Path("feed.csv").write_text("\n".join([f"watts,{odd}", *lines]) + "\n")
    asked = ["--statistics", "histogram, median of watts at 50 75", "--quantiles-by", "histogram", "--bins", "2"]
    columns = ["--column", f"watts,{odd}", "--bounds", "0", "100", "--delay", "60", "--epsilon", "500"]
    assert stream("--publisher", "statistics", *columns, *asked) == 0
    rows = pl.read_csv("out.csv").filter(pl.col("column") == odd)
    assert [round(value, -1) for value in rows["value"].to_list()] == [0, 60]  # its own two bins


def test_a_publisher_whose_windows_a_clock_ends_is_not_audited_by_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["audit", "stream", "--publisher", "w-event", "--trials", "100"]) == 2
    assert "w-event cannot be audited by its name" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_refused_stream_leaves_no_checkpoint() -> None:
    nothing = [*TOTALS[:2], "--column", "nothing", "--bounds", "0", "1", "--checkpoint", "kept"]
    assert stream(*nothing) == 2
    assert not Path("kept").exists()
    Path("kept").mkdir()
    assert stream(*nothing) == 2
    assert Path("kept").is_dir()  # somebody else made it


def test_a_lock_on_a_file_that_was_taken_away_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, true_lock = Path("kept"), os.open(folder / "another", os.O_CREAT)
    monkeypatch.setattr("sfumato.core.files.durable.open_lock", lambda _: os.dup(true_lock))
    kept.mkdir()
    (kept / ".lock").touch()
    with pytest.raises(InputError, match="is in use by another process"), hold_folder(kept, "checkpoint", "checkpoint"):
        pass
    os.close(true_lock)
