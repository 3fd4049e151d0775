"""What Anatomy's group numbers and row order say about the order of the input: nothing."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.random import SeededSource
from sfumato.tabular.anatomy import Anatomy

ROWS = 4000


def test_groups_and_order_do_not_follow_the_input() -> None:
    table = sf.Table(pl.DataFrame({"age": range(ROWS), "ill": [str(row % 8) for row in range(ROWS)]}))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    frame = Anatomy().anonymize(table, schema, [sf.LDiversity(4, "ill")], rng=SeededSource(11)).table.frame
    place, row, group = np.arange(ROWS), frame["age"].to_numpy(), frame["group"].to_numpy()
    bound = 4.5 / np.sqrt(ROWS)  # a correlation beyond this has a chance below 1e-5 under independence
    assert abs(np.corrcoef(row, place)[0, 1]) < bound
    assert abs(np.corrcoef(row, group)[0, 1]) < bound
    assert abs(np.corrcoef(place, group)[0, 1]) < bound
    spread = frame.group_by("group").agg(pl.col("age").std()).get_column("age").to_numpy()
    assert 0.85 < spread.mean() / (ROWS / np.sqrt(12)) < 1.0  # four uniform draws: 0.93 on average
