"""Twenty candidates of Adult side by side: how long all of them take, and how soon the first one is there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from measure import Part, Row, data_folder, within

import sfumato as sf

NAMES = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 25, 30, 40, 50, 75, 100)
ROWS = 30_000
ALL, FIRST = 2.0, 0.3  # seconds
RUNS = 3


def adult() -> sf.Table:
    """Return the first 30,000 of Adult's training rows."""
    return sf.read(data_folder() / "adult_train.csv.gz").take(np.arange(ROWS))


def schema(*, trees: bool) -> sf.Schema:
    """Return Adult's eight quasi-identifiers, with its hierarchies or as plain columns, and its sensitive income."""
    folder = data_folder() / "adult_hierarchies"
    found: Mapping[str, sf.Hierarchy] = (
        {name: sf.Hierarchy.from_csv(folder / f"{name}.csv") for name in NAMES} if trees else {}
    )
    columns = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=found.get(name), missing=("?",)) for name in NAMES}
    return sf.Schema({**columns, "income": sf.Attribute("income", sf.Role.SENSITIVE)}, other="drop")


def seconds(table: sf.Table, declared: sf.Schema) -> tuple[float, float]:
    """Return how long all candidates take, and how soon the first one is there; the table is read already."""
    start = time.perf_counter()
    moments = [time.perf_counter() - start for _ in sf.compare(table, declared, ["mondrian"], k=SIZES)]
    return moments[-1], moments[0]


def side_by_side(*, trees: bool) -> list[Row]:
    """Return both times against their goals, the shortest of a few runs after one that compiles."""
    table, declared = adult(), schema(trees=trees)
    seconds(table, declared)
    runs = [seconds(table, declared) for _ in range(RUNS)]
    words = "with hierarchies" if trees else "plain columns"
    return [
        within(f"compare, 20 candidates of Adult, {words}", min(run[0] for run in runs), ALL),
        within(f"compare, the first of them, {words}", min(run[1] for run in runs), FIRST),
    ]


PARTS = (
    Part("candidates of Adult, plain columns", partial(side_by_side, trees=False)),
    Part("candidates of Adult, with hierarchies", partial(side_by_side, trees=True)),
)
