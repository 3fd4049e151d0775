"""How a mechanism is put to trials: a run of many draws on one input, and neighbouring inputs to try it on.

The patterns of score vectors are those of Ding, Wang, Wang, Zhang & Kifer (2018, table 2): one up, one down, one up and
the rest down, halves apart, all up; with one candidate far behind besides, where a missing factor shows most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.random import Source

Pair = tuple[Any, Any]
Run = Callable[[Any, int, Source], Any]


@dataclass(frozen=True)
class Trial:
    """What an auditor needs of a mechanism: `run(input, count, source)`, neighbouring inputs, and the δ of its claim.

    A run gives `count` outputs: numbers, words, or vectors of numbers as rows. `events` are sets of outputs that the
    mechanism's law suggests, in the form in which evidence keeps them (`sfumato.audit.epsilon.events.Event`).

    >>> trial = Trial(lambda value, count, source: [value] * count, [(0, 1)])
    >>> trial.run(1, 2, None), trial.delta
    ([1, 1], 0.0)
    """

    run: Run
    pairs: Sequence[Pair]
    delta: float = 0.0
    events: Sequence[Mapping[str, Any]] = ()


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
