"""Packed bits in bulk: random ones with an exact chance, random subsets, and counts by place."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Integers, Mask, Payload, Words64
from sfumato.random import Source

LARGEST_ROUND = 2**18  # words that stay in the cache
LARGEST_RUN = 2**20  # 32-bit words for subsets
DIGITS = 64


def words64(count: int, source: Source) -> Words64:
    """Return uniform 64-bit words.

    >>> from sfumato.random import SeededSource
    >>> words64(3, SeededSource(1)).dtype.name
    'uint64'
    """
    return source.words(2 * count).view(np.uint64)


def random_bits(count: int, chance: int, source: Source) -> Words64:
    """Return `count` words of 64 independent bits, each set with probability chance/2^64.

    >>> from sfumato.random import SeededSource
    >>> random_bits(2, 2**63, SeededSource(1)).shape
    (2,)
    """
    from sfumato.local.protocols.unary_kernel import fill_bits

    out = np.empty(count, dtype=np.uint64)
    done, unread = 0, np.empty(0, dtype=np.uint64)
    while done < count:
        fresh = words64(min(8 * (count - done) + DIGITS, LARGEST_ROUND), source)
        words = np.concatenate([unread, fresh])
        done, place = fill_bits(out, done, np.uint64(chance), words)
        unread = words[place:]
    return out


def random_rows(codes: Codes, size: int, own: int, other: int, source: Source) -> Payload:
    """Return a row of `size` packed bits for each code: its own bit has chance `own`, all others `other`, out of 2^64.

    >>> from sfumato.random import SeededSource
    >>> random_rows(np.array([0, 9]), 10, 2**64 - 1, 1, SeededSource(1)).tolist()
    [[1, 0], [0, 2]]
    """
    from sfumato.local.protocols.unary_kernel import place_own

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
    from sfumato.local.protocols.unary_kernel import count_bits

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


def random_subsets(codes: Codes, domain: int, size: int, held: int, source: Source) -> Payload:
    """Return a packed set of `size` values for each code, which holds the code with chance held/2^64.

    >>> from sfumato.random import SeededSource
    >>> random_subsets(np.array([2, 0]), 3, 1, 2**64 - 1, SeededSource(1)).tolist()
    [[4], [1]]
    """
    from sfumato.local.protocols.subset_kernel import fill_subsets

    rows = np.zeros((len(codes), -(-domain // 8)), dtype=np.uint8)
    most = 2 * size + 64  # a user reads two words and about one for each member; too few only costs another round
    done, unread = 0, np.empty(0, dtype=np.uint32)
    while done < len(codes):
        fresh = source.words(max(most, min((size + 4) * (len(codes) - done), LARGEST_RUN)))
        words = np.concatenate([unread, fresh])
        done, place = fill_subsets(rows, done, codes, domain, size, np.uint64(held), words)
        unread = words[place:]
    return rows


def valid_subsets(payload: Payload, domain: int, size: int) -> Mask:
    """Return which rows are sets of `size` values of the domain.

    >>> valid_subsets(np.array([[3], [1], [9]], dtype=np.uint8), 3, 2).tolist()
    [True, False, False]
    """
    members = np.bitwise_count(payload).sum(axis=1, dtype=np.int64)
    valid: Mask = within(payload, domain) & (members == size)
    return valid
