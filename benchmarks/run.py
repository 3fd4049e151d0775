"""Run every benchmark, peers in their own environment, and write the table of ratios to docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import audit
import lattice
import ledger
import local
import microaggregation
import mondrian
import noise
import query
import stream_paper
import stream_private
import stream_runner
from measure import Row

HERE = Path(__file__).parent
PEERS = {"SFUMATO_PEERS": "peers", "SFUMATO_PEERS_OPENDP": "peers_opendp"}
PAGE = HERE.parent / "docs" / "benchmarks.md"
INTRODUCTION = """\
# Benchmarks

Written by `make bench`; every ratio comes from one run on one machine, ours and the reference side by side.
Times are the best of five after a warm-up, or of one run where it takes many seconds. `anonymize` includes coding,
cuts, recoding, the check of the output and the secure shuffle.

Data: Mondrian, Datafly and CSV rows have integer columns age 16-94, sex 1-2, education 1-17, birthplace 1-57, uniform
and independent, k = 10; microaggregation has Gaussian columns; Adult and the SMART 9 readings are read from
`SFUMATO_DATA`. A question's time includes ledger, rows, noise and the stored answer, without the beat on which answers
leave; streams include their noise.

"""


def install_peers(name: str) -> Path:
    """Make an environment of peers from its own lock file, once; return its folder."""
    place = HERE.parent / f".venv-{name.replace('_', '-')}"
    ready = place / ".ready"
    lock = HERE / f"{name}.lock"
    if not ready.exists() or ready.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run([os.environ.get("PYTHON", sys.executable), "-m", "venv", "--clear", str(place)], check=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(lock)]
        subprocess.run(pip, check=True)
        ready.touch()
    return place


def machine() -> str:
    """Return one line about the machine."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | ours | reference | ratio | goal | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        goal = f"{'≤' if row.at_most else '≥'} {row.goal:g}"
        lines.append(
            f"| {row.name} | {row.ours} | {row.reference} | {row.ratio:.3g} | {goal} | {'yes' if row.met else 'no'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, print, write."""
    for variable, name in PEERS.items():
        os.environ[variable] = str(install_peers(name))
    tables = [mondrian, lattice, microaggregation]
    doors = [*tables, query, ledger, local, noise, stream_paper, stream_private, stream_runner, audit]
    text = table([row for door in doors for row in door.rows()])
    PAGE.write_text(f"{INTRODUCTION}{text}\nMachine: {machine()}.\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
