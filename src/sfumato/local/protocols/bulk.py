"""Reports of many users at once: exact draws, integers of 1, 2 or 4 bytes, packed bits, rows of a Hadamard matrix.

A draw compares a 64-bit word with a threshold; uniform integers are masked words that are drawn again when too large,
so that no outcome is favoured. Sylvester's matrix is never written down: rows and columns are numbers, and the sign is
the parity of their common bits (Fino & Algazi 1976 for the transform).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals, Words64
from sfumato.local.probabilities import SCALE
from sfumato.random import Source

LARGEST_ROUND = 2**18  # words that stay in the cache
DIGITS = 64


def words64(count: int, source: Source) -> Words64:
    """Return uniform 64-bit words.

    >>> from sfumato.random import SeededSource
    >>> words64(3, SeededSource(1)).dtype.name
    'uint64'
    """
    return source.words(2 * count).view(np.uint64)


def draw_coins(threshold: int, count: int, source: Source) -> Mask:
    """Return for each of `count` users whether a word falls below a threshold out of 2^64.

    >>> from sfumato.random import SecureSource
    >>> draw_coins(0, 2, SecureSource()).tolist()
    [False, False]
    """
    if threshold >= SCALE:
        return np.ones(count, dtype=np.bool_)
    return words64(count, source) < np.uint64(threshold)


def uniform_integers(bound: int, count: int, source: Source) -> Integers:
    """Return `count` uniform integers below a bound of at most 2^32.

    >>> from sfumato.random import SecureSource
    >>> uniform_integers(1, 3, SecureSource()).tolist()
    [0, 0, 0]
    """
    mask = np.uint32((1 << (bound - 1).bit_length()) - 1)
    drawn = np.empty(count, dtype=np.int64)
    open_places = np.arange(count)
    while open_places.size:
        words = (source.words(open_places.size) & mask).astype(np.int64)
        drawn[open_places] = words
        open_places = open_places[words >= bound]
    return drawn


def round_at_random(places: Reals, source: Source) -> Integers:
    """Return each place rounded down or up at random, so that its expectation is the place.

    >>> from sfumato.random import SecureSource
    >>> round_at_random(np.array([3.0, -2.0]), SecureSource()).tolist()
    [3, -2]
    """
    floors = np.floor(places)
    words = words64(places.size, source) >> np.uint64(11)
    return (floors + (words * 2.0**-53 < places - floors)).astype(np.int64)


def respond_many(codes: Codes, own: int, other: int, source: Source) -> Codes:
    """Return each code with probability `own`, or one of the others with probability `other` each, out of 2^64.

    >>> from sfumato.random import SeededSource
    >>> respond_many(np.array([2, 0]), 2**64 - 2, 1, SeededSource(1)).tolist()
    [2, 0]
    """
    words = words64(len(codes), source)
    lies = np.flatnonzero(words >= np.uint64(own))
    answers = codes.copy()
    places = ((words[lies] - np.uint64(own)) // np.uint64(other)).astype(np.int64)
    answers[lies] = places + (places >= codes[lies])
    return answers


def as_bytes(integers: Codes, width: int) -> Payload:
    """Return integers as rows of `width` little-endian bytes.

    >>> as_bytes(np.array([1, 258]), 2).tolist()
    [[1, 0], [2, 1]]
    """
    return integers.astype(f"<u{width}").view(np.uint8).reshape(-1, width)


def as_integers(payload: Payload) -> npt.NDArray[np.unsignedinteger]:
    """Return the integers in rows of little-endian bytes.

    >>> as_integers(np.array([[1, 0], [2, 1]], dtype=np.uint8)).tolist()
    [1, 258]
    """
    return np.ascontiguousarray(payload).view(f"<u{payload.shape[1]}").reshape(-1)


def histogram(payload: Payload, size: int) -> Integers:
    """Return how many rows hold each integer below `size`.

    >>> histogram(np.array([[1], [1], [0]], dtype=np.uint8), 3).tolist()
    [1, 2, 0]
    """
    return np.bincount(as_integers(payload), minlength=size).astype(np.int64, copy=False)


def hadamard_rows(columns: Codes, rows: int, plus: int, source: Source) -> Codes:
    """Return for each column a uniform row among those with a plus, with probability plus/2^64, else with a minus.

    >>> from sfumato.random import SeededSource
    >>> hadamard_rows(np.array([1, 1]), 2, 2**64 - 1, SeededSource(1)).tolist()
    [0, 0]
    """
    drawn = (source.words(len(columns)) & np.uint32(rows - 1)).astype(np.int64)  # rows are a power of two
    wanted_minus = words64(len(columns), source) >= np.uint64(plus)
    minus = np.bitwise_count(drawn & columns) & 1 == 1
    return np.where(minus == wanted_minus, drawn, drawn ^ (columns & -columns))


def hadamard_transform(counts: Integers) -> Integers:
    """Return the sums of counts with the signs of each column; the length is a power of two.

    >>> hadamard_transform(np.array([3, 1, 0, 2])).tolist()
    [6, 0, 2, 4]
    """
    sums = counts.copy()
    step = 1
    while step < sums.size:
        pairs = sums.reshape(-1, 2, step)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        step *= 2
    return sums


def random_bits(count: int, threshold: int, source: Source) -> Words64:
    """Return `count` words of 64 independent bits, each set with probability threshold/2^64.

    >>> from sfumato.random import SeededSource
    >>> random_bits(2, 2**63, SeededSource(1)).shape
    (2,)
    """
    from sfumato.local.protocols.bits_kernel import fill_bits

    out = np.empty(count, dtype=np.uint64)
    done, unread = 0, np.empty(0, dtype=np.uint64)
    while done < count:
        fresh = words64(min(8 * (count - done) + DIGITS, LARGEST_ROUND), source)
        words = np.concatenate([unread, fresh])
        done, place = fill_bits(out, done, np.uint64(threshold), words)
        unread = words[place:]
    return out


def random_rows(codes: Codes, size: int, own: int, other: int, source: Source) -> Payload:
    """Return `size` packed bits for each code: its own bit is set with probability own/2^64, any other with other/2^64.

    >>> from sfumato.random import SeededSource
    >>> random_rows(np.array([0, 9]), 10, 2**64 - 1, 1, SeededSource(1)).tolist()
    [[1, 0], [0, 2]]
    """
    from sfumato.local.protocols.bits_kernel import place_own

    width = -(-size // 8)
    noise = random_bits(-(-len(codes) * width // 8), other, source)
    rows = noise.view(np.uint8)[: len(codes) * width].reshape(len(codes), width)
    place_own(rows, codes, np.uint64(own), words64(len(codes), source), last_byte(size))
    return rows


def bit_counts(payload: Payload, size: int) -> Integers:
    """Return how many rows have each of their `size` bits set.

    >>> bit_counts(np.array([[1, 2], [1, 0]], dtype=np.uint8), 10).tolist()
    [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    from sfumato.local.protocols.bits_kernel import count_bits

    rows, width = payload.shape
    whole = rows // 8 * 8
    totals = np.zeros(64 * width, dtype=np.int64)
    flat = np.ascontiguousarray(payload[:whole]).reshape(-1)
    groups = flat.view(np.uint64) if flat.ctypes.data % 8 == 0 else flat.copy().view(np.uint64)
    count_bits(groups.reshape(whole // 8, width), totals)  # eight rows of `width` bytes are `width` words
    by_place = totals.reshape(8, 8 * width).sum(axis=0)
    rest = np.unpackbits(payload[whole:], axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    counts: Integers = (by_place + rest)[:size]
    return counts


def bits_at(payload: Payload, codes: Codes) -> Reals:
    """Return for every row and every code 1 where the bit of the code is set, else 0.

    >>> bits_at(np.array([[1, 2], [1, 0]], dtype=np.uint8), np.array([0, 9])).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    return ((payload[:, codes // 8] >> (codes % 8).astype(np.uint8)) & 1).astype(np.float64)


def last_byte(size: int) -> int:
    """Return the mask of the bits that the last byte of a row of `size` bits may have.

    >>> last_byte(8), last_byte(10)
    (255, 3)
    """
    return 0xFF >> (-size % 8)


def within(payload: Payload, size: int) -> Mask:
    """Return which rows have no bit set behind their `size` bits.

    >>> within(np.array([[1, 2], [1, 4]], dtype=np.uint8), 10).tolist()
    [True, False]
    """
    clean: Mask = (payload[:, -1] & np.uint8(0xFF ^ last_byte(size))) == 0
    return clean
