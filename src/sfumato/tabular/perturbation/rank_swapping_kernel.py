"""The loop of rank swapping: every free rank takes a free partner above it, drawn uniformly by rejection."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel
from sfumato.random.discrete_kernel import EMPTY, Words, uniform_below

Integers = npt.NDArray[np.int64]


@kernel
def swap_from(partners: Integers, done: int, reach: int, words: Words) -> tuple[int, int]:
    """Fill `partners` from rank `done` on; return how many are done and the first word that no finished draw has read.

    A rank that is still free is -1. Free ranks within reach are counted anew from `done` on, then kept up to date.
    """
    count, place = partners.size, 0
    free = 0  # free ranks among done+1 … done+reach
    for rank in range(done + 1, min(done + reach, count - 1) + 1):
        free += partners[rank] == -1
    while done < count:
        if partners[done] == -1:
            last, partner, after = min(done + reach, count - 1), done, place
            if free > 0:
                while True:
                    step, after = uniform_below(last - done, words, after)
                    if step == EMPTY:
                        return done, place
                    partner = done + 1 + step
                    if partners[partner] == -1:
                        break
                free -= 1
            partners[done], partners[partner] = partner, done
            place = after
        done += 1
        if done < count and partners[done] == -1 and reach > 0:
            free -= 1  # it is above no longer
        if done + reach < count and reach > 0:
            free += 1  # nobody has reached so far
    return done, place
