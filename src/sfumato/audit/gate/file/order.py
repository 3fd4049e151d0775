"""Whether the order of the rows follows a passed-on column: such rows were not shuffled.

A rank correlation with the place in the file is tested by its normal approximation (Kendall & Gibbons 1990), equal
neighbours by their number.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from sfumato.audit.gate.file.passed import Passed, PassedColumn, told
from sfumato.release import Card, Finding

HARDLY_EVER = 6.1  # standard deviations: once in a thousand million random orders
FEWEST_ROWS = 30


def order_findings(card: Card, passed: Passed) -> list[Finding]:
    """Return whether rows stand in the order of a passed-on column; not asked where the card says that they may."""
    if card.released.order != "shuffled" or passed.rows < FEWEST_ROWS:
        return []
    claim = "the order of the rows tells nothing about their values"
    found = {column.name: round(_sortedness(column), 2) for column in passed.columns}
    blamed = [name for name, score in found.items() if score > HARDLY_EVER]
    evidence = {"standard deviations from a random order": found, "columns to blame": blamed}
    reason = f"the rows follow '{blamed[0]}'" if blamed else None
    return [told(claim, reason, evidence, "shuffle the rows before they are released")]


def _sortedness(column: PassedColumn) -> float:
    """Return how many standard deviations the order of rows is from a random one, by ranks or by equal neighbours."""
    numbers = column.texts.cast(pl.Float64, strict=False)
    values = numbers if numbers.null_count() == column.texts.null_count() else column.texts
    known = values.drop_nulls()
    if len(known) < FEWEST_ROWS or known.n_unique() == 1:
        return 0.0
    ranks = known.rank().to_numpy()
    correlation = float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
    beside = int((known[1:] == known[:-1]).sum())
    counts = known.alias("value").value_counts()["count"].to_numpy().astype(np.float64)
    expected = float((counts * (counts - 1)).sum() / len(known))
    more = (beside - expected) / math.sqrt(max(1.0, expected))
    return max(abs(correlation) * math.sqrt(len(ranks) - 1), more)
