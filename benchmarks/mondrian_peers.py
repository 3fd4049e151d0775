"""Mondrian and MDAV beside anonypy and anonypyx: the same file, time, classes and loss."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measure import Part, Row, best
from mondrian import MODELS, NAMES, SCHEMA, people
from peers import ask

import sfumato as sf
from sfumato.evaluate.utility import utility
from sfumato.models import Model
from sfumato.tabular import Anonymizer

ROWS = 50_000
FEW = 2_000
DIVERSE = sf.Schema.from_roles(quasi=NAMES, sensitive=["disease"])
THREE = [*MODELS, sf.LDiversity(3, "disease")]
ANONYPY = "Mondrian, 50k rows, times faster than anonypy"
MDAV = "MDAV, 2,000 rows of 4 columns, k=10, times faster than anonypyx"


def peer(frame: pl.DataFrame, name: str, *words: str) -> Any:
    """Return what a peer tells about a table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        frame.write_csv(file)
        return ask(name, f"peer_{name}.py", file, *words)


def healthy() -> pl.DataFrame:
    """Return the 50,000 people of the benchmark."""
    return people(ROWS)


def ill() -> pl.DataFrame:
    """Return the people of the benchmark with a disease of four, one so common that ten people often share it."""
    drawn = np.random.default_rng(2).choice(4, ROWS, p=[0.8, 0.1, 0.07, 0.03])
    return healthy().with_columns(pl.Series("disease", drawn))


def against_anonypy() -> list[Row]:
    theirs = peer(healthy(), "anonypy")["seconds"]
    return [_faster(ANONYPY, healthy(), sf.Mondrian(), theirs, goal=200)]


def against_anonypyx(
    make: Callable[[], pl.DataFrame], schema: sf.Schema, models: Sequence[Model], words: str
) -> list[Row]:
    """Return time, classes and loss of Mondrian beside anonypyx's."""
    frame = make()
    sensitive = [name for name in frame.columns if name not in NAMES]
    theirs = peer(frame, "anonypyx", "Mondrian", *sensitive)
    table = sf.Table(frame)
    ours = utility(table, schema, sf.Mondrian().anonymize(table, schema, models).table)
    seconds = best(lambda: sf.Mondrian().anonymize(table, schema, models))
    return [
        Row(
            f"Mondrian, 50k rows, {words}, times faster than anonypyx",
            f"{seconds:.4f} s",
            f"{theirs['seconds']:.1f} s",
            theirs["seconds"] / seconds,
            200,
            at_most=False,
        ),
        Row(
            f"classes, 50k rows, {words}, against anonypyx",
            str(ours.classes),
            str(theirs["classes"]),
            ours.classes / theirs["classes"],
            1,
            at_most=False,
        ),
        Row(
            f"NCP, 50k rows, {words}, against anonypyx",
            f"{ours.gcp:.4%}",
            f"{theirs['ncp']:.4%}",
            ours.gcp / theirs["ncp"],
            1,
            at_most=True,
        ),
    ]


def mdav_against_anonypyx() -> list[Row]:
    theirs = peer(people(FEW), "anonypyx", "MDAV-generic")["seconds"]
    return [_faster(MDAV, people(FEW), sf.MDAV(), theirs, goal=100)]


def _faster(name: str, frame: pl.DataFrame, ours: Anonymizer, theirs: float, *, goal: float) -> Row:
    table = sf.Table(frame)
    seconds = best(lambda: ours.anonymize(table, SCHEMA, MODELS))
    return Row(name, f"{seconds:.4f} s", f"{theirs:.1f} s", theirs / seconds, goal, at_most=False)


PARTS = (
    Part(ANONYPY, against_anonypy),
    Part("Mondrian beside anonypyx, k = 10", partial(against_anonypyx, healthy, SCHEMA, MODELS, "k = 10")),
    Part(
        "Mondrian beside anonypyx, k = 10 and l = 3",
        partial(against_anonypyx, ill, DIVERSE, THREE, "k = 10 and l = 3"),
    ),
    Part(MDAV, mdav_against_anonypyx),
)
