"""Discrete Gaussian draws: those of a slow twin, of the law they claim and no other, wherever buffers end."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.random import KeyedSource, SeededSource, Words, discrete_kernel
from sfumato.random.discrete_kernel import fill_gaussian
from sfumato.random.keyed_rows import gaussian_rows
from sfumato.random.random_words import WordRun
from sfumato.stream.noise import add_gaussian_to_rows, gaussian_draws

from .test_discrete_kernel import Drip, Tape

LIMIT = 5.5  # a normal variable exceeds this once in fifty million tries


def twin_draw(tape: Tape, sigma: int) -> int:
    """Algorithm 3 of Canonne, Kamath & Steinke with an envelope of scale sigma, in Python's integers."""
    while True:
        value = tape.laplace(sigma, 1)
        whole, rest = divmod(abs(abs(value) - sigma), sigma)
        coins = [(1, 2)] * whole**2 + [(rest, sigma)] * whole
        if all(coin(tape, *terms) for terms in coins) and squared_coin(tape, rest, sigma):
            return value


def coin(tape: Tape, top: int, bottom: int) -> bool:
    """Return True with probability exp(-top/bottom), the terms not reduced."""
    trial = 1
    while tape.below(bottom * trial) < top:
        trial += 1
    return trial % 2 == 1


def squared_coin(tape: Tape, rest: int, sigma: int) -> bool:
    trial = 1
    while tape.below(sigma) < rest and tape.below(2 * sigma * trial) < rest:
        trial += 1
    return trial % 2 == 1


@given(sigma=st.sampled_from([1, 2, 3, 8, 101, 2**31, 2**40]), seed=st.integers(0, 2**32))
def test_draws_are_those_of_the_twin(sigma: int, seed: int) -> None:
    words = SeededSource(seed).words(6000)
    out = np.empty(40, dtype=np.int64)
    assert fill_gaussian(out, 0, sigma, words)[0] == 40
    tape = Tape(words)
    assert out.tolist() == [twin_draw(tape, sigma) for _ in range(40)]


@given(drops=st.integers(1, 40))
def test_where_a_buffer_ends_changes_nothing(drops: int) -> None:
    words = SeededSource(6).words(6000)
    whole = gaussian_draws(WordRun(Drip(words, 6000), "x"), 60, 1000)
    assert gaussian_draws(WordRun(Drip(words, drops), "x"), 60, 1000).tolist() == whole.tolist()


def misfit(draws: list[int], sigma: float) -> float:
    """Return the largest distance of a small number's share from the law's, in its standard deviations."""
    places = np.arange(-60, 61)
    law = np.exp(-(places**2) / (2 * sigma**2))
    law /= law.sum()
    found = np.array([np.count_nonzero(np.equal(draws, place)) for place in range(-8, 9)]) / len(draws)
    share = law[52:69]
    return float(np.abs((found - share) / np.sqrt(share * (1 - share) / len(draws))).max())


@pytest.mark.parametrize("keyed", [False, True])
def test_the_true_sigma_is_accepted_and_others_are_not(keyed: bool) -> None:
    zeros = np.zeros((60_000, 5), dtype=np.int64)
    run = WordRun(KeyedSource(bytes(range(32))) if keyed else SeededSource(3), "x")
    draws = add_gaussian_to_rows(run, zeros, 4, 0).ravel().tolist()
    assert misfit(draws, 4.0) < LIMIT
    for wrong in (0.7, 1.3):
        assert misfit(draws, 4.0 * wrong) > LIMIT


def test_a_large_sigma_has_its_variance_and_shape() -> None:
    draws = gaussian_draws(WordRun(SeededSource(4), "x"), 300_000, 2**39) / 2**39
    error = math.sqrt(2 / len(draws))
    assert abs(draws.var() - 1) < LIMIT * error
    assert abs((draws**4).mean() - 3) < LIMIT * math.sqrt(96 / len(draws))
    for wrong in (0.7, 1.3):
        assert abs(draws.var() - wrong**2) > LIMIT * error


def test_keyed_rows_are_those_of_their_number_and_content() -> None:
    source, rows = KeyedSource(bytes(range(32))), np.array([[5, 7], [5, 7], [1, 2]])
    together = gaussian_rows(source, 3, rows, 2, 50)
    assert together[0].tolist() != together[1].tolist()
    assert gaussian_rows(source, 4, rows[1:], 2, 50).tolist() == together[1:].tolist()


def test_kernels_hold_nothing_but_integers() -> None:
    words: Words = SeededSource(1).words(1000)
    for name, given_ in {"half_square_once": (7, 5, words, 0), "gaussian_once": (5, words, 0)}.items():
        fresh = numba.njit(getattr(discrete_kernel, name).py_func)
        fresh(*given_)
        for signature in fresh.nopython_signatures:
            assert set(signature.return_type) == {numba.int64}, signature
