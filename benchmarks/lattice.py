"""Lattice searches: a node against a group-by, many columns and local recoding of Adult, Datafly on a million rows."""

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
from sfumato.evaluate.utility import utility
from sfumato.hierarchy import builders as build
from sfumato.tabular import Datafly, Incognito, Optimal
from sfumato.tabular.lattice.datafly import datafly
from sfumato.tabular.lattice.lattice import Lattice
from sfumato.tabular.lattice.search import satisfying_nodes
from sfumato.tabular.problem import Problem

QUASI = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
MORE = ["income", "hours-per-week", "education-num", "relationship", "capital-loss", "capital-gain", "fnlwgt"]
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


def adult_whole(folder: Path, columns: int) -> tuple[sf.Table, sf.Schema]:
    """Return Adult's rows without missing values and so many quasi-identifiers; numbers have ladders by rule."""
    table, schema = adult(folder)
    frame = table.frame.filter(~pl.any_horizontal(pl.all().cast(pl.String) == "?"))
    more = {name: sf.Attribute(name, sf.Role.QUASI) for name in MORE[: columns - len(QUASI)]}
    if "income" in more:
        tree = sf.Hierarchy.from_csv(folder / "adult_hierarchies" / "salary-class.csv")
        more["income"] = sf.Attribute("income", sf.Role.QUASI, hierarchy=tree)
    return sf.Table.from_frame(frame), sf.Schema({**schema.columns, **more}, other="drop")


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


def wide_rows() -> list[Row]:
    """Return what a search of many columns costs within a time, and how near it comes to the proven optimum."""
    rows = []
    eleven, schema = adult_whole(data_folder(), 11)
    _lost(Optimal(suppress=0.1, seconds=0.1), eleven.take(np.arange(eleven.rows) % 40 == 0), schema)  # compiles
    for columns in (11, 12, 13, 15):
        table, schema = adult_whole(data_folder(), columns)
        name = f"Optimal on Adult, {columns} quasi-identifiers, k=5, 10 % suppressed, 2.5 s"
        loss, used, _ = _lost(Optimal(suppress=0.1, seconds=2.5), table, schema)
        rows.append(within(f"{name}, CPU of all steps", used, 5))
        if columns > 13:
            whole, _, gap = _lost(Optimal(suppress=0.1, seconds=40), table, schema)
            reference = f"after 40 s, {whole:.4f}; the optimum is at most {gap:.0%} lower"
        else:
            whole, exact, _ = _lost(Optimal(suppress=0.1), table, schema)
            reference = f"proven optimum after {exact:.1f} CPU s, {whole:.4f}"
        rows.append(Row(f"{name}, loss", f"{loss:.4f}", reference, loss / whole, 1.02, at_most=True))
    return rows


def local_rows() -> list[Row]:
    """Return what local recoding loses beside the best single node, and that it ends with many columns."""
    table, schema = adult_whole(data_folder(), 8)
    rows = []
    for k in (5, 10):
        node, *_ = _lost(Optimal(suppress=0.1), table, schema, k)
        local, *_ = _lost(Optimal(suppress=0.1, local=True), table, schema, k)
        name = f"Optimal with local recoding on Adult, 8 quasi-identifiers, k={k}, loss"
        rows.append(Row(name, f"{local:.4f}", f"best single node, {node:.4f}", local / node, 0.5, at_most=True))
    wide = adult_whole(data_folder(), 13)
    used = _lost(Datafly(suppress=0.1, local=True), *wide)[1]
    return [*rows, within("Datafly with local recoding on Adult, 13 quasi-identifiers, CPU of all steps", used, 10)]


def _lost(algorithm: Optimal | Datafly, table: sf.Table, schema: sf.Schema, k: int = 5) -> tuple[float, float, float]:
    """Return the loss of a release, the CPU seconds it took, and the gap that its search left."""
    start = time.process_time()
    release = algorithm.anonymize(table, schema, [sf.KAnonymity(k)])
    used = time.process_time() - start
    gap = release.steward.get("search_gap", 0.0)
    return utility(table, schema, release.table).gcp, used, gap


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
    Part("many columns of Adult", wide_rows),
    Part("local recoding of Adult", local_rows),
    Part("Datafly on a million rows", datafly_rows),
    Part("Anatomy on a million rows", anatomy_row),
    Part(ANJANA, against_anjana),
)
