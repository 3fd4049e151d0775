"""Exact noise for publishers: the public grid it is drawn on, the scale that an ε asks for, and the draws.

Values are rounded to a grid whose step is a power of two, fixed by public parameters alone, and the noise is an integer
number of steps, so that no floating-point rounding tells one input from another (Mironov 2012). Draws are discrete
Laplace after Canonne, Kamath & Steinke (2020); ε is read as the decimal it is written as, and a scale that does not fit
the sampler's terms is rounded up, which only strengthens the promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.core.seam import choose
from sfumato.errors import ParameterError
from sfumato.random import LARGEST_SCALE_TERM, KeyedSource, Part, Source, Words, of_group
from sfumato.random.discrete import WORDS_PER_DRAW, exponential_choice
from sfumato.random.keyed import Rows
from sfumato.random.keyed_rows import gaussian_rows, laplace_of, laplace_rows
from sfumato.random.laws import DiscreteGaussian, DiscreteLaplace, Exponential, Responses
from sfumato.random.random_words import WordRun
from sfumato.stream.base import Integers, Numbers, Publisher
from sfumato.stream.state import fingerprint

Bits = npt.NDArray[np.uint8]

# what is drawn, at the head of each context
LAPLACE, GAUSSIAN, RESPONSE, CHOICE = (
    "discrete laplace",
    "discrete gaussian",
    "randomised response",
    "exponential mechanism",
)
SPARE, LARGEST_ROUND = 64, 2**14
FINEST = 2**20  # a rounded scale is a multiple of 1/FINEST, or of something coarser if the scale is large
LARGEST_STEPS = 2**52


@dataclass(frozen=True)
class Interval:
    """The rule of a pair of public bounds: two finite numbers, the lower one first.

    >>> Interval().accepts((0, 10)), Interval().accepts((10, 0))
    (True, False)
    """

    wanted: str = "a pair of finite numbers, the lower one first"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, tuple) or len(value) != 2:
            return False
        numbers = all(isinstance(limit, int | float) and not isinstance(limit, bool) for limit in value)
        return numbers and all(math.isfinite(limit) for limit in value) and value[0] < value[1]

    def bad_values(self) -> list[object]:
        return [(1, 0), (0, 0), (0, math.inf), (0,), 5, "x", None]


@dataclass(frozen=True)
class Intervals:
    """The rule of a list of public bounds, one pair for each attribute.

    >>> Intervals().accepts(((0, 10), (0, 1))), Intervals().accepts((0, 10))
    (True, False)
    """

    wanted: str = "a tuple of pairs of finite numbers, the lower one first"

    def accepts(self, value: object) -> bool:
        return isinstance(value, tuple) and bool(value) and all(Interval().accepts(pair) for pair in value)

    def bad_values(self) -> list[object]:
        return [(), ((1, 0),), (0, 1), "x", None]


def step_for(scale: Fraction, steps: int) -> float:
    """Return the power of two of which `scale` is between `steps` and twice as many (`steps` a power of two).

    >>> step_for(Fraction(1000), 2**20)
    0.00048828125
    """
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    if Fraction(2) ** exponent > scale:
        exponent -= 1
    step = math.ldexp(1.0, exponent - steps.bit_length() + 1)
    if step == 0.0 or math.isinf(step):
        raise ParameterError(f"noise of scale {float(scale):g} cannot be drawn; give a scale between 1e-290 and 1e300")
    return step


def grid_steps(bound: float, step: float) -> int:
    """Return a bound in steps of the grid, refusing one so far out that sums would be rounded.

    >>> grid_steps(10.1, 0.5)
    20
    """
    steps = round(Fraction(bound) / Fraction(step))
    if abs(steps) >= LARGEST_STEPS:
        raise ParameterError(f"the bound {bound:g} is too far from 0 for noise this small; move the origin nearer")
    return steps


def noise_scale(sensitivity: int, epsilon: float | Fraction) -> Fraction:
    """Return sensitivity/ε, exactly or a little more, in terms that the sampler takes.

    >>> noise_scale(2, 0.1), noise_scale(2, 1 / 3) >= 6
    (Fraction(20, 1), True)
    """
    exact = Fraction(sensitivity) / exact_epsilon(epsilon)
    if max(exact.numerator, exact.denominator) <= LARGEST_SCALE_TERM:
        return exact
    room = LARGEST_SCALE_TERM // math.ceil(exact)
    if room == 0:
        raise ParameterError(
            f"ε is {float(epsilon):g}, for which noise is too large to be drawn exactly; give a larger ε"
        )
    finest = min(FINEST, 1 << room.bit_length() - 1)
    return Fraction(math.ceil(exact * finest), finest)


def exact_epsilon(epsilon: float | Fraction) -> Fraction:
    """Return ε as the decimal it is written as.

    >>> exact_epsilon(0.1)
    Fraction(1, 10)
    """
    return epsilon if isinstance(epsilon, Fraction) else Fraction(repr(float(epsilon)))


def run_of(publisher: Publisher, source: Source | None) -> WordRun:
    """Return the words of a publisher that was just made; keyed ones are those of its name and all its parameters.

    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream import RankWindows
    >>> run_of(RankWindows((0, 1)), SeededSource(1)).keyed
    False
    """
    return WordRun(source, fingerprint(publisher.name, publisher.parameters()))


def laplace_draws(run: WordRun, count: int, scale: Fraction) -> Integers:
    """Return the next `count` draws of discrete Laplace noise that the words of a run give.

    >>> from sfumato.random import SeededSource
    >>> laplace_draws(WordRun(SeededSource(1), "a publisher"), 3, Fraction(5)).dtype.name
    'int64'
    """
    from sfumato.random.discrete_kernel import fill_laplace

    top, bottom = scale.numerator, scale.denominator
    return _draws(run, count, lambda out, done, words: fill_laplace(out, done, top, bottom, words))


def gaussian_draws(run: WordRun, count: int, sigma: int) -> Integers:
    """Return the next `count` draws of discrete Gaussian noise of variance sigma² that the words of a run give.

    >>> from sfumato.random import SeededSource
    >>> gaussian_draws(WordRun(SeededSource(1), "a publisher"), 3, 5).dtype.name
    'int64'
    """
    from sfumato.random.discrete_kernel import fill_gaussian

    return _draws(run, count, lambda out, done, words: fill_gaussian(out, done, sigma, words))


def _draws(run: WordRun, count: int, fill: Callable[[Integers, int, Words], tuple[int, int]]) -> Integers:
    draws = np.empty(count, dtype=np.int64)
    done = 0
    while True:
        if not len(run.words):
            run.more(min(WORDS_PER_DRAW * (count - done) + SPARE, LARGEST_ROUND))
        done, place = fill(draws, done, run.words)
        run.drop(place)
        if done == count:
            return draws
        run.more(min(WORDS_PER_DRAW * (count - done) + SPARE, LARGEST_ROUND))


def add_noise(run: WordRun, exact: Integers, scale: Fraction, *context: Part) -> Integers:
    """Return exact whole numbers with noise on each; keyed noise is that of scale, context and the numbers.

    The context begins with the group's number and holds all else that decides what the numbers mean.

    >>> from sfumato.random import KeyedSource, new_key
    >>> run, counts = WordRun(KeyedSource(new_key()), "a publisher"), np.array([5, 7])
    >>> add_noise(run, counts, Fraction(50), 0).tolist() == add_noise(run, counts, Fraction(50), 0).tolist()
    True
    """
    source, terms = run.source, (scale.numerator, scale.denominator)

    def draw() -> Integers:
        if isinstance(source, KeyedSource):
            return exact + laplace_of(source, len(exact), *terms, LAPLACE, *terms, *context, exact)
        return exact + laplace_draws(run, len(exact), scale)

    return choose(lambda: DiscreteLaplace(exact, scale), draw)


def add_noise_to_rows(run: WordRun, exact: Rows, scale: Fraction, first: int, *context: str | int) -> Any:
    """Return rows of exact whole numbers with noise on each; a row is a group, and `first` the number of the first one.

    Where noise is keyed it is that of scale, context, the row's number and the row.

    >>> from sfumato.random import SeededSource
    >>> add_noise_to_rows(WordRun(SeededSource(1), "a publisher"), np.zeros((3, 2)), Fraction(5), 0).shape
    (3, 2)
    """
    source = run.source

    def draw() -> Any:
        if not isinstance(source, KeyedSource):
            return exact + laplace_draws(run, exact.size, scale).reshape(exact.shape)
        own = source.kept(LAPLACE, "rows", scale.numerator, scale.denominator, *context)
        tops = np.full(len(exact), scale.numerator)
        return exact + laplace_rows(own, first, exact, exact.shape[1], tops, scale.denominator)

    return choose(lambda: DiscreteLaplace(exact, scale), draw)


def add_gaussian_to_rows(run: WordRun, exact: Integers, sigma: int, first: int, *context: str | int) -> Integers:
    """Return rows of exact whole numbers with discrete Gaussian noise of variance sigma² on each.

    A row is a group, and `first` the number of the first one; keyed noise is that of sigma, context, number and row.

    >>> from sfumato.random import SeededSource
    >>> zeros = np.zeros((3, 2), dtype=np.int64)
    >>> add_gaussian_to_rows(WordRun(SeededSource(1), "a publisher"), zeros, 5, 0).shape
    (3, 2)
    """
    source = run.source

    def draw() -> Integers:
        if not isinstance(source, KeyedSource):
            return exact + gaussian_draws(run, exact.size, sigma).reshape(exact.shape)
        own = source.kept(GAUSSIAN, "rows", sigma, *context)
        return exact + gaussian_rows(own, first, exact, exact.shape[1], sigma)

    return choose(lambda: DiscreteGaussian(exact, Fraction(sigma) ** 2), draw)


def scaled_noise(run: WordRun, exact: Rows, scales: Integers, first: int) -> Integers:
    """Return a draw for each row, of a whole scale of its own; keyed, it is that of the scale, the number and the row.

    >>> from sfumato.random import SeededSource
    >>> scaled_noise(WordRun(SeededSource(1), "a publisher"), np.zeros((3, 1)), np.array([1, 2, 3]), 0).shape
    (3,)
    """
    from sfumato.random.discrete_kernel import fill_laplace_scales

    source = run.source
    if isinstance(source, KeyedSource):
        covered = np.column_stack([scales, np.ascontiguousarray(exact).view(np.int64)])
        return laplace_rows(source.kept(LAPLACE, "scales"), first, covered, 1, scales, 1)[:, 0]
    draws = np.empty(len(scales), dtype=np.int64)
    done = 0
    while True:
        done, place = fill_laplace_scales(draws, done, scales, 1, run.words)
        run.drop(place)
        if done == len(scales):
            return draws
        run.more()


def choose_one(run: WordRun, scores: Sequence[int], scale: Fraction, *context: Part) -> int:
    """Return the place of a score that the exponential mechanism selects; keyed, it is that of context and scores.

    >>> from sfumato.random import SeededSource
    >>> choose_one(WordRun(SeededSource(1), "a publisher"), [-900, 0, -900], Fraction(2), 0)
    1
    """

    def draw() -> int:
        own = of_group(run.source, CHOICE, scale.numerator, scale.denominator, *context, np.array(scores))
        return exponential_choice(scores, scale, own)

    return choose(lambda: Exponential(scores, scale), draw)


def randomised_bits(
    run: WordRun, values: Numbers, cuts: Numbers, default: float, truthful: int, *context: Part
) -> Bits:
    """Return for each value whether it lies above its cut, told truly with probability `truthful`/2^64 exactly.

    What is no number stands as `default`. Keyed, the coins are those of probability, context, cuts and values.

    >>> from sfumato.random import SeededSource
    >>> run, always = WordRun(SeededSource(1), "a publisher"), 2**64 - 1
    >>> randomised_bits(run, np.array([1.0, 9.0]), np.array([5.0, 5.0]), 0.0, always, 0).tolist()
    [0, 1]
    """
    from sfumato.stream.publishers.linked.kernel import respond

    def told(words: Words) -> Bits:
        return respond(values, cuts, default, np.uint64(truthful), words)

    def law() -> Responses:
        true = told(np.zeros(2 * len(values), dtype=np.uint32))
        return Responses(true, Fraction(truthful, 2**64), cuts.tobytes())

    def draw() -> Bits:
        own = of_group(run.source, RESPONSE, truthful, *context, cuts, values)
        return told(own.words(2 * len(values)))

    return choose(law, draw)
