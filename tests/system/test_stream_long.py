"""Streams under what happens to processes: hundreds of kills at random instants, and a hundred million records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RECORDS = 100_000
KILLER = Path(__file__).with_name("stream_killer.py")
MANY = 100_000_000
LIMIT_KIB = 450_000


def killed(folder: Path, name: str, way: str, seed: int) -> list[bytes]:
    """Kill a stream at random until it is done; return what could be read of its output after each death."""
    command = [sys.executable, str(KILLER), str(folder), name, way, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not (folder / "error.txt").exists(), (folder / "error.txt").read_text()
    assert json.loads(done.stdout)["kills"] >= 15
    return [file.read_bytes() for file in sorted(folder.glob("seen-*"))]


@pytest.mark.long
@pytest.mark.parametrize("name", ["laplace", "doca", "rank", "linked"])
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_instant_a_file_keeps_every_row_that_left(tmp_path: Path, name: str, seed: int) -> None:
    seen = killed(tmp_path, name, "file", seed)
    final = (tmp_path / "out.csv").read_bytes()
    assert all(final.startswith(left) for left in seen)
    rows = final.splitlines()[1:]
    assert [int(row.split(b",")[3]) for row in rows] == list(range(RECORDS))
    if name != "rank":
        assert sorted(int(row.split(b",")[4]) for row in rows) == list(range(RECORDS))


@pytest.mark.long
@pytest.mark.parametrize("name", ["laplace", "doca", "rank", "linked"])
def test_killed_at_any_instant_a_pipe_repeats_rows_but_never_changes_one(tmp_path: Path, name: str) -> None:
    rows: dict[int, bytes] = {}
    repeated = 0
    for left in killed(tmp_path, name, "pipe", 3):
        for row in left.splitlines():
            if row.startswith(b"hours"):
                continue
            seq = int(row.split(b",")[3])
            repeated += seq in rows
            assert rows.setdefault(seq, row) == row
    assert sorted(rows) == list(range(RECORDS))
    assert repeated > 0


@pytest.mark.long
def test_a_hundred_million_records_take_no_more_memory_than_the_first_few(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 60000, 999_998)
    block = b"".join([b"%d\n" % value for value in values.tolist()] + [b"x\n", b"1,2\n"])  # and two bad ones
    command = [sys.executable, "-m", "sfumato", "stream", "-", "-o", "-", "--card", "card.json", "--column", "hours"]
    options = ["--publisher", "rank", "--bounds", "0", "99618", "--checkpoint", "kept", "--parse-report", "report.json"]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen([*command, *options], cwd=tmp_path, stdin=pipe, stdout=nothing, stderr=pipe) as process:
        assert process.stdin is not None
        process.stdin.write(b"hours\n")
        early = 0
        for written in range(0, MANY, 1_000_000):
            process.stdin.write(block)
            if written == MANY // 10:
                early = _peak_kib(process.pid)
        late = _peak_kib(process.pid)
        process.stdin.close()
        assert process.wait() == 0
    assert json.loads((tmp_path / "card.json").read_text())["released"]["rows"] == MANY
    assert json.loads((tmp_path / "report.json").read_text())["intake"]["broken"]["cells"] == MANY // 1_000_000
    assert late <= LIMIT_KIB
    assert late <= early + 32_000


def _peak_kib(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
