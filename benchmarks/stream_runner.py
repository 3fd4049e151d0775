"""Streams end to end through the command line: a wide CSV file, one column of it, with and without a checkpoint."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from measure import Part, Row, once

RECORDS = 2_000_000
BLOCK = 1000
COLUMN = "smart_9_raw"
OPTIONS = ["--column", COLUMN, "--publisher", "rank", "--bounds", "0", "99618", "--delay", "1000"]


def wide_csv(path: Path) -> None:
    """Write a file like Backblaze's daily logs: 95 columns, half of the readings empty, about 370 bytes a line."""
    draw = np.random.default_rng(1)
    readings = [f"smart_{number}_{kind}" for number in range(1, 46) for kind in ("normalized", "raw")]
    header = ",".join(["date", "serial_number", "model", "capacity_bytes", "failure", *readings])
    lines = []
    for drive in range(BLOCK):
        values = np.where(draw.random(90) < 0.5, "", draw.integers(0, 60000, 90).astype(str))
        values[readings.index(COLUMN)] = str(draw.integers(1, 60000))
        lines.append(f"2016-09-01,MJ0351YNG{drive:05d},Hitachi HDS5C3030ALA630,3000592982016,0,{','.join(values)}\n")
    block = "".join(lines)
    with path.open("w") as file:
        file.write(header + "\n")
        for _ in range(RECORDS // BLOCK):
            file.write(block)


def seconds(folder: Path, *more: str) -> float:
    """Return the seconds of the shortest of three runs of the command, from its start to its end."""
    times = []
    for attempt in range(3):
        target = folder / f"out-{len(more)}-{attempt}.csv"
        kept = [word.replace("ATTEMPT", str(attempt)) for word in more]
        command = [
            sys.executable,
            "-m",
            "sfumato",
            "stream",
            str(folder / "in.csv"),
            "-o",
            str(target),
            *OPTIONS,
            *kept,
        ]
        times.append(once(partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)))
    return min(times)


def command_line() -> list[Row]:
    """Return the speed of the command, start included, and what a checkpoint adds to its time."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wide_csv(folder / "in.csv")
        plain = seconds(folder)
        kept = seconds(folder, "--checkpoint", str(folder / "kept-ATTEMPT"))
    speed = RECORDS / plain
    name = f"stream of {RECORDS:,} records, one of 95 columns, command line"
    return [
        Row(name, f"{speed:,.0f} records/s", "goal, 500,000 records/s", speed / 500_000, 1, at_most=False),
        Row(f"{name}, checkpoint", f"{kept:.2f} s", f"without, {plain:.2f} s", kept / plain, 1.15, at_most=True),
    ]


PARTS = (Part("a stream through the command line", command_line),)
