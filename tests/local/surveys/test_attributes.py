"""Several attributes under one ε: one report or all, what is spent, and that sampling is the better way."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.local.domain import Value
from sfumato.local.probabilities import exp_below
from sfumato.local.surveys.attributes import Attributes
from sfumato.local.surveys.survey import Axis, Crossing, Survey, View
from sfumato.random import SeededSource

DOMAINS: dict[str, tuple[Value, ...]] = {
    "hour": tuple(range(24)),
    "station": tuple(f"s{number}" for number in range(60)),
    "period": ("am", "noon", "pm"),
    "sex": ("f", "m"),
}
USERS = 30_000
Mode = Literal["sample", "split"]
MODES: list[Mode] = ["sample", "split"]


def people() -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    draw = np.random.default_rng(8)
    return {name: draw.integers(0, len(domain), USERS) // 2 for name, domain in DOMAINS.items()}


def squared_errors(mode: Mode, epsilon: float, seed: int) -> dict[str, float]:
    codes = people()
    plan = Attributes.choose(DOMAINS, epsilon, USERS, mode=mode)
    estimates = plan.estimate(plan.aggregate(plan.report_many(codes, SeededSource(seed))), consistent=False)
    return {
        name: float(((estimates[name].counts - np.bincount(codes[name], minlength=len(domain))) ** 2).mean())
        for name, domain in DOMAINS.items()
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_device_spends_no_more_than_epsilon(mode: Mode) -> None:
    plan = Attributes.choose(DOMAINS, 2.0, USERS, mode=mode)
    assert 1.99 < plan.spent <= 2.0 + 1e-12
    reports = plan.perturb({"hour": 8, "station": "s3", "period": "am", "sex": "f"})
    assert len(reports) == (1 if mode == "sample" else 4)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_sampling_beats_splitting(epsilon: float) -> None:
    errors = {mode: [squared_errors(mode, epsilon, seed) for seed in range(5)] for mode in MODES}
    for name in ("hour", "station"):
        sampled, split = (np.mean([run[name] for run in errors[mode]]) for mode in MODES)
        assert sampled < split / 2
        plans = [Attributes.choose(DOMAINS, epsilon, USERS, mode=mode) for mode in MODES]
        predicted = [plan.variance(name, USERS, USERS / len(DOMAINS[name])) for plan in plans]
        assert 0.6 < sampled / predicted[0] < 1.6
        assert 0.6 < split / predicted[1] < 1.6


def test_shares_are_kept_and_estimates_speak_of_all_users() -> None:
    shares = {"hour": 1.0, "station": 2.0, "period": 4.0, "sex": 1.0}
    plan = Attributes.choose(DOMAINS, 3.0, USERS, shares=shares)
    tallies = plan.aggregate(plan.report_many(people(), SeededSource(3)))
    assert {name: round(8 * tally.users / USERS, 1) for name, tally in tallies.items()} == shares
    for estimate in plan.estimate(tallies).values():
        assert estimate.users == USERS
        assert estimate.counts.sum() == pytest.approx(USERS)


def test_an_attribute_is_drawn_by_its_share() -> None:
    plan = Attributes.choose({"sex": ("f", "m"), "period": ("am", "pm")}, 1, 100, shares={"sex": 1, "period": 3})
    drawn = [plan.draw() for _ in range(4000)]
    assert 800 < drawn.count("sex") < 1200
    assert drawn.count("sex") + drawn.count("period") == 4000


def test_reports_of_single_devices_are_tallied_by_attribute() -> None:
    plan = Attributes.choose({"sex": ("f", "m"), "period": ("am", "pm")}, 8.0, 300)
    tallies = plan.aggregate(plan.perturb({"sex": "f", "period": "pm"}) for _ in range(300))
    assert tallies["sex"].users + tallies["period"].users == 300
    assert 90 < tallies["sex"].users < 210
    found = plan.estimate(tallies)
    assert found["sex"].counts[0] > 280
    assert found["period"].counts[1] > 280


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(ParameterError, match="no attribute"):
        Attributes.choose({}, 1, 10)
    with pytest.raises(ParameterError, match="one of 'sample', 'split'; found 'both'"):
        Attributes.choose(DOMAINS, 1, 10, mode="both")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="found 0"):
        Attributes.choose(DOMAINS, 0, 10)
    with pytest.raises(ParameterError, match="share above 0 for each"):
        Attributes.choose(DOMAINS, 1, 10, shares={"hour": 1})
    with pytest.raises(ParameterError, match="share above 0 for each"):
        Attributes.choose({"a": (0, 1), "b": (0, 1)}, 1, 10, shares={"a": math.inf, "b": 1})
    with pytest.raises(ParameterError, match="number of users; found 0"):
        Attributes.choose(DOMAINS, 1, 0)
    plan = Attributes.choose(DOMAINS, 1, 10)
    with pytest.raises(InputError, match="the record has no 'station'"):
        plan.perturb({"hour": 3})
    with pytest.raises(InputError, match="about 'sxe', which is no attribute; did you mean 'sex'"):
        plan.aggregate([{"sxe": plan.protocols["sex"].perturb(0)}])
    with pytest.raises(InputError, match="one value of each attribute"):
        plan.report_many({"hour": np.zeros(3, dtype=np.int64)}, SeededSource(1))


def test_an_attribute_nobody_reported_is_not_said_to_be_zero() -> None:
    plan = Attributes.choose({"sex": ("f", "m"), "period": ("am", "pm")}, 1, 100)
    tallies = plan.aggregate([{"sex": plan.protocols["sex"].perturb(0)}])
    with pytest.raises(InputError, match="no report is about 'period'"):
        plan.estimate(tallies)


@pytest.mark.parametrize("number", [3, 7, 11])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.3])
def test_the_parts_of_epsilon_are_not_more_than_the_whole_exactly(number: int, epsilon: float) -> None:
    """Their product of ratios, as a fraction: dividing a float and adding up again may come out above it."""
    plan = Attributes.choose({str(place): ("f", "m") for place in range(number)}, epsilon, 100, mode="split")
    assert sum(Fraction(protocol.epsilon) for protocol in plan.protocols.values()) <= Fraction(epsilon)
    assert math.prod(protocol.ratio for protocol in plan.protocols.values()) <= exp_below(epsilon)
    assert 0.999 * epsilon < plan.spent <= epsilon


def test_shares_are_equal_unless_given() -> None:
    plan = Attributes(Attributes.choose({"a": (0, 1), "b": (0, 1)}, 1, 10).protocols, "sample")
    assert plan.shares == {"a": 0.5, "b": 0.5}
    assert len(plan.perturb({"a": 0, "b": 1})) == 1


@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_intervals_of_sampled_attributes_cover_the_truth(epsilon: float) -> None:
    """At ε = 10 those around 1.96 estimated deviations held a count of 2 by 40 times in 100."""
    domains: dict[str, tuple[Value, ...]] = {"left": tuple(range(30)), "right": tuple(range(30))}
    codes = {name: np.repeat(np.arange(30), [400, 100, 50, 20, *[2] * 26]) for name in domains}
    truth = np.bincount(codes["left"], minlength=30)
    plan = Attributes.choose(domains, epsilon, int(truth.sum()), shares={"left": 1, "right": 3})
    source, hits = SeededSource(9), []
    for _ in range(300):
        found = plan.estimate(plan.aggregate(plan.report_many(codes, source)))["left"]
        hits.append((found.low <= truth) & (truth <= found.high))
    covered = np.mean(hits, axis=0)
    assert covered.mean() > 0.94
    assert covered.min() > 0.89  # every single value: 0.95 less five standard deviations


def test_estimates_of_sampled_attributes_add_up_with_their_intervals() -> None:
    plan = Attributes.choose({"a": (0, 1, 2), "b": (0, 1)}, 2.0, 2000)
    codes = {"a": np.arange(2000) % 3, "b": np.arange(2000) % 2}
    first, second = (plan.estimate(plan.aggregate(plan.report_many(codes, SeededSource(seed))))["a"] for seed in (1, 2))
    both = first + second
    assert both.users == 4000
    assert both.variance == pytest.approx(first.variance + second.variance)
    assert (both.low < both.raw).all()
    assert (both.raw < both.high).all()
    assert both.high - both.low == pytest.approx(2 * 1.96 * np.sqrt(both.variance), rel=0.15)


def test_a_survey_refuses_cells_that_are_not_there_and_views_nobody_reported() -> None:
    crossing = Crossing([Axis("sex", ("f", "m")), Axis("hour", ("8", "9"))])
    survey = Survey(crossing, (View(("sex",), 0.5), View(("hour",), 0.5)), 1, 10)
    for cell in (-1, 4):  # -1 would count as the last cell
        with pytest.raises(InputError, match="its cells are 0 to 3"):
            survey.report_many(np.array([0, cell]), SeededSource(1))
    with pytest.raises(InputError, match="no report is about 'sex'"):
        survey.estimate(survey.aggregate([]))
