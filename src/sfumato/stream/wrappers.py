"""Publishers before another one, and the one before which only the first records of a person count.

Bounding what a person can contribute turns event level into a promise about persons (group privacy, Dwork & Roth 2014,
theorem 2.2): one person moves at most c counted records of a period, which costs c·ε.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Name, Optional, Real, Whole
from sfumato.errors import ParameterError
from sfumato.promise import (
    CapPersons,
    Excess,
    Input,
    Metric,
    Neighbours,
    Promise,
    ProtectPersons,
    ProtectRows,
)
from sfumato.random import Source, of_group
from sfumato.release import Card
from sfumato.stream.base import Numbers, Published, Publisher, ReleasedColumns, Sample
from sfumato.stream.card import wrapped_card
from sfumato.stream.state import Saved, fingerprint, pack, unpack

NAMELESS = -1.0
PARTS = ("values", "group", "size", "seq")
OVER = "records beyond a person's limit"
UNCOUNTED = "records without a person, without a time, or of a period that is over"


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
        self._left_out: Counter[str] = Counter()
        if rng is not None:
            self.publisher = replace(self.publisher, rng=self._narrowed(rng))  # type: ignore[type-var]

    def begin(self, source: Source | None) -> None:
        """Begin anew, and so does the publisher behind: the same object, since others may hold it."""
        self.publisher.begin(None if source is None else self._narrowed(source))
        self.__post_init__(None)

    def _narrowed(self, source: Source) -> Source:
        """Return the source of the publisher behind; keyed noise is that of the wrapper's parameters too."""
        return of_group(source, "wrapper", fingerprint(self.name, self.parameters()))

    @property
    def delay(self) -> int:
        return self.publisher.delay

    @property
    def held(self) -> int:
        return self.publisher.held

    @property
    def waits(self) -> bool:
        return self.publisher.waits

    @property
    def ended(self) -> int:
        return self.publisher.ended

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        return self.publisher.columns(published, names)

    def note_left_out(self, why: str, count: int) -> None:
        """Count records that do not reach the publisher behind, for the steward."""
        if count:
            self._left_out[why] += count

    def take_left_out(self) -> dict[str, int]:
        found = self._left_out + Counter(self.publisher.take_left_out())
        self._left_out.clear()
        return dict(found)

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
    """The rule of a publisher whose records are plain numbers under an ε for each."""

    wanted: str = "a differentially private publisher of one number"

    def accepts(self, value: object) -> bool:
        promise = value.promise() if isinstance(value, Publisher) else None
        return promise is not None and isinstance(promise.metric.unit, ProtectRows)

    def bad_values(self) -> list[object]:
        return ["rank", 3, None]


@dataclass(eq=False)
class CappedPersons(WrappingPublisher):
    """A publisher before which only the first `limit` records of a person count, in each period of `horizon` seconds.

    A record is (value, person), with as many values as the publisher behind takes. Its time follows where there is a
    horizon or where the publisher behind takes times, and its arrival where `late` says that records arrive. `person`
    is the name of the column that persons are told apart by. Periods are counted from 1970; without a horizon the whole
    stream is one. A record belongs to the period of its own time; one without a time counts in none. Where records
    arrive, a period is forgotten `late` seconds behind its end on the clock of arrivals.

    What does not count is dropped where the publisher behind hides which records there are, so that it leaves no trace;
    elsewhere it becomes NaN in its place, for which every private publisher has a public default. Records without a
    person (NaN) are one person's, or dropped where a person's presence is hidden: nobody's limit can bound them.

    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream import ClockWindows, RankWindows
    >>> inner = RankWindows(bounds=(0, 10), window=4, epsilon=0.5)
    >>> publisher = CappedPersons(inner, limit=2, rng=SeededSource(1))
    >>> records = np.array([[1.0, 7], [2.0, 7], [3.0, 7], [4.0, 8]])
    >>> publisher.counted(records).tolist()
    [1.0, 2.0, nan, 4.0]
    >>> CappedPersons(ClockWindows(bounds=(0, 10)), limit=2).counted(records).tolist()
    [1.0, 2.0, 4.0]
    >>> publisher.card("hours").guarantee.parameters
    {'epsilon': 1.0, 'per_record': 0.5}
    """

    publisher: Publisher
    limit: int = 1
    horizon: float | None = None
    late: float | None = None
    person: str = "person"
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "publisher": AnyPublisher(),
        "limit": Whole(1),
        "horizon": Optional(Real(0, above=True)),
        "late": Optional(Real(0)),
        "person": Name(),
    }
    name: ClassVar[str] = "capped"

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__(rng)
        self.linked = self.publisher.linked  # type: ignore[misc]  # as the one behind it
        self.needs_clock = self.publisher.needs_clock  # type: ignore[misc]
        promise = self.publisher.promise()
        self._in_rho = promise is not None and bool(promise.cost.rho)
        self._hidden = promise is not None and promise.metric.neighbours is Neighbours.PRESENCE
        self._windows = int(getattr(getattr(self.publisher, "publisher", None), "successive", 0))
        if self._windows and self.horizon is not None:
            raise ParameterError("a person's records count in each window here; leave the horizon out")
        self._given: dict[tuple[float, float], int] = {}  # by person and period
        self._values = values_of(self.publisher)
        self._oldest = -math.inf  # the first period that is not forgotten
        if self.publisher.takes_times and getattr(self.publisher, "late", None) != self.late:
            raise ParameterError("the windows behind capped persons have another late; give both the same")
        _ = self.promise()  # a chain without a map cannot be built

    def push(self, record: Any) -> Published:
        return self.push_many(np.array([record], dtype=np.float64))

    def push_many(self, batch: Any) -> Published:
        return self.publisher.push_many(self.counted(np.asarray(batch, dtype=np.float64)))

    def flush(self) -> Published:
        return self.publisher.flush()

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        from sfumato.stream.publishers.rank import RankWindows

        return (Sample(cls(RankWindows(bounds=(0, 1000), window=70, block=8), limit=3), sample_persons),)

    def counted(self, records: Numbers) -> Numbers:
        """Return what the publisher behind takes: the records that count, and NaN for others where places are kept."""
        if not len(records):
            return np.empty((0, self._width)) if self._width > 1 else np.empty(0)
        counts = self._counts(records)
        taken = np.delete(records, self._values, axis=1)[:, : self._width]
        if self._width == 1:
            taken = taken[:, 0]
        if self._hidden:
            return taken[counts]
        if self._values > 1:
            taken[~counts, : self._values] = np.nan
        else:
            taken[~counts] = np.nan
        return taken

    @property
    def _width(self) -> int:
        """How many numbers a record has for the publisher behind."""
        times = 0 if not self.publisher.takes_times else (1 if self.late is None else 2)
        return self._values + times

    def _counts(self, records: Numbers) -> npt.NDArray[np.bool_]:
        """Return which records count: those of a person's first ones in the period of their own time."""
        person, time = self._values, self._values + 1
        periods = np.zeros(len(records)) if self.horizon is None else np.floor(records[:, time] / self.horizon)
        counts = np.zeros(len(records), dtype=np.bool_)
        if self._windows:
            periods = self._windows_of(records[:, time])
        periods = np.where(np.isnan(records[:, person]) & self._hidden, np.nan, periods)
        persons = np.nan_to_num(records[:, person], nan=NAMELESS).tolist()
        marks = zip(persons, periods.tolist(), self._newest(records), strict=True)
        over = 0
        for place, (who, period, newest) in enumerate(marks):
            given = self._given.get((who, period), 0)
            if given < self.limit and self._oldest <= period <= newest:  # NaN is not
                self._given[who, period] = given + 1
                counts[place] = True
            over += given >= self.limit
        self.note_left_out(OVER, over)
        self.note_left_out(UNCOUNTED, len(counts) - int(counts.sum()) - over)
        return counts

    def _windows_of(self, times: Numbers) -> Numbers:
        """Return the window of each record, NaN for none; windows that have ended are forgotten."""
        ended = self.publisher.ended
        self._given = {key: given for key, given in self._given.items() if key[1] >= ended}
        places = self.publisher.edges.places(times)  # type: ignore[attr-defined]  # windows in time have declared edges
        return np.where(places < ended, np.nan, places)

    def _newest(self, records: Numbers) -> Iterator[float]:
        """Yield for each record the last period that has begun; those that ended for good are forgotten on the way."""
        if self.horizon is None or self.late is None:
            yield from [math.inf] * len(records)
            return
        for now in records[:, self._values + 2].tolist():
            oldest = math.floor((now - self.late) / self.horizon)
            if oldest > self._oldest:
                self._oldest = oldest
                self._given = {key: given for key, given in self._given.items() if key[1] >= oldest}
            yield math.floor((now + self.late) / self.horizon)

    def parameters(self) -> dict[str, Any]:
        inner = {"name": self.publisher.name, **self.publisher.parameters()}
        own = {"limit": self.limit, "horizon": self.horizon, "late": self.late, "person": self.person}
        return {"publisher": inner, **own}

    def state(self) -> bytes:
        keys = np.array(list(self._given), dtype=np.float64).reshape(-1, 2)
        given = np.array(list(self._given.values()), dtype=np.int64)
        oldest = None if math.isinf(self._oldest) else self._oldest
        return self.pack_with_inner({"persons": keys[:, 0], "periods": keys[:, 1], "given": given}, {"oldest": oldest})

    def restore(self, state: bytes) -> None:
        saved = self.unpack_with_inner(state)
        persons, periods, given = (saved.arrays[name].tolist() for name in ("persons", "periods", "given"))
        self._given = dict(zip(zip(persons, periods, strict=True), given, strict=True))
        oldest = saved.plain["oldest"]
        self._oldest = -math.inf if oldest is None else oldest

    def promise(self) -> Promise | None:
        behind = self.publisher.promise()
        if behind is None:
            return None
        excess = Excess.DROPPED if self._hidden else Excess.REPLACED
        if self._windows:
            unit = ProtectPersons(self.person, self.limit, self._windows)
            spread = CapPersons(self.person, self.limit, self._windows, excess)
            span = (self._windows - 1) * self.publisher.every  # type: ignore[attr-defined]  # touches no more windows
            return behind.before(spread, metric=Metric(unit, behind.metric.neighbours, Input.RECORDS), horizon=span)
        metric = Metric(ProtectPersons(self.person, self.limit), behind.metric.neighbours, Input.RECORDS)
        cap = CapPersons(self.person, self.limit, excess=excess)
        return behind.before(cap, metric=metric, horizon=self.horizon)

    def card(self, *names: str) -> Card:
        behind = self.publisher.card(*names)
        told = behind.guarantee.parameters
        per_record = told.get("rho") or told["epsilon"]
        return wrapped_card(self, behind, notes=self._notes(), per_record=per_record)

    def _notes(self) -> list[str]:
        if self._windows:
            first = f"Only the first {self.limit} records of a person ('{self.person}') count in each window; "
            return [
                f"{first}later ones are dropped, and so are records that name no person.",
                f"The promise is that limit times ε for all of a person in any {self._windows} successive windows.",
                "Persons are told apart by a hash of 48 bits; two with the same hash would share one limit.",
            ]
        span = "the whole stream" if self.horizon is None else f"every period of {self.horizon:.12g} seconds"
        first = f"Only the first {self.limit} records of a person ('{self.person}') count over {span}; "
        factor = "that limit, squared, times the ρ" if self._in_rho else "that limit times the ε"
        limit = f"The promise is {factor} of a record, once more for each further period."
        if not self._hidden:
            told = "That a person is in the stream, and when their records come, is not protected; their values are."
            return [f"{first}later ones are a public default.", limit, told]
        return [
            f"{first}later ones are dropped, and so are records that name no person.",
            limit,
            "That a person is in the stream is protected, as their values and times are.",
            "Persons are told apart by a hash of 48 bits; two with the same hash would share one limit.",
        ]


def sample_persons(seed: int, rows: int) -> Numbers:
    """Return a stream of numbers from 0 to 999, each of one of 40 persons.

    >>> sample_persons(1, 3).shape
    (3, 2)
    """
    draw = np.random.default_rng(seed)
    return np.column_stack([draw.integers(0, 1000, rows), draw.integers(0, 40, rows)]).astype(np.float64)


def values_of(publisher: Publisher) -> int:
    """Return how many numbers of a record are values, before its person and its times.

    >>> from sfumato.stream import RankWindows
    >>> values_of(CappedPersons(RankWindows(bounds=(0, 9), window=4)))
    1
    """
    while isinstance(publisher, WrappingPublisher):
        publisher = publisher.publisher
    return max(1, getattr(publisher, "width", 0))


def join_published(parts: list[Published]) -> Published:
    """Return the rows of several calls one after the other."""
    some = [part for part in parts if len(part)] or parts[-1:]
    vacant = np.concatenate([part.vacant for part in parts])
    if len(some) < 2:
        return replace(some[0], vacant=vacant)
    joined = {name: np.concatenate([getattr(part, name) for part in some]) for name in PARTS}
    return Published(**joined, vacant=vacant)
