"""DOCA on real SMART 9 readings: the error, the groups and the histogram that Leal, Vidal & Machado (2018) report.

Their month had 1,989,462 readings: error 143,064,439.6 against 20,297,943,836 of the naive release, 99.2952 % less, and
an intersection of 0.8598; ours (September 2016) has 2,070,836 readings and a range a little smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.random import SeededSource
from sfumato.stream import DOCA, NaiveLaplace
from sfumato.stream.base import Numbers, Publisher

FILE = "backblaze_smart9_201609.parquet"
SENSITIVITY = 1.5 * (63848 - 1)
VARIANCE = 1.2157e8


@dataclass(frozen=True)
class Outcome:
    error: float
    groups: int
    intersection: float


def readings(path: Path, order: int, count: int | None = None) -> Numbers:
    column = pl.read_parquet(path, columns=["smart_9_raw"]).get_column("smart_9_raw")
    return np.random.default_rng(order).permutation(column.cast(pl.Float64).to_numpy())[:count]


def outcome(publisher: Publisher, values: Numbers) -> Outcome:
    released = np.empty(len(values))
    groups = 0
    for part in (publisher.push_many(values), publisher.flush()):
        assert part.position is not None
        released[part.position] = part.values
        groups += len(np.unique(part.group))
    limits = (values.min(), values.max())
    before, after = (np.histogram(column, bins=100, range=limits)[0] for column in (values, released))
    return Outcome(
        float(np.mean((released - values) ** 2)), groups, float(np.minimum(before, after).sum() / len(values))
    )


def mean_outcomes(path: Path, count: int | None) -> tuple[Outcome, Outcome]:
    """The means over five random orders, as in the paper: DOCA, and the naive release."""
    found: tuple[list[Outcome], list[Outcome]] = ([], [])
    for order in range(5):
        values = readings(path, order, count)
        found[0].append(outcome(DOCA(sensitivity=SENSITIVITY, rng=SeededSource(order)), values))
        found[1].append(outcome(NaiveLaplace(sensitivity=SENSITIVITY, rng=SeededSource(order)), values))
    doca, naive = (
        Outcome(
            float(np.mean([run.error for run in runs])),
            round(np.mean([run.groups for run in runs])),
            float(np.mean([run.intersection for run in runs])),
        )
        for runs in found
    )
    return doca, naive


def test_a_part_of_the_paper_s_table(data: Callable[[str], Path]) -> None:
    doca, naive = mean_outcomes(data(FILE), 300_000)
    assert naive.error == pytest.approx(2 * SENSITIVITY**2, rel=0.005)
    assert 1.29e8 < doca.error < 1.39e8
    assert 14_950 < doca.groups < 15_000
    assert 0.81 < doca.intersection < 0.84


@pytest.mark.long
def test_the_paper_s_table(data: Callable[[str], Path]) -> None:
    doca, naive = mean_outcomes(data(FILE), None)
    assert naive.error == pytest.approx(1.834e10, rel=0.002)
    assert 1.31e8 < doca.error < 1.36e8
    assert 99.26 < 100 * (1 - doca.error / naive.error) < 99.29
    assert doca.groups == pytest.approx(103_290, abs=15)
    assert doca.intersection == pytest.approx(0.83, abs=0.01)
    assert doca.error > VARIANCE  # the mean of all readings in every row would have had a smaller error
