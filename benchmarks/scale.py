"""Run the scale benchmark, each job in a process of its own, write the record and fill the page from it.

`python benchmarks/scale.py [SMALL LARGE]`: rows of the two tables, 10 and 100 million unless given. Folders go to the
place that TMPDIR names and are removed as soon as no job needs them. `python benchmarks/scale.py --update JOB` measures
one job anew, and what it measured takes its place in the record.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
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
from scale_record import FILE, ScaleRecord, as_text, from_text, machine

JOB = Path(__file__).with_name("scale_job.py")
KEPT = FILE.with_suffix(".kept.json")  # of a run that was stopped
SIZES = (10_000_000, 100_000_000)
CORES = 2
COMPARED, TIMES, SHORT = ("bare", "table"), 3, 20_000_000  # jobs that run so often, up to so many rows
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
        if job.startswith("generate"):
            run(job, rows, folder)
            continue
        made = set(folder.iterdir())
        found = []
        for _ in range(TIMES if job in COMPARED and rows <= SHORT else 1):
            found.append(run(job, rows, folder))
            clear(set(folder.iterdir()) - made)
        yield middle(found)
    clear(set(folder.iterdir()))


def clear(places: set[Path]) -> None:
    """Remove files and folders."""
    for place in places:
        shutil.rmtree(place) if place.is_dir() else place.unlink()


def middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one run out of several of the same job: the median of every number, and how many there were."""
    numbers = {name for name, value in runs[0].items() if isinstance(value, int | float)}
    return runs[0] | {name: statistics.median(run[name] for run in runs) for name in numbers} | {"runs": len(runs)}


def plans(small: int, large: int) -> list[list[tuple[str, int]]]:
    """Return what runs, group by group; the longest, polishing to the very end, comes last."""
    few, fewer, points, fewest = small // 10, small // 40, small // 10, small // 50
    return [
        [("generate", small // 4), ("single", small // 4)],
        [("generate", small), *((job, small) for job in ("single", "bare", "table", "query"))],
        [("generate", large), *((job, large) for job in ("bare", "table", "query"))],
        [("generate_wide", small), ("wide", small), ("parts", small)],
        [("generate_records", few), ("stream", few), ("generate_records", fewer), ("stream", fewer)],
        [("generate_records", few), ("topic", few), ("generate_records", fewest), ("topic", fewest)],
        [("generate_points", points), ("blocks", points), ("single_blocks", points)],
    ]


def measured(small: int, large: int) -> ScaleRecord:
    """Return the record of all jobs, those kept of a run that was stopped included."""
    record = started((small, large))
    for plan in plans(small, large):
        wanted = [(job, rows) for job, rows in plan if not done(record, job, rows)]
        if all(job.startswith("generate") for job, _ in wanted):
            continue
        if plan[0] == ("generate", large) and fits(record, large):
            wanted = [*wanted, ("single", large)]
        with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as place:
            for found in jobs(Path(place), wanted):
                record = replace(record, runs=(*record.runs, found))
                KEPT.write_text(as_text(record), encoding="utf-8")
    return record


def started(sizes: tuple[int, int]) -> ScaleRecord:
    """Return the record to go on with: that of a stopped run of the same sizes on this machine, or an empty one."""
    fresh = ScaleRecord(machine(), sizes, CORES, ())
    kept = from_text(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else fresh
    return kept if (kept.machine, kept.sizes) == (fresh.machine, sizes) else fresh


def done(record: ScaleRecord, job: str, rows: int) -> bool:
    """Return whether a job was measured already."""
    return any((run["job"], run["rows"]) == (job, rows) for run in record.runs)


def fits(record: ScaleRecord, large: int) -> bool:
    """Return whether the memory may suffice to try the large table on the single machine."""
    needed = single(record).bytes.at(large)
    say(f"the single machine would need {needed / 2**30:.0f} GiB for {large:,} rows")
    return needed < ROOM * int(record.machine["memory_bytes"]) and not done(record, "single", large)


def update(job: str) -> None:
    """Measure one job anew and put what it measured into the record and the page."""
    record = from_text(FILE.read_text(encoding="utf-8"))
    plan = next(plan for plan in plans(*record.sizes) if any(name == job for name, _ in plan))
    wanted = [(name, rows) for name, rows in plan if name == job or name.startswith("generate")]
    with tempfile.TemporaryDirectory(prefix="sfumato-scale-") as place:
        found = tuple(jobs(Path(place), wanted))
    record = replace(record, runs=(*(run for run in record.runs if run["job"] != job), *found))
    FILE.write_text(as_text(record), encoding="utf-8")
    scale_page.write(record)


def main(arguments: list[str]) -> None:
    """Measure, record, fill the page."""
    if arguments[:1] == ["--update"]:
        update(arguments[1])
        return
    small, large = (int(text) for text in arguments) if arguments else SIZES
    record = measured(small, large)
    FILE.write_text(as_text(record), encoding="utf-8")
    scale_page.write(record)
    KEPT.unlink(missing_ok=True)
    print("\n".join(goal_lines(record)))


if __name__ == "__main__":
    main(sys.argv[1:])
