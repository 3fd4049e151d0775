"""One number for one thing: the loss that a lattice search tells is the loss that is measured."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.utility import utility
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.attribute import Bound

ZIPS = [f"{area}{street}" for area in "12" for street in "0123456"]
TREE = Hierarchy.from_rows([(code, f"{code[0]}*", "*") for code in ZIPS])
START = dt.datetime(2024, 3, 5, 4, 30)
GRADES = ("low", "middle", "high", "top", "best")


def people(seed: int, *, bounds: bool, missing: bool) -> tuple[sf.Table, Schema]:
    draw = np.random.default_rng(seed)
    rows = 90
    frame = pl.DataFrame(
        {
            "age": draw.integers(17, 64, rows),
            "height": draw.normal(170, 10, rows).round(1),
            "zip": draw.choice(ZIPS, rows),
            "grade": draw.choice(GRADES, rows),
            "came": [START + dt.timedelta(minutes=int(late)) for late in draw.integers(0, 90_000, rows)],
            "seen": [dt.date(2024, 3, 5) + dt.timedelta(days=int(day)) for day in draw.integers(0, 500, rows)],
        }
    )
    if missing:
        frame = frame.with_columns(pl.when(pl.int_range(rows) % 11 > 0).then(pl.col("age", "zip", "seen")))
    limits: dict[str, tuple[Bound, Bound]] = {"age": (0, 120)} if bounds else {}
    if bounds:
        limits["seen"] = (dt.date(2024, 1, 1), dt.date(2025, 12, 31))
        limits["came"] = (dt.datetime(2024, 1, 1), dt.datetime(2025, 12, 31))
    kinds = {"age": Kind.INTEGER, "height": Kind.NUMBER, "seen": Kind.DATE, "came": Kind.TIMESTAMP}
    columns = {name: Attribute(name, Role.QUASI, kind, bounds=limits.get(name)) for name, kind in kinds.items()}
    columns["zip"] = Attribute("zip", Role.QUASI, Kind.CATEGORY, hierarchy=TREE)
    columns["grade"] = Attribute("grade", Role.QUASI, Kind.ORDINAL, categories=GRADES)
    return sf.Table(frame), Schema(columns)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_that_is_explained_is_the_loss_that_is_measured(seed: int, bounds: bool, missing: bool) -> None:
    table, schema = people(seed, bounds=bounds, missing=missing)
    search, models = sf.Incognito(), [sf.KAnonymity(4)]
    told = search.minimal_nodes(table, schema, models)[0].ncp
    released = search.anonymize(table, schema, models).table
    assert told == pytest.approx(utility(table, schema, released).gcp)
