"""The record of the scale benchmark, `scale.json`: the machine, how Spark was set up, and what every job measured."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "scale.json"
VERSIONS = ("pyspark", "polars", "numba", "numpy")


@dataclass(frozen=True)
class ScaleRecord:
    """One run of all jobs: each has its name under `job`, its rows, and what it measured."""

    machine: dict[str, Any]
    sizes: tuple[int, int]
    cores: int
    runs: tuple[dict[str, Any], ...]

    def all(self, job: str) -> list[dict[str, Any]]:
        """Return the runs of a job, the one of fewest rows first."""
        found = [run for run in self.runs if run["job"] == job]
        if not found:
            raise ValueError(f"the record has no run of '{job}'")
        return sorted(found, key=lambda run: int(run["rows"]))

    def one(self, job: str, rows: int) -> dict[str, Any]:
        """Return the run of a job over so many rows."""
        return next(run for run in self.all(job) if run["rows"] == rows)


def as_text(record: ScaleRecord) -> str:
    """Return a record as the text of `scale.json`."""
    return json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n"


def from_text(text: str) -> ScaleRecord:
    """Return the record that a text of `scale.json` holds."""
    plain = json.loads(text)
    small, large = plain["sizes"]
    return ScaleRecord(plain["machine"], (small, large), plain["cores"], tuple(plain["runs"]))


def machine() -> dict[str, Any]:
    """Return the machine as plain data."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return {
        "cpu": next(names, platform.machine()),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "java": _java(),
        "versions": {name: version(name) for name in VERSIONS},
    }


def _java() -> str:
    """Return the version that Java tells of itself."""
    program = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    said = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=True).stderr
    return said.partition('"')[2].partition('"')[0]
