"""What every stream publisher is: records go in one by one or in batches, groups come out, the same either way.

A publisher holds what has not left yet; its state can be saved and restored, and a group that has left is never drawn
again (the interface follows river's `learn_one`/`learn_many`; Montiel et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.card import Card

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Group:
    """One group that left: its number, its published values, and its records' places where the publisher links them.

    >>> Group(0, np.array([5.0, 5.0]), None).size
    2
    """

    number: int
    values: Numbers
    positions: Integers | None

    @property
    def size(self) -> int:
        """How many rows the group publishes."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Published:
    """The rows that left in one call, column by column, in the order in which they leave.

    `values` has one row per released value (a second axis where a publisher takes several attributes); `seq` counts
    released rows from 0 without a gap; `group` never decreases and `size` repeats the group's size on each of its rows;
    `position` is the record's place in the stream for linked publishers, None for the others.

    >>> nothing = Published.empty()
    >>> len(nothing), list(nothing)
    (0, [])
    """

    values: Numbers
    group: Integers
    size: Integers
    seq: Integers
    position: Integers | None = None

    @classmethod
    def empty(cls, width: int = 0, *, linked: bool = False) -> Published:
        """No rows, of `width` attributes (0: a plain column)."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.empty((0, width) if width else 0), none, none, none, none if linked else None)

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[Group]:
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        for start in starts:
            end = start + self.size[start]
            places = None if self.position is None else self.position[start:end]
            yield Group(int(self.group[start]), self.values[start:end], places)


P = TypeVar("P", bound="Publisher")


class Publisher(Protocol):
    """A stream publisher: a class of validated parameters that also holds the state of one stream.

    `push` takes one record (a number, or a sequence of numbers and texts where the publisher has several attributes),
    `push_many` an array of them with the same result as pushing each; `flush` ends the stream. `state` gives
    everything that is needed to go on after a crash, as bytes, and `restore` takes it back on a publisher made with
    the same parameters. `held` is the number of records not yet published, `delay` the most that can be.
    """

    @property
    def name(self) -> str: ...
    @property
    def linked(self) -> bool: ...
    @property
    def delay(self) -> int: ...
    @property
    def held(self) -> int: ...
    def push(self, record: float) -> Published: ...
    def push_many(self, batch: Numbers) -> Published: ...
    def flush(self) -> Published: ...
    def state(self) -> bytes: ...
    def restore(self, state: bytes) -> None: ...
    def card(self, column: str) -> Card: ...
