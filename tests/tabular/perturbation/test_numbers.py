"""Top and bottom codes, rounding and correlated noise: declared limits, the right odds, and covariances."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.random import SeededSource
from sfumato.tabular.perturbation.correlated_noise import covariance_root, normal_draws
from sfumato.tabular.perturbation.draft import MaskingDraft
from sfumato.tabular.perturbation.rounding import round_randomly

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-500, 500)), min_size=1, max_size=40)


def schema(kind: sf.Kind = sf.Kind.INTEGER, bounds: tuple[float, float] | None = None) -> sf.Schema:
    return sf.Schema({"pay": sf.Attribute("pay", sf.Role.QUASI, kind, bounds=bounds)})


def masked(
    method: sf.tabular.MaskingAnonymizer, pay: Sequence[float | None], declared: sf.Schema, seed: int = 1
) -> list[Any]:
    draft = MaskingDraft.of(sf.Table(pl.DataFrame({"pay": pl.Series(pay)})), declared, source=SeededSource(seed))
    return method.mask(draft).columns["pay"].to_list()


@given(NUMBERS, st.integers(-100, 100), st.integers(0, 200))
def test_codes_cut_and_leave_the_rest(pay: list[int | None], bottom: int, width: int) -> None:
    top = bottom + width + 1
    found = masked(sf.TopBottomCoding({"pay": top}, {"pay": bottom}), pay, schema())
    assert found == [None if one is None else min(max(one, bottom), top) for one in pay]


def test_a_top_code_is_claimed_and_checked() -> None:
    release = sf.TopBottomCoding(top="pay=100").anonymize(sf.Table(pl.DataFrame({"pay": [5, 500]})), schema())
    assert [finding.refuted for finding in sf.TopBottomCoding.claims(release.card, release.table)] == [False]
    worse = sf.Table(pl.DataFrame({"pay": [5, 101]}))
    assert [finding.refuted for finding in sf.TopBottomCoding.claims(release.card, worse)] == [True]


def test_proposals_are_the_shares_beyond() -> None:
    people = sf.Table(pl.DataFrame({"pay": list(range(1000))}))
    found = sf.TopBottomCoding().explain(people, schema(), [])
    assert found.lines[1] == "pay: 1 % of the rows lie above 989, and 1 % below 10"
    pay = found.facts["pay"]
    assert isinstance(pay, list)
    assert pay[1] == {"top": 989, "share_above": 0.01, "bottom": 10, "share_below": 0.01}
    assert "learnt from the rows" in found.words


@given(NUMBERS, st.integers(1, 60))
def test_rounding_goes_to_the_nearest_multiple(pay: list[int | None], base: int) -> None:
    found = masked(sf.Rounding({"pay": base}), pay, schema())
    assert found == [None if one is None else math.floor(one / base + 0.5) * base for one in pay]


@given(NUMBERS, st.integers(1, 60), st.integers(0, 5))
def test_random_rounding_goes_to_a_neighbouring_multiple(pay: list[int | None], base: int, seed: int) -> None:
    found = masked(sf.Rounding({"pay": base}, at_random=True), pay, schema(), seed)
    for one, shown in zip(pay, found, strict=True):
        assert (one is None) == (shown is None)
        if one is not None:
            assert shown in {one // base * base, -(-one // base) * base}


@pytest.mark.parametrize("number, base, up", [(130, "100", 0.3), (0.35, "0.5", 0.7), (-130, "100", 0.7)])
def test_random_rounding_has_the_odds_that_keep_the_mean(number: float, base: str, up: float) -> None:
    draws = 60_000
    found = round_randomly(np.full(draws, number), Decimal(base), SeededSource(5))
    share = float((found > number).mean())
    slack = 6 * math.sqrt(up * (1 - up) / draws)
    assert abs(share - up) < slack
    assert min(abs(share - 0.7 * up), abs(share - 1.3 * up)) > slack  # odds a third off are told apart


def test_rounding_keeps_decimals_clean_and_says_its_base() -> None:
    assert masked(sf.Rounding("pay=0.1"), [0.26, 0.31], schema(sf.Kind.NUMBER)) == [0.3, 0.3]
    shown = masked(sf.Rounding("pay=0.1", at_random=True), [0.26, 0.31] * 20, schema(sf.Kind.NUMBER))
    assert set(shown) <= {0.2, 0.3, 0.4}
    release = sf.Rounding("pay=10").anonymize(sf.Table(pl.DataFrame({"pay": [13, 28]})), schema())
    assert [finding.refuted for finding in sf.Rounding.claims(release.card, release.table)] == [False]
    assert [finding.refuted for finding in sf.Rounding.claims(release.card, sf.Table(pl.DataFrame({"pay": [13]})))] == [
        True
    ]


@given(st.integers(-20, 20), st.integers(0, 40), st.integers(1, 9), st.booleans())
def test_rounding_refuses_exactly_the_bounds_that_it_would_leave(
    low: int, width: int, base: int, at_random: bool
) -> None:
    high = low + width
    if at_random:
        leaves = low % base != 0 or high % base != 0
    else:
        ends = [math.floor(end / base + 0.5) * base for end in (low, high)]
        leaves = ends[0] < low or ends[1] > high
    method = sf.Rounding({"pay": base}, at_random=at_random)
    values = list(range(low, high + 1))
    if leaves:
        with pytest.raises(ParameterError, match="go beyond the declared bounds"):
            masked(method, values, schema(bounds=(low, high)))
        return
    assert all(low <= one <= high for one in masked(method, values, schema(bounds=(low, high))))


def correlated(seed: int, rows: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.multivariate_normal([10, -5, 100], [[4, 3, 0], [3, 9, -2], [0, -2, 25]], rows)


def test_the_root_gives_the_covariance_back() -> None:
    values = correlated(1, 500)
    root = covariance_root(values)
    assert np.allclose(root @ root.T, np.cov(values, rowvar=False))
    twice = np.column_stack([values[:, 0], 2 * values[:, 0]])  # of rank one
    assert np.allclose(covariance_root(twice) @ covariance_root(twice).T, np.cov(twice, rowvar=False))


def test_draws_are_normal() -> None:
    drawn = np.sort(normal_draws(50_000, 2, SeededSource(4)).ravel())
    law = np.array([0.5 * (1 + math.erf(one / math.sqrt(2))) for one in drawn[::50]])
    shares = np.arange(0, len(drawn), 50) / len(drawn)
    assert np.abs(law - shares).max() < math.sqrt(math.log(2 / 1e-9) / (2 * len(drawn)))  # Massart's bound
    assert len(normal_draws(3, 1, SeededSource(1))) == 3


@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("rescaled", [False, True])
def test_covariances_are_kept_with_power(noise: float, *, rescaled: bool) -> None:
    rows = 40_000
    values = correlated(2, rows)
    frame = pl.DataFrame(values, schema=["a", "b", "c"])
    declared = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.NUMBER) for name in "abc"})
    release = sf.CorrelatedNoise(noise=noise, rescaled=rescaled).anonymize(
        sf.Table(frame), declared, rng=SeededSource(1)
    )
    found = sf.noise_moments(release.table, release.card)
    truth = np.cov(values, rowvar=False)
    spread = np.sqrt(np.diag(truth))
    error = np.abs(found.select("a", "b", "c").to_numpy() - truth) / np.outer(spread, spread)
    assert error.max() < 0.05
    means = np.abs(found["mean"].to_numpy() - values.mean(axis=0)) / spread
    assert means.max() < 5 * math.sqrt(noise / rows) + 1e-9
    shown = np.cov(release.table.frame.select("a", "b", "c").to_numpy(), rowvar=False)
    wanted = truth if rescaled else truth * (1 + noise)
    assert np.abs(shown / wanted - 1)[np.eye(3, dtype=bool)].max() < 0.05
    moved = (release.table.column("a").sort() - frame["a"].sort()).abs()
    assert moved.to_numpy().max() > 0


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_noise_of_another_size_is_told_apart(factor: float) -> None:
    values = correlated(3, 40_000)
    frame = pl.DataFrame(values, schema=["a", "b", "c"])
    declared = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.NUMBER) for name in "abc"})
    draft = MaskingDraft.of(sf.Table(frame), declared, source=SeededSource(1))
    noisy = sf.CorrelatedNoise(noise=0.5).mask(draft).columns
    ratio = np.var(noisy["a"].to_numpy() - values[:, 0]) / np.var(values[:, 0])
    assert abs(ratio / 0.5 - 1) < 0.05
    assert abs(ratio / (0.5 * factor) - 1) > 0.2


def test_noise_stays_within_bounds_and_the_card_says_what_that_does() -> None:
    pay = [0, 100] * 50
    found = masked(sf.CorrelatedNoise(noise=2.0), pay, schema(bounds=(0, 100)))
    assert min(found) >= 0
    assert max(found) <= 100
    table = sf.Table(pl.DataFrame({"pay": pay}))
    release = sf.CorrelatedNoise(noise=2.0).anonymize(table, schema(bounds=(0, 100)))
    assert any("cut off at the declared bounds" in warning for warning in release.card.warnings)
    assert release.steward["cut_at_bounds_pay"] > 0
    assert any("not differential privacy" in words for words in release.card.assumptions)


def test_missing_numbers_stay_missing_and_whole_ones_whole() -> None:
    pay = [10, None, 30, 50, None, 70]
    found = masked(sf.CorrelatedNoise(noise=0.5), pay, schema())
    assert [one is None for one in found] == [one is None for one in pay]
    assert all(one is None or isinstance(one, int) for one in found)


@pytest.mark.parametrize(
    "method, said",
    [
        (sf.TopBottomCoding(), "needs --top or --bottom"),
        (sf.TopBottomCoding(top="pay=1.5"), "the threshold 1.5 is none"),
        (sf.TopBottomCoding(top="pay=101"), "lies outside the declared bounds"),
        (sf.TopBottomCoding(top="pay=5", bottom="pay=7"), "bottom must lie below top"),
        (sf.TopBottomCoding(top="born=5"), "'born' is date; top and bottom codes are for numbers"),
        (sf.Rounding(), "needs --base"),
        (sf.Rounding("pay=0.5"), "the base 0.5 is none"),
        (sf.Rounding("born=5"), "'born' is date; rounding is for numbers"),
        (sf.Rounding("sex=5"), "'sex' is category; a column of numbers is wanted"),
        (sf.CorrelatedNoise("born"), "'born' is date; correlated-noise takes numbers"),
    ],
)
def test_what_does_not_fit_is_refused(method: sf.tabular.MaskingAnonymizer, said: str) -> None:
    frame = pl.DataFrame({"pay": [1, 2], "born": [dt.date(2000, 1, 1), dt.date(2001, 1, 1)], "sex": ["F", "M"]})
    roles = {"born": sf.Attribute("born", sf.Role.QUASI), "sex": sf.Attribute("sex", sf.Role.QUASI)}
    declared = sf.Schema({**schema(bounds=(0, 100)).columns, **roles})
    with pytest.raises((ParameterError, SchemaError), match=said):
        method.anonymize(sf.Table(frame), declared)


@pytest.mark.parametrize("method", [sf.CorrelatedNoise(noise=1000.0), sf.Rounding("pay=7", at_random=True)])
def test_numbers_beyond_64_bits_are_refused_and_never_wrapped(method: sf.tabular.MaskingAnonymizer) -> None:
    with pytest.raises(InputError, match="beyond"):
        masked(method, [2**63 - 1, -(2**63) + 1, 0], schema())


def test_too_little_for_a_covariance_is_refused() -> None:
    frame = pl.DataFrame({"a": [1.0, None, 2.0, None], "b": [None, 1.0, None, 2.0]})
    declared = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.NUMBER) for name in "ab"})
    with pytest.raises(InputError, match="no covariance"):
        sf.CorrelatedNoise().anonymize(sf.Table(frame), declared)
