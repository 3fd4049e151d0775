"""Uniform subsets over a run of random words, by Floyd's method (Bentley & Floyd 1987), as packed bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel

Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

EMPTY = np.int64(-1)
LOW = np.uint64(0xFFFFFFFF)


@kernel
def fill_subsets(
    rows: Bytes, done: int, codes: Integers, domain: int, size: int, held: np.uint64, words: Words
) -> tuple[int, int]:
    """Fill `rows[done:]` with sets; return how many are done and the first word that no finished set has read."""
    place = 0
    while done < rows.shape[0] and place + 2 <= words.size:
        code, row = codes[done], rows[done]
        holds = np.uint64(words[place]) << np.uint64(32) | np.uint64(words[place + 1]) < held
        after = place + 2
        wanted = size - 1 if holds else size
        finished = True
        for top in range(domain - 1 - wanted, domain - 1):
            drawn, after = below(top + 1, words, after)
            if drawn == EMPTY:
                finished = False
                break
            chosen = other(drawn, code)
            if (row[chosen >> 3] >> (chosen & 7)) & 1 == 1:
                chosen = other(top, code)
            row[chosen >> 3] |= np.uint8(1 << (chosen & 7))
        if not finished:
            row[:] = np.uint8(0)
            break
        if holds:
            row[code >> 3] |= np.uint8(1 << (code & 7))
        place = after
        done += 1
    return done, place


@inlined
def below(bound: int, words: Words, place: int) -> tuple[np.int64, int]:
    """A uniform integer below `bound` (up to 2^32) and the next place, or EMPTY when words run out (Lemire 2019)."""
    wide = np.uint64(bound)
    value = EMPTY
    while place < words.size:
        product = np.uint64(words[place]) * wide
        place += 1
        low = product & LOW
        if low >= wide or low >= (LOW + np.uint64(1) - wide) % wide:  # the remainder is seldom needed
            value = np.int64(product >> np.uint64(32))
            break
    return value, place


@inlined
def other(place: int | np.int64, code: int) -> int | np.int64:
    """The value at a place among those that are not `code`."""
    return place + 1 if place >= code else place
