"""Twin runs in Python: what they refute, what they let pass, and what the evidence says."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.twin import Pair, TwinPath, within
from sfumato.audit.twin.exact import exact_delta, law_of
from sfumato.core.seam import choose, watched_by
from sfumato.errors import ParameterError
from sfumato.promise.cost import Cost
from sfumato.random import SeededSource, noise_from, permutation
from sfumato.random.laws import DiscreteLaplace, HiddenSample, Loss


def count(scale: str = "1") -> Any:
    return lambda rows: noise_from().laplace([len(rows)], Fraction(scale))


ROWS = [Pair([1, 2, 3], [1, 2], "the last row is there or not")]


def test_the_right_scale_is_not_refuted_and_the_bound_is_reached() -> None:
    finding = sf.audit.twice(count("2"), ROWS, epsilon="0.5")
    assert finding.verdict == "NOT_REFUTED"
    assert finding.bound == 0.5
    assert finding.evidence["draws watched"] == 3


@pytest.mark.parametrize("scale", ["1", "1.99999999"])
def test_too_little_noise_is_refuted_however_little_is_missing(scale: str) -> None:
    finding = sf.audit.twice(count(scale), ROWS, epsilon="0.5")
    assert finding.refuted
    assert finding.evidence["neighbours"] == "the last row is there or not"
    assert "draw 1 (DiscreteLaplace)" in finding.evidence["reason"]


def test_gaussian_noise_is_held_against_rho_or_epsilon_with_delta() -> None:
    def run(rows: list[int]) -> list[int]:
        return noise_from().gaussian([len(rows)], Fraction(8))

    assert not sf.audit.twice(run, ROWS, rho="0.0625").refuted
    assert sf.audit.twice(run, ROWS, rho="0.06").refuted
    assert not sf.audit.twice(run, ROWS, epsilon=2, delta="1e-6").refuted
    assert sf.audit.twice(run, ROWS, epsilon=1, delta="1e-6").refuted
    assert sf.audit.twice(run, ROWS, epsilon=100).refuted  # no epsilon alone is enough


@pytest.mark.parametrize(
    "run, words",
    [
        pytest.param(lambda rows: (noise_from().laplace([0], Fraction(9)), len(rows)), "no watched draw", id="count"),
        pytest.param(lambda rows: [noise_from().laplace([0], Fraction(9)) for _ in rows], "3 draws", id="draws"),
        pytest.param(lambda rows: noise_from().laplace([0], Fraction(len(rows))), "draw 1 is", id="scale"),
        pytest.param(lambda rows: noise_from().laplace([0] * len(rows), Fraction(9)), "draw 1 is", id="shape"),
        pytest.param(lambda _: os.urandom(16), "no watched draw", id="randomness beside the seam"),
        pytest.param(lambda rows: rows[2], "IndexError", id="crash"),
        pytest.param(lambda rows: permutation(len(rows), SeededSource(1)), "draw 1 is", id="order"),
    ],
)
def test_anything_public_that_was_not_drawn_refutes(run: Any, words: str) -> None:
    finding = sf.audit.twice(run, ROWS, epsilon=100)
    assert finding.refuted
    assert words in finding.evidence["reason"]


def test_a_refusal_that_depends_on_a_row_is_a_difference() -> None:
    def run(rows: list[int]) -> list[int]:
        if 3 in rows:
            raise ParameterError("there is a 3")
        return noise_from().laplace([0], Fraction(1))

    assert "there is a 3" in sf.audit.twice(run, [([1, 2], [1, 3])], epsilon=1).evidence["reason"]


def test_losses_of_several_draws_add_up() -> None:
    def run(value: int) -> list[list[int]]:
        return [noise_from().laplace([value], Fraction(1)) for _ in range(3)]

    assert not sf.audit.twice(run, [(0, 1)], epsilon=3).refuted
    assert sf.audit.twice(run, [(0, 1)], epsilon="2.9").refuted


def test_a_foreign_sampler_passes_the_seam_by_naming_its_law() -> None:
    draw = np.random.default_rng(1)

    def run(value: int) -> int:
        law = DiscreteLaplace([value], Fraction(1))
        return choose(lambda: law, lambda: value + int(draw.geometric(0.632) - draw.geometric(0.632)))

    assert not sf.audit.twice(run, [(0, 1)], epsilon=1).refuted
    assert sf.audit.twice(run, [(0, 2)], epsilon=1).refuted


def test_a_hidden_sample_is_summed_out_exactly() -> None:
    from sfumato.tabular.private.safepub.sampling import sample_rows

    def run(rows: list[int]) -> list[int]:
        stays = sample_rows(len(rows), Fraction(1, 4), SeededSource(1))
        kept = int(stays.sum())
        return [kept] if kept > 1 else []

    law = law_of(run, [1, 2, 3])
    assert law == pytest.approx({"[]": 27 / 64 + 27 / 64, "[2]": 9 / 64, "[3]": 1 / 64})
    delta, worst = exact_delta(law, law_of(run, [1, 2]), 1.0)
    assert delta == pytest.approx(1 / 64)
    assert worst == "[3]"
    pair = Pair([1, 2, 3], [1, 2])
    assert not sf.audit.twice(run, [pair], epsilon=1, delta="0.016").refuted
    assert "delta is 0.01562" in sf.audit.twice(run, [pair], epsilon=1, delta="0.015").evidence["reason"]


def test_choices_inside_a_choice_belong_to_it() -> None:
    class Counts:
        seen = 0

        def choose(self, law: Any, draw: Any) -> Any:
            del law
            self.seen += 1
            return draw()

    watcher = Counts()
    with watched_by(watcher):
        choose(lambda: HiddenSample(1, Fraction(1)), lambda: noise_from().laplace([1], Fraction(1)))
    assert watcher.seen == 1


def test_a_promise_and_a_pair_are_needed() -> None:
    with pytest.raises(ParameterError, match="needs the promise"):
        sf.audit.twice(count(), ROWS)
    with pytest.raises(ParameterError, match="no neighbouring inputs"):
        TwinPath("nothing", count(), [], Cost(epsilon=1)).attack()


def test_delta_is_spent_before_rho_is_converted() -> None:
    assert within(Loss(9, 9, 0.02, 0), Cost(epsilon=1, delta="1e-6"))
    assert not within(Loss(9, 9, 0.02, 1e-6), Cost(epsilon=1, delta="1e-6"))
    assert not within(Loss(0, 0, 0, 2e-6), Cost(epsilon=1, delta="1e-6"))
