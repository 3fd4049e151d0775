"""Run the scale benchmark, each job in a process of its own, write the record and fill the page from it.

`python benchmarks/scale.py [SMALL LARGE]`: rows of the two tables, 10 and 100 million unless given. Folders go to the
place that TMPDIR names and are removed as soon as no job needs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import scale_page
from scale_goals import goal_lines
from scale_model import single
from scale_record import FILE, ScaleRecord, as_text, machine

JOB = Path(__file__).with_name("scale_job.py")
SIZES = (10_000_000, 100_000_000)
CORES = 2
ROOM = 0.6  # of the memory that the single machine may be expected to fill


def say(text: str) -> None:
    """Show progress beside the output."""
    print(text, file=sys.stderr, flush=True)


def run(job: str, rows: int, folder: Path) -> dict[str, Any]:
    """Return what one job measured."""
    say(f"{job}, {rows:,} rows …")
    start = time.perf_counter()
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(folder / "spill"), "POLARS_MAX_THREADS": str(CORES)}
    done = subprocess.run(
        [sys.executable, str(JOB), job, str(rows), str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{job} of {rows:,} rows failed with {done.returncode}; its error is above")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    say(f"    {found['seconds']:.1f} s, {time.perf_counter() - start:.0f} s with its start")
    shutil.rmtree(folder / "spill", ignore_errors=True)
    return {"job": job, "rows": rows, **found}


def jobs(folder: Path, plan: list[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield what the jobs of a plan measured, in a folder that is empty afterwards; `generate…` measures nothing."""
    for job, rows in plan:
        before = set(folder.iterdir())
        found = run(job, rows, folder)
        if job.startswith("generate"):
            continue
        yield found
        for left in set(folder.iterdir()) - before:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def plans(small: int, large: int) -> list[list[tuple[str, int]]]:
    """Return what runs, group by group; the longest, polishing to the very end, comes last."""
    few, fewer = small // 10, small // 40
    return [
        [("generate_records", few), ("stream", few), ("generate_records", fewer), ("stream", fewer)],
        [("generate", small // 4), ("single", small // 4)],
        [("generate_wide", small), ("wide", small)],
        [("generate", small), *((job, small) for job in ("single", "bare", "table", "query", "parts"))],
        [("generate", large), *((job, large) for job in ("bare", "table", "query"))],
        [("generate_points", few), ("blocks", few), ("single_blocks", few)],
    ]


def measured(small: int, large: int) -> ScaleRecord:
    """Return the record of all jobs; the large table is tried on the single machine too if its memory may suffice."""
    record = ScaleRecord(machine(), (small, large), CORES, ())
    with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as place:
        folder = Path(place)
        for plan in plans(small, large):
            wanted = plan
            if plan[0] == ("generate", large):
                needed = single(record).bytes.at(large)
                fits = needed < ROOM * record.machine["memory_bytes"]
                say(f"the single machine would need {needed / 2**30:.0f} GiB for {large:,} rows")
                wanted = [*plan, ("single", large)] if fits else plan
            record = replace(record, runs=(*record.runs, *jobs(folder, wanted)))
    return record


def main(arguments: list[str]) -> None:
    """Measure, record, fill the page."""
    small, large = (int(text) for text in arguments) if arguments else SIZES
    record = measured(small, large)
    FILE.write_text(as_text(record), encoding="utf-8")
    scale_page.write(record)
    print("\n".join(goal_lines(record)))


if __name__ == "__main__":
    main(sys.argv[1:])
