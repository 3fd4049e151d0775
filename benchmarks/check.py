"""`check` beside pyCANON: the measures of one table, which must agree, and the time they take."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measure import Part, Row, best
from mondrian import MODELS, NAMES, people
from peers import ask

import sfumato as sf
from sfumato.evaluate import Measures, check

ROWS = 10_000
SENSITIVE = ("disease", "salary")


def released() -> pl.DataFrame:
    """Return a 10-anonymous table with a sensitive column of words and one of numbers."""
    draw = np.random.default_rng(2)
    diseases = draw.choice(["flu", "gout", "asthma", "cancer", "ulcer", "angina", "eczema", "anaemia"], ROWS)
    frame = people(ROWS).with_columns(disease=pl.Series(diseases), salary=pl.Series(draw.integers(1, 31, ROWS)))
    schema = sf.Schema.from_roles(quasi=NAMES, sensitive=SENSITIVE)
    return sf.Mondrian().anonymize(sf.Table(frame), schema, MODELS).table.frame


def values(found: Measures) -> dict[str, float]:
    """Return our measures by the names that the peer's script gives to its own."""
    named = {"k": float(found.k)}
    for column, told in found.sensitive.items():
        each = {"l": told.l_distinct, "t": told.t, "beta": told.beta, "delta": told.delta, "alpha": told.alpha}
        named |= {f"{name} of {column}": float(value) for name, value in each.items()}
    return named


def against_pycanon() -> list[Row]:
    """Return how many of pyCANON's measures are ours, and how much faster ours come.

    Left out is entropy l, which pyCANON rounds down to an integer, and recursive l, where it looks for c instead.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "released.csv"
        released().write_csv(file)
        theirs = ask("pycanon", "peer_pycanon.py", file, *SENSITIVE)
        table = sf.read(file)
    ours = values(check(table, NAMES, SENSITIVE))
    seconds = best(lambda: check(table, NAMES, SENSITIVE))
    return [_agreement(ours, theirs["values"]), _faster(seconds, theirs["seconds"])]


def _agreement(ours: dict[str, float], theirs: dict[str, float]) -> Row:
    apart = [name for name, value in theirs.items() if not math.isclose(ours[name], value, rel_tol=1e-9)]
    mine, other = (", ".join(f"{name} {side[name]:.4g}" for name in apart or theirs) for side in (ours, theirs))
    share = 1 - len(apart) / len(theirs)
    name = f"share of pyCANON's {len(theirs)} measures that check agrees with"
    return Row(name, mine, "the same" if mine == other else other, share, 1, at_most=False)


def _faster(ours: float, theirs: float) -> Row:
    name = "check of 10k rows, k, l, t, α, β, δ of two columns, times faster than pyCANON"
    return Row(name, f"{ours * 1e3:.1f} ms", f"{theirs:.1f} s", theirs / ours, 100, at_most=False)


PARTS = (Part("check beside pyCANON", against_pycanon),)
