"""What is broken falls under the audit of ε, what is exact stands, and luck refutes as rarely as said."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from sfumato.audit import Finding, epsilon
from sfumato.audit.epsilon.events import Integers
from sfumato.audit.epsilon.subjects import audit_mechanism, find_trial
from sfumato.dp.mechanisms import ExponentialMechanism
from sfumato.random import SecureSource, SeededSource, Source, discrete_laplace, noise_from


def audited(name: str, trials: int, source: Source, claim: float = 1.0) -> Finding:
    return audit_mechanism(name, claim=claim, trials=trials, rng=source)


@pytest.mark.parametrize("name", ["laplace", "discrete-laplace", "randomized-response"])
def test_an_exact_mechanism_stands_and_its_bound_is_near(name: str) -> None:
    finding = audited(name, 200_000, SeededSource(1))
    assert not finding.refuted
    assert finding.bound is not None
    assert 0.9 < finding.bound <= 1


@pytest.mark.parametrize(
    "name, trials, near", [("exponential", 40_000, 0.5), ("noisy-max", 40_000, 0.7), ("gaussian", 20_000, 0)]
)
def test_an_exact_selection_and_a_gaussian_stand(name: str, trials: int, near: float) -> None:
    finding = audited(name, trials, SeededSource(1))
    assert not finding.refuted
    assert finding.bound is not None
    assert near <= finding.bound <= 1


@pytest.mark.parametrize("claim", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("name", ["half-laplace", "same-seed", "float-laplace", "wrong-sensitivity"])
def test_a_broken_mechanism_falls(name: str, claim: float) -> None:
    assert audited(name, 200_000, SeededSource(1), claim).refuted


def test_an_exponential_mechanism_without_its_factor_falls() -> None:
    finding = audited("exponential-without-two", 60_000, SeededSource(1))
    assert finding.refuted
    assert finding.bound is not None
    assert finding.bound < 2


@pytest.mark.parametrize("size", [2, 10])
def test_one_up_and_the_rest_down_shows_the_missing_factor(size: int) -> None:
    mechanism = ExponentialMechanism(Fraction(1), monotone=True)

    def chosen(scores: Sequence[int], count: int, rng: Source) -> list[int]:
        noise = noise_from(rng)
        return [mechanism.choose(scores, noise) for _ in range(count)]

    left, right = [0] * size, [1] + [-1] * (size - 1)
    assert epsilon(chosen, left, right, claim=1.0, trials=20_000, rng=SeededSource(1)).refuted


def test_floating_point_noise_falls_without_knowing_how_it_is_made() -> None:
    trial = find_trial("float-laplace", 1.0)
    finding = epsilon(trial.run, 0.0, 1.0, claim=1.0, rng=SeededSource(1))
    assert finding.refuted
    assert "multiple of 2^" in finding.evidence["event"]


@pytest.mark.parametrize("name", ["laplace", "gaussian", "exponential", "noisy-max", "randomized-response"])
def test_the_samplers_of_releases_stand(name: str) -> None:
    trial = find_trial(name, 1.0)
    left, right = trial.pairs[min(2, len(trial.pairs) - 1)]
    finding = epsilon(trial.run, left, right, claim=1.0, delta=trial.delta, trials=1000, rng=SecureSource())
    assert not finding.refuted


@pytest.mark.long
def test_a_true_claim_is_refuted_as_rarely_as_the_confidence_says() -> None:
    def laplace(value: int, count: int, rng: Source) -> Integers:
        return value + discrete_laplace(count, Fraction(1), rng)

    source = SeededSource(1)
    refuted = sum(
        epsilon(laplace, 0, 1, claim=1.0, trials=2000, confidence=0.9, rng=source).refuted for _ in range(150)
    )
    assert refuted <= 27  # one in ten at most; more than 27 in 150 would come less than once in a thousand times


def test_a_claim_is_refuted_thirty_percent_below_and_not_above() -> None:
    def laplace(value: int, count: int, rng: Source) -> Integers:
        return value + discrete_laplace(count, Fraction(1), rng)

    assert epsilon(laplace, 0, 1, claim=0.7, rng=SeededSource(1)).refuted
    assert not epsilon(laplace, 0, 1, claim=1.3, rng=SeededSource(1)).refuted
