"""A table published again by m-invariance, beside the same rows published once by Mondrian; ratios in one run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import polars as pl
from measure import Part, Row, data_folder, once, within

import sfumato as sf
from sfumato.tabular import republish

ROWS, LEAVING = 30_000, 2_500
QUASI = ["age", "sex", "race", "education"]
LIMIT = 10.0


def second_release() -> list[Row]:
    """Return the time of the second release of 30,000 rows of Adult, against its limit and beside Mondrian."""
    adult = pl.read_csv(data_folder() / "adult_train.csv.gz").with_row_index("id")
    schema = sf.Schema.from_roles(quasi=QUASI, sensitive=["occupation"], person="id", other="drop")
    models = [sf.LDiversity(3, "occupation")]
    first, second = sf.Table(adult.head(ROWS)), sf.Table(adult[LEAVING : LEAVING + ROWS])
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"XDG_STATE_HOME": folder}):
        history = Path(folder) / "series"
        republish(first, schema, models, history, layer="m-invariance")
        again = once(lambda: republish(second, schema, models, history, layer="m-invariance"))
    sf.Mondrian().anonymize(first, schema, models)
    plain = once(lambda: sf.Mondrian().anonymize(second, schema, models))
    name = "second release of 30k rows of Adult by m-invariance, m=3"
    return [
        within(name, again, LIMIT),
        Row(f"{name}, times Mondrian's", f"{again:.2f} s", f"Mondrian, {plain:.2f} s", again / plain, 20, at_most=True),
    ]


PARTS = (Part("a table published again", second_release),)
