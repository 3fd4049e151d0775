"""ARX, where SFUMATO_ARX names its jar (with all it needs): our driver asks it for one node or for local recoding."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from measure import NotMeasuredError

import sfumato as sf

DRIVER = Path(__file__).parent / "peers" / "arx" / "Anonymize.java"


def recode(
    table: pl.DataFrame, trees: Mapping[str, sf.Hierarchy], iterations: int, *models: str
) -> tuple[pl.DataFrame, float]:
    """Return what ARX releases by local recoding, and the CPU seconds of its process; models are words such as k=5."""
    return released(table, trees, f"iterations={iterations}", *models)


def one_node(
    table: pl.DataFrame, trees: Mapping[str, sf.Hierarchy], search: str, suppress: float, *models: str
) -> tuple[pl.DataFrame, float]:
    """Return what ARX releases by one node of the lattice, and the CPU seconds; the search is optimal or genetic."""
    return released(table, trees, f"search={search}", f"suppress={suppress}", *models)


def released(table: pl.DataFrame, trees: Mapping[str, sf.Hierarchy], *asked: str) -> tuple[pl.DataFrame, float]:
    """Return what ARX releases, and the CPU seconds of its whole process, for words that the driver reads."""
    if "SFUMATO_ARX" not in os.environ:
        raise NotMeasuredError("ARX is not at hand: SFUMATO_ARX names no jar")
    with tempfile.TemporaryDirectory() as place:
        raw, out = Path(place) / "raw.csv", Path(place) / "out.csv"
        table.write_csv(raw)
        for name, tree in trees.items():
            rows = pl.DataFrame([list(path) for path in tree.paths], orient="row")
            rows.write_csv(Path(place) / f"{name}.csv", include_header=False)
        before = _children()
        words = [str(DRIVER), str(raw), place, str(out), *asked]
        try:
            command = ["java", "-cp", os.environ["SFUMATO_ARX"], *words]
            subprocess.run(command, capture_output=True, check=True, text=True)
        except OSError as problem:
            raise NotMeasuredError(f"ARX cannot be started: {problem.strerror}") from problem
        except subprocess.CalledProcessError as problem:
            raise NotMeasuredError(f"ARX fails: {reason_in(problem.stderr)}") from problem
        return pl.read_csv(out, infer_schema=False), _children() - before


def reason_in(said: str) -> str:
    """Return the line of a Java program's complaint that names the exception, without places on this machine."""
    lines = [line for line in said.splitlines() if "Exception" in line or "Error" in line]
    return lines[0].rpartition('" ')[2] if lines else "it says nothing"


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
