"""What every stream publisher is: records go in one by one or in batches, groups come out, the same either way.

A publisher holds what has not left yet; its state can be saved and restored, and a group that has left is never drawn
again (the interface follows river's `learn_one`/`learn_many`; Montiel et al. 2021).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.core.files import write_durably
from sfumato.core.parameters import Validated
from sfumato.errors import InputError
from sfumato.release import Card

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ReleasedColumns = dict[str, Numbers | list[str]]


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


class Publisher(Validated, ABC):
    """A stream publisher: a dataclass of validated parameters that also holds the state of one stream.

    A subclass is a `@dataclass(eq=False)` whose fields are its parameters, each with its rule, and takes the source of
    randomness as `rng: InitVar[Source | None] = None`, None being the secure one.

    `push` takes one record (a number, or a sequence of numbers where the publisher has several attributes), `push_many`
    an array of them with the same result as pushing each; `flush` ends the stream. `state` gives everything that is
    needed to go on after a crash, as bytes, and `restore` takes it back on a publisher made with the same parameters.
    A state holds no noise to come: random words drawn ahead are forgotten when it is taken, so two runs that go on from
    one state never share noise, unless they share a seeded source, as tests do, or a keyed one, under which what leaves
    depends on the key and the records alone, wherever the stream was cut, saved and restored. `held` is the number of
    records not yet published, `delay` the most that can be held after a push.

    >>> from sfumato.stream import NaiveLaplace
    >>> isinstance(NaiveLaplace(sensitivity=10), Publisher)
    True
    """

    name: ClassVar[str]
    linked: ClassVar[bool]
    needs_clock: ClassVar[bool] = False  # windows end by the clock, which must be one for all records

    @property
    @abstractmethod
    def delay(self) -> int:
        """The most records held after a push; a parameter may take this name if it has a default."""

    @property
    @abstractmethod
    def held(self) -> int:
        """How many records have come in and not left."""

    @abstractmethod
    def push(self, record: Any) -> Published:
        """Return what leaves when one record comes."""

    @abstractmethod
    def push_many(self, batch: Any) -> Published:
        """Return what leaves when the records of a batch come one after the other."""

    @abstractmethod
    def flush(self) -> Published:
        """Return all that is still held; the stream is over."""

    @abstractmethod
    def state(self) -> bytes:
        """Return the state of the stream: secret, since it holds records."""

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """Go on from a state of a publisher with the same parameters."""

    @abstractmethod
    def card(self, *names: str) -> Card:
        """Return the card of the release of the columns `names`, with 0 rows: the runner counts them."""

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as they stand on the card and in a state's fingerprint."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the released columns as they are written, under the input's names."""
        table = published.values.reshape(len(published), -1) if len(published) else np.empty((0, len(names)))
        return {name: table[:, place] for place, name in enumerate(names)}

    def save(self, path: str | Path) -> None:
        """Write the state to a file that only its owner may read, all or nothing."""
        write_durably(Path(path), self.state())

    def load(self, path: str | Path) -> None:
        """Go on from a state that `save` wrote."""
        try:
            state = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"state '{path}' cannot be read: {error}") from error
        self.restore(state)
