"""Packed bits: with an exact probability, as uniform subsets, and counted by place.

A bit is `word < threshold` for a uniform 64-bit word. Sixty-four such words are compared at once, one binary digit
after the other from the highest, until all are decided (Knuth & Yao 1976 read words so): about eight random bits for
each output bit, and the same law as with all 64. Counters are kept as bit planes and rippled (Harley & Seal's idea).
Subsets are drawn over a run of random words by Floyd's method (Bentley & Floyd 1987).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import inlined, kernel

Words = npt.NDArray[np.uint32]
Words64 = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

DIGITS = 64
PLANES = 8
ROUNDS = 255  # as many as eight planes can count
ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
EMPTY = np.int64(-1)
LOW = np.uint64(0xFFFFFFFF)


@kernel
def fill_bits(out: Words64, done: int, limit: np.uint64, words: Words64) -> tuple[int, int]:
    """Fill `out[done:]` with bits of probability limit/2^64; return how many are done and the first word not read.

    Stops while 64 words, the most that one output word can need, are still there: no draw is ever cut short.
    """
    lowest = 0
    while (limit >> np.uint64(lowest)) & ONE == 0:
        lowest += 1
    place = 0
    while done < out.size and place + DIGITS <= words.size:
        undecided, smaller = ALL, np.uint64(0)
        for digit in range(DIGITS - 1, lowest - 1, -1):
            word = words[place]
            place += 1
            if (limit >> np.uint64(digit)) & ONE:
                smaller |= undecided & ~word
                undecided &= word
            else:
                undecided &= ~word
            if undecided == 0:
                break
        out[done] = smaller
        done += 1
    return done, place


@kernel
def place_own(rows: Bytes, codes: Integers, limit: np.uint64, words: Words64, last: int) -> None:
    """Draw again the bit of each row's own value, with probability limit/2^64, and clear the bits behind the domain."""
    for row in range(rows.shape[0]):
        rows[row, rows.shape[1] - 1] &= np.uint8(last)
        byte, bit = codes[row] >> 3, np.uint8(1 << (codes[row] & 7))
        if words[row] < limit:
            rows[row, byte] |= bit
        else:
            rows[row, byte] &= ~bit


@kernel
def count_bits(groups: Words64, totals: Integers) -> None:
    """Add to `totals` how often each of the 64·width bits of a row of `groups` is set."""
    width = groups.shape[1]
    planes = np.zeros((PLANES, width), dtype=np.uint64)
    for start in range(0, groups.shape[0], ROUNDS):
        planes[:] = np.uint64(0)
        for row in range(start, min(start + ROUNDS, groups.shape[0])):
            for column in range(width):
                carry = groups[row, column]
                for plane in range(PLANES):
                    kept = planes[plane, column]
                    planes[plane, column] = kept ^ carry
                    carry &= kept
        for plane in range(PLANES):
            for column in range(width):
                word = planes[plane, column]
                for bit in range(64):
                    totals[64 * column + bit] += np.int64((word >> np.uint64(bit)) & ONE) << plane


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
