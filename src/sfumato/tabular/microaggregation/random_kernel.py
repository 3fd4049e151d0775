"""A small random number generator whose state travels with the search that uses it.

Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (2014).
"""

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

State = npt.NDArray[np.uint64]

UNIT = 1.0 / 9007199254740992.0  # 2**-53


@kernel
def next_word(state: State) -> np.uint64:
    """Return 64 random bits and advance the state."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(word ^ (word >> np.uint64(31)))


@kernel
def next_unit(state: State) -> float:
    """Return a number from [0, 1)."""
    return np.float64(next_word(state) >> np.uint64(11)) * UNIT


@kernel
def next_below(state: State, bound: int) -> int:
    """Return an integer from 0 to bound - 1; bounds here are far below 2**32."""
    scaled = (next_word(state) >> np.uint64(32)) * np.uint64(bound)
    return int(np.int64(scaled >> np.uint64(32)))
