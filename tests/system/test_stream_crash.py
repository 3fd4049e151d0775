"""A stream survives a crash at every single step to the disk: same groups, same values, no record lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.stream import NaiveLaplace, Publisher
from sfumato.stream.publishers.doca import DOCA
from sfumato.stream.publishers.rank import RankWindows
from sfumato.stream.runtime.hooks import Hooks, Pace
from sfumato.stream.runtime.job import Job
from sfumato.stream.screens.base import NumberScreen, OnBad

RECORDS = 23
PUBLISHERS: dict[str, Callable[[], Publisher]] = {
    "laplace": lambda: NaiveLaplace(bounds=(0, 100)),
    "doca": lambda: DOCA(sensitivity=100, delay=5, beta=3),
    "rank": lambda: RankWindows(bounds=(0, 100), window=4, epsilon=1.0, block=2),
}


class CrashError(BaseException):
    """Stands for the moment the power goes."""


class Disk:
    """Fails at the given step, a write with half of its bytes done: for good if the power goes, once if it is full."""

    def __init__(self, steps: int, *, full: bool) -> None:
        self.left, self.full = steps, full

    def step(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and real is os.write:
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if self.left == 0 and self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            if self.left <= 0 and not self.full:
                raise CrashError
            return real(*arguments, **named)

        return run


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 16)


def job(folder: Path, name: str, source: str = "in.csv", target: str = "out.csv") -> Job:
    aside = OnBad("quarantine", folder / "bad.jsonl") if name == "doca" else OnBad()
    screen = NumberScreen({"hours": None if name == "doca" else (0.0, 100.0)}, aside)
    return Job(folder / source, folder / target, PUBLISHERS[name](), screen, folder / "kept", pace=Pace(3, 1000.0))


def rows(file: Path) -> dict[int, tuple[str, ...]]:
    """Return the complete rows of an output file by seq, as they are written."""
    if not file.exists():
        return {}
    lines = file.read_text().rpartition("\n")[0].splitlines()[1:]
    return {int(cells[3]): cells for cells in (tuple(line.split(",")) for line in lines)}


def crashed(folder: Path, name: str, steps: int, *, full: bool) -> bool:
    """Run until the disk fails at a step; return whether it failed before the stream was done."""
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(steps, full=full)
        for real in ("write", "fsync", "fdatasync", "ftruncate"):
            patch.setattr(os, real, disk.step(getattr(os, real)))
        patch.setattr(Path, "replace", disk.step(Path.replace))
        try:
            job(folder, name).run()
        except (CrashError, InputError):
            return True
    return False


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", PUBLISHERS)
@pytest.mark.usefixtures("small_batches")
def test_a_crash_at_any_step_changes_nothing_that_left(tmp_path: Path, name: str, full: bool) -> None:
    values = np.random.default_rng(1).integers(0, 100, RECORDS).astype(str).tolist()
    values[7] = "x"
    for steps in range(1, 1000):
        folder = tmp_path / str(steps)
        folder.mkdir()
        (folder / "in.csv").write_text("\n".join(["hours", *values]) + "\n")
        if not crashed(folder, name, steps, full=full):
            break
        seen = rows(folder / "out.csv")
        crashed(folder, name, 1 + steps * 7 % 13, full=full)  # and once more, on the way on
        second = rows(folder / "out.csv")
        assert {seq: second[seq] for seq in seen if seq in second} == {seq: seen[seq] for seq in seen if seq in second}
        job(folder, name).run()
        final = rows(folder / "out.csv")
        assert {seq: final[seq] for seq in seen | second} == seen | second
        assert list(final) == list(range(RECORDS - (name == "doca")))
        if name == "doca":
            assert [line["record"] for line in pl.read_ndjson(folder / "bad.jsonl").to_dicts()] == [7]
            assert sorted(int(row[4]) for row in final.values()) == list(range(RECORDS - 1))
    assert steps > 30


def begun(folder: Path, name: str = "rank", text: str | None = None) -> None:
    """Stop a run in the middle of its input."""
    (folder / "in.csv").write_text(text or "hours\n" + "5\n7\n" * 20)
    stops = iter([False, False, True])
    assert not job(folder, name).run(Hooks(stop=lambda: next(stops))).complete


@pytest.mark.usefixtures("small_batches")
def test_another_input_is_refused_and_a_longer_one_is_not(tmp_path: Path) -> None:
    begun(tmp_path)
    before = (tmp_path / "out.csv").read_bytes()
    (tmp_path / "other.csv").write_text("hours\n" + "6\n7\n" * 20)
    with pytest.raises(InputError, match="is not what this checkpoint was reading"):
        job(tmp_path, "rank", "other.csv").run()
    assert (tmp_path / "out.csv").read_bytes() == before
    with (tmp_path / "in.csv").open("a") as file:
        file.write("9\n" * 10)
    assert job(tmp_path, "rank").run().progress.rows == 50
    with (tmp_path / "in.csv").open("a") as file:
        file.write("9\n")
    with pytest.raises(InputError, match="has grown since"):
        job(tmp_path, "rank").run()


@pytest.mark.usefixtures("small_batches")
def test_other_parameters_and_another_output_are_refused(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(InputError, match="publisher was rank, found laplace"):
        job(tmp_path, "laplace").run()
    with pytest.raises(InputError, match="output was"):
        job(tmp_path, "rank", target="second.csv").run()
    assert not (tmp_path / "second.csv").exists()
    assert job(tmp_path, "rank").run().progress.rows == 40


@pytest.mark.usefixtures("small_batches")
def test_an_output_that_was_changed_is_refused(tmp_path: Path) -> None:
    begun(tmp_path)
    (tmp_path / "out.csv").write_text("hours,group,size,seq\n")
    with pytest.raises(InputError, match=r"has 21 bytes where checkpoint .* \(number \d+\) left"):
        job(tmp_path, "rank").run()


@pytest.mark.usefixtures("small_batches")
def test_a_finished_stream_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n" + "5\n7\n" * 20)
    first = job(tmp_path, "rank").run()
    before = (tmp_path / "out.csv").read_bytes()
    again = job(tmp_path, "rank").run()
    assert (again.progress, again.card) == (first.progress, first.card)
    assert (tmp_path / "out.csv").read_bytes() == before


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("target", ["out.parquet", "out.jsonl", "out.csv.gz", "out.tsv"])
def test_every_format_goes_on(tmp_path: Path, target: str) -> None:
    (tmp_path / "in.csv").write_text("hours\n" + "5\n7\n" * 20)
    stops = iter([False, False, True])
    assert not job(tmp_path, "rank", target=target).run(Hooks(stop=lambda: next(stops))).complete
    assert job(tmp_path, "rank", target=target).run().complete
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "parquet": pl.read_parquet,
        "jsonl": pl.read_ndjson,
        "gz": pl.read_csv,
        "tsv": lambda file: pl.read_csv(file, separator="\t"),
    }
    frame = readers[target.rpartition(".")[2]](tmp_path / target)
    assert frame.columns == ["hours", "group", "size", "seq"]
    assert frame["seq"].to_list() == list(range(40))
    beside = {f"{target}{ending}" for ending in (".card.json", ".statement.txt", ".statement.html")}
    assert {file.name for file in tmp_path.iterdir()} == {"in.csv", "kept", target, *beside}


def test_one_checkpoint_for_two_streams_at_once_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n5\n")
    complaints: list[str] = []

    def second() -> bool:
        with pytest.raises(InputError, match="is in use by another process"):
            job(tmp_path, "rank", target="second.csv").run()
        complaints.append("refused")
        return False

    job(tmp_path, "rank").run(Hooks(stop=second))
    assert complaints


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    begun(tmp_path)
    (tmp_path / "kept" / "checkpoint").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        job(tmp_path, "rank").run()


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n5\n")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"is not a checkpoint: it has 'notes.txt'"):
        job(tmp_path, "rank").run()


def test_an_error_before_the_first_record_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("minutes\n5\n")
    with pytest.raises(InputError, match="has no column 'hours'"):
        job(tmp_path, "rank").run()
    assert {file.name for file in tmp_path.iterdir()} == {"in.csv"}
    (tmp_path / "in.csv").write_text("hours\n5\n")
    assert job(tmp_path, "rank").run().complete
