"""Mechanisms by themselves: exact costs, exact tails, proven sensitivities, refused parameters, one seam of noise."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.checks.base import Check, parameter_checks
from sfumato.dp.batch import NoiseKind, Weight, allot, split
from sfumato.dp.mechanisms import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    ReportNoisyMax,
    Threshold,
    exact,
    quantile_scores,
    quantile_sensitivity,
)
from sfumato.dp.mechanisms.additive import gaussian_reach, gaussian_tail, laplace_tail
from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.promise.cost import Accountant
from sfumato.promise.unit import Neighbours
from sfumato.random import Noise, OpenDPNoise, SecureSource, SeededNoise, SeededSource, noise_from
from sfumato.random.answers import float_above, root_above
from sfumato.random.discrete import Draws

fractions = st.fractions(min_value=Fraction(1, 50), max_value=200, max_denominator=1000)
ladders = st.lists(st.integers(0, 4), min_size=1, max_size=8)
levels = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
MECHANISMS: list[Mechanism] = [
    Laplace(Fraction(2)),
    Gaussian(Fraction(2)),
    ExponentialMechanism(Fraction(1)),
    ReportNoisyMax(Fraction(1)),
    Threshold(Fraction(1), Fraction(1, 100)),
]


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=f"{m}: {check.name}") for m in MECHANISMS for check in parameter_checks(m)]
)
def test_a_mechanism_refuses_bad_parameters(check: Check) -> None:
    check.run()


@pytest.mark.parametrize("make", [lambda: SeededNoise(1), OpenDPNoise])
def test_numbers_of_any_size_keep_their_noise(make: Callable[[], Noise]) -> None:
    noise, huge = make(), 10**40
    for scale in (Fraction(3), Fraction(2**70)):
        drawn = [value - huge for value in noise.laplace([huge] * 50, scale)]
        assert float(np.std(drawn)) < 10 * scale
        assert len(set(drawn)) > 5
    for variance in (Fraction(9), Fraction(2**140)):
        drawn = [value - huge for value in noise.gaussian([huge] * 50, variance)]
        assert float(np.std(drawn)) < 10 * math.sqrt(variance)
        assert len(set(drawn)) > 5
    assert noise.exponential([0, 2**100], Fraction(1)) == 1
    assert noise.permute_and_flip([2**100, 0], Fraction(1)) == 0


@pytest.mark.parametrize("make", [lambda: SeededNoise(1), OpenDPNoise])
def test_no_numbers_and_numbers_of_arrays_are_released_alike(make: Callable[[], Noise]) -> None:
    noise = make()
    for mechanism in (Laplace(Fraction(3)), Gaussian(Fraction(3))):
        assert mechanism.release([], noise) == []
        near_overflow = np.array([2**63 - 1] * 20)
        assert max(mechanism.release(near_overflow.tolist(), noise)) > 2**63 - 1
        assert all(type(value) is int for value in mechanism.release(list(near_overflow), noise))
    assert ReportNoisyMax(Fraction(1)).choose([7], noise) == 0
    assert ExponentialMechanism(Fraction(1)).choose(list(np.array([-900, 0])), noise) == 1


def test_noise_follows_its_source() -> None:
    assert isinstance(noise_from(), OpenDPNoise)
    assert isinstance(noise_from(SecureSource()), OpenDPNoise)
    seeded = [noise_from(SeededSource(5)).gaussian([0] * 20, Fraction(100)) for _ in range(2)]
    assert seeded[0] == seeded[1]
    assert noise_from(SeededSource(6)).gaussian([0] * 20, Fraction(100)) != seeded[0]


@given(st.integers(1, 10**30))
def test_a_uniform_integer_stays_below_its_bound(bound: int) -> None:
    draws = Draws(SeededSource(1))
    assert all(0 <= draws.below(bound) < bound for _ in range(20))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**12))
def test_a_scale_becomes_a_float_only_upwards(value: Fraction) -> None:
    above, root = float_above(value), root_above(value)
    assert Fraction(above) >= value > Fraction(math.nextafter(above, 0.0)) or Fraction(above) == value
    assert Fraction(root) ** 2 >= value
    assert Fraction(root) ** 2 <= value * (1 + Fraction(1, 2**50))


@given(fractions, st.integers(1, 100))
def test_calibration_spends_exactly_what_it_is_given(amount: Fraction, sensitivity: int) -> None:
    assert Laplace.for_epsilon(amount, sensitivity).cost(sensitivity) == amount
    assert Gaussian.for_rho(amount, sensitivity).cost(sensitivity) == amount
    chosen = ExponentialMechanism.for_rho(amount, sensitivity)
    assert amount * Fraction(999_999, 10**6) <= chosen.rho <= amount
    assert chosen.scale == 2 * sensitivity / chosen.epsilon


def test_a_number_that_is_none_is_refused() -> None:
    for bad in ("x", math.nan, math.inf, "1/0"):
        with pytest.raises(ParameterError, match="not a finite number"):
            exact(bad)
    with pytest.raises(ParameterError, match="the epsilon is 0; give a number above 0"):
        Laplace.for_epsilon(0, 1)
    with pytest.raises(ParameterError, match="the sensitivity is 0"):
        Gaussian.for_rho(1, 0)
    with pytest.raises(ParameterError, match="the confidence is 1"):
        Laplace(Fraction(1)).half_width(1)
    with pytest.raises(InputError, match="no candidate"):
        ReportNoisyMax(Fraction(1)).choose([])


def inside(weights: dict[int, float], half: int) -> float:
    return math.fsum(weight for x, weight in weights.items() if abs(x) <= half) / math.fsum(weights.values())


@given(fractions, st.sampled_from([0.3, 0.5, 0.9, 0.95, 0.99]))
def test_half_widths_are_the_smallest_that_hold(parameter: Fraction, confidence: float) -> None:
    reach = math.ceil(40 * parameter) + 40
    laws: dict[Laplace | Gaussian, dict[int, float]] = {
        Laplace(parameter): {x: math.exp(-abs(x) / parameter) for x in range(-reach, reach + 1)},
        Gaussian(parameter): {x: math.exp(-x * x / (2 * parameter)) for x in range(-reach, reach + 1)},
    }
    for mechanism, weights in laws.items():
        half = mechanism.half_width(confidence)
        assert inside(weights, half) >= confidence - 1e-9
        assert half == 0 or inside(weights, half - 1) < confidence + 1e-9


def test_a_wide_gaussian_is_bounded_by_the_continuous_one() -> None:
    narrow, wide = Fraction(4000**2), Fraction(5000**2)
    for variance in (narrow, wide):
        deviation = math.sqrt(variance)
        half = gaussian_reach(variance, Fraction(1, 20))
        assert half - 1.96 * deviation == pytest.approx(0, abs=2)
        assert gaussian_tail(variance, half) == pytest.approx(0.025, rel=1e-3)
    assert gaussian_tail(wide, 9000) >= float(stats.norm.sf(8999.5 / 5000))


@given(fractions)
def test_the_variance_is_that_of_the_law(scale: Fraction) -> None:
    reach = math.ceil(60 * scale) + 60
    weights = {x: math.exp(-abs(x) / scale) for x in range(-reach, reach + 1)}
    variance = math.fsum(x * x * weight for x, weight in weights.items()) / math.fsum(weights.values())
    assert Laplace(scale).variance == pytest.approx(variance, rel=1e-9, abs=1e-15)


def test_values_on_a_grid_stay_on_it() -> None:
    noise = SeededNoise(2)
    for mechanism in (Laplace(Fraction(40)), Gaussian(Fraction(1600))):
        for _ in range(20):
            value = mechanism.release_on_grid("12.3456", "0.05", noise)
            assert value % Fraction(1, 20) == 0
            assert abs(value - 12) < 30


@given(ladders, ladders, levels, st.integers(0, 5), st.integers(1, 3))
def test_presence_moves_no_score_by_more_than_its_sensitivity(
    ladder: list[int], more: list[int], alpha: Fraction, margin: int, rows: int
) -> None:
    added = np.zeros(len(ladder), dtype=np.int64)
    for place in range(rows):
        added[more[place % len(more)] % len(ladder)] += 1
    before = quantile_scores(ladder, alpha, margin)
    after = quantile_scores(np.asarray(ladder) + added, alpha, margin)
    limit = quantile_sensitivity(alpha, rows, Neighbours.PRESENCE)
    assert max(abs(one - other) for one, other in zip(before, after, strict=True)) <= limit


@given(ladders, st.data(), levels, st.integers(0, 5), st.integers(1, 3))
def test_changed_values_move_no_score_by_more_than_their_sensitivity(
    ladder: list[int], data: st.DataObject, alpha: Fraction, margin: int, rows: int
) -> None:
    moved = np.asarray(ladder)
    for _ in range(rows):
        held = np.flatnonzero(moved)
        if held.size == 0:
            break
        moved[data.draw(st.sampled_from(held.tolist()))] -= 1
        target = data.draw(st.integers(-1, len(ladder) - 1))  # -1: the value went missing
        if target >= 0:
            moved[target] += 1
    before, after = quantile_scores(ladder, alpha, margin), quantile_scores(moved, alpha, margin)
    limit = quantile_sensitivity(alpha, rows, Neighbours.VALUE)
    assert max(abs(one - other) for one, other in zip(before, after, strict=True)) <= limit


def test_sensitivities_of_scores_are_reached() -> None:
    for alpha in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        before = quantile_scores([20, 0, 20], alpha)
        presence = [quantile_scores([20 + one, 0, 20 + other], alpha) for one, other in ((1, 0), (0, 1))]
        changed = quantile_scores([19, 0, 21], alpha)
        most = max(abs(a - b) for after in presence for a, b in zip(before, after, strict=True))
        assert most == quantile_sensitivity(alpha, 1, Neighbours.PRESENCE)
        most = max(abs(a - b) for a, b in zip(before, changed, strict=True))
        assert most == quantile_sensitivity(alpha, 1, Neighbours.VALUE)


@given(ladders, levels)
def test_the_best_score_stands_at_a_true_quantile(ladder: list[int], alpha: Fraction) -> None:
    rows = [place for place, count in enumerate(ladder) for _ in range(count)]
    scores = quantile_scores(ladder, alpha)
    if not rows:
        assert set(scores) == {0}
        return
    assert max(scores) == 0
    if alpha in {0, 1}:
        assert scores[rows[0] if alpha == 0 else rows[-1]] == 0
        return
    for place in range(len(ladder)):
        below, up_to = sum(row < place for row in rows), sum(row <= place for row in rows)
        assert (scores[place] == 0) == (below <= alpha * len(rows) <= up_to)


def test_a_level_outside_is_refused() -> None:
    for bad in (Fraction(-1, 2), Fraction(3, 2), Fraction(1, 10**7)):
        with pytest.raises(ParameterError, match="the level of a quantile is"):
            quantile_scores([1, 2], bad)


@given(st.integers(2, 6), st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=100))
def test_a_randomised_response_keeps_epsilon_exactly(categories: int, epsilon: Fraction) -> None:
    mechanism = RandomizedResponse(tuple(range(categories)), epsilon)
    with localcontext() as context:
        context.prec = 80
        promised = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    assert mechanism.truth / mechanism.lie <= promised
    assert mechanism.truth / mechanism.lie >= promised * (1 - Fraction(1, 10**5))
    assert mechanism.truth + (categories - 1) * mechanism.lie == 1
    assert Fraction(float(mechanism.truth)) == mechanism.truth


def test_categories_must_differ_and_be_declared() -> None:
    for bad in ((), ("a",), ("a", "a")):
        with pytest.raises(ParameterError, match="two or more different ones"):
            RandomizedResponse(bad, Fraction(1))
    with pytest.raises(InputError, match="none of the declared categories") as caught:
        RandomizedResponse(("a", "b"), Fraction(1)).respond("secret")
    assert "secret" not in str(caught.value)


def tail(threshold: Threshold, at: int) -> float:
    if isinstance(threshold.mechanism, Laplace):
        return float(laplace_tail(threshold.mechanism.scale, at)) if at > 0 else 1.0
    assert isinstance(threshold.mechanism, Gaussian)
    return gaussian_tail(threshold.mechanism.variance, at) if at > 0 else 1.0


def divisions(total: int, largest: int) -> list[tuple[int, ...]]:
    if total == 0:
        return [()]
    return [(part, *rest) for part in range(min(total, largest), 0, -1) for rest in divisions(total - part, part)]


@pytest.mark.parametrize("accountant", list(Accountant))
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("epsilon, rows, groups", [("0.1", 6, 1), ("8", 6, 1), ("1", 1, 4), ("1", 2, 3)])
def test_no_division_of_a_unit_among_keys_leaks_more_than_delta(
    accountant: Accountant, neighbours: Neighbours, epsilon: str, rows: int, groups: int
) -> None:
    delta = Fraction(1, 1000)
    threshold = Threshold(Fraction(epsilon), delta, rows, groups, neighbours, accountant)
    leaks = [
        sum(tail(threshold, threshold.least - part) for part in division) for division in divisions(rows * groups, rows)
    ]
    assert max(leaks) <= delta
    lower = [
        sum(tail(threshold, threshold.least - 1 - part) for part in division)
        for division in divisions(rows * groups, rows)
    ]
    assert max(lower) > delta  # one lower would not do


def test_a_threshold_pays_for_its_noise() -> None:
    pure = Threshold(Fraction(1, 2), Fraction(1, 10**6), groups=3, neighbours=Neighbours.VALUE)
    assert pure.mechanism == Laplace(Fraction(12))
    concentrated = Threshold(Fraction(1, 2), Fraction(1, 10**6), rows=3, accountant=Accountant.ZCDP)
    assert concentrated.mechanism == Gaussian(Fraction(9))


def hockey_stick(one: Sequence[float], other: Sequence[float], epsilon: float) -> float:
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one, other, strict=True))


def shifted(shift: int, scale: float) -> tuple[list[float], list[float]]:
    reach = math.ceil(40 * scale) + shift
    norm = math.tanh(0.5 / scale)
    one = [norm * math.exp(-abs(x) / scale) for x in range(-reach, reach + 1)]
    return one, [norm * math.exp(-abs(x - shift) / scale) for x in range(-reach, reach + 1)]


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_a_coarser_shift_dominates_a_finer_one(factor: float) -> None:
    for epsilon in np.linspace(0, 1 / factor, 9):
        leaks = [hockey_stick(*shifted(steps, factor * steps), epsilon) for steps in (1, 3, 6, 12)]
        assert all(coarse >= fine - 1e-12 for coarse, fine in itertools.pairwise(leaks))
    assert hockey_stick(*shifted(1, factor), 0) > hockey_stick(*shifted(12, 12 * factor), 0) + 1e-3


@pytest.mark.parametrize("first, second", [(1, 1), (2, 1), (3, 5)])
def test_one_number_moved_alone_dominates_two_that_share_the_move(first: int, second: int) -> None:
    scale = 2.0
    pairs = [shifted(first, scale), shifted(second, scale)]
    product = [[p * q for p in pairs[0][side] for q in pairs[1][side]] for side in (0, 1)]
    for epsilon in np.linspace(0, (first + second) / scale, 7):
        alone = hockey_stick(*shifted(first + second, scale), epsilon)
        assert hockey_stick(product[0], product[1], epsilon) <= alone + 1e-9


def test_one_question_gets_no_more_noise_than_it_needs() -> None:
    assert allot([Weight(sensitivity=5)], 1, "1e-9") == split([Weight(sensitivity=5)], 1)


def test_composed_laplace_is_within_delta_and_not_far_inside() -> None:
    (mechanism,) = allot([Weight(times=50)], 1, "1e-5")
    assert isinstance(mechanism, Laplace)
    scale = float(mechanism.scale)
    assert scale < float(split([Weight(times=50)], 1)[0].scale)

    def delta(scale: float) -> float:
        """A shift by one step has two losses, ±1/scale, so fifty of them are binomial (Kairouz et al. 2015)."""
        gain = 1 / (1 + math.exp(-1 / scale))
        chances = stats.binom.pmf(range(51), 50, gain)
        losses = [(2 * gains - 50) / scale for gains in range(51)]
        return math.fsum(p * max(0.0, -math.expm1(1 - loss)) for p, loss in zip(chances, losses, strict=True))

    assert delta(scale) <= 1e-5
    assert delta(scale * 0.995) > 1e-5


def test_composed_gaussians_reach_the_analytic_bound() -> None:
    epsilon, delta, times = 1.0, 1e-6, 40
    (mechanism,) = allot([Weight(sensitivity=2, numbers=3, times=times)], epsilon, delta, NoiseKind.GAUSSIAN)
    assert isinstance(mechanism, Gaussian)
    shift = math.sqrt(times * 12 / mechanism.variance)  # of one Gaussian with the same norms (Balle & Wang 2018)
    leak = stats.norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * stats.norm.cdf(
        -shift / 2 - epsilon / shift
    )
    assert 0.97 * delta < leak <= delta * 1.0001


def test_a_gaussian_too_wide_to_sum_keeps_its_concentrated_bound() -> None:
    from sfumato.promise.zcdp import rho_of

    (mechanism,) = allot([Weight(sensitivity=10**6, times=3)], 1, "1e-6", NoiseKind.GAUSSIAN)
    assert isinstance(mechanism, Gaussian)
    rho = Fraction(rho_of(Decimal(1), Decimal("1e-6")))
    assert rho * Fraction(9999, 10**4) < 3 * mechanism.cost(10**12) <= rho


def test_questions_of_several_forms_share_one_multiple() -> None:
    first, second = allot([Weight(times=30), Weight(sensitivity=7, numbers=3, times=2)], 1, "1e-6")
    assert isinstance(first, Laplace)
    assert isinstance(second, Laplace)
    assert second.scale == 21 * first.scale
    assert first.scale < 32


def test_a_batch_that_makes_no_sense_is_refused() -> None:
    for weights, epsilon, delta in (([], 1, "1e-6"), ([Weight()], 0, "1e-6"), ([Weight()], 1, 0), ([Weight()], 1, 1)):
        with pytest.raises(ParameterError, match="cannot be allotted"):
            allot(weights, epsilon, delta)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtraError, match=r"sfumato\[batch\]"):
        allot([Weight(times=3)], 1, "1e-6")
