"""Lattice searches: one node against a group-by, Incognito on Adult, Datafly on a million rows; ratios in one run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato import hierarchy_builders as build
from sfumato.tabular import Datafly, Incognito
from sfumato.tabular.datafly import datafly
from sfumato.tabular.lattice import Lattice
from sfumato.tabular.lattice_search import satisfying
from sfumato.tabular.problem import Problem

QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
MODELS = [sf.KAnonymity(5)]


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest of several runs after one that warms up, in seconds."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def adult(folder: Path) -> tuple[sf.Table, sf.Schema]:
    """Return Adult's training rows with the eight quasi-identifiers and their hierarchies."""
    columns = {
        name: sf.Attribute(
            name,
            sf.Role.QUASI,
            hierarchy=sf.Hierarchy.from_csv(folder / "adult_hierarchies" / f"{name}.csv"),
            missing=("?",),
        )
        for name in QUASI
    }
    return sf.read(folder / "adult_train.csv.gz"), sf.Schema(columns, other="drop")


def census(rows: int) -> tuple[sf.Table, sf.Schema]:
    """Return drawn rows of the Mondrian benchmark's four columns, with hierarchies built by rule."""
    draw = np.random.default_rng(1)
    limits = {"age": (16, 94), "sex": (1, 2), "education": (1, 17), "birthplace": (1, 57)}
    trees = {
        "age": build.intervals(range(16, 95), [5, 10, 20, 40]),
        "sex": build.flat(["1", "2"]),
        "education": build.intervals(range(1, 18), [3, 6], origin=1),
        "birthplace": build.intervals(range(1, 58), [5, 10, 20], origin=1),
    }
    frame = pl.DataFrame({name: draw.integers(low, high + 1, rows) for name, (low, high) in limits.items()})
    schema = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in trees.items()})
    return sf.Table.from_frame(frame), schema


def row(name: str, ours: float, reference: tuple[str, float], goal: float) -> dict[str, Any]:
    """Return one line of the table: how many times faster than the reference we are, and wanted to be."""
    ratio = reference[1] / ours
    return {
        "name": name,
        "ours_s": ours,
        "reference": reference[0],
        "reference_s": reference[1],
        "ratio": ratio,
        "goal": goal,
        "met": ratio >= goal,
    }


def node_rows(folder: Path) -> list[dict[str, Any]]:
    """Return what one node costs beside one group-by over the raw columns, and the whole of Incognito."""
    table, schema = adult(folder)
    lattice = Lattice.of(Problem.of(table, schema, MODELS))
    raw = table.frame.select(QUASI)
    group_by = ("polars group-by over the 8 raw columns", best(lambda: raw.group_by(QUASI).len(), 50))
    judged = 0

    def search() -> None:
        nonlocal judged
        lattice.kept.clear()
        satisfying(lattice, limit=table.rows // 50)
        judged = len(lattice.kept)

    def from_finest() -> None:
        lattice.kept.clear()
        lattice.tally((1,) * len(QUASI))

    whole = best(lambda: Incognito().anonymize(table, schema, MODELS))
    return [
        row("one node of the Adult lattice, mean over a search", best(search) / judged, group_by, 20),
        row("one node of the Adult lattice, rolled up from the finest counts", best(from_finest, 50), group_by, 20),
        row("Incognito on Adult, 8 quasi-identifiers, k=5, all steps", whole, ("limit", 5.0), 1),
    ]


def datafly_rows(rows: int = 1_000_000) -> list[dict[str, Any]]:
    """Return what Datafly costs on a million rows: counting and search alone, and all steps."""
    table, schema = census(rows)
    counting = min(_search_time(table, schema) for _ in range(5))
    whole = best(lambda: Datafly(suppress=0.02).anonymize(table, schema, MODELS))
    name = f"Datafly on {rows:,} rows"
    return [
        row(f"{name}, counting and search", counting, ("limit", 10.0), 1),
        row(f"{name}, all steps", whole, ("limit", 10.0), 1),
    ]


def _search_time(table: sf.Table, schema: sf.Schema) -> float:
    """Return the seconds from a coded table to Datafly's node."""
    problem = Problem.of(table, schema, MODELS)
    start = time.perf_counter()
    datafly(problem, Lattice.of(problem), table.rows // 50)
    return time.perf_counter() - start


def rows() -> list[dict[str, Any]]:
    """Return every line; those on Adult need the folder of data sets in SFUMATO_DATA."""
    folder = os.environ.get("SFUMATO_DATA")
    return [*(node_rows(Path(folder)) if folder else []), *datafly_rows()]


if __name__ == "__main__":
    for line in rows():
        print(
            f"{line['name']}: {line['ours_s'] * 1e3:.3f} ms, {line['reference']} {line['reference_s'] * 1e3:.3f} ms, "
            f"ratio {line['ratio']:.1f} (goal {line['goal']:g}, {'met' if line['met'] else 'NOT met'})"
        )
