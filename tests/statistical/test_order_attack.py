"""The attack on the order of rows: a shuffled release stands nearly always, one in its old order falls."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.audit.gate.originals import binomial_tail, order_finding
from sfumato.audit.gate.view import View
from sfumato.table import Table

ROWS, ATTACKS = 300, 300


def people(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame({"age": draw.integers(18, 90, ROWS), "zip": draw.integers(100, 140, ROWS)})


def test_a_shuffled_release_is_not_called_unshuffled() -> None:
    """One release in 25 was refuted where an interval of 95 % was held against the threshold."""
    least = 1.0
    for seed in range(150):
        original = people(seed)
        released = original.sample(fraction=1, shuffle=True, seed=seed)
        finding = order_finding(View.of(Table(released), Table(original)), ATTACKS, seed)
        assert not finding.refuted
        least = min(least, float(str(finding.evidence["chance in a random order"])))
    assert 1e-5 < least < 0.05  # the least of 150 chances; far smaller or larger ones would be no chances


@pytest.mark.parametrize("moved", [0, 150])
def test_a_release_in_its_old_order_falls(moved: int) -> None:
    """Also where half of the rows have been moved."""
    original = people(1)
    start = original.head(moved).sample(fraction=1, shuffle=True, seed=2)
    released = pl.concat([start, original.tail(ROWS - moved)])
    assert order_finding(View.of(Table(released), Table(original)), ATTACKS, 1).refuted


def test_the_tail_is_the_slow_sum() -> None:
    for trials in range(9):
        heads = [outcome.bit_count() for outcome in range(2**trials)]
        for hits in range(trials + 1):
            assert binomial_tail(hits, trials) == sum(count >= hits for count in heads) / 2**trials
