"""Words drawn ahead are read once: neither a forked process nor a copy nor a pickle has them."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.random import SecureSource
from sfumato.random.discrete import Draws
from sfumato.stream import (
    DOCA,
    AdaptiveHistogram,
    CappedPersons,
    CategoryWindows,
    ClockWindows,
    LinkedResponse,
    NaiveLaplace,
    RankWindows,
)

BOUNDS = (0.0, 1000.0)
MAKERS: dict[str, Callable[[], Any]] = {
    "rank": lambda: RankWindows(BOUNDS, window=40, block=1, epsilon=9.0),
    "adaptive": lambda: AdaptiveHistogram(BOUNDS, window=40, bins=16),
    "linked": lambda: LinkedResponse(BOUNDS, window=40, bins=16),
    "laplace": lambda: NaiveLaplace(bounds=BOUNDS),
    "doca": lambda: DOCA(sensitivity=1000, delay=20, beta=4),
    "categories": lambda: CategoryWindows(tuple("abcdefgh"), window=40, epsilon=0.1),
    "clock": lambda: ClockWindows(BOUNDS),
    "capped": lambda: CappedPersons(NaiveLaplace(bounds=BOUNDS), limit=1000),
}


def middle_of_a_window(name: str) -> Any:
    """Return a publisher that has released before, so that words are drawn ahead, and holds half a window."""
    publisher = MAKERS[name]()
    push(publisher, 60, name)
    return publisher


def push(publisher: Any, count: int, name: str) -> Any:
    values = np.arange(count) % 8.0 if name == "categories" else np.linspace(0, 1000, count)
    return publisher.push_many(np.column_stack([values, np.zeros(count)]) if name == "capped" else values)


def released(publisher: Any, name: str) -> bytes:
    """Return what leaves when the same records come."""
    left: bytes = push(publisher, 60, name).values.tobytes()
    last: bytes = (publisher.tick() if name == "clock" else publisher.flush()).values.tobytes()
    return left + last


@pytest.mark.parametrize("name", MAKERS)
def test_a_fork_of_a_publisher_shares_no_noise_with_it(name: str) -> None:
    publisher = middle_of_a_window(name)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            pipe.write(released(publisher, name))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    ours = released(publisher, name)
    assert theirs
    assert theirs != ours


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])  # noqa: S301
@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_of_a_publisher_shares_no_noise_with_it(name: str, way: Callable[[Any], Any]) -> None:
    publisher = middle_of_a_window(name)
    twin = way(publisher)
    assert released(twin, name) != released(publisher, name)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])  # noqa: S301
def test_single_draws_share_no_words_with_a_copy(way: Callable[[Any], Any]) -> None:
    draws = Draws(SecureSource())
    draws.below(2**64)
    twin = way(draws)
    assert twin.below(2**128) != draws.below(2**128)
    assert twin.laplace(Fraction(10**30)) != draws.laplace(Fraction(10**30))


def test_single_draws_share_no_words_with_a_fork() -> None:
    draws = Draws(SecureSource())
    draws.below(2**64)
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, draws.below(2**128).to_bytes(16, "big"))
        os._exit(0)
    os.wait()
    assert int.from_bytes(os.read(read, 16), "big") != draws.below(2**128)
