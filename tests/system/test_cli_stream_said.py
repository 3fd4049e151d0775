"""What the stream command says: what one source loses, which column may be a person, which publisher was chosen."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.release import Card
from sfumato.stream import build, publish
from sfumato.stream.runtime.hooks import Hooks, StreamProgress
from sfumato.stream.runtime.job import RUNNING

POWER = ["--column", "watts", "--bounds", "0", "100", "--delay", "20"]
MANY = "Protected is one record: ε = 1. Losses add up: a person, house or device with 10 records loses up to ε = 10, "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{place * 3600},h{place % 3},{place % 97}\n" for place in range(100))
    (tmp_path / "in.csv").write_text("time,house_id,watts\n" + rows)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[str], Card]:
    """Publish the feed; return what was said beside the rows, and the card."""
    capsys.readouterr()
    assert run(["stream", "in.csv", "-o", "out.csv", *POWER, *options]) == 0
    card = Card.from_json(Path("out.csv.card.json").read_bytes())
    for file in Path().glob("out.csv*"):
        file.unlink()
    return capsys.readouterr().err.splitlines(), card


@pytest.mark.parametrize("publisher", ["rank", "adaptive", "linked", "laplace"])
def test_event_level_says_what_many_records_lose(
    folder: Path, capsys: pytest.CaptureFixture[str], publisher: str
) -> None:
    assert folder.exists()
    options = [] if publisher == "laplace" else ["--delay", "20"]
    capsys.readouterr()
    given = ["stream", "in.csv", "-o", "out.csv", *POWER[:5], *options, "--publisher", publisher]
    assert run(given) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(MANY)
    card = Card.from_json(Path("out.csv.card.json").read_bytes())
    assert card.assumptions[0] == lines[0]


def test_a_column_that_may_be_a_person_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    question = (
        "column 'house_id' may tell persons apart; give --person house_id to protect them, or --events to protect "
        "single records"
    )
    assert question in said(capsys, "--publisher", "rank")[0]
    assert question not in said(capsys, "--publisher", "rank", "--events")[0]
    assert question not in said(capsys, "--publisher", "doca", "--beta", "5")[0]  # which promises no ε
    lines, card = said(capsys, "--publisher", "rank", "--person", "house_id", "--per-person", "5")
    assert question not in lines
    assert "Protected is one person ('house_id'): ε = 5 over the whole stream." in lines
    assert not any(note.startswith("Protected is one record") for note in card.assumptions)


def test_persons_and_events_contradict_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["stream", "in.csv", "-o", "out.csv", *POWER, "--publisher", "rank", "--person", "house_id", "--events"]
    assert run(given) == 2
    assert "--events protects single records and --person persons" in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["in.csv"]


def test_the_choice_of_auto_is_said_with_its_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.exists()
    lines, card = said(capsys, "--keep", "order")
    assert lines[0].startswith("Publisher chosen by auto: linked: predicted mean squared error")
    assert card.assumptions[0] == lines[0]
    assert not said(capsys, "--publisher", "rank")[0][0].startswith("Publisher chosen")


HOURS = ["--every", "1h", "--time", "time", "--from", "1970-01-01", "--until", "1970-01-05T04:00:00Z"]


def test_empty_windows_stay_and_a_group_is_its_hour(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = {40, 41, 77}
    rows = "".join(f"{hour * 3600 + 9},50\n" * 8 for hour in range(100) if hour not in gone)
    (folder / "in.csv").write_text("time,watts\n" + rows)
    given = ["stream", "in.csv", *POWER[:5], "--publisher", "rank", *HOURS, "--epsilon", "500"]
    for name in ("out.csv", "out.jsonl", "out.parquet"):
        assert run([*given, "-o", name]) == 0
        read = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[name.partition(".")[2]]
        frame = read(name)  # type: ignore[operator]
        assert frame["group"].unique(maintain_order=True).to_list() == list(range(100))
        starts = frame["window_start"].unique(maintain_order=True)
        assert starts.to_list() == [f"1970-01-0{1 + hour // 24}T{hour % 24:02d}:00:00Z" for hour in range(100)]
        silent = frame.filter(pl.col("watts").is_null())
        assert silent.select("group", "size").rows() == [(hour, 0) for hour in sorted(gone)]
        assert frame["seq"].drop_nulls().to_list() == list(range(97 * 8))
    told = capsys.readouterr().out
    assert told.startswith("776 rows in 100 groups, 3 of them without a row, written to out.csv\n")


def test_empty_windows_survive_a_restart(folder: Path) -> None:
    whole = "time,watts\n" + "".join(f"{hour * 3600 + 9},50\n" * 8 for hour in range(0, 100, 3))
    (folder / "in.csv").write_text(whole + "6" * (5 << 20))
    given = ["stream", "in.csv", "-o", "out.csv", *POWER[:5], "--publisher", "rank", *HOURS, "--epsilon", "500"]
    assert run([*given, "--checkpoint", "kept"]) == 2
    (folder / "in.csv").write_text(whole)
    assert run([*given, "--checkpoint", "kept"]) == 0
    frame = pl.read_csv("out.csv")
    assert frame["group"].unique(maintain_order=True).to_list() == list(range(100))
    assert frame.filter(pl.col("size") == 0).height == 66
    before = (folder / "out.csv").read_bytes()
    assert run([*given, "--checkpoint", "kept"]) == 0
    assert (folder / "out.csv").read_bytes() == before


def test_the_card_is_there_from_the_first_window_on(folder: Path) -> None:
    seen: list[tuple[int, Card]] = []

    def listen(progress: StreamProgress) -> None:
        if Path("out.csv.card.json").exists():
            seen.append((progress.rows, Card.from_json(Path("out.csv.card.json").read_bytes())))

    (folder / "log.csv").write_text("watts\n" + "5\n" * 50)
    looks = iter(range(100))
    hooks = Hooks(listen=listen, stop=lambda: next(looks) >= 2)
    setup = build("rank", ["watts"], bounds=(0, 100), delay=20)
    outcome = publish("log.csv", "out.csv", setup, follow=True, hooks=hooks)
    rows, card = seen[0]
    assert (rows, card.released.rows, card.released.sha256) == (40, 40, None)
    assert RUNNING in card.warnings
    assert RUNNING not in outcome.card.warnings
    assert outcome.card.released.sha256 is not None
