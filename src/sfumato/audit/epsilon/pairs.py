"""Neighbouring inputs to try a mechanism on, and the search for the pair that it tells apart best.

The patterns of score vectors are those of Ding, Wang, Wang, Zhang & Kifer (2018, table 2): one up, one down, one up and
the rest down, halves apart, all up; with one candidate far behind besides, where a missing factor shows most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from sfumato.audit.epsilon.event_search import choose
from sfumato.audit.epsilon.trials import Mechanism, run
from sfumato.errors import InputError
from sfumato.random import SecureSource, Source

if TYPE_CHECKING:
    from sfumato.audit.epsilon.events import Outputs

Pair = tuple[Any, Any]
MOST_PAIRS = 64


def number_pairs(by: float = 1) -> Iterator[Pair]:
    """Yield neighbouring numbers that differ by the sensitivity, near 0 and far from it.

    >>> next(number_pairs(5))
    (0, 5)
    """
    for start in (0, 1, 1000, -by):
        yield start, start + by


def vector_pairs(size: int, by: float = 1) -> Iterator[Pair]:
    """Yield neighbouring vectors of scores, each entry moved by the sensitivity at most.

    >>> [right for _, right in vector_pairs(3)][:3]
    [[1, 0, 0], [-1, 0, 0], [1, -1, -1]]
    """
    rest, half = size - 1, size // 2
    level = [0] * size
    moves = (
        [by] + [0] * rest,
        [-by] + [0] * rest,
        [by] + [-by] * rest,
        [-by] + [by] * rest,
        [by] * half + [-by] * (size - half),
        [by] * size,
    )
    for start in (level, [-4 * by] + [0] * rest):
        for move in moves:
            yield start, [value + step for value, step in zip(start, move, strict=True)]


def worst_pair(
    mechanism: Mechanism,
    pairs: Iterable[Pair],
    *,
    delta: float = 0.0,
    trials: int = 20_000,
    rng: Source | None = None,
) -> Pair:
    """Return the pair that the mechanism tells apart best, by trials that are then forgotten; 64 pairs at most.

    >>> import numpy as np
    >>> def clamped(value, count, rng):
    ...     return np.clip(value, 0, 1) + rng.words(count) / 2**32
    >>> worst_pair(clamped, [(5, 6), (0, 1)], trials=1000)
    (0, 1)
    """
    source = SecureSource() if rng is None else rng
    tried = list(islice(pairs, MOST_PAIRS))
    if not tried:
        raise InputError("there is no pair of neighbouring inputs to try; give at least one")
    scores = [
        _score(run(mechanism, left, trials, source), run(mechanism, right, trials, source), delta)
        for left, right in tried
    ]
    return tried[max(range(len(tried)), key=scores.__getitem__)]


def _score(left: Outputs, right: Outputs, delta: float) -> float:
    return choose(left, right, delta).score
