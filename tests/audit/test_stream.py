from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import plugins
from sfumato.audit import Finding, stream
from sfumato.audit.stream import DEFAULT_VALUES, Hearing, guesses, named_publisher, stream_pairs
from sfumato.audit.stream.inequality import (
    Distribution,
    Floats,
    Integers,
    Predictor,
    epsilon_from,
    least_share,
    upper_mean,
)
from sfumato.audit.stream.looks import LOOKS, run_stream
from sfumato.cli.main import run
from sfumato.errors import ParameterError
from sfumato.random import SeededSource, Source
from sfumato.stream import Publisher, WEventWindows

PROVEN = ("rank", "adaptive", "statistics", "linked", "laplace")


class StandIn:
    """A publisher that holds all records until the end, then publishes what a function makes of them."""

    def __init__(self, make: Callable[[Floats], Floats], *, linked: bool = True, sizes: Integers | None = None) -> None:
        self.make, self.linked, self.sizes = make, linked, sizes
        self.held: list[float] = []

    def push_many(self, batch: Any) -> Any:
        self.held += np.asarray(batch).tolist()
        return self.rows(np.empty(0))

    def flush(self) -> Any:
        return self.rows(self.make(np.array(self.held)))

    def rows(self, values: Floats) -> Any:
        places = np.arange(len(values))
        position = places if self.linked else None
        return SimpleNamespace(
            values=values, group=places, size=np.ones(len(values), dtype=np.int64), position=position
        )


def laplace(scale: float) -> Callable[[Source], StandIn]:
    def made(rng: Source) -> StandIn:
        draw = np.random.default_rng(rng.words(4))
        return StandIn(lambda values: np.round(values) + np.round(draw.laplace(0, scale, len(values))))

    return made


def one_bit(epsilon: float) -> Callable[[Source], StandIn]:
    """The best release there is of a fair coin: each record told truly as often as ε allows."""

    def made(rng: Source) -> StandIn:
        draw = np.random.default_rng(rng.words(4))
        truth = 1 / (1 + math.exp(-epsilon))
        return StandIn(lambda values: np.where(draw.random(len(values)) < truth, values, 1 - values))

    return made


def small(factory: Any, **others: Any) -> list[Finding]:
    asked = {"claim": 1.0, "records": 200, "streams": 40, "trials": 600, "rng": SeededSource(1), **others}
    return stream(factory, **asked)


def by_attack(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.evidence["attack"]: finding for finding in findings}


def test_the_variance_is_of_the_distribution_and_draws_are_independent() -> None:
    distribution = Distribution.of(DEFAULT_VALUES)
    drawn = distribution.draw(50_000, SeededSource(1))
    assert drawn.var() == pytest.approx(distribution.variance, rel=0.03)
    assert drawn.mean() == pytest.approx(distribution.mean, rel=0.03)
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.02
    assert set(drawn) == set(DEFAULT_VALUES)


@pytest.mark.parametrize("values", [[], [1], [2, 2], [0, math.inf]])
def test_a_distribution_needs_two_values(values: list[float]) -> None:
    with pytest.raises(ParameterError, match="at least two different"):
        Distribution.of(values)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=8, unique=True), st.floats(0.05, 3.5))
def test_the_programme_is_never_below_the_general_limit(values: list[int], epsilon: float) -> None:
    share, _ = least_share(Distribution.of(values), epsilon)
    assert share >= 1 / math.cosh(epsilon / 2) ** 2 - 1e-7
    assert share <= 1 + 1e-9


@given(st.floats(0.1, 3.5))
def test_randomised_response_on_a_coin_reaches_the_limit(epsilon: float) -> None:
    truth = 1 / (1 + math.exp(-epsilon))
    assert least_share(Distribution.of([0, 1]), epsilon)[0] == pytest.approx(1 - (2 * truth - 1) ** 2, abs=1e-6)


def test_many_values_leave_the_general_limit() -> None:
    assert least_share(Distribution.of(range(40)), 1.0) == (1 / math.cosh(0.5) ** 2, "sech²(ε/2)")


@given(st.floats(0.1, 6.0))
def test_the_least_epsilon_inverts_the_limit(epsilon: float) -> None:
    many = Distribution.of(range(40))
    assert epsilon_from(many, least_share(many, epsilon)[0]) == pytest.approx(epsilon, abs=1e-4)


def test_lines_are_those_of_least_squares() -> None:
    draw = np.random.default_rng(1)
    sizes = np.repeat([1, 8], 500)
    shown = draw.normal(0, 1, 1000)
    records = np.where(sizes == 1, 3 * shown + 1, -shown)
    predictor = Predictor.fit(shown, sizes, records)
    assert np.allclose(predictor.guess(shown, sizes), records)
    assert predictor.guess(np.array([1e9]), np.array([1])) == records.max()
    assert predictor.guess(np.array([0.5]), np.array([512])) == pytest.approx(records.mean())


def test_the_upper_limit_covers_the_mean_as_often_as_it_says() -> None:
    draw, source = np.random.default_rng(1), SeededSource(1)
    above = [upper_mean(draw.exponential(1.0, 60), 0.95, source) > 1 for _ in range(100)]
    assert 0.85 < np.mean(above) <= 1


def test_neighbours_differ_in_one_record() -> None:
    for left, right in stream_pairs(Distribution.of([0, 100]), 60):
        assert sum(a != b for a, b in zip(left, right, strict=True)) == 1


def test_add_and_remove_are_worth_two_replacements() -> None:
    findings = small(one_bit(1.9), claim=1.0, values=[0, 1], neighbours="add-remove")
    assert not findings[0].refuted
    assert small(one_bit(1.9), claim=1.0, values=[0, 1])[0].refuted


def test_an_optimal_release_stands_and_one_beyond_falls() -> None:
    best = small(one_bit(1.0), values=[0, 1], streams=100)[0]
    assert not best.refuted
    assert best.evidence["mean squared error"] == pytest.approx(best.evidence["least allowed"], rel=0.05)
    beyond = small(one_bit(1.3), values=[0, 1], streams=100)[0]
    assert beyond.refuted
    assert beyond.bound is not None
    assert 1 < beyond.bound < 1.3


def test_an_optimal_release_is_refuted_as_rarely_as_said() -> None:
    coin, hearing, source = (
        Distribution.of([0, 1]),
        Hearing(1.0, records=50, streams=40, confidence=0.95),
        SeededSource(1),
    )
    refuted = [guesses(one_bit(1.0), hearing, coin, source).refuted for _ in range(40)]
    assert sum(refuted) <= 8  # one in twenty; more than 8 of 40 would come once in several thousand times


def test_equal_values_show_who_was_grouped() -> None:
    def grouped(rng: Source) -> StandIn:
        draw = np.random.default_rng(rng.words(4))

        def means(values: Floats) -> Floats:
            _, places = np.unique(np.round(values / 10), return_inverse=True)
            noise = np.round(draw.laplace(0, 1000, places.max() + 1 if len(places) else 0), 3)
            return np.bincount(places, values)[places] / np.bincount(places)[places] + noise[places]

        return StandIn(means)

    attacks = by_attack(small(grouped))
    assert attacks["equal values"].refuted
    assert "different values" in attacks["equal values"].evidence["event"]
    assert not attacks["sizes and times"].refuted


def test_times_that_depend_on_records_are_seen() -> None:
    class Hasty(StandIn):
        def push_many(self, batch: Any) -> Any:
            super().push_many(batch)
            if self.held[-1] > 90:
                left, self.held = self.make(np.array(self.held)), []
                return self.rows(left)
            return self.rows(np.empty(0))

    def hasty(_rng: Source) -> Hasty:
        return Hasty(np.zeros_like, linked=False)

    attacks = by_attack(small(hasty))
    assert attacks["sizes and times"].refuted
    assert not attacks["values"].refuted
    assert "guesses" not in attacks


def test_enough_noise_on_every_value_stands_and_half_of_it_falls() -> None:
    assert not any(finding.refuted for finding in small(laplace(100.0)))
    assert any(finding.refuted for finding in small(laplace(20.0)))


def test_records_that_never_leave_are_guessed_by_the_mean() -> None:
    silent = stream(
        lambda _rng: StandIn(lambda values: values[:1]),
        claim=1.0,
        records=10,
        streams=20,
        trials=100,
        rng=SeededSource(1),
    )
    assert silent[0].evidence["mean squared error"] == pytest.approx(0.9 * silent[0].evidence["variance"], rel=0.01)


def test_nothing_published_tells_nothing() -> None:
    findings = small(lambda _rng: StandIn(lambda _values: np.empty(0), linked=False), trials=100)
    assert not any(finding.refuted for finding in findings)


def test_findings_repeat_from_their_evidence() -> None:
    first, second = (small(laplace(20.0), trials=100, rng=SeededSource(9)) for _ in range(2))
    assert first == second
    names = ("claim", "neighbours", "records", "streams", "trials", "confidence")
    asked = {name: first[0].evidence[name] for name in names}
    assert stream(laplace(20.0), values=first[0].evidence["values"], rng=SeededSource(9), **asked) == first


def test_rows_are_put_together_from_all_calls() -> None:
    rows = run_stream(
        lambda _rng: StandIn(lambda values: values), np.array([3.0, 5.0]), SeededSource(1), one_by_one=True
    )
    assert rows.numbers.tolist() == [3, 5]
    assert rows.time.tolist() == [2, 2]
    assert all(len(look.measure(rows)) == len(look.entries) for look in LOOKS)


@pytest.mark.parametrize("wrong", [{"claim": -1.0}, {"streams": 1}, {"neighbours": "x"}, {"confidence": 1.0}])
def test_parameters_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Hearing(**{"claim": 1.0, **wrong})


def test_an_unknown_publisher_is_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean 'rank'"):
        named_publisher("rnak", 1.0, 100)


@pytest.mark.parametrize("name", plugins.names("publishers"))
def test_every_named_publisher_publishes(name: str) -> None:
    kind = plugins.find("publishers", name, Publisher)
    if kind is WEventWindows:  # it has no windows of arrivals
        with pytest.raises(ParameterError, match="a clock ends windows"):
            named_publisher(name, 1.0, 20)(SeededSource(1))
        return
    records = Distribution.of(DEFAULT_VALUES).draw(50, SeededSource(1))
    rows = run_stream(named_publisher(name, 1.0, 20), records, SeededSource(1))
    keeps = kind.sample()[0].keeps_rows
    assert len(rows.numbers) == (50 if keeps else rows.size[0] * 3)  # a mean and eight bins for each window of twenty


@pytest.mark.parametrize("neighbours, trials", [("replacement", 200), ("add-remove", 600)])
def test_doca_falls_to_every_attack_by_itself(neighbours: str, trials: int) -> None:
    findings = small(named_publisher("doca", 1.0, 100), records=1000, trials=trials, neighbours=neighbours)
    attacks = by_attack(findings)
    assert set(attacks) == {"guesses", "equal values", "sizes and times", "values"}
    assert all(finding.refuted for finding in findings)
    assert attacks["guesses"].evidence["r squared"] > 0.5


@pytest.mark.parametrize("name", PROVEN)
def test_publishers_with_a_proof_stand(name: str) -> None:
    findings = small(named_publisher(name, 1.0, 20), trials=200, streams=20)
    assert len(findings) == (4 if name in {"linked", "laplace"} else 3)
    assert not any(finding.refuted for finding in findings)


def test_the_command_refutes_doca_and_keeps_the_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = tmp_path / "evidence.json"
    asked = ["audit", "stream", "--publisher", "doca", "--epsilon", "1", "--trials", "100", "--streams", "10"]
    assert run([*asked, "-o", str(evidence)]) == 1
    said = capsys.readouterr().out
    assert said.count("REFUTED") == 4
    assert "private" not in said
    kept = json.loads(evidence.read_text())
    assert kept["parameters"]["publisher"] == "doca"
    assert run([*asked, "--seed", str(kept["parameters"]["seed"]), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == kept["findings"]


def test_the_command_lets_rank_windows_stand(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["audit", "stream", "--publisher", "rank", "--delay", "20", "--trials", "400"]
    assert run(asked) == 0
    assert capsys.readouterr().out.count("NOT REFUTED") == 3
