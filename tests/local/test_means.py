"""Means from local reports: exact laws on a small grid, tallies, refusals, and the numbers of Wang et al. (2019)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.checks.base import Check, parameter_checks
from sfumato.errors import InputError, ParameterError
from sfumato.local import choose_mean
from sfumato.local.means import base as mean_base
from sfumato.local.means import protocols as means
from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.protocols import Duchi, Hybrid, LaplaceMean, Piecewise
from sfumato.local.probabilities import SCALE, exp_below
from sfumato.random import SeededSource

KINDS: list[type[MeanProtocol]] = [LaplaceMean, Duchi, Piecewise, Hybrid]
EPSILONS = [0.1, 0.5, 1.0, 2.251, 6.0]
Law = dict[int, Fraction]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> int:
    """A grid small enough to list every report."""
    for module in (mean_base, means):
        monkeypatch.setattr(module, "STEPS", 8)
    return 8


def piecewise_law(protocol: Piecewise, step: int, steps: int) -> Law:
    inside = Fraction(protocol.inside, SCALE)
    window = range(step - protocol.half, step + protocol.half + 1)
    reports = range(-steps - protocol.half, steps + protocol.half + 1)
    return {report: inside / protocol.width if report in window else (1 - inside) / (2 * steps) for report in reports}


def duchi_law(protocol: Duchi, step: int, steps: int) -> Law:
    truth, right = Fraction(protocol.truth, SCALE), Fraction(step + steps, 2 * steps)
    return {1: truth * right + (1 - truth) * (1 - right), -1: truth * (1 - right) + (1 - truth) * right}


def hybrid_law(protocol: Hybrid, step: int, steps: int) -> Law:
    coin, end = Fraction(protocol.coin, SCALE), steps + protocol.piecewise.half + 1
    fine = {report: coin * chance for report, chance in piecewise_law(protocol.piecewise, step, steps).items()}
    return fine | {end * side: (1 - coin) * chance for side, chance in duchi_law(protocol.duchi, step, steps).items()}


def law(protocol: MeanProtocol, step: int, steps: int) -> Law:
    if isinstance(protocol, Piecewise):
        return piecewise_law(protocol, step, steps)
    if isinstance(protocol, Duchi):
        return duchi_law(protocol, step, steps)
    assert isinstance(protocol, Hybrid)
    return hybrid_law(protocol, step, steps)


def worth(protocol: MeanProtocol, report: int) -> Fraction:
    parts = protocol.parts(np.array([report]))
    owners = [Fraction(value) for own, value in parts if own[0]]
    assert len(owners) == 1
    return owners[0] * report


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_reports_are_unbiased_and_within_epsilon_exactly(steps: int, kind: type[MeanProtocol], epsilon: float) -> None:
    protocol = kind(-1, 1, epsilon)
    laws = [law(protocol, step, steps) for step in range(-steps, steps + 1)]
    for step, chances in enumerate(laws, start=-steps):
        assert sum(chances.values()) == 1
        expected = sum((chance * worth(protocol, report) for report, chance in chances.items() if chance), Fraction())
        assert expected == Fraction(step, steps)
    for report in laws[0]:
        column = [chances[report] for chances in laws]
        assert max(column) <= exp_below(epsilon) * min(column)
    assert protocol.spent <= epsilon
    assert protocol.spent > 0.999 * epsilon


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
@pytest.mark.parametrize("where", ["device", "bulk"])
def test_drawn_reports_follow_the_law(steps: int, kind: type[MeanProtocol], where: str) -> None:
    protocol, step = kind(-1, 1, 2.0), 3
    chances = law(protocol, step, steps)
    size = 20_000
    if where == "bulk":
        reports = protocol.report_many(np.full(size, step / steps), SeededSource(3)).tolist()
    else:
        reports = [protocol.perturb(step / steps) for _ in range(size)]
    counts = {report: reports.count(report) for report in chances}
    assert sum(counts.values()) == size
    statistic = sum((counts[r] - size * float(p)) ** 2 / (size * float(p)) for r, p in chances.items() if p)
    assert statistic < 2 * len(chances) + 60  # far beyond the quantile of one in a million
    skewed = {
        report: float(p) * (1.3 if report == max(chances, key=chances.__getitem__) else 1)
        for report, p in chances.items()
    }
    total = sum(skewed.values())
    expected = {report: size * p / total for report, p in skewed.items()}
    assert sum((counts[r] - e) ** 2 / e for r, e in expected.items() if e) > 2 * len(chances) + 60


def test_laplace_noise_is_drawn_for_the_epsilon_asked_or_less() -> None:
    assert LaplaceMean(0, 1, 2.251).spent == 2.251
    third = LaplaceMean(0, 1, 1 / 3)
    assert 0.999999 / 3 < third.spent <= 1 / 3
    assert LaplaceMean(0, 1, 0.5).scale == Fraction(4 * mean_base.STEPS)


def test_device_laplace_has_the_scale_it_should() -> None:
    draws = np.array([means.device_laplace(Fraction(5, 2)) for _ in range(20_000)])
    ratio = math.exp(-2 / 5)
    variance = 2 * ratio / (1 - ratio) ** 2
    assert abs(draws.mean()) < 5 * math.sqrt(variance / draws.size)
    assert 0.9 < draws.var() / variance < 1.1


def test_worst_case_variances_cross_where_the_paper_says() -> None:
    assert Piecewise(-1, 1, 1.28).worst_variance > Duchi(-1, 1, 1.28).worst_variance
    assert Piecewise(-1, 1, 1.30).worst_variance < Duchi(-1, 1, 1.30).worst_variance
    root = math.sqrt(241)
    cubes = [(6353 - sign * 405 * root) ** (1 / 3) for sign in (1, -1)]
    assert math.log((-5 + 2 * sum(cubes)) / 27) == pytest.approx(means.LOWEST_HYBRID, abs=0.005)


@pytest.mark.parametrize("epsilon", [0.2, 0.61, 0.62, 1, 1.29, 3, 8])
def test_hybrid_is_never_worse_than_the_others(epsilon: float) -> None:
    hybrid = Hybrid(-1, 1, epsilon)
    assert all(hybrid.worst_variance <= kind(-1, 1, epsilon).worst_variance * (1 + 1e-12) for kind in KINDS)
    assert choose_mean(-1, 1, epsilon).worst_variance == hybrid.worst_variance


@pytest.mark.parametrize("kind", KINDS)
def test_tallies_add_up_to_that_of_all_reports(kind: type[MeanProtocol]) -> None:
    protocol = kind(16, 94, 1.5)
    reports = protocol.report_many(np.linspace(16, 94, 1001), SeededSource(1))
    whole = protocol.aggregate(reports)
    assert protocol.aggregate(reports[:400]) + protocol.aggregate(reports[400:].tolist()) == whole
    assert whole.users == 1001
    estimate = protocol.estimate(whole, consistent=False)
    assert estimate.low < estimate.mean < estimate.high


def test_what_no_device_sends_is_rejected_and_counted() -> None:
    protocol = Piecewise(0, 1, 1)
    far = mean_base.STEPS + protocol.half + 1
    tally = protocol.aggregate([0, 5, far, -far, 2**70, True, "x", None])  # type: ignore[list-item]
    assert (tally.users, tally.rejected) == (2, 6)
    assert Hybrid(0, 1, 0.5).aggregate([0]).rejected == 1  # at this ε only Duchi's two answers are sent


def test_tallies_of_different_protocols_do_not_mix() -> None:
    first, second = Duchi(0, 1, 1), Duchi(0, 2, 1)
    with pytest.raises(InputError, match="different protocols"):
        _ = first.aggregate([1]) + second.aggregate([1])
    with pytest.raises(InputError, match="another protocol"):
        first.estimate(second.aggregate([1, 1]))
    with pytest.raises(InputError, match="at least 2 reports"):
        first.estimate(first.aggregate([1]))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf])
def test_a_value_outside_the_bounds_is_refused(bad: float) -> None:
    with pytest.raises(InputError, match="outside the bounds 0 to 1"):
        Duchi(0, 1, 1).perturb(bad)
    with pytest.raises(InputError, match=r"row 2: .* is outside the bounds 0 to 1"):
        Duchi(0, 1, 1).report_many([0.5, bad])
    with pytest.raises(InputError, match="2 values are outside"):
        Duchi(0, 1, 1).report_many([bad, bad])


def test_bounds_must_be_in_order() -> None:
    with pytest.raises(ParameterError, match="the first must be the smaller one"):
        Duchi(1, 1, 1)


def test_a_consistent_mean_stays_within_the_bounds() -> None:
    protocol = Duchi(0, 10, 0.5)
    tally = protocol.aggregate([1] * 100)
    assert protocol.estimate(tally).mean == 10
    assert protocol.estimate(tally, consistent=False).mean > 10


@pytest.mark.parametrize(
    "check", [pytest.param(c, id=f"{k.__name__}: {c.name}") for k in KINDS for c in parameter_checks(k(0.0, 1.0, 1.0))]
)
def test_parameters_are_validated(check: Check) -> None:
    check.run()
