"""Post randomisation cell by cell, from whole numbers alone: every probability is exactly the fraction it names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.random.discrete_kernel import EMPTY, Words, uniform_below

Integers = npt.NDArray[np.int64]


@kernel
def keep_or_other(shown: Integers, done: int, top: int, bottom: int, size: int, words: Words) -> tuple[int, int]:
    """Replace each of `shown[done:]`, with probability 1 - top/bottom, by one of the other codes below `size`.

    Return how many are done and the first word that no finished draw has read.
    """
    place = 0
    while done < shown.size:
        coin, after = uniform_below(bottom, words, place)
        if coin == EMPTY:
            break
        if coin >= top:
            other, after = uniform_below(size - 1, words, after)
            if other == EMPTY:
                break
            shown[done] = other + (other >= shown[done])
        place = after
        done += 1
    return done, place


@kernel
def by_weights(shown: Integers, done: int, ends: Integers, words: Words) -> tuple[int, int]:
    """Replace each of `shown[done:]` by a code drawn in the ratio of its row of weights, whose running sums are `ends`.

    Return how many are done and the first word that no finished draw has read.
    """
    place = 0
    while done < shown.size:
        row = ends[shown[done]]
        value, after = uniform_below(row[-1], words, place)
        if value == EMPTY:
            break
        shown[done] = np.searchsorted(row, value, side="right")
        place = after
        done += 1
    return done, place
