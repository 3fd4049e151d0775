"""Exact samplers over a run of random words: uniform integers, Bernoulli(exp(-p/q)), discrete noise, choices, orders.

After Canonne, Kamath & Steinke (2020), "The Discrete Gaussian for Differential Privacy", algorithms 1, 2 and 3, in
integers alone; the shuffle is Fisher-Yates after Durstenfeld (1964). A draw that runs out of words is not finished: the
caller gives its words again with more behind them, so that the words read are one unbroken run and
no outcome is favoured by where a buffer ends.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Words = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]

EMPTY = -1
SHORT = np.int64(1) << 32


@kernel
def uniform_below(bound: int, words: Words, place: int) -> tuple[int, int]:
    """A uniform integer in 0…bound-1 (bound up to 2^62) and the place of the next word, or EMPTY when they run out.

    Up to 2^32 by multiplication and rejection (Lemire 2019), above by masking two words and rejection.
    """
    if bound == 1:
        return 0, place
    if bound <= SHORT:
        wide = np.uint64(bound)
        threshold = (np.uint64(SHORT) - wide) % wide
        while place < words.size:
            product = np.uint64(words[place]) * wide
            place += 1
            if (product & np.uint64(0xFFFFFFFF)) >= threshold:
                # unsigned and signed together would become a float: nothing here may
                return int(np.int64(product >> np.uint64(32))), place
        return EMPTY, place
    mask = np.int64(bound - 1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    while place + 1 < words.size:
        value = ((np.int64(words[place]) << 31) ^ np.int64(words[place + 1])) & mask
        place += 2
        if value < bound:
            return int(value), place
    return EMPTY, words.size


@kernel
def exp_once(numerator: int, denominator: int, words: Words, place: int) -> tuple[int, int]:
    """One draw of Bernoulli(exp(-numerator/denominator)) for a ratio of at most 1, and the next place."""
    trial = 1
    while True:
        value, place = uniform_below(denominator * trial, words, place)
        if value == EMPTY:
            return EMPTY, place
        if value >= numerator:
            return trial & 1, place
        trial += 1


@kernel
def laplace_once(top: int, bottom: int, words: Words, place: int) -> tuple[int, int, int]:
    """Whether one draw was finished, the draw with mass proportional to exp(-|x|·bottom/top), and the next place."""
    while True:
        offset, place = uniform_below(top, words, place)
        if offset == EMPTY:
            return 0, 0, place
        kept, place = exp_once(offset, top, words, place)
        if kept == EMPTY:
            return 0, 0, place
        if kept == 0:
            continue
        whole = 0
        more, place = exp_once(1, 1, words, place)
        while more == 1:
            whole += 1
            more, place = exp_once(1, 1, words, place)
        if more == EMPTY or place >= words.size:
            return 0, 0, place
        size = (offset + top * whole) // bottom
        negative = words[place] & 1
        place += 1
        if negative == 1 and size == 0:
            continue
        return 1, (-size if negative == 1 else size), place


@kernel
def choose_from(gaps: Integers, top: int, bottom: int, words: Words) -> tuple[int, int]:
    """An index i with probability proportional to exp(-gaps[i]·bottom/top), or EMPTY when words run out; a next place.

    Drawn uniformly and kept by a coin; gaps times `bottom` are below 2^62, and one of them is 0.
    """
    place = 0
    while True:
        index, place = uniform_below(gaps.size, words, place)
        if index == EMPTY:
            return EMPTY, place
        whole, rest = gaps[index] * bottom // top, gaps[index] * bottom % top
        kept = 1
        while kept == 1 and whole > 0:
            kept, place = exp_once(1, 1, words, place)
            whole -= 1
        if kept == 1:
            kept, place = exp_once(rest, top, words, place)
        if kept == EMPTY:
            return EMPTY, place
        if kept == 1:
            return index, place


@kernel
def fill_laplace(out: Integers, done: int, top: int, bottom: int, words: Words) -> tuple[int, int]:
    """Fill `out[done:]` with draws; return how many are done and the first word that no finished draw has read."""
    place = 0
    while done < out.size:
        finished, value, after = laplace_once(top, bottom, words, place)
        if finished == 0:
            break
        out[done] = value
        done += 1
        place = after
    return done, place


@kernel
def fill_laplace_scales(out: Integers, done: int, tops: Integers, bottom: int, words: Words) -> tuple[int, int]:
    """The same with a scale `tops[i]/bottom` for each draw."""
    place = 0
    while done < out.size:
        finished, value, after = laplace_once(tops[done], bottom, words, place)
        if finished == 0:
            break
        out[done] = value
        done += 1
        place = after
    return done, place


@kernel
def fill_laplace_rows(out: Integers, rows: Integers, tops: Integers, bottom: int, words: Words, each: int) -> int:
    """Fill the rows `rows` of `out`, each from its own `each` words; those whose words ran out come first in `rows`.

    Return how many they are: a row that ran out, or read words of the next one, is to be filled again from its first.
    """
    short = 0
    for line in range(rows.size):
        row, place, end = rows[line], line * each, (line + 1) * each
        top = tops[row]
        for column in range(out.shape[1]):
            finished, value, place = laplace_once(top, bottom, words, place)
            if finished == 0 or place > end:
                rows[short] = row
                short += 1
                break
            out[row, column] = value
    return short


@kernel
def fill_exp(out: Integers, done: int, numerator: int, denominator: int, words: Words) -> tuple[int, int]:
    """Fill `out[done:]` with draws of Bernoulli(exp(-numerator/denominator)); same result as `fill_laplace`."""
    place = 0
    while done < out.size:
        value, after = exp_once(numerator, denominator, words, place)
        if value == EMPTY:
            break
        out[done] = value
        done += 1
        place = after
    return done, place


@kernel
def shuffle_from(order: Integers, remaining: int, words: Words) -> int:
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


@kernel
def half_square_once(gap: int, sigma: int, words: Words, place: int) -> tuple[int, int]:
    """One draw of Bernoulli(exp(-(gap/sigma)²/2)) for gap >= 0 and sigma up to 2^40, and the next place.

    With gap = w·sigma + r the exponent is w²/2 + w·r/sigma + (r/sigma)·(r/(2·sigma)): coins for each of the three, the
    last one a series like that of `exp_once` whose terms are two coins each. No product of two gaps is ever formed.
    """
    whole, rest = gap // sigma, gap % sigma
    for _ in range(whole * whole):
        kept, place = exp_once(1, 2, words, place)
        if kept != 1:
            return kept, place
    for _ in range(whole):
        kept, place = exp_once(rest, sigma, words, place)
        if kept != 1:
            return kept, place
    trial = 1
    while True:
        value, place = uniform_below(sigma, words, place)
        if value == EMPTY:
            return EMPTY, place
        if value < rest:
            value, place = uniform_below(2 * sigma * trial, words, place)
            if value == EMPTY:
                return EMPTY, place
        if value >= rest:
            return trial & 1, place
        trial += 1


@kernel
def gaussian_once(sigma: int, words: Words, place: int) -> tuple[int, int, int]:
    """Whether one draw was finished, the draw with mass proportional to exp(-x²/(2·sigma²)), and the next place.

    Algorithm 3 with an envelope of scale sigma: what is proposed is kept with chance exp(-((|x|-sigma)/sigma)²/2).
    """
    while True:
        finished, value, place = laplace_once(sigma, 1, words, place)
        if finished == 0:
            return 0, 0, place
        kept, place = half_square_once(abs(abs(value) - sigma), sigma, words, place)
        if kept == EMPTY:
            return 0, 0, place
        if kept == 1:
            return 1, value, place


@kernel
def fill_gaussian(out: Integers, done: int, sigma: int, words: Words) -> tuple[int, int]:
    """Fill `out[done:]` with discrete Gaussian draws; same result as `fill_laplace`."""
    place = 0
    while done < out.size:
        finished, value, after = gaussian_once(sigma, words, place)
        if finished == 0:
            break
        out[done] = value
        done += 1
        place = after
    return done, place


@kernel
def fill_gaussian_rows(out: Integers, rows: Integers, sigma: int, words: Words, each: int) -> int:
    """Fill the rows `rows` of `out` with discrete Gaussian draws; same result as `fill_laplace_rows`."""
    short = 0
    for line in range(rows.size):
        row, place, end = rows[line], line * each, (line + 1) * each
        for column in range(out.shape[1]):
            finished, value, place = gaussian_once(sigma, words, place)
            if finished == 0 or place > end:
                rows[short] = row
                short += 1
                break
            out[row, column] = value
    return short
