"""Windows that end by the clock: records with their times in, and the rows of every interval that has passed out.

Intervals without a record end too, with a noisy count like any other: that nothing came must not show (tumbling
windows in event or processing time, Akidau et al. 2015).
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, replace
from typing import Any, ClassVar

import msgspec
import numpy as np

from sfumato.core.parameters import Real
from sfumato.errors import InputError
from sfumato.random import Source
from sfumato.release import Card
from sfumato.stream.base import Published, Publisher
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.state import pack, unpack

MOST_AT_ONCE = 100_000
PUBLIC_CLOCK = "Times are a public clock: no record's own time may be chosen by the person it is about."


@dataclass(frozen=True)
class Clocked:
    """The rule of a publisher whose windows end when they are told to."""

    wanted: str = "a ClockWindows publisher"

    def accepts(self, value: object) -> bool:
        return isinstance(value, ClockWindows)

    def refused(self) -> list[object]:
        return ["clock", 3, None]


@dataclass(eq=False)
class TimedWindows(Publisher):
    """Ends the windows of `publisher` every `every` seconds, by the times that come with records or by `advance`.

    A record is (value, time). The clock never goes back: a late record, or one without a time, counts where it comes.

    >>> from sfumato.random import SeededSource
    >>> publisher = TimedWindows(ClockWindows(bounds=(0, 100), epsilon=50.0), every=10.0, rng=SeededSource(1))
    >>> records = np.column_stack([np.full(300, 40.0), np.repeat([100.0, 112.0, 131.0], 100)])
    >>> sorted(publisher.push_many(records).size[[0, -1]].tolist()), publisher.held
    ([100, 100], 100)
    """

    publisher: ClockWindows
    every: float
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {"publisher": Clocked(), "every": Real(0, above=True)}
    name: ClassVar[str] = "clock"
    linked: ClassVar[bool] = False
    needs_clock: ClassVar[bool] = True

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        if rng is not None:
            self.publisher = replace(self.publisher, rng=rng)
        self._now: int | None = None

    @property
    def delay(self) -> int:
        return self.publisher.delay

    @property
    def held(self) -> int:
        return self.publisher.held

    def push(self, record: Any) -> Published:
        return self.push_many(np.array([record], dtype=np.float64))

    def push_many(self, batch: Any) -> Published:
        records = np.asarray(batch, dtype=np.float64)
        if not len(records):
            return self.publisher.push_many(np.empty(0))
        intervals = np.floor(np.nan_to_num(records[:, 1], nan=-math.inf) / self.every)
        reached = np.maximum.accumulate(intervals)
        starts = np.flatnonzero(np.append(True, reached[1:] != reached[:-1]))
        ends = [*starts[1:].tolist(), len(records)]
        left = []
        for start, end in zip(starts.tolist(), ends, strict=True):
            left += self._until(float(reached[start]))
            self.publisher.push_many(records[start:end, 0])
        return _joined([*left, self.publisher.push_many(np.empty(0))])

    def advance(self, now: float) -> Published:
        """Return the rows of the intervals that have ended by the time `now`, though no record came."""
        return _joined([*self._until(math.floor(now / self.every)), self.publisher.push_many(np.empty(0))])

    def _until(self, interval: float) -> list[Published]:
        if math.isinf(interval):
            return []
        now, self._now = self._now, max(int(interval), int(interval) if self._now is None else self._now)
        passed = 0 if now is None else self._now - now
        if passed > MOST_AT_ONCE:
            self._now = now
            raise InputError(
                f"the clock jumps over {passed} windows of {self.every:g} seconds at once; check the records' times"
            )
        return [self.publisher.tick() for _ in range(passed)]

    def flush(self) -> Published:
        """Return the rows of the last interval, which ends with the stream; nothing, if the clock never started."""
        return self.publisher.push_many(np.empty(0)) if self._now is None else self.publisher.flush()

    def parameters(self) -> dict[str, Any]:
        return {**self.publisher.parameters(), "every": self.every}

    def state(self) -> bytes:
        inner = np.frombuffer(self.publisher.state(), dtype=np.uint8)
        return pack(self.name, self.parameters(), {"inner": inner}, {"now": self._now})

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self.publisher.restore(saved.arrays["inner"].tobytes())
        self._now = saved.plain["now"]

    def card(self, *names: str) -> Card:
        card = self.publisher.card(*names)
        released = msgspec.structs.replace(card.released, settings=self.parameters())
        window = f"Windows end every {self.every:g} seconds, also when nothing came."
        return msgspec.structs.replace(card, released=released, assumptions=[window, *card.assumptions, PUBLIC_CLOCK])


def _joined(parts: list[Published]) -> Published:
    """Return the rows of several calls one after the other."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return some[0] if some else parts[-1]
    columns = (np.concatenate([getattr(part, name) for part in some]) for name in ("values", "group", "size", "seq"))
    return Published(*columns)
