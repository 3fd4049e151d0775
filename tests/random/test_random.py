from __future__ import annotations

import os
from collections import Counter

import numba
import numpy as np
import pytest

from sfumato.random import (
    SecureSource,
    SeededSource,
    Words,
    discrete_kernel,
    permutation,
)


class Scripted:
    """A source that gives chosen words."""

    secure = False

    def __init__(self, words: list[int]) -> None:
        self.left = words

    def words(self, count: int) -> Words:
        given, self.left = self.left[:count], self.left[count:]
        return np.array(given, dtype=np.uint32)


def slow_shuffle(count: int, words: list[int]) -> list[int]:
    order = list(range(count))
    supply = iter(words)
    for remaining in range(count, 1, -1):
        limit = 2**32 // remaining * remaining
        word = next(word for word in supply if word < limit)
        order[word % remaining], order[remaining - 1] = order[remaining - 1], order[word % remaining]
    return order


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1000])
def test_a_permutation_holds_every_number_once(count: int) -> None:
    assert sorted(permutation(count, SecureSource()).tolist()) == list(range(count))


def test_the_kernel_equals_its_slow_twin() -> None:
    words = [int(word) for word in SeededSource(3).words(4000)]
    assert permutation(1000, Scripted(words)).tolist() == slow_shuffle(1000, words)


def test_a_biased_word_is_thrown_away() -> None:
    words = [2**32 - 1, 2**32 - 1, 0, 0, 0]
    assert permutation(3, Scripted(words)).tolist() == slow_shuffle(3, words)


def test_secure_words_differ_and_are_not_seedable() -> None:
    np.random.seed(0)  # noqa: NPY002  # the global state must not matter
    first = SecureSource().words(8).tolist()
    np.random.seed(0)  # noqa: NPY002
    assert SecureSource().words(8).tolist() != first


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_secure_words_differ_after_a_fork() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, SecureSource().words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 64) != SecureSource().words(4).tobytes()


def test_all_orders_of_three_occur() -> None:
    source = SeededSource(11)
    seen = Counter(tuple(permutation(3, source).tolist()) for _ in range(600))
    assert len(seen) == 6


def test_kernels_of_noise_hold_nothing_but_integers() -> None:
    words = SeededSource(1).words(1000)
    arguments = {"uniform_below": (5, words, 0), "exp_once": (1, 3, words, 0), "laplace_once": (5, 1, words, 0)}
    for name, given in arguments.items():
        fresh = numba.njit(getattr(discrete_kernel, name).py_func)  # one from the cache does not tell its types
        fresh(*given)
        for signature in fresh.nopython_signatures:
            assert set(signature.return_type) == {numba.int64}, signature
