"""The inner loop of an exact shuffle: Fisher-Yates after Durstenfeld (1964), rejecting biased words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel


@kernel
def shuffle_from(order: npt.NDArray[np.int64], remaining: int, words: npt.NDArray[np.uint32]) -> int:
    """Shuffle `order[:remaining]` in place, one word per swap; return how many places are still open.

    A word at or above the largest multiple of the range is thrown away, so no position is favoured.
    """
    for word in words:
        if remaining <= 1:
            break
        limit = (np.int64(1) << 32) // remaining * remaining
        if np.int64(word) >= limit:
            continue
        chosen = np.int64(word) % remaining
        remaining -= 1
        order[chosen], order[remaining] = order[remaining], order[chosen]
    return remaining
