"""Tumbling windows over arrivals: records wait until a window is full; its rows leave with the window's number.

Windows hold disjoint records, so what a window costs the whole stream costs (parallel composition, McSherry 2009).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.core.parameters import Real, Whole
from sfumato.errors import ParameterError
from sfumato.promise import Edges, Promise, Windows
from sfumato.random import Part, Source
from sfumato.release import Card
from sfumato.stream.base import AUDITED, DELAY, EPSILON, Integers, Numbers, Published, Publisher, Sample
from sfumato.stream.card import EVENT, private_card, record_promise, windows_note
from sfumato.stream.noise import add_noise, run_of
from sfumato.stream.state import Array, Saved, fill_arrays, pack, unpack


class WindowedPublisher(Publisher):
    """A publisher whose records wait for a window of `window` of them and leave together, window after window.

    A subclass is a `@dataclass(eq=False)` with the parameters `window` and `epsilon` among its own. It writes what it
    needs before the first record (`prepare`), the rows of one window (`release`), and the arrays that it carries from
    window to window and changes in place (`learnt_arrays`). Pushing, numbering, saving and the card are here.

    >>> from sfumato.stream import RankWindows
    >>> publisher = RankWindows(bounds=(0, 10), window=2)
    >>> len(publisher.push(1.0)), publisher.held, len(publisher.push(2.0)), publisher.held
    (0, 1, 2, 0)
    """

    RULES: ClassVar = {"window": Whole(1), "epsilon": Real(0, above=True)}
    OPTIONS: ClassVar = {"epsilon": EPSILON, "window": DELAY}
    SHARED: ClassVar[tuple[str, ...]] = ("bounds", "schema", "person", "per_person", "horizon", "time", "late")
    NOTES: ClassVar[tuple[str, ...]] = ()
    linked: ClassVar[bool] = False
    released_type: ClassVar[str] = "number"

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        self._run = run_of(self, rng)
        self._shape = (self.width,) if self.width else ()
        self._nothing = Published.empty(self.width, linked=self.linked)
        self._waiting: list[Any] = []
        self._seq = self._group = 0
        self.prepare()
        _ = self.promise()  # a chain without a map cannot be built

    @property
    @abstractmethod
    def window(self) -> int:
        """How many records a window has; a parameter takes this name."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """What a window costs; a parameter takes this name."""

    @property
    def width(self) -> int:
        """How many numbers a record has; 0 where it is a plain number."""
        return 0

    def prepare(self) -> None:
        """Set up what is needed before the first record; parameters are valid by then."""

    @abstractmethod
    def release(self, values: Numbers, number: int) -> Numbers:
        """Return the rows of the window of that number, all noise added; the last window may be shorter."""

    def release_many(self, windows: Numbers, first: int) -> Sequence[Numbers] | Numbers:
        """Return the rows of full windows numbered from `first` on; override where many are faster together."""
        return [self.release(window, first + ahead) for ahead, window in enumerate(windows)]

    def learnt_arrays(self) -> dict[str, Array]:
        """Return what was learnt from released windows, as arrays that are changed in place."""
        return {}

    def add_noise(self, exact: Integers, scale: Fraction, number: int, *context: Part) -> Integers:
        """Return exact whole numbers of a window with discrete Laplace noise on each (`sfumato.stream.noise`).

        `context` holds all that decides what the numbers mean besides parameters, scale and the window's number.
        """
        return add_noise(self._run, exact, scale, number, *context)

    def read(self, record: Any) -> Any:
        """Return a record as it waits: a number, or a tuple of them."""
        return tuple(map(float, record)) if self._shape else float(record)

    def read_many(self, batch: Any) -> Numbers:
        """Return the records of a batch as an array, one row for each."""
        return np.asarray(batch, dtype=np.float64).reshape(-1, *self._shape)

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._waiting)

    def push(self, record: Any) -> Published:
        self._waiting.append(self.read(record))
        if len(self._waiting) < self.window:
            return self._nothing
        return self.publish_windows(self.take_waiting()[None])

    def push_many(self, batch: Any) -> Published:
        values = self.read_many(batch)
        if self._waiting:
            values = np.concatenate([self.take_waiting(), values])
        full, size = len(values) // self.window, self.window
        self._waiting = values[full * size :].tolist()
        windows = np.ascontiguousarray(values[: full * size]).reshape(full, size, *self._shape)
        return self.publish_windows(windows)

    def flush(self) -> Published:
        """Return the rows of the last, shorter window: its number of records is public."""
        return self.publish_windows(self.take_waiting()[None]) if self._waiting else self._nothing

    def take_waiting(self) -> Numbers:
        """Return the records that wait, which wait no longer."""
        values = self._as_array()
        self._waiting = []
        return values

    def publish_windows(self, windows: Numbers) -> Published:
        """Return what leaves of windows that end now."""
        return self.number_rows(self.release_many(windows, self._group)) if len(windows) else self._nothing

    def number_rows(self, windows: Sequence[Numbers] | Numbers) -> Published:
        """Return the rows of windows that leave now, one window after the other, under their numbers."""
        if len(windows) == 0:
            return self._nothing
        sizes: Integers = np.array([len(window) for window in windows], dtype=np.int64)
        group = np.repeat(np.arange(self._group, self._group + len(sizes)), sizes)
        seq = np.arange(self._seq, self._seq + len(group))
        self._seq += len(group)
        self._group += len(sizes)
        values = np.concatenate(list(windows))
        return Published(values, group, np.repeat(sizes, sizes), seq, seq if self.linked else None)

    def state(self) -> bytes:
        self._run.forget()
        arrays = {"waiting": self._as_array(), **self.learnt_arrays()}
        return pack(self.name, self.parameters(), arrays, self.counters())

    def restore(self, state: bytes) -> None:
        self.resume(unpack(state, self.name, self.parameters()))
        self._run.forget()

    def counters(self) -> dict[str, int]:
        """Return the numbers of the next row and the next window, as they stand in a state."""
        return {"seq": self._seq, "group": self._group}

    def resume(self, saved: Saved) -> None:
        """Go on with what a state holds."""
        fill_arrays(self.learnt_arrays(), saved)
        self._waiting = saved.arrays["waiting"].tolist()
        self._seq, self._group = int(saved.plain["seq"]), int(saved.plain["group"])

    def card(self, *names: str) -> Card:
        notes = [*EVENT, windows_note(self.window), *self.NOTES]
        return private_card(self, names, notes=notes, kind=self.released_type, source=self._run.source)

    def promise(self) -> Promise | None:
        return record_promise(self.epsilon, Windows(Edges.POSITION))

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        """Return a publisher of numbers from 0 to 1000; where a class takes no `bounds`, it writes its own."""
        return (Sample(cls(bounds=(0, 1000), window=70)),)  # type: ignore[call-arg]  # parameters of the subclass

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> Any:
        """Return a publisher of single numbers from 0 to 100; where a class takes no `bounds`, it writes its own."""
        if cls.needs_clock:
            raise ParameterError(f"{cls.name} cannot be audited by its name: a clock ends windows; audit one you made")
        return cls(bounds=AUDITED, window=delay, epsilon=epsilon, rng=rng)  # type: ignore[call-arg]

    def _as_array(self) -> Numbers:
        return np.array(self._waiting, dtype=np.float64).reshape(-1, *self._shape)
