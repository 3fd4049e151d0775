"""Coins of many different exact probabilities, from whole numbers alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.random.discrete_kernel import EMPTY, Words, uniform_below

Integers = npt.NDArray[np.int64]


@kernel
def toss_from(coins: Integers, done: int, tops: Integers, bottom: int, words: Words) -> tuple[int, int]:
    """Set each of `coins[done:]` to 1 with probability `tops[i]/bottom`, else to 0.

    Return how many are done and the first word that no finished draw has read.
    """
    place = 0
    while done < coins.size:
        drawn, after = uniform_below(bottom, words, place)
        if drawn == EMPTY:
            break
        coins[done] = drawn < tops[done]
        place = after
        done += 1
    return done, place
