"""Reports in bulk that are one integer of 1, 2 or 4 bytes: randomised responses, and rows of a Hadamard matrix.

Sylvester's matrix is never written down: rows and columns are numbers, and the sign is the parity of their common bits
(Fino & Algazi 1976 for the transform).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.arrays import Codes, Integers, Payload
from sfumato.local.protocols.packing import words64
from sfumato.random import Source


def respond_many(codes: Codes, own: int, other: int, source: Source) -> Codes:
    """Return each code with chance `own`, or one of the others with chance `other` each, out of 2^64.

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


def random_rows_of(columns: Codes, rows: int, plus: int, source: Source) -> Codes:
    """Return for each column a uniform row among those with a plus, with chance plus/2^64, else with a minus.

    >>> from sfumato.random import SeededSource
    >>> random_rows_of(np.array([1, 1]), 2, 2**64 - 1, SeededSource(1)).tolist()
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
