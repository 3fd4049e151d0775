"""The samplers against slow twins that read the same words with Python's own integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.random import LARGEST_SCALE_TERM, SeededSource, Words, bernoulli_exp, discrete_laplace
from sfumato.random.discrete_kernel import (
    EMPTY,
    fill_exp,
    fill_laplace,
    fill_laplace_scales,
    laplace_once,
    uniform_below,
)

SCALES = [Fraction(1, 7), Fraction(2), Fraction(20, 3), Fraction(99618), Fraction(2**40 - 1, 3), Fraction(3, 2**39)]
TERMS = st.integers(1, LARGEST_SCALE_TERM)


class Tape:
    """Random words read one after the other."""

    def __init__(self, words: Words) -> None:
        self.words, self.place = words, 0

    def word(self) -> int:
        word = int(self.words[self.place])
        self.place += 1
        return word

    def below(self, bound: int) -> int:
        if bound == 1:
            return 0
        while bound <= 2**32:
            product = self.word() * bound
            if product % 2**32 >= 2**32 % bound:
                return product // 2**32
        bits = (bound - 1).bit_length()
        while True:
            high, low = self.word(), self.word()
            value: int = (high * 2**31 ^ low) % 2**bits
            if value < bound:
                return value

    def exp(self, ratio: Fraction) -> bool:
        """Canonne, Kamath & Steinke, algorithm 1, for a ratio of at most 1."""
        trial = 1
        while self.below(ratio.denominator * trial) < ratio.numerator:
            trial += 1
        return trial % 2 == 1

    def magnitude(self, top: int) -> int:
        """The same, the geometric number of algorithm 2."""
        while True:
            offset = self.below(top)
            trial = 1
            while self.below(top * trial) < offset:
                trial += 1
            if trial % 2 == 1:
                whole = 0
                while self.exp(Fraction(1)):
                    whole += 1
                return offset + top * whole

    def laplace(self, top: int, bottom: int) -> int:
        """The same, algorithm 2."""
        while True:
            size = self.magnitude(top) // bottom
            negative = self.word() & 1
            if not (negative and size == 0):
                return -size if negative else size


class Drip:
    """A source that gives few words however many are asked for, so that draws are cut short everywhere."""

    secure = False

    def __init__(self, words: Words, drops: int) -> None:
        self.words_left, self.drops = words, drops

    def words(self, count: int) -> Words:
        assert count > 0
        given, self.words_left = self.words_left[: self.drops], self.words_left[self.drops :]
        return given


def twin(draw: Callable[[Tape], int], count: int, words: Words) -> list[int]:
    tape = Tape(words)
    return [int(draw(tape)) for _ in range(count)]


@pytest.mark.parametrize("scale", SCALES)
def test_draws_are_those_of_the_twin(scale: Fraction) -> None:
    words = SeededSource(5).words(60_000)
    wanted = twin(lambda tape: tape.laplace(scale.numerator, scale.denominator), 2000, words)
    assert discrete_laplace(2000, scale, Drip(words, 60_000)).tolist() == wanted


@given(top=TERMS, bottom=TERMS, seed=st.integers(0, 2**32))
def test_any_scale_gives_what_the_twin_gives(top: int, bottom: int, seed: int) -> None:
    scale = Fraction(top, bottom)
    words = SeededSource(seed).words(4000)
    wanted = twin(lambda tape: tape.laplace(scale.numerator, scale.denominator), 50, words)
    assert discrete_laplace(50, scale, Drip(words, 4000)).tolist() == wanted


@given(drops=st.integers(1, 40), scale=st.sampled_from(SCALES))
def test_where_a_buffer_ends_changes_nothing(drops: int, scale: Fraction) -> None:
    words = SeededSource(6).words(4000)
    whole = discrete_laplace(60, scale, Drip(words, 4000))
    assert discrete_laplace(60, scale, Drip(words, drops)).tolist() == whole.tolist()


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2**39, 2**40 - 1)])
def test_exponential_trials_are_those_of_the_twin(ratio: Fraction) -> None:
    words = SeededSource(7).words(40_000)
    wanted = twin(lambda tape: tape.exp(ratio), 3000, words)
    assert bernoulli_exp(3000, ratio, Drip(words, 40_000)).tolist() == wanted


@given(bound=st.integers(1, 2**62), seed=st.integers(0, 2**32))
def test_uniform_numbers_are_those_of_the_twin(bound: int, seed: int) -> None:
    words = SeededSource(seed).words(400)
    tape, place = Tape(words), 0
    for _ in range(20):
        value, place = uniform_below(bound, words, place)
        assert (value, place) == (tape.below(bound), tape.place)
        assert 0 <= value < bound


def test_a_biased_word_is_thrown_away() -> None:
    words = np.array([0, 0, 2**31], dtype=np.uint32)  # 2^32 mod 3 is 1, so a product whose low half is 0 is refused
    assert uniform_below(3, words, 0) == (1, 3)
    assert uniform_below(3, words[:2], 0) == (EMPTY, 2)


def test_each_draw_may_have_its_own_scale() -> None:
    words = SeededSource(8).words(4000)
    tops = np.array([1, 5, 700, 2**40], dtype=np.int64)
    out = np.empty(4, dtype=np.int64)
    assert fill_laplace_scales(out, 0, tops, 3, words)[0] == 4
    tape = Tape(words)
    assert out.tolist() == [tape.laplace(int(top), 3) for top in tops]


def test_an_unfinished_draw_reads_nothing() -> None:
    words = SeededSource(9).words(3)
    out = np.empty(5, dtype=np.int64)
    done, place = fill_laplace(out, 0, 2**40, 1, words)
    assert (done, place) == (0, 0)
    done, place = fill_exp(out, 0, 1, 2**40, words[:1])
    assert (done, place) == (0, 0)


def test_extreme_words_do_not_overflow() -> None:
    words = np.full(200, 2**32 - 1, dtype=np.uint32)
    assert uniform_below(2**62, words, 0) == (2**62 - 1 - 2**31, 2)
    assert uniform_below(2**32, words, 0) == (2**32 - 1, 1)


@pytest.mark.parametrize("bound", [1, 3, 2**32, 2**40, 2**62])
def test_numbers_are_integers_inside_too(bound: int) -> None:
    value, _ = uniform_below(bound, SeededSource(1).words(100), 0)
    assert isinstance(value, int)
    finished, draw, _ = laplace_once(bound if bound <= LARGEST_SCALE_TERM else 7, 1, SeededSource(1).words(100), 0)
    assert finished == 1
    assert isinstance(draw, int)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**40 + 1), Fraction(1, 2**40 + 1), 0.1])
def test_a_scale_out_of_bounds_is_refused(scale: Fraction | float) -> None:
    with pytest.raises(ParameterError, match="the scale of the noise"):
        discrete_laplace(1, scale)


@pytest.mark.parametrize("ratio", [Fraction(-1, 2), Fraction(3, 2), Fraction(1, 2**41)])
def test_a_ratio_out_of_bounds_is_refused(ratio: Fraction) -> None:
    with pytest.raises(ParameterError, match="ratio of bernoulli_exp"):
        bernoulli_exp(1, ratio)
