"""A stream that is asked to stop, at any moment: whole windows, a card that fits them, and nothing lost."""

from __future__ import annotations

import hashlib
import math
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from sfumato.release import Card

WINDOW, STOPS, PATIENCE = 500, 4, 60.0
COMMAND = [sys.executable, "-m", "sfumato", "stream", "in.csv", "-o", "out.csv", "--column", "hours"]
OPTIONS = ["--bounds", "0", "99", "--publisher", "rank", "--delay", str(WINDOW), "--events", "--checkpoint", "kept"]


def refuse_halves(folder: Path, come: int) -> int:
    """Check what a stopped stream has left of the records that came; return the number of rows."""
    rows = pl.read_csv(folder / "out.csv")
    groups = rows.group_by("group").agg(pl.len().alias("rows"), pl.col("size").first())
    assert groups.filter(pl.col("rows") != pl.col("size")).is_empty()
    assert groups.filter(pl.col("size") != WINDOW).height <= (rows.height == come)
    assert rows["seq"].to_list() == list(range(rows.height))
    card = Card.read(folder / "out.csv.card.json")
    assert card.released.rows == rows.height
    assert card.released.sha256 == hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest()
    told = (folder / "out.csv.statement.txt").read_text()
    assert f"{rows.height:,} rows so far" in told
    return rows.height


def stop_amid_records(process: subprocess.Popen[bytes], folder: Path, come: int, delay: float) -> int:
    """Append records until a stream that is asked to stop has ended; return how many there are then."""
    released = (folder / "out.csv").stat().st_size if (folder / "out.csv").exists() else 100
    until, asked = time.monotonic() + PATIENCE, math.inf
    with (folder / "in.csv").open("a") as feed:
        while process.poll() is None:
            feed.writelines(f"{number % 100}\n" for number in range(come, come + 313))
            feed.flush()
            come += 313
            time.sleep(0.01)
            now = time.monotonic()
            assert now < until, "the stream does not stop"
            if asked == math.inf and (folder / "out.csv").exists() and (folder / "out.csv").stat().st_size > released:
                asked = now + delay
            if now >= asked:
                process.send_signal(signal.SIGTERM)
                return come
    return come


@pytest.mark.long
def test_a_stop_at_any_moment_leaves_whole_windows_and_loses_no_record(tmp_path: Path) -> None:
    draw = random.Random(7)  # noqa: S311
    (tmp_path / "in.csv").write_text("hours\n")
    rows, before, come = [], b"", 0
    for _ in range(STOPS):
        with subprocess.Popen([*COMMAND, *OPTIONS, "--follow"], cwd=tmp_path, stderr=subprocess.PIPE) as process:
            come = stop_amid_records(process, tmp_path, come, draw.uniform(0, 0.6))
            said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 130
        assert b"are held in checkpoint 'kept'; the same command goes on from there" in said
        rows.append(refuse_halves(tmp_path, come))
        after = (tmp_path / "out.csv").read_bytes()
        assert after.startswith(before)
        before = after
    assert subprocess.run([*COMMAND, *OPTIONS], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert refuse_halves(tmp_path, come) == come
    assert sorted(set(rows)) == rows  # every run has released something


@pytest.mark.long
def test_a_second_stop_ends_at_once_and_the_same_command_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n" + "5\n" * (3 * WINDOW + 7))
    followed = [*COMMAND, *OPTIONS, "--follow"]
    with subprocess.Popen(followed, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "out.csv.card.json").exists() and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert b"interrupted" in said
    assert b"Traceback" not in said
    assert subprocess.run([*COMMAND, *OPTIONS], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert pl.read_csv(tmp_path / "out.csv").height == 3 * WINDOW + 7
