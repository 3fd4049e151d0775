"""Every mechanism draws the law it names: tests accept the true scale and reject one that is 30 % off."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import pytest
from scipy import stats

from sfumato.dp.mechanisms import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    RandomizedResponse,
    ReportNoisyMax,
    Threshold,
    quantile_scores,
)
from sfumato.random import Noise, OpenDPNoise, SeededNoise

UNLIKELY = 1e-6  # a true law is refused this rarely; a false one must be refused at least this clearly
MANY, SOME = 20_000, 3_000
NOISES = [pytest.param(lambda: SeededNoise(20), id="seeded"), pytest.param(OpenDPNoise, id="opendp")]
Law = Mapping[int, float]
SCORES = [0, -4, -4, -5, -5, -6, -6]  # far enough apart that a choice tells much about the scale


def laplace_law(scale: float) -> dict[int, float]:
    decay = math.exp(-1 / scale)
    reach = math.ceil(60 * scale) + 2
    return {x: (1 - decay) / (1 + decay) * decay ** abs(x) for x in range(-reach, reach + 1)}


def gaussian_law(variance: float) -> dict[int, float]:
    reach = math.ceil(14 * math.sqrt(variance)) + 2
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


def softmax(scores: Sequence[int], scale: float) -> dict[int, float]:
    weights = [math.exp(score / scale) for score in scores]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def flipped(scores: Sequence[int], scale: float) -> dict[int, float]:
    """Permute-and-flip by its definition: the mean over all orders of the chance that the first coin to fall is i's."""
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    law = dict.fromkeys(range(len(scores)), 0.0)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            law[place] += left * coins[place] / len(orders)
            left *= 1 - coins[place]
    return law


def chance(draws: Sequence[int], law: Law) -> float:
    """The p-value of a chi-square test, neighbouring values pooled until 20 are expected."""
    seen, statistic, cells = Counter(draws), 0.0, 0
    expected, observed = 0.0, 0
    for value in sorted(law):
        expected += law[value] * len(draws)
        observed += seen.pop(value, 0)
        if expected >= 20:
            statistic, cells = statistic + (observed - expected) ** 2 / expected, cells + 1
            expected, observed = 0.0, 0
    if expected > 0:
        statistic, cells = statistic + (observed - expected) ** 2 / max(expected, 1e-9), cells + 1
    assert not seen, "values outside the law"
    return float(stats.chi2.sf(statistic, cells - 1))


def has_power(draws: Sequence[int], law: Callable[[float], Law], parameter: float) -> None:
    assert chance(draws, law(parameter)) > UNLIKELY
    assert chance(draws, law(parameter * 1.3)) < UNLIKELY
    assert chance(draws, law(parameter * 0.7)) < UNLIKELY


@pytest.mark.parametrize("make", NOISES)
@pytest.mark.parametrize("scale", [Fraction(7, 10), Fraction(10), Fraction(1000, 3)])
def test_laplace_noise_has_its_scale(make: Callable[[], Noise], scale: Fraction) -> None:
    has_power(Laplace(scale).release([0] * MANY, make()), laplace_law, float(scale))


@pytest.mark.parametrize("make", NOISES)
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(30), Fraction(10**4)])
def test_gaussian_noise_has_its_variance(make: Callable[[], Noise], variance: Fraction) -> None:
    has_power(Gaussian(variance).release([0] * MANY, make()), gaussian_law, float(variance))


def test_the_integers_of_any_size_draw_the_same_laplace() -> None:
    huge = Fraction(10 * 2**41 + 1, 2**41)  # too large for the kernel, so Python's integers draw it
    has_power(SeededNoise(4).laplace([0] * MANY, huge), laplace_law, 10.0)


@pytest.mark.parametrize("make", NOISES)
def test_the_exponential_mechanism_is_a_softmax(make: Callable[[], Noise]) -> None:
    mechanism, noise = ExponentialMechanism(Fraction(1)), make()
    assert mechanism.scale == 2
    has_power([mechanism.choose(SCORES, noise) for _ in range(SOME)], lambda scale: softmax(SCORES, scale), 2.0)


@pytest.mark.parametrize("make", NOISES)
def test_report_noisy_max_is_permute_and_flip(make: Callable[[], Noise]) -> None:
    mechanism, noise = ReportNoisyMax(Fraction(1), monotone=True, sensitivity=2), make()
    assert mechanism.scale == 2
    draws = [mechanism.choose(SCORES, noise) for _ in range(SOME)]
    has_power(draws, lambda scale: flipped(SCORES, scale), 2.0)
    assert chance(draws, softmax(SCORES, 2.0)) < UNLIKELY


@pytest.mark.parametrize("make", NOISES)
def test_a_randomised_response_tells_the_truth_as_often_as_it_says(make: Callable[[], Noise]) -> None:
    mechanism, noise = RandomizedResponse((0, 1, 2, 3), Fraction(3)), make()
    told = [int(mechanism.respond(2, noise)) for _ in range(SOME)]

    def law(epsilon: float) -> dict[int, float]:
        whole = math.exp(epsilon) + 3
        return {0: 1 / whole, 1: 1 / whole, 2: math.exp(epsilon) / whole, 3: 1 / whole}

    has_power(told, law, 3.0)


def test_the_estimate_of_a_randomised_response_is_unbiased() -> None:
    mechanism, noise = RandomizedResponse(("a", "b", "c"), Fraction(1)), SeededNoise(3)
    truth = {"a": 6000, "b": 3000, "c": 1000}
    told = Counter(mechanism.respond(name, noise) for name, count in truth.items() for _ in range(count))
    found = mechanism.estimate(told)
    error = math.sqrt(10_000 / 4) / float(mechanism.truth - mechanism.lie)  # a bound on the standard error
    assert all(abs(found[name] - count) < 5 * error for name, count in truth.items())
    assert abs(told["a"] - 6000) > 10 * math.sqrt(10_000 / 4)  # what was told is far from the truth


def differ(one: Sequence[int], other: Sequence[int], parts: int = 20) -> float:
    """The p-value of a two-sample chi-square test over cells of about equal weight."""
    cuts = sorted({sorted(one)[place * len(one) // parts] for place in range(1, parts)})
    table = [[0] * (len(cuts) + 1) for _ in range(2)]
    for row, sample in zip(table, (one, other), strict=True):
        for value in sample:
            row[sum(value >= cut for cut in cuts)] += 1
    kept = [pair for pair in zip(*table, strict=True) if sum(pair)]
    return float(stats.chi2_contingency(list(zip(*kept, strict=True))).pvalue)


def test_both_samplers_draw_alike() -> None:
    seeded, opendp = SeededNoise(11), OpenDPNoise()
    zeros = [0] * 8000
    pairs = [
        (seeded.laplace(zeros, Fraction(20)), opendp.laplace(zeros, Fraction(20)), opendp.laplace(zeros, Fraction(26))),
        (
            seeded.gaussian(zeros, Fraction(400)),
            opendp.gaussian(zeros, Fraction(400)),
            opendp.gaussian(zeros, Fraction(676)),
        ),
    ]
    for one, same, other in pairs:
        assert differ(one, same) > UNLIKELY
        assert differ(one, other) < UNLIKELY


@pytest.mark.parametrize("make", NOISES)
@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_a_key_of_one_person_passes_at_most_with_delta(make: Callable[[], Noise], accountant: str) -> None:
    from sfumato.promise.cost import Accountant

    threshold = Threshold(Fraction(1), Fraction(1, 10), groups=2, accountant=Accountant(accountant))
    noise, trials = make(), 8000
    kept = threshold.keep([1, 1] * trials, noise)
    persons = len({place // 2 for place in kept}) / trials
    slack = 5 * math.sqrt(0.1 * 0.9 / trials)
    assert persons < 0.1 + slack
    noisy = threshold.mechanism.release([1, 1] * trials, noise)
    lower = len({place // 2 for place, value in enumerate(noisy) if value >= threshold.least - 2}) / trials
    assert lower > 0.1 + slack  # two lower, the threshold would not keep its promise


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(7)), Gaussian(Fraction(50))])
def test_the_half_width_holds_as_often_as_it_says(mechanism: Laplace | Gaussian) -> None:
    draws = mechanism.release([0] * MANY, SeededNoise(8))
    for confidence in (0.5, 0.9, 0.95):
        half = mechanism.half_width(confidence)
        slack = 5 * math.sqrt(confidence * (1 - confidence) / MANY)
        assert sum(abs(value) <= half for value in draws) / MANY > confidence - slack
        assert sum(abs(value) <= 0.7 * half for value in draws) / MANY < confidence - slack


def choices(counts: Sequence[int], alpha: Fraction, trials: int, margin: int | None = None) -> list[int]:
    mechanism, noise = ExponentialMechanism(Fraction(1)), SeededNoise(6)
    inside = mechanism.score_error(len(counts), 0.95) if margin is None else margin
    scores = quantile_scores(counts, alpha, inside)
    return [mechanism.choose(scores, noise) for _ in range(trials)]


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1)])
def test_extremes_of_distant_rows_do_not_drift_to_the_bounds(alpha: Fraction) -> None:
    counts, extreme = [0] * 400 + [5] * 200 + [0] * 401, (400 if alpha == 0 else 599)
    near = [400 <= place < 600 and abs(place - extreme) < 12 for place in choices(counts, alpha, 200)]
    assert sum(near) / 200 > 0.9
    without = [400 <= place < 600 for place in choices(counts, alpha, 200, margin=0)]
    assert sum(without) / 200 < 0.1  # this is why there is a margin


def test_an_empty_group_is_answered_uniformly() -> None:
    places = choices([0] * 10, Fraction(1, 2), SOME)
    assert chance(places, dict.fromkeys(range(10), 0.1)) > UNLIKELY
    assert chance(places, {place: (0.13 if place < 5 else 0.07) for place in range(10)}) < UNLIKELY


@pytest.mark.long
@pytest.mark.parametrize("make", NOISES)
def test_many_draws_reject_a_scale_five_percent_off(make: Callable[[], Noise]) -> None:
    noise, count = make(), 300_000
    laws: list[tuple[list[int], Callable[[float], Law], float]] = [
        (Laplace(Fraction(5)).release([0] * count, noise), laplace_law, 5.0),
        (Gaussian(Fraction(25)).release([0] * count, noise), gaussian_law, 25.0),
    ]
    for draws, law, parameter in laws:
        assert chance(draws, law(parameter)) > UNLIKELY
        assert chance(draws, law(parameter * 1.05)) < UNLIKELY
        assert chance(draws, law(parameter * 0.95)) < UNLIKELY
