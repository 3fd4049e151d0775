from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import plugins
from sfumato.audit import Finding, epsilon, number_pairs, repeat, vector_pairs, worst_pair
from sfumato.audit.epsilon.bounds import incomplete_beta, least_epsilon, lower_limit, upper_limit
from sfumato.audit.epsilon.event_search import choose
from sfumato.audit.epsilon.events import (
    Along,
    Among,
    Event,
    Integers,
    Itself,
    Largest,
    OnGrid,
    Unreachable,
    Within,
    bit_places,
    naive_laplace,
)
from sfumato.audit.epsilon.subjects import audit_mechanism, find_trial, load_function, repeat_evidence, subject_names
from sfumato.audit.epsilon.trials import run, run_singly
from sfumato.cli.main import run as command
from sfumato.errors import InputError, ParameterError
from sfumato.random import SeededSource, Source, discrete_laplace

BROKEN = ("half-laplace", "same-seed", "float-laplace", "wrong-sensitivity", "exponential-without-two")


def laplace(value: int, count: int, rng: Source) -> Integers:
    return value + discrete_laplace(count, Fraction(1), rng)


def binomial_below(hits: int, trials: int, chance: float) -> float:
    """Return the chance of fewer than `hits` hits, term by term."""
    return sum(math.comb(trials, place) * chance**place * (1 - chance) ** (trials - place) for place in range(hits))


@given(st.integers(1, 60), st.data(), st.floats(0.01, 0.99))
def test_the_incomplete_beta_function_is_a_binomial_tail(trials: int, data: st.DataObject, chance: float) -> None:
    hits = data.draw(st.integers(1, trials))
    assert incomplete_beta(hits, trials - hits + 1, chance) == pytest.approx(
        1 - binomial_below(hits, trials, chance), abs=1e-11
    )


@given(st.integers(1, 400), st.data(), st.sampled_from([0.2, 0.05, 1e-3, 1e-6]))
def test_the_limits_are_where_the_binomial_tail_is_the_risk(trials: int, data: st.DataObject, risk: float) -> None:
    hits = data.draw(st.integers(0, trials))
    low, high = lower_limit(hits, trials, risk), upper_limit(hits, trials, risk)
    assert 0 <= low <= hits / trials <= high <= 1
    if hits:
        assert 1 - binomial_below(hits, trials, low) == pytest.approx(risk, rel=1e-6, abs=1e-12)
    if hits < trials:
        assert binomial_below(hits + 1, trials, high) == pytest.approx(risk, rel=1e-6, abs=1e-12)


def test_limits_keep_their_precision_for_half_a_million_trials() -> None:
    z = 3.2905267314919255  # the normal quantile of 0.9995
    share, trials = 0.25, 500_000
    low = lower_limit(int(share * trials), trials, 0.0005)
    assert low == pytest.approx(share - z * math.sqrt(share * (1 - share) / trials), abs=1e-5)


def test_delta_lowers_the_bound_and_zero_hits_still_give_one() -> None:
    assert least_epsilon(1000, 0, 1000, 0.0, 0.001) > least_epsilon(1000, 0, 1000, 0.5, 0.001) > 4
    assert least_epsilon(0, 0, 1000, 0.0, 0.001) == 0


def test_events_see_what_they_say() -> None:
    rows = np.array([[1.0, 5.0], [7.0, 2.0]])
    assert Along((1.0, 0.0)).of(rows).tolist() == [1, 7]
    assert Along((1.0, 0.0)).words == "entry 1 of the output"
    assert Along((1.0, 1.0)).words == "the sum of the output"
    assert Along((2.0, 1.0)).words == "a weighted sum of the output"
    assert Largest().of(rows).tolist() == [1, 0]
    assert Largest().words == "the place of the largest entry"
    assert Within(((None, None),)).words == "is anything"
    assert Within(((1.0, 2.0), (3.0, None))).words == "is above 1 and at most 2 or above 3"
    assert Among((1.0, 2.0)).words == "is one of 1, 2"
    assert OnGrid(-53, 0).words == "is a multiple of 2^-53 and smaller than 2^0"
    assert "around 0" in Unreachable(0.0, 1.0).words


def test_the_lowest_bit_of_special_numbers_is_no_trap() -> None:
    lowest, highest = bit_places(np.array([0.0, np.inf, 2.0**-1074, -0.75]))
    assert lowest[2:].tolist() == [-1074, -2]
    assert OnGrid(0, 0).holds(np.array([0.0, np.inf])).tolist() == [True, False]
    assert highest[3] == 0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.integers(-30, 10))
def test_multiples_of_a_step_are_on_its_grid(values: list[float], step: int) -> None:
    snapped = np.round(np.ldexp(values, -step))
    assert OnGrid(step, 100).holds(np.ldexp(snapped, step)).all()


def test_the_best_event_of_two_words_is_the_word() -> None:
    left, right = np.repeat(["no", "yes"], [900, 100]), np.repeat(["no", "yes"], [100, 900])
    chosen = choose(left, right, 0.0)
    assert isinstance(chosen.event.test, Among)
    assert chosen.event.holds(left).sum() in {100, 900}
    assert chosen.score == pytest.approx(math.log(9), abs=0.6)


def test_what_is_no_number_tells_inputs_apart_too() -> None:
    chosen = choose(np.full(400, np.nan), np.zeros(400), 0.0)
    assert chosen.score > 3


def test_vectors_are_seen_along_their_difference() -> None:
    def noisy(value: list[int], count: int, rng: Source) -> Integers:
        return np.asarray(value) + discrete_laplace(3 * count, Fraction(1), rng).reshape(count, 3)

    finding = epsilon(noisy, [0, 0, 0], [1, -1, 1], claim=1.0, trials=20_000, rng=SeededSource(1))
    assert finding.refuted
    assert finding.bound is not None
    assert 1.3 < finding.bound < 3


def test_a_mechanism_may_take_a_number_of_trials_or_not() -> None:
    assert run(laplace, 5, 10, SeededSource(1)).shape == (10,)
    assert run(lambda value, _rng: value, 5, 3, SeededSource(1)).tolist() == [5, 5, 5]
    assert run_singly(laplace, 5, 3, SeededSource(1)).shape == (3,)
    with pytest.raises(ParameterError, match="takes 1 arguments"):
        run(lambda value: value, 5, 3, SeededSource(1))
    with pytest.raises(InputError, match="3 trials gave an array of int64 of shape"):
        run(lambda _value, _count, _rng: [1, 2], 5, 3, SeededSource(1))
    with pytest.raises(InputError, match="wanted 3 numbers"):
        run(lambda _value, _rng: {}, 5, 3, SeededSource(1))


@pytest.mark.parametrize(
    "wrong",
    [{"claim": -1.0}, {"claim": 1.0, "trials": 10}, {"claim": 1.0, "delta": 2.0}, {"claim": 1.0, "confidence": 1.0}],
)
def test_parameters_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        epsilon(laplace, 0, 1, **wrong)  # type: ignore[arg-type]


def test_pairs_are_neighbours() -> None:
    for left, right in vector_pairs(10):
        assert max(abs(a - b) for a, b in zip(left, right, strict=True)) == 1
    assert {right - left for left, right in number_pairs(3)} == {3}
    with pytest.raises(InputError, match="at least one"):
        worst_pair(laplace, [])


def test_the_worst_pair_is_found() -> None:
    def clamped(value: int, count: int, rng: Source) -> Integers:
        return min(max(value, 0), 1) + discrete_laplace(count, Fraction(1), rng)

    assert worst_pair(clamped, [(5, 6), (-2, -1), (0, 1), (8, 9)], trials=2000, rng=SeededSource(1)) == (0, 1)


def test_a_finding_can_be_repeated_exactly_and_anew() -> None:
    first = epsilon(laplace, 0, 1, claim=0.5, trials=20_000, rng=SeededSource(1))
    assert first == epsilon(laplace, 0, 1, claim=0.5, trials=20_000, rng=SeededSource(1))
    again = repeat(first, laplace, rng=SeededSource(2))
    assert first.refuted
    assert again.refuted
    assert again.evidence["test"] == first.evidence["test"]
    assert again.evidence["hits"] != first.evidence["hits"]
    with pytest.raises(InputError, match="does not hold the evidence"):
        repeat(Finding(claim="another", verdict="REFUTED"), laplace)


def test_naive_noise_reaches_few_of_the_numbers() -> None:
    outputs = naive_laplace(0.0, 1.0, 5000, SeededSource(1))
    assert not Unreachable(0.0, 1.0).holds(outputs).any()
    assert Unreachable(1.0, 1.0).holds(outputs).mean() > 0.3
    assert abs(np.median(outputs)) < 0.1
    assert np.abs(outputs).mean() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("name", subject_names())
def test_every_named_mechanism_gives_outputs(name: str) -> None:
    trial = find_trial(name, 1.0)
    for value in trial.pairs[0]:
        assert len(run(trial.run, value, 5, SeededSource(1))) == 5


def test_a_mechanism_of_ones_own_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_to_audit.py").write_text("def constant(value, rng):\n    return value\n")
    monkeypatch.chdir(tmp_path)
    assert load_function("mine_to_audit:constant")(3, None) == 3
    with pytest.raises(InputError, match="cannot be loaded"):
        load_function("no_such_module:constant")


def test_the_command_refutes_with_evidence_that_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["audit", "epsilon", "half-laplace", "--trials", "4000"]
    assert command([*asked, "-o", "evidence.json", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads(Path("evidence.json").read_text())
    assert kept["findings"] == printed
    assert command([*asked, "--seed", str(kept["parameters"]["seed"]), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == printed
    assert command(["audit", "epsilon", "--again", "evidence.json"]) == 1
    assert capsys.readouterr().out.startswith("REFUTED: ε-differential privacy with ε=1; ε is at least 1.")


def test_the_command_audits_a_function_on_given_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shout_to_audit.py").write_text("def shout(value, count, rng):\n    return [value] * count\n")
    monkeypatch.chdir(tmp_path)
    assert command(["audit", "epsilon", "shout_to_audit:shout", "--left", "a", "--right", "b", "--trials", "1000"]) == 1
    assert (
        command(["audit", "epsilon", "shout_to_audit:shout", "--left", "-1", "--right", "-1", "--trials", "1000"]) == 0
    )
    assert "NOT REFUTED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "name a mechanism"),
        (["laplace", "--again", "x"], "cannot be read"),
        (["laplace", "--left", "1"], "give both"),
        (["laplace", "--secure", "--seed", "1"], "leave --seed out"),
        (["laplace", "--trials", "5"], "an integer of at least 100"),
        (["--again", "nothing.json"], "cannot be read"),
        (["halflaplace"], "did you mean 'half-laplace'"),
    ],
)
def test_bad_usage_is_said_in_one_sentence(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(["audit", "epsilon", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_secure_samplers_can_be_audited(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["audit", "epsilon", "laplace", "--secure", "--trials", "2000"]) == 0
    assert "NOT REFUTED" in capsys.readouterr().out


def test_no_verdict_says_private(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("laplace", "half-laplace"):
        command(["audit", "epsilon", name, "--trials", "1000", "--json"])
    assert "private" not in capsys.readouterr().out.lower()


def test_an_event_is_read_back_from_plain_values() -> None:
    import msgspec

    for test in (Within(((None, 1.0),)), Among((1.0, "x")), OnGrid(-3, 2), Unreachable(0.0, 1.0)):
        event = Event(Itself(), test)
        assert Event.read(json.loads(json.dumps(msgspec.to_builtins(event)))) == event


STRANGER = """
from dataclasses import dataclass
from fractions import Fraction
from sfumato.core.parameters import Whole
from sfumato.dp.mechanisms import Mechanism, Trial
from sfumato.random import discrete_laplace

@dataclass(frozen=True)
class Shy(Mechanism):
    epsilon: Fraction
    name, words, sentence = "shy", "shy noise", "Noise of half the scale is added."
    aliases = ("timid",)

    @classmethod
    def sample(cls, epsilon=1):
        return cls(Fraction(epsilon))

    def trial(self):
        return Trial(lambda value, count, rng: value + discrete_laplace(count, 1 / self.epsilon / 2, rng), [(0, 1)])
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A mechanism that another package has installed under the name `shy`."""
    (tmp_path / "shy_mechanism.py").write_text(STRANGER)
    monkeypatch.syspath_prepend(tmp_path)
    installed = entry_points

    def offers(group: str) -> list[EntryPoint]:
        found = list(installed(group=group))
        return [*found, EntryPoint("shy", "shy_mechanism:Shy", group)] if group == "sfumato.mechanisms" else found

    monkeypatch.setattr(plugins, "entry_points", offers)
    for cached in (plugins._offers, plugins._loaded):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    for cached in (plugins._offers, plugins._loaded):
        cached.cache_clear()


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("name", ["shy", "timid"])
def test_a_strangers_mechanism_is_audited_by_its_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["audit", "epsilon", name, "--claim", "0.5", "--trials", "20000", "--seed", "1"]) == 1
    assert capsys.readouterr().out.startswith("REFUTED: ε-differential privacy with ε=0.5")
    assert audit_mechanism(name, claim=0.5, trials=20_000, rng=SeededSource(1)).refuted


def test_python_finds_what_the_command_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = tmp_path / "evidence.json"
    asked = ["audit", "epsilon", "gaussian", "--trials", "2000", "--seed", "4", "--json", "-o", str(evidence)]
    assert command(asked) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    finding = audit_mechanism("gaussian", trials=2000, rng=SeededSource(4))
    assert (printed["bound"], printed["evidence"]["mechanism"]) == (finding.bound, "gaussian")
    assert finding.evidence["delta"] == 1e-6
    assert repeat_evidence(evidence, rng=SeededSource(5)).evidence["mechanism"] == "gaussian"
