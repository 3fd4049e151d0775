"""Several attributes under one ε: one report or all, what is spent, and that sampling is the better way."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.local.attributes import Attributes
from sfumato.local.domain import Value
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
    plan = Attributes.choose(DOMAINS, 1, 10)
    with pytest.raises(InputError, match="one value of each attribute"):
        plan.report_many({"hour": np.zeros(3, dtype=np.int64)}, SeededSource(1))
