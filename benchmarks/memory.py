"""The memory of a whole `sfumato anonymize`, CSV in and out with card and attacks, beside the size of its file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measure import NotMeasuredError, Part, Row

ROWS = 5_000_000
ILLNESSES = ("flu", "gout", "cold", "asthma", "none", "cancer", "fracture")
ASKED = ("--quasi", "age,sex,zip", "--sensitive", "ill", "--k", "5", "--l", "2")
GIGABYTES = 0.8
HERE = Path(__file__).parent
CHILD = "import measure, sys; from sfumato.cli.main import run; print(run(sys.argv[1:]), measure.peak_kib())"


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    """Return an integer and three columns of text, 17 bytes a row in CSV; postal codes begin with a zero."""
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(16, 95, rows),
            "sex": pl.Series(["F", "M"]).gather(draw.integers(0, 2, rows)),
            "zip": pl.Series([f"0{code}" for code in range(1000, 1100)]).gather(draw.integers(0, 100, rows)),
            "ill": pl.Series(ILLNESSES).gather(draw.integers(0, len(ILLNESSES), rows)),
        }
    )


def against_the_file(*, report: bool) -> Row:
    """Return the most that a process of its own holds, in GB."""
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "people.csv", Path(name) / "out.csv"
        people(ROWS).write_csv(source)
        further = ["--report", str(Path(name) / "report.html")] if report else []
        command = [sys.executable, "-c", CHILD, "anonymize", str(source), "-o", str(target), *ASKED, *further]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
        size = source.stat().st_size
    status, kib = done.stdout.split()[-2:]
    if status != "0":
        raise NotMeasuredError(f"anonymize ended with {status}")
    held = int(kib) * 1024
    return Row(
        f"anonymize, 5M rows from CSV to CSV{' with a report' * report}, peak memory in GB",
        f"{held / 1e9:.2f} GB, {held / size:.1f} times the file",
        f"{GIGABYTES:g} GB; the file has {size / 1e6:.0f} MB",
        held / 1e9,
        GIGABYTES,
        at_most=True,
    )


PARTS = (
    Part("memory of anonymize beside its file", lambda: [against_the_file(report=report) for report in (False, True)]),
)
