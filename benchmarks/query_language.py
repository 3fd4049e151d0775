"""Questions with derived columns and with joins, beside plain DuckDB, OpenDP and Tumult, on the same files."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from measure import NotMeasuredError, Part, Row, best
from peers import ask

import sfumato as sf
from sfumato.dp.ledger.terms import Terms

MANY, FEW = 10_000_000, 1_000_000
RIDES = """
[columns.rider]
role = "identifier"
type = "integer"
[columns.start]
role = "other"
type = "timestamp"
bounds = [2015-01-01 00:00:00, 2016-12-31 23:59:59]
[columns.minutes]
role = "other"
type = "integer"
bounds = [0, 119]
"""
MONTHS = (
    "SELECT EXTRACT(HOUR FROM start) AS hour, DATE_TRUNC('month', start) AS month, COUNT(*) FROM rides GROUP BY 1, 2"
)
QUARTERS = "SELECT EXTRACT(HOUR FROM start) AS hour, FLOOR(minutes / 15) AS quarters, COUNT(*) FROM rides GROUP BY 1, 2"
THREADS = 2
RIDERS = """
[columns.rider]
role = "identifier"
type = "integer"
[columns.age]
role = "other"
type = "integer"
bounds = [16, 94]
"""
JOINED = "SELECT age, COUNT(*) FROM rides JOIN riders USING (rider) GROUP BY age"
BOUNDED = """
SELECT age, COUNT(*)
FROM (SELECT rider, ROW_NUMBER() OVER (PARTITION BY rider ORDER BY hash(rider, start)) AS nth FROM rides) AS ours
JOIN (SELECT rider, age, ROW_NUMBER() OVER (PARTITION BY rider ORDER BY hash(rider, age)) AS own FROM riders) AS theirs
USING (rider) WHERE nth <= 20 AND own <= 1 GROUP BY age
"""
UNIT = "person:rider:20:1"


def write_rides(folder: Path, rows: int) -> None:
    """Write rides of two years and their riders, ten rides each on the mean."""
    draw, riders = np.random.default_rng(1), rows // 10
    seconds = draw.integers(0, 2 * 365 * 86_400, rows).astype("timedelta64[s]")
    start = np.datetime64("2015-01-01", "us") + seconds
    rider, minutes = draw.integers(0, riders, rows), draw.integers(0, 120, rows)
    pl.DataFrame({"rider": rider, "start": start, "minutes": minutes}).write_parquet(folder / "rides.parquet")
    age = draw.integers(16, 95, riders)
    pl.DataFrame({"rider": np.arange(riders), "age": age}).write_parquet(folder / "riders.parquet")


def asking(folder: Path, text: str) -> Callable[[], object]:
    """Return a function that asks one new question each time, with ledger, noise and stored answer."""
    terms = Terms(other_people=True)  # the same made-up rows are measured again and again
    schema = sf.Schema.from_text(RIDES)
    session = sf.Session.create(
        folder / "rides.ledger", folder / "rides.parquet", schema, sf.Budget(epsilon=1000), terms=terms
    )
    session.deadline = 0
    prices = itertools.count(1)
    return lambda: session.sql(text, epsilon=f"0.{next(prices):04d}1")


def joining(folder: Path, riders: int | None = None) -> Callable[[], object]:
    """Return a function that asks one new question about rides and the ages of their riders each time.

    With the number of `riders`, the schemas declare the bounds of theirs.
    """
    tables = {name: folder / f"{name}.parquet" for name in ("rides", "riders")}
    written = {"rides": RIDES, "riders": RIDERS}
    schemas = {name: sf.Schema.from_text(_with_bounds(text, riders)) for name, text in written.items()}
    session = sf.Session.create(
        folder / f"joined-{riders}.ledger",
        tables,
        schemas,
        sf.Budget(epsilon=1000),
        protect=UNIT,
        terms=Terms(other_people=True),
        rows={"riders": 1},
    )
    session.deadline = 0
    prices = itertools.count(1)
    return lambda: session.sql(JOINED, epsilon=f"0.{next(prices):04d}1")


def _with_bounds(schema: str, riders: int | None) -> str:
    rider = '[columns.rider]\nrole = "identifier"\ntype = "integer"\n'
    return schema if riders is None else schema.replace(rider, f"{rider}bounds = [0, {riders - 1}]\n")


def plain(folder: Path, text: str) -> float:
    """Return the seconds that the same question takes without noise, in DuckDB itself."""
    base: Any = duckdb.connect()
    base.execute(f"SET threads = {THREADS}")
    for table in ("rides", "riders"):
        base.from_parquet(f"{folder}/{table}.parquet").create_view(table)
    return best(lambda: base.execute(text).fetchall())


def against_duckdb() -> list[Row]:
    """Return what two derived columns cost over many rows, beside DuckDB without noise and ledger."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rides(folder, MANY)
        ours = best(asking(folder, MONTHS))
        theirs = plain(folder, MONTHS)
    name = f"count by hour and month, computed from a time, {MANY:,} rows of Parquet, against DuckDB"
    return [_slower(name, ours, ("DuckDB (no noise)", theirs), 1.5)]


def joined_against_duckdb() -> list[Row]:
    """Return what a join by person costs over many rows, with every person bounded, beside DuckDB without either."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rides(folder, MANY)
        ours, declared = best(joining(folder)), best(joining(folder, MANY // 10))
        bounded, nobody = plain(folder, BOUNDED), plain(folder, JOINED)
    name = f"count by age, {MANY:,} rides joined with {MANY // 10:,} riders, persons bounded, against DuckDB"
    return [
        _slower(name, ours, ("DuckDB (no noise, persons bounded by hand)", bounded), None),  # no goal speaks of it
        _slower(f"{name} that bounds nobody", ours, ("DuckDB (no noise)", nobody), 2),
        _slower(f"{name} that bounds nobody, numbers of riders declared", declared, ("DuckDB (no noise)", nobody), 2),
    ]


def joined_against_tumult() -> list[Row]:
    """Return the same join of fewer rows beside Tumult, which bounds persons too."""
    name = f"count by age, {FEW:,} rides joined with {FEW // 10:,} riders, persons bounded, against Tumult"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rides(folder, FEW)
        ours = best(joining(folder), 2)
        theirs = float(ask("tmlt-analytics", "peer_tumult.py", folder)["joined"])
    return [_slower(name, ours, ("Tumult", theirs), 1)]


def against_peers() -> list[Row]:
    """Return the same kind of question over fewer rows beside OpenDP and Tumult."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_rides(folder, FEW)
        ours = best(asking(folder, QUARTERS))
        rows = []
        name = f"count by hour and quarter of an hour, computed from the row, {FEW:,} rows of Parquet"
        for peer, script in (("opendp", "peer_opendp_derived.py"), ("tmlt-analytics", "peer_tumult.py")):
            try:
                theirs = float(ask(peer, script, folder)["derived"])
            except NotMeasuredError as problem:
                rows.append(Row.missing(f"{name}, against {peer}", str(problem)))
            else:
                rows.append(_slower(f"{name}, against {peer}", ours, (peer, theirs), 1))
    return rows


def _slower(name: str, ours: float, reference: tuple[str, float], goal: float | None) -> Row:
    label, seconds = reference
    return Row(name, f"{ours * 1e3:.0f} ms", f"{label}, {seconds * 1e3:.0f} ms", ours / seconds, goal, at_most=True)


PARTS = (
    Part("questions with derived columns beside DuckDB", against_duckdb),
    Part("questions with derived columns beside OpenDP and Tumult", against_peers),
    Part("joins by person beside DuckDB", joined_against_duckdb),
    Part("joins by person beside Tumult", joined_against_tumult),
)
