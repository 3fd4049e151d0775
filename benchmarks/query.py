"""The query door: one question over a million rows beside OpenDP's own group-by and plain polars, in one run."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from measure import Part, Row, best
from peers import ask

import sfumato as sf
from sfumato.dp.ledger.terms import Terms

ROWS = 1_000_000
NAME = f"count in 24 groups of {ROWS:,} rows"
SCHEMA = """
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 23]
[columns.age]
role = "other"
type = "integer"
bounds = [16, 94]
"""


def rides() -> pl.DataFrame:
    """Return the rows of the benchmark."""
    draw = np.random.default_rng(1)
    return pl.DataFrame({"hour": draw.integers(0, 24, ROWS), "age": draw.integers(16, 95, ROWS)})


def against_polars() -> list[Row]:
    """Return what a count in 24 groups costs, ledger and noise included, beside polars without either."""
    frame = rides()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frame.write_parquet(folder / "rides.parquet")
        parquet, memory = _asked(folder, folder / "rides.parquet"), _asked(folder, frame)
    plain = best(lambda: frame.group_by("hour").len(), 20)
    return [
        _slower(f"{NAME}, Parquet, against polars", parquet, ("polars (rows in memory, no noise)", plain), 30),
        _slower(f"{NAME}, dataframe, against polars", memory, ("polars (no noise)", plain), 30),
    ]


def against_opendp() -> list[Row]:
    """Return the same beside OpenDP's group-by, from the same file."""
    frame = rides()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frame.write_parquet(folder / "rides.parquet")
        frame.write_csv(folder / "rides.csv")
        theirs = float(ask("opendp", "peer_opendp.py", folder / "rides.parquet")["seconds"])
        parquet, text = (_asked(folder, folder / f"rides.{form}") for form in ("parquet", "csv"))
    return [
        _slower(f"{NAME}, Parquet, against OpenDP's group-by", parquet, ("OpenDP", theirs), 0.5),
        _slower(f"{NAME}, CSV, against OpenDP's group-by", text, ("OpenDP (rows in memory)", theirs), 0.5),
    ]


def asking(ledger: Path, data: object) -> Callable[[], object]:
    """Return a function that asks one new question each time: price, ledger, rows, noise, stored answer."""
    terms = Terms(other_people=True)  # the same made-up rows are measured again and again
    session = sf.Session.create(ledger, data, sf.Schema.from_text(SCHEMA), sf.Budget(epsilon=1000), terms=terms)
    session.deadline = 0
    prices = itertools.count(1)
    return lambda: session.ask(sf.count().by("hour"), epsilon=f"0.{next(prices):04d}1")


def _asked(folder: Path, data: object) -> float:
    """Return the seconds of one question over a ledger of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return best(asking(Path(place) / "rides.ledger", data))


def _slower(name: str, ours: float, reference: tuple[str, float], goal: float) -> Row:
    label, seconds = reference
    return Row(name, f"{ours * 1e3:.1f} ms", f"{label}, {seconds * 1e3:.1f} ms", ours / seconds, goal, at_most=True)


PARTS = (
    Part("a private count beside polars", against_polars),
    Part("a private count beside OpenDP", against_opendp),
)
