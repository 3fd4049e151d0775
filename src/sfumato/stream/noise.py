"""Exact noise for publishers: the scale that an ε asks for, and draws from one unbroken run of words.

Discrete Laplace after Canonne, Kamath & Steinke (2020); ε is read as the decimal it is written as, and a scale that
does not fit the sampler's terms is rounded up, which only strengthens the promise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato.errors import ParameterError
from sfumato.random import LARGEST_SCALE_TERM, Part
from sfumato.random.random_words import WordRun
from sfumato.stream.base import Integers

FINEST = 2**20  # a rounded scale is a multiple of 1/FINEST, or of something coarser if the scale is large


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


def covered(run: WordRun, exact: Integers, scale: Fraction, *context: Part) -> Integers:
    """Return exact whole numbers with noise on each; keyed noise is that of their context and of the numbers.

    The context begins with the group's number and holds all else that decides what the numbers mean.

    >>> from sfumato.random import KeyedSource, new_key
    >>> run, counts = WordRun(KeyedSource(new_key())), np.array([5, 7])
    >>> covered(run, counts, Fraction(50), 0).tolist() == covered(run, counts, Fraction(50), 0).tolist()
    True
    """
    run.turn(*context, exact)
    return exact + laplace_draws(run, len(exact), scale)
