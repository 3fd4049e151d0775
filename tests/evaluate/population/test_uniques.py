"""The choice among estimators, the bound that needs no model, and intervals; measured on populations that are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.stats import binom

from sfumato.errors import ParameterError
from sfumato.evaluate.population.interval import MOST_SIZES, delta_error, delta_interval
from sfumato.evaluate.population.intrusion import chance_of_correct_match, match_interval
from sfumato.evaluate.population.reidentified import classic_total, unseen_total
from sfumato.evaluate.population.sampled import SampledClasses
from sfumato.evaluate.population.uniques import (
    PITMAN,
    SLIDE,
    ZAYATZ,
    UniquesEstimate,
    choose,
    estimate_uniques,
    most_uniques,
)
from sfumato.table.distinct import distinct

Int64s = npt.NDArray[np.int64]


@pytest.mark.parametrize(
    "fraction, values, wanted",
    [
        (0.05, (5.0, 4.0, 3.0), PITMAN),
        (0.1, (5.0, 4.0, 3.0), PITMAN),
        (0.05, (None, 4.0, 3.0), ZAYATZ),
        (0.2, (5.0, 4.0, 3.0), SLIDE),
        (0.2, (1.0, 3.0, 4.0), ZAYATZ),
        (0.2, (1.0, 3.0, None), ZAYATZ),
    ],
)
def test_the_rule_of_dankar_et_al(fraction: float, values: tuple[float | None, ...], wanted: str) -> None:
    sample = SampledClasses.of(np.array([1, 1, 2, 2, 4]), 10 / fraction)
    given = [UniquesEstimate(name, value) for name, value in zip((PITMAN, ZAYATZ, SLIDE), values, strict=True)]
    choice = choose(given, sample)
    assert (choice.estimator, choice.value) == (wanted, dict(zip((PITMAN, ZAYATZ, SLIDE), values, strict=True))[wanted])
    assert ("no solution" in choice.why) == (None in values)


@pytest.mark.parametrize("uniques, others, population", [(0, 40, 4_000), (3, 17, 1_000), (500, 100, 90_000)])
def test_the_bound_is_clopper_and_pearsons(uniques: int, others: int, population: int) -> None:
    sample = SampledClasses.of(np.array([1] * uniques + [others]), population)
    bound = most_uniques(sample)
    assert binom.cdf(uniques, np.floor(bound), sample.fraction) >= 0.05
    assert bound == population or binom.cdf(uniques, np.ceil(bound) + 1, sample.fraction) <= 0.05


def test_a_whole_population_is_counted() -> None:
    found = estimate_uniques(SampledClasses.of(np.array([1, 1, 2]), 4))
    assert [(one.value, one.low, one.high) for one in found.estimates] == [(2, 2, 2)] * 3
    assert found.choice.at_most == 2
    assert match_interval(SampledClasses.of(np.array([1, 1, 2]), 4)) is None
    assert chance_of_correct_match(SampledClasses.of(np.array([1, 1, 2]), 4)) == 1


def test_unsolved_estimators_say_so() -> None:
    found = estimate_uniques(SampledClasses.of(np.ones(20, dtype=np.int64), 400))
    assert [one.value is None for one in found.estimates] == [True, False, True]
    assert all("no solution" in one.note for one in found.estimates if one.value is None)
    assert found.choice.estimator == ZAYATZ
    assert "no solution" in found.choice.why


def test_fewer_people_than_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="the population has 3 people and the sample 4 rows"):
        SampledClasses.of(np.array([1, 3]), 3)


def test_delta_method_beside_the_formula_and_without_neighbours() -> None:
    sample = SampledClasses.of(np.repeat([1, 2, 5], [90, 30, 6]), 5_000)
    sizes, numbers = sample.sizes, sample.numbers
    slope = (sizes * numbers)[0] / (sizes**2 @ numbers)
    moved = np.array([1.0, 0.0, 0.0]) - slope * sizes
    assert delta_error(lambda near: near.uniques, sample, 90) == pytest.approx(np.sqrt(numbers @ moved**2))
    assert delta_interval(lambda near: None if near.rows > 180 else 1.0, sample, 1.0) is None
    assert delta_interval(lambda _: 0.0, sample, 0.0) == (0, 0)


def test_derivatives_of_many_sizes_are_interpolated() -> None:
    sizes = np.arange(1, 400)
    sample = SampledClasses.of(sizes, 10**6)
    asked: list[float] = []

    def estimator(near: SampledClasses) -> float:
        asked.append(near.rows)
        return float(near.numbers @ np.log(near.sizes))

    error = delta_error(estimator, sample, float(np.log(sizes).sum()))
    moved = np.log(sizes) - sizes * float(sizes @ np.log(sizes)) / float(sizes @ sizes)
    assert len(asked) <= MOST_SIZES
    assert error == pytest.approx(np.sqrt((moved**2).sum()), rel=1e-6)


def truth(population: Int64s, share: float, seed: int) -> tuple[SampledClasses, Int64s, Int64s, int]:
    """A sample with the frequencies of its keys, and the number of population uniques."""
    draw = np.random.default_rng(seed)
    rows = draw.choice(len(population), round(len(population) * share), replace=False)
    whole = np.bincount(population)
    part = np.bincount(population[rows], minlength=len(whole))
    met = part > 0
    return SampledClasses.of(part[met], len(population)), part[met], whole[met], int((whole == 1).sum())


@pytest.fixture(scope="module")
def uneven() -> Int64s:
    """The keys of 60,000 people: 20,000 keys whose chances are Dirichlet numbers of concentration 0.5 (seed 5)."""
    draw = np.random.default_rng(5)
    return draw.choice(20_000, 60_000, p=draw.dirichlet(np.full(20_000, 0.5)))


def test_a_population_of_pitmans_law_is_covered(uneven: Int64s) -> None:
    """At 5 % (seeds 0 to 39) intervals hold the truth about as often as they say, and the bound always."""
    held = {"uniques": 0, "again": 0, "match": 0, "bound": 0}
    ratios = []
    for seed in range(40):
        sample, part, whole, alone = truth(uneven, 0.05, seed)
        found = estimate_uniques(sample)
        pitman = found.estimates[0]
        assert pitman.value is not None
        assert pitman.low is not None
        assert pitman.high is not None
        ratios.append(pitman.value / alone)
        held["uniques"] += pitman.low <= alone <= pitman.high
        held["bound"] += alone <= found.choice.at_most
        sizes = part.astype(np.float64)
        again = unseen_total(sizes, np.full(len(sizes), 0.05), sample)
        assert again.low is not None
        assert again.high is not None
        held["again"] += again.low <= float((part / whole).sum()) <= again.high
        low, high = match_interval(sample) or (1.0, 0.0)
        held["match"] += low <= float((part == 1).sum() / whole[part == 1].sum()) <= high
    assert 0.85 < np.median(ratios) < 1.15
    assert held["bound"] >= 38
    assert held["match"] >= 34
    assert held["again"] >= 30
    assert held["uniques"] >= 28


def test_benedetti_and_franconi_fall_short_where_keys_are_not_met(uneven: Int64s) -> None:
    sample, part, whole, _ = truth(uneven, 0.02, 1)
    sizes = part.astype(np.float64)
    shares = np.full(len(sizes), sample.fraction)
    again = float((part / whole).sum())
    classic, unseen = classic_total(sizes, shares), unseen_total(sizes, shares, sample)
    assert classic.expected is not None
    assert unseen.expected is not None
    assert classic.expected < 0.6 * again
    assert 0.7 * again < unseen.expected < 1.4 * again


def test_weights_carry_unequal_sampling() -> None:
    """Two strata sampled at 2 % and at 20 % (seeds 0 to 9): weighted risks add up to the truth, flat ones do not."""
    ratios = []
    for seed in range(10):
        draw = np.random.default_rng([7, seed])
        whole = np.concatenate([draw.poisson(2_000, 500), draw.poisson(200, 500)])
        rates = np.repeat([0.02, 0.2], 500)
        part = draw.binomial(whole, rates)
        met = part > 0
        sizes, again = part[met].astype(np.float64), float((part[met] / whole[met]).sum())
        one_fraction = np.full(len(sizes), part.sum() / whole.sum())
        totals = [classic_total(sizes, shares).expected for shares in (rates[met], one_fraction)]
        ratios.append([0.0 if total is None else total / again for total in totals])
    weighted, flat = np.mean(ratios, axis=0)
    assert weighted == pytest.approx(1, abs=0.06)
    assert abs(flat - 1) > 0.3


def test_samples_of_adult(data: Callable[[str], Path]) -> None:
    """Adult's training rows as the population, 5 % of them as the sample (seeds 0 to 4), five quasi-identifiers."""
    names = ["age", "sex", "race", "education", "marital-status"]
    frame = pl.read_csv(data("adult_train.csv.gz")).select(pl.col(names).cast(pl.String))
    codes = [column.rank("dense").to_numpy().astype(np.int64) - 1 for column in frame]
    population = distinct(codes, [int(column.max()) + 1 for column in codes]).ids
    for seed in range(5):
        sample, part, whole, alone = truth(population, 0.05, seed)
        found = estimate_uniques(sample).choice
        assert 0.4 < found.value / alone < 2.5
        assert alone <= found.at_most
        sizes = part.astype(np.float64)
        again = unseen_total(sizes, np.full(len(sizes), sample.fraction), sample)
        assert again.expected == pytest.approx(float((part / whole).sum()), rel=0.35)


def test_samples_of_the_census(data: Callable[[str], Path]) -> None:
    """The census extract of 1980 as the population, 10 % of it as the sample (seeds 0 to 4)."""
    names = ["age", "sex", "race", "marstat", "educrec"]
    frame = pl.read_csv(data("ipums_1980_extract.csv")).select(pl.col(names).cast(pl.String))
    codes = [column.rank("dense").to_numpy().astype(np.int64) - 1 for column in frame]
    population = distinct(codes, [int(column.max()) + 1 for column in codes]).ids
    for seed in range(5):
        sample, part, whole, alone = truth(population, 0.1, seed)
        found = estimate_uniques(sample).choice
        assert 0.5 < found.value / alone < 2
        assert alone <= found.at_most
        low, high = match_interval(sample) or (1.0, 0.0)
        assert 0.8 * low <= float((part == 1).sum() / whole[part == 1].sum()) <= 1.25 * high
