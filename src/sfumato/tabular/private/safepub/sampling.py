"""Secret sampling: every row stays with the same exact probability.

One random word decides nearly always; a word that lies on the edge is decided by further words, so that the probability
is the fraction itself (the idea of Lumbroso 2013 for exact draws).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.core.seam import choose
from sfumato.random import Source
from sfumato.random.discrete import Draws
from sfumato.random.laws import HiddenSample

WORD = 1 << 32


def sample_rows(rows: int, rate: Fraction, source: Source) -> npt.NDArray[np.bool_]:
    """Return which of `rows` rows stay, each with probability `rate`.

    >>> from sfumato.random import SeededSource
    >>> int(sample_rows(1000, Fraction(1, 10), SeededSource(1)).sum())
    96
    """
    return choose(lambda: HiddenSample(rows, rate), lambda: _sample(rows, rate, source))


def _sample(rows: int, rate: Fraction, source: Source) -> npt.NDArray[np.bool_]:
    words = source.words(rows)
    whole, rest = divmod(rate * WORD, 1)
    stays = words < whole
    draws = Draws(source)
    for row in np.flatnonzero(words == whole):
        stays[row] = draws.bernoulli(rest)
    return stays
