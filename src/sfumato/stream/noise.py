"""Exact noise for publishers: the public grid it is drawn on, the scale that an ε asks for, and the draws.

Values are rounded to a grid whose step is a power of two, fixed by public parameters alone, and the noise is an integer
number of steps, so that no floating-point rounding tells one input from another (Mironov 2012). Draws are discrete
Laplace after Canonne, Kamath & Steinke (2020); ε is read as the decimal it is written as, and a scale that does not fit
the sampler's terms is rounded up, which only strengthens the promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.core.seam import choose
from sfumato.errors import ParameterError
from sfumato.random import LARGEST_SCALE_TERM, Part
from sfumato.random.laws import DiscreteLaplace
from sfumato.random.random_words import WordRun
from sfumato.stream.base import Integers

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


def laplace_draws(run: WordRun, count: int, scale: Fraction) -> Integers:
    """Return the next `count` draws of discrete Laplace noise that the words of a run give.

    >>> from sfumato.random import SeededSource
    >>> laplace_draws(WordRun(SeededSource(1)), 3, Fraction(5)).dtype.name
    'int64'
    """
    from sfumato.random.discrete_kernel import fill_laplace

    draws = np.empty(count, dtype=np.int64)
    done = 0
    while True:
        done, place = fill_laplace(draws, done, scale.numerator, scale.denominator, run.words)
        run.drop(place)
        if done == count:
            return draws
        run.more()


def add_noise(run: WordRun, exact: Integers, scale: Fraction, *context: Part) -> Integers:
    """Return exact whole numbers with noise on each; keyed noise is that of their context and of the numbers.

    The context begins with the group's number and holds all else that decides what the numbers mean.

    >>> from sfumato.random import KeyedSource, new_key
    >>> run, counts = WordRun(KeyedSource(new_key())), np.array([5, 7])
    >>> add_noise(run, counts, Fraction(50), 0).tolist() == add_noise(run, counts, Fraction(50), 0).tolist()
    True
    """

    def draw() -> Integers:
        run.turn(*context, exact)
        return exact + laplace_draws(run, len(exact), scale)

    return choose(lambda: DiscreteLaplace(exact, scale), draw)


def add_unkeyed_noise(run: WordRun, exact: Integers, scale: Fraction) -> Integers:
    """Return exact whole numbers of any shape with the noise that a run gives next: all windows of a batch at once.

    >>> from sfumato.random import SeededSource
    >>> add_unkeyed_noise(WordRun(SeededSource(1)), np.array([[5, 7], [0, 1]]), Fraction(50)).shape
    (2, 2)
    """
    return choose(
        lambda: DiscreteLaplace(exact, scale),
        lambda: exact + laplace_draws(run, exact.size, scale).reshape(exact.shape),
    )
