"""Uniform random words: from a secure source for real releases, from a seed for tests.

Few words come from the operating system (`os.urandom`), many from ChaCha20 (Bernstein 2008; RFC 8439) under a key
that the operating system gives for this one call: nothing is kept between calls, so a fork shares no state.
Permutations are drawn by the Fisher-Yates shuffle (Durstenfeld 1964) with exact rejection, so every order has the
same probability.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.core.seam import choose

Words = npt.NDArray[np.uint32]

BULK_BYTES = 4096  # below this, setting up a cipher costs more than asking the operating system


class Source(Protocol):
    """Anything that gives uniform 32-bit words and says whether it may be used for a real release.

    >>> source: Source = SecureSource()
    >>> source.secure, source.words(3).dtype.name
    (True, 'uint32')
    """

    @property
    def secure(self) -> bool: ...
    def words(self, count: int) -> Words: ...


@dataclass(frozen=True)
class SecureSource:
    """The operating system's generator, stretched by ChaCha20 in bulk: for every real release, and the default.

    >>> SecureSource().words(2).shape, SecureSource().words(100_000).shape
    ((2,), (100000,))
    """

    secure: bool = field(default=True, init=False)

    def words(self, count: int) -> Words:
        return np.frombuffer(_secure_bytes(4 * count), dtype=np.uint32)


class SeededSource:
    """A reproducible generator for tests; a release drawn from it says so on its card.

    >>> SeededSource(7).words(1).tolist() == SeededSource(7).words(1).tolist()
    True
    """

    secure = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> Words:
        return self._generator.integers(0, 2**32, size=count, dtype=np.uint32)


def permutation(count: int, source: Source) -> npt.NDArray[np.int64]:
    """Return the numbers 0…count-1 in an order drawn uniformly from `source`.

    >>> sorted(permutation(5, SeededSource(1)).tolist())
    [0, 1, 2, 3, 4]
    """
    from sfumato.random.laws import Uniform

    return choose(lambda: Uniform("order", count), lambda: _shuffle(count, source))


def _shuffle(count: int, source: Source) -> npt.NDArray[np.int64]:
    from sfumato.random.discrete_kernel import shuffle_from

    order = np.arange(count, dtype=np.int64)
    remaining = count
    while remaining > 1:
        remaining = shuffle_from(order, remaining, source.words(remaining))
    return order


def _secure_bytes(count: int) -> bytes:
    """`count` bytes that nobody can predict; many of them are a ChaCha20 key stream whose key is then forgotten."""
    if count < BULK_BYTES:
        return os.urandom(count)
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    return Cipher(algorithms.ChaCha20(os.urandom(32), bytes(16)), mode=None).encryptor().update(bytes(count))
