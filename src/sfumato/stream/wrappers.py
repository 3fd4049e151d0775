"""Publishers before another one: only the first records of a person count, or windows end by the clock.

Bounding what a person can contribute turns event level into a promise about persons (group privacy, Dwork & Roth 2014,
theorem 2.2): replacing all values of one person moves at most c counted records, which costs c·ε over the horizon.
Windows in event or processing time follow Akidau et al. (2015); an interval without a record ends too, with a noisy
count like any other, since that nothing came must not show.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, replace
from typing import Any, ClassVar

import msgspec
import numpy as np

from sfumato.core.parameters import Optional, Real, Whole
from sfumato.errors import InputError
from sfumato.random import Source, of_group
from sfumato.release import Card
from sfumato.stream.base import Numbers, Published, Publisher, Sample
from sfumato.stream.card import EVENT
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.state import Saved, fingerprint, pack, unpack

MOST_AT_ONCE = 100_000
PUBLIC_CLOCK = "Times are a public clock: no record's own time may be chosen by the person it is about."


class WrappingPublisher(Publisher):
    """A publisher before another one, `publisher`, whose delay, held records and state are also its own.

    >>> from sfumato.stream import RankWindows
    >>> CappedPersons(RankWindows(bounds=(0, 10), window=4)).delay
    3
    """

    publisher: Publisher
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        if rng is not None:
            own = of_group(rng, "wrapper", fingerprint(self.name, self.parameters()))
            self.publisher = replace(self.publisher, rng=own)  # type: ignore[type-var]

    @property
    def delay(self) -> int:
        return self.publisher.delay

    @property
    def held(self) -> int:
        return self.publisher.held

    def pack_with_inner(self, arrays: dict[str, Any], plain: dict[str, Any]) -> bytes:
        """Return a state with that of the publisher behind."""
        inner = np.frombuffer(self.publisher.state(), dtype=np.uint8)
        return pack(self.name, self.parameters(), {**arrays, "inner": inner}, plain)

    def unpack_with_inner(self, state: bytes) -> Saved:
        """Return what a state holds; the publisher behind goes on from its own."""
        saved = unpack(state, self.name, self.parameters())
        self.publisher.restore(saved.arrays["inner"].tobytes())
        return saved


@dataclass(frozen=True)
class AnyPublisher:
    """The rule of a publisher whose records are plain numbers under an ε."""

    wanted: str = "a differentially private publisher of one number"

    def accepts(self, value: object) -> bool:
        return isinstance(value, Publisher) and "epsilon" in value.card("value").guarantee.parameters

    def bad_values(self) -> list[object]:
        return ["rank", 3, None]


@dataclass(eq=False)
class CappedPersons(WrappingPublisher):
    """A publisher before which only the first `limit` records of a person count, over each horizon.

    A record is (value, person, time) or (value, person), all numbers; `horizon` is in the unit of time, None being the
    whole stream. What does not count becomes NaN, for which every private publisher has a public default.

    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream import RankWindows
    >>> inner = RankWindows(bounds=(0, 10), window=4, epsilon=0.5)
    >>> publisher = CappedPersons(inner, limit=2, rng=SeededSource(1))
    >>> publisher.counted(np.array([[1.0, 7], [2.0, 7], [3.0, 7], [4.0, 8]])).tolist()
    [1.0, 2.0, nan, 4.0]
    >>> publisher.card("hours").guarantee.parameters
    {'epsilon': 1.0, 'per_record': 0.5}
    """

    publisher: Publisher
    limit: int = 1
    horizon: float | None = None
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "publisher": AnyPublisher(),
        "limit": Whole(1),
        "horizon": Optional(Real(0, above=True)),
    }
    name: ClassVar[str] = "capped"

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__(rng)
        self.linked = self.publisher.linked  # type: ignore[misc]  # as the one behind it
        self._given: dict[float, int] = {}
        self._period = -1

    def push(self, record: Any) -> Published:
        return self.publisher.push(float(self.counted(np.array([record], dtype=np.float64))[0]))

    def push_many(self, batch: Any) -> Published:
        return self.publisher.push_many(self.counted(np.asarray(batch, dtype=np.float64)))

    def flush(self) -> Published:
        return self.publisher.flush()

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        from sfumato.stream.publishers.rank import RankWindows

        return (Sample(cls(RankWindows(bounds=(0, 1000), window=70, block=8), limit=3), sample_persons),)

    def counted(self, records: Numbers) -> Numbers:
        """Return the records' values, NaN for those beyond a person's limit."""
        values = records[:, 0].copy() if len(records) else np.empty(0)
        persons = records[:, 1].tolist() if len(records) else []
        timed = self.horizon is not None and persons
        periods = (records[:, 2] // (self.horizon or 1)).tolist() if timed else [0.0] * len(persons)
        for place, (person, period) in enumerate(zip(persons, periods, strict=True)):
            if period > self._period:
                self._given, self._period = {}, int(period)
            given = self._given.get(person, 0)
            if given >= self.limit:
                values[place] = np.nan
            else:
                self._given[person] = given + 1
        return values

    def parameters(self) -> dict[str, Any]:
        inner = {"name": self.publisher.name, **self.publisher.parameters()}
        return {"publisher": inner, "limit": self.limit, "horizon": self.horizon}

    def state(self) -> bytes:
        persons = np.array(list(self._given), dtype=np.float64)
        given = np.array(list(self._given.values()), dtype=np.int64)
        return self.pack_with_inner({"persons": persons, "given": given}, {"period": self._period})

    def restore(self, state: bytes) -> None:
        saved = self.unpack_with_inner(state)
        persons, given = saved.arrays["persons"].tolist(), saved.arrays["given"].tolist()
        self._given, self._period = dict(zip(persons, given, strict=True)), int(saved.plain["period"])

    def card(self, *names: str) -> Card:
        card = self.publisher.card(*names)
        epsilon = card.guarantee.parameters["epsilon"]
        span = "the whole stream" if self.horizon is None else f"every horizon of {self.horizon:g}"
        promise = msgspec.structs.replace(
            card.guarantee,
            parameters={"epsilon": self.limit * epsilon, "per_record": epsilon},
            unit=f"person (all records of one, over {span})",
            neighbours="streams with the same arrivals and persons that differ in the values of one person",
        )
        capped = (
            f"Only the first {self.limit} records of a person count over {span}; later ones are a public default.",
            "The promise is that limit times the ε of a record, once more for each further horizon.",
            "That a person is in the stream, and when their records come, is not protected; their values are.",
        )
        kept = [entry for entry in card.assumptions if entry not in EVENT[:2]]
        released = msgspec.structs.replace(card.released, settings=self.parameters())
        return msgspec.structs.replace(
            card, algorithm=self.name, guarantee=promise, assumptions=[*capped, *kept], released=released
        )


def sample_persons(seed: int, rows: int) -> Numbers:
    """Return a stream of numbers from 0 to 999, each of one of 40 persons.

    >>> sample_persons(1, 3).shape
    (3, 2)
    """
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.integers(0, 1000, rows), draw.integers(0, 40, rows)]).astype(np.float64)


@dataclass(frozen=True)
class Clocked:
    """The rule of a publisher whose windows end when they are told to."""

    wanted: str = "a ClockWindows publisher"

    def accepts(self, value: object) -> bool:
        return isinstance(value, ClockWindows)

    def bad_values(self) -> list[object]:
        return ["clock", 3, None]


@dataclass(eq=False)
class TimedWindows(WrappingPublisher):
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
    needs_clock: ClassVar[bool] = True

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__(rng)
        self._now: int | None = None

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
            left += self._tick_until(float(reached[start]))
            self.publisher.push_many(records[start:end, 0])
        return join_published([*left, self.publisher.push_many(np.empty(0))])

    def advance(self, now: float) -> Published:
        """Return the rows of the intervals that have ended by the time `now`, though no record came."""
        return join_published([*self._tick_until(math.floor(now / self.every)), self.publisher.push_many(np.empty(0))])

    def _tick_until(self, interval: float) -> list[Published]:
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
        return self.pack_with_inner({}, {"now": self._now})

    def restore(self, state: bytes) -> None:
        self._now = self.unpack_with_inner(state).plain["now"]

    def card(self, *names: str) -> Card:
        card = self.publisher.card(*names)
        released = msgspec.structs.replace(card.released, settings=self.parameters())
        window = f"Windows end every {self.every:g} seconds, also when nothing came."
        return msgspec.structs.replace(card, released=released, assumptions=[window, *card.assumptions, PUBLIC_CLOCK])


def join_published(parts: list[Published]) -> Published:
    """Return the rows of several calls one after the other."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return some[0] if some else parts[-1]
    columns = (np.concatenate([getattr(part, name) for part in some]) for name in ("values", "group", "size", "seq"))
    return Published(*columns)
