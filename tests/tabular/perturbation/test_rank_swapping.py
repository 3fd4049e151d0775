"""Rank swapping: histograms stay, ranks move no farther than declared, and the kernel is its slow twin."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.random import SeededSource
from sfumato.random.discrete_kernel import EMPTY, uniform_below
from sfumato.tabular.perturbation.draft import MaskingDraft
from sfumato.tabular.perturbation.rank_swapping import swap_ranks


def slow_swaps(count: int, reach: int, words: np.ndarray) -> list[int]:
    """The definition: from the lowest on, a free rank takes a uniform free one above it within reach."""
    partners, place = [-1] * count, 0
    for rank in range(count):
        if partners[rank] != -1:
            continue
        last = min(rank + reach, count - 1)
        if all(partners[other] != -1 for other in range(rank + 1, last + 1)):
            partners[rank] = rank
            continue
        while True:
            step, place = uniform_below(last - rank, words, place)
            assert step != EMPTY
            other = rank + 1 + step
            if partners[other] == -1:
                partners[rank], partners[other] = other, rank
                break
    return partners


@given(st.integers(0, 60), st.integers(0, 70), st.integers(0, 9))
def test_the_kernel_is_its_slow_twin(count: int, reach: int, seed: int) -> None:
    found = swap_ranks(count, reach, SeededSource(seed)).tolist()
    words = SeededSource(seed).words(3 * count + 64)
    assert found == slow_swaps(count, reach, np.concatenate([words, SeededSource(99).words(5000)]))


@given(st.integers(2, 400), st.integers(1, 40), st.integers(0, 5))
def test_swaps_are_a_pairing_within_reach(count: int, reach: int, seed: int) -> None:
    partners = swap_ranks(count, reach, SeededSource(seed))
    assert (partners[partners] == np.arange(count)).all()
    assert np.abs(partners - np.arange(count)).max() <= reach
    alone = np.flatnonzero(partners == np.arange(count))
    assert (np.diff(alone) > reach).all()  # two free ranks within reach would have been swapped


def test_first_partners_are_uniform() -> None:
    draws = np.array([swap_ranks(9, 4, SeededSource(seed))[0] for seed in range(4000)])
    shares = np.bincount(draws, minlength=9)[1:5] / len(draws)
    assert draws.min() >= 1
    assert draws.max() <= 4
    assert np.abs(shares - 0.25).max() < 0.035  # 5 standard deviations


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=2, max_size=80).filter(lambda v: v != [None] * len(v)),
    st.floats(0.01, 1),
)
def test_marginals_are_kept_and_missing_values_stay(values: list[int | None], reach: float) -> None:
    frame = pl.DataFrame({"age": pl.Series(values, dtype=pl.Int64), "sex": ["F"] * len(values)})
    schema = sf.Schema(
        {
            "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 30)),
            "sex": sf.Attribute("sex", sf.Role.QUASI),
        }
    )
    draft = MaskingDraft.of(sf.Table(frame), schema, source=SeededSource(1))
    column = sf.RankSwapping("age", reach=reach).mask(draft).columns["age"]
    assert column.is_null().to_list() == frame["age"].is_null().to_list()
    assert sorted(column.drop_nulls()) == sorted(frame["age"].drop_nulls())


def test_a_value_moves_no_farther_than_the_reach_in_ranks() -> None:
    ages = pl.Series("age", np.random.default_rng(1).permutation(1000))
    draft = MaskingDraft.of(sf.Table(pl.DataFrame([ages])), sf.Schema.from_roles(quasi=["age"]), source=SeededSource(2))
    moved = (sf.RankSwapping("age", reach=0.03).mask(draft).columns["age"] - ages).abs()
    assert moved.to_numpy().max() <= 30  # values are their own ranks here
    assert (moved > 0).to_numpy().mean() > 0.9


def test_days_and_ordered_words_are_swapped_and_others_refused() -> None:
    frame = pl.DataFrame({"grade": ["low", "high", "middle"] * 20, "sex": ["F", "M", "F"] * 20})
    grade = sf.Attribute("grade", sf.Role.QUASI, sf.Kind.ORDINAL, categories=("low", "middle", "high"))
    schema = sf.Schema({"grade": grade, "sex": sf.Attribute("sex", sf.Role.QUASI)})
    release = sf.RankSwapping(reach=0.5).anonymize(sf.Table(frame), schema)
    assert sorted(release.table.column("grade")) == sorted(frame["grade"])
    assert "quasi-identifiers released unchanged: sex" in release.card.warnings
    with pytest.raises(SchemaError, match="'sex' is category, which has no order"):
        sf.RankSwapping("sex").anonymize(sf.Table(frame), schema)
