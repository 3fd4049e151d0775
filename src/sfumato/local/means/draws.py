"""Exact draws for many users at once: chances out of 2^64, uniform integers, and random rounding to a grid.

Uniform integers are masked words that are drawn again when too large, so that no outcome is favoured.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Integers, Mask, Reals
from sfumato.local.probabilities import SCALE
from sfumato.local.protocols.packing import words64
from sfumato.random import Source


def chosen(chance: int, count: int, source: Source) -> Mask:
    """Return for each of `count` users whether a word falls below a chance out of 2^64.

    >>> from sfumato.random import SecureSource
    >>> chosen(0, 2, SecureSource()).tolist()
    [False, False]
    """
    if chance >= SCALE:
        return np.ones(count, dtype=np.bool_)
    return words64(count, source) < np.uint64(chance)


def uniform(bound: int, count: int, source: Source) -> Integers:
    """Return `count` uniform integers below a bound of at most 2^32.

    >>> from sfumato.random import SecureSource
    >>> uniform(1, 3, SecureSource()).tolist()
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


def rounded(places: Reals, source: Source) -> Integers:
    """Return each place rounded down or up at random, so that its expectation is the place.

    >>> from sfumato.random import SecureSource
    >>> rounded(np.array([3.0, -2.0]), SecureSource()).tolist()
    [3, -2]
    """
    floors = np.floor(places)
    words = words64(places.size, source) >> np.uint64(11)
    return (floors + (words * 2.0**-53 < places - floors)).astype(np.int64)
