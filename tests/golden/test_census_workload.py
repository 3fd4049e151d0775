"""The query errors of Pereira 2014, section 4.3, figures 2 and 3, on the made-up census of 10,000 people.

The figures count by inclusion and by overlap, which hardly differ: about 15 % at k=5, 20 % at k=10 and
35 % at k=25 for a range ratio of 0.6. We find the same shape with smaller errors (6 %, 12 %, 24 %), about
what square boxes of that many rows must give; the paper, whose rows and cuts we do not have, leaves
open why its errors are larger.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.workload import WAYS, Counting, Workload

SCHEMA = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])


@cache
def census() -> sf.Table:
    return sf.Table.from_frame(sf.samples.census_10k())


@cache
def workload(ratio: float = 0.6) -> Workload:
    return Workload.draw(census(), SCHEMA, count=1000, range_ratio=ratio, seed=2014)


@cache
def released(k: int) -> sf.Table:
    return sf.Mondrian(ranges="columns").anonymize(census(), SCHEMA, [sf.KAnonymity(k)]).table


@cache
def error(table: sf.Table, how: Counting, ratio: float = 0.6) -> float:
    return workload(ratio).mean_error(workload(ratio).answers(table, how))


def test_classes_at_k_10() -> None:
    sizes = released(10).frame.drop("salary").pipe(lambda frame: frame.group_by(frame.columns).len())["len"]
    assert len(sizes) == pytest.approx(655, rel=0.05)
    assert sizes.min() == 10
    assert int(sizes.cast(pl.Int64).to_numpy().max()) <= 35


@pytest.mark.parametrize("k, published, found", [(5, 0.15, 0.063), (10, 0.20, 0.126), (25, 0.35, 0.246)])
@pytest.mark.parametrize("how", ["inclusion", "overlap"])
def test_errors_are_at_most_the_published_ones(how: Counting, k: int, published: float, found: float) -> None:
    assert error(released(k), how) == pytest.approx(found, abs=0.02)
    assert error(released(k), how) < published


@pytest.mark.parametrize("k", [5, 10, 25])
def test_errors_are_those_of_square_boxes(k: int) -> None:
    classes = released(k).frame.drop("salary").n_unique()
    cells = census().rows / classes / 2  # 50 ages by 2 sexes by 50 zips hold 2 rows each
    lost = (np.sqrt(cells) - 1) / 30  # of 30 values asked for, half a box less half a value at either end
    assert error(released(k), "inclusion") == pytest.approx(1 - (1 - lost) ** 2, rel=0.2)


def test_errors_grow_with_k_and_shrink_with_the_range_ratio() -> None:
    for how in WAYS[:2]:
        by_k = [error(released(k), how) for k in (5, 10, 15, 20, 25)]
        assert by_k == sorted(by_k)
        by_ratio = [error(released(10), how, ratio) for ratio in (0.4, 0.6, 0.8)]
        assert by_ratio == sorted(by_ratio, reverse=True)


def test_inclusion_and_overlap_hardly_differ_at_k_10_and_most_at_k_25() -> None:
    gaps = {k: error(released(k), "overlap") - error(released(k), "inclusion") for k in (10, 25)}
    assert abs(gaps[10]) < 0.01
    assert gaps[25] > gaps[10]


def test_expected_counts_err_far_less() -> None:
    assert error(released(10), "expected") < 0.025


def test_laplace_noise_alone_errs_as_published() -> None:
    draw = np.random.default_rng(4)
    for epsilon, published in [(0.1, 0.0091), (0.01, 0.0936), (0.005, 0.18)]:
        noisy = workload().truth + draw.laplace(0, 1 / epsilon, workload().count)
        assert workload().mean_error(noisy) == pytest.approx(published, rel=0.4)  # the salaries' shape is our guess
