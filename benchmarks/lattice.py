"""Lattice searches: one node against a group-by, Incognito on Adult, Datafly on a million rows; ratios in one run."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from measure import Part, Row, best, data_folder, within
from peers import ask

import sfumato as sf
from sfumato.hierarchy import builders as build
from sfumato.tabular import Datafly, Incognito
from sfumato.tabular.lattice.datafly import datafly
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.search import satisfying_nodes
from sfumato.tabular.problem import Problem

QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
MODELS = [sf.KAnonymity(5)]
ANJANA = "Datafly, 50k rows, times faster than ANJANA"


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


def faster(name: str, ours: float, reference: tuple[str, float], goal: float) -> Row:
    """Return how many times faster than the reference we are."""
    label, seconds = reference
    times = f"{ours * 1e3:.3f} ms", f"{label}, {seconds * 1e3:.3f} ms"
    return Row(name, *times, seconds / ours, goal, at_most=False)


def node_rows() -> list[Row]:
    """Return what one node costs beside one group-by over the raw columns, and the whole of Incognito."""
    table, schema = adult(data_folder())
    lattice = Lattice.of(Problem.of(table, schema, MODELS))
    raw = table.frame.select(QUASI)
    group_by = ("polars group-by over the 8 raw columns", best(lambda: raw.group_by(QUASI).len(), 50))
    judged = 0

    def search() -> None:
        nonlocal judged
        lattice.kept.clear()
        satisfying_nodes(lattice, limit=table.rows // 50)
        judged = len(lattice.kept)

    def from_finest() -> None:
        lattice.kept.clear()
        lattice.tally((1,) * len(QUASI))

    whole = best(lambda: Incognito().anonymize(table, schema, MODELS))
    return [
        faster("one node of the Adult lattice, mean over a search", best(search) / judged, group_by, 20),
        faster("one node of the Adult lattice, rolled up from the finest counts", best(from_finest, 50), group_by, 20),
        faster("Incognito on Adult, 8 quasi-identifiers, k=5, all steps", whole, ("limit", 5.0), 1),
    ]


def datafly_rows(rows: int = 1_000_000) -> list[Row]:
    """Return what Datafly costs on a million rows: counting and search alone, and all steps."""
    table, schema = census(rows)
    counting = min(_search_time(table, schema) for _ in range(5))
    whole = best(lambda: Datafly(suppress=0.02).anonymize(table, schema, MODELS))
    name = f"Datafly on {rows:,} rows"
    return [
        faster(f"{name}, counting and search", counting, ("limit", 10.0), 1),
        faster(f"{name}, all steps", whole, ("limit", 10.0), 1),
    ]


def _search_time(table: sf.Table, schema: sf.Schema) -> float:
    """Return the seconds from a coded table to Datafly's node."""
    problem = Problem.of(table, schema, MODELS)
    start = time.perf_counter()
    datafly(problem, Lattice.of(problem), table.rows // 50)
    return time.perf_counter() - start


def anatomy_row() -> list[Row]:
    """Return what Anatomy costs on a million rows with a sensitive column of ten values."""
    table, _ = census(1_000_000)
    disease = pl.Series("disease", np.random.default_rng(2).integers(0, 10, table.rows))
    people = sf.Table(table.frame.with_columns(disease))
    schema = sf.Schema.from_roles(quasi=table.names, sensitive=["disease"])
    whole = best(lambda: sf.Anatomy().anonymize(people, schema, [sf.LDiversity(3, "disease")]), 2)
    return [within("Anatomy on 1,000,000 rows, all steps", whole, 10)]


def against_anjana() -> list[Row]:
    """Return how many times faster our Datafly is than ANJANA on the 50,000 rows of the Mondrian benchmark."""
    table, schema = census(50_000)
    paths = {name: column.hierarchy.paths for name, column in schema.columns.items() if column.hierarchy is not None}
    levels: dict[str, dict[int, list[object]]] = {}
    for name, rows in paths.items():
        columns = [list(column) for column in zip(*rows, strict=True)]
        levels[name] = {0: [int(value) for value in columns[0]], **dict(enumerate(columns[1:], start=1))}
    with tempfile.TemporaryDirectory() as place:
        people, hierarchies = Path(place) / "people.csv", Path(place) / "hierarchies.json"
        table.frame.write_csv(people)
        hierarchies.write_text(json.dumps(levels), encoding="utf-8")
        theirs = ask("anjana", "peer_anjana.py", people, hierarchies)["seconds"]
    ours = best(lambda: Datafly().anonymize(table, schema, [sf.KAnonymity(10)]))
    return [faster(ANJANA, ours, ("ANJANA", theirs), 20)]


PARTS = (
    Part("nodes of the Adult lattice, and Incognito", node_rows),
    Part("Datafly on a million rows", datafly_rows),
    Part("Anatomy on a million rows", anatomy_row),
    Part(ANJANA, against_anjana),
)
