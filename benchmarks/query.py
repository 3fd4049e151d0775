"""The query door: one question over a million rows beside OpenDP's own group-by and plain polars, in one run."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measure import Row, best

import sfumato as sf

HERE = Path(__file__).parent
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


def group_by_rows(rows: int = 1_000_000) -> list[Row]:
    """Return what a count in 24 groups costs, ledger and noise included, in every form the rows can have."""
    draw = np.random.default_rng(1)
    frame = pl.DataFrame({"hour": draw.integers(0, 24, rows), "age": draw.integers(16, 95, rows)})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        frame.write_parquet(folder / "rides.parquet")
        frame.write_csv(folder / "rides.csv")
        theirs = _opendp(folder / "rides.parquet")
        plain = best(lambda: frame.group_by("hour").len(), 20)
        parquet, text, memory = (
            _ask_time(folder / f"{name}.ledger", data)
            for name, data in (("p", folder / "rides.parquet"), ("c", folder / "rides.csv"), ("m", frame))
        )
    name = f"count in 24 groups of {rows:,} rows"
    return [
        _slower(f"{name}, Parquet, against OpenDP's group-by", parquet, ("OpenDP", theirs), 0.5),
        _slower(f"{name}, CSV, against OpenDP's group-by", text, ("OpenDP (rows in memory)", theirs), 0.5),
        _slower(f"{name}, Parquet, against polars", parquet, ("polars (rows in memory, no noise)", plain), 30),
        _slower(f"{name}, dataframe, against polars", memory, ("polars (no noise)", plain), 30),
    ]


def _ask_time(ledger: Path, data: object) -> float:
    """Return the seconds of one new question: price, ledger, rows, noise, stored answer."""
    session = sf.Session.create(ledger, data, sf.Schema.from_text(SCHEMA), sf.Budget(epsilon=1000))
    session.latency = 0
    prices = itertools.count(1)
    return best(lambda: session.ask(sf.count().by("hour"), epsilon=f"0.{next(prices):04d}1"))


def _slower(name: str, ours: float, reference: tuple[str, float], goal: float) -> Row:
    label, seconds = reference
    return Row(name, f"{ours * 1e3:.1f} ms", f"{label}, {seconds * 1e3:.1f} ms", ours / seconds, goal, at_most=True)


def _opendp(file: Path) -> float:
    peer = [str(Path(os.environ["SFUMATO_PEERS_OPENDP"]) / "bin" / "python"), str(HERE / "peer_opendp.py"), str(file)]
    done = subprocess.run(peer, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["seconds"])


def rows() -> list[Row]:
    """Return every line of the query door."""
    return group_by_rows()
