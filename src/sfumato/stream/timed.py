"""Windows with declared edges before clock windows: a record belongs to the window of its own time.

Whether a record is late is decided by its arrival against a watermark that no record moves, and an empty window is a
window like any other (windows and watermarks in event time, Akidau et al. 2015).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sfumato.core.parameters import Name, Optional, Real
from sfumato.errors import ParameterError
from sfumato.promise import Promise
from sfumato.random import Source
from sfumato.release.card import Card, ReleasedColumn
from sfumato.stream.base import Integers, Numbers, Published, Publisher, ReleasedColumns, Sample
from sfumato.stream.card import wrapped_card
from sfumato.stream.edges import MOST_AT_ONCE, WindowEdges, iso
from sfumato.stream.wrappers import WrappingPublisher, join_published, values_of

START, END = "window_start", "window_end"
NOWHEN = "records whose time lies in no window or cannot be read"
LATE = "records that came too late or too early for their window"
SILENT = "windows in which no record counted"


@runtime_checkable
class EndsWhenTold(Protocol):
    """A publisher whose panes end when `tick` is called; a window is its last `panes` ones.

    `room` says how many more records of a pane can count behind `waiting` others, `spans` whether rows tell where their
    window ends, and `empty_note` what becomes of a window without records.
    """

    panes: int
    spans: ClassVar[bool]
    empty_note: ClassVar[str]

    def room(self, waiting: int) -> int | None: ...
    def tick(self) -> Published: ...


@dataclass(frozen=True)
class Clocked:
    """The rule of a publisher whose windows end when they are told to."""

    wanted: str = "a publisher whose windows end by the clock"

    def accepts(self, value: object) -> bool:
        return isinstance(value, Publisher) and isinstance(value, EndsWhenTold) and not value.takes_times

    def bad_values(self) -> list[object]:
        return ["clock", 3, None]


@dataclass(eq=False)
class TimedWindows(WrappingPublisher):
    """Windows of `publisher` that begin at `start` and last `every` seconds each, up to `until` or without an end.

    Where `late` is None records do not arrive: one is (value, time), every window leaves at the end, in order, and
    `until` must be given. Otherwise a record is (value, time, arrival), and `advance(now)` alone moves the clock: a
    window leaves `late` seconds behind its end. A record that arrives later than that, or as much too early, or whose
    time lies in no window, is left out and changes nothing but itself. Times are those of UTC, or of the clock on the
    wall of `zone`. A publisher of several columns takes as many numbers in place of the value. Where it has windows of
    several panes, each pane lasts `every` seconds, and a window ends with each of them.

    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream import ClockWindows
    >>> inner = ClockWindows(bounds=(0, 100), epsilon=50.0)
    >>> publisher = TimedWindows(inner, start=100.0, every=10.0, until=140.0, rng=SeededSource(1))
    >>> records = np.column_stack([np.full(300, 40.0), np.repeat([131.0, 99.0, 112.0], 100)])
    >>> len(publisher.push_many(records)), publisher.held
    (0, 200)
    >>> left = publisher.flush()
    >>> sorted(group.number for group in left), left.vacant.tolist(), publisher.ended
    ([1, 3], [0, 2], 4)
    """

    publisher: Any
    start: float
    every: float
    until: float | None = None
    late: float | None = None
    zone: str | None = None
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "publisher": Clocked(),
        **WindowEdges.RULES,
        "late": Optional(Real(0)),
        "zone": Optional(Name()),
    }
    name: ClassVar[str] = "clock"
    needs_clock: ClassVar[bool] = True
    takes_times: ClassVar[bool] = True

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__(rng)
        self.edges = WindowEdges(self.start, self.every, self.until)
        self._values = values_of(self.publisher)
        self._clock = -math.inf
        self._ahead: dict[int, array[float]] = {}  # records of windows behind the one that ends next
        if self.late is None and self.until is None:
            raise ParameterError("windows of records that do not arrive need an end; give until, or late")
        if self.late is None:
            self._refuse_many(self.edges.count)

    @property
    def delay(self) -> int:
        """The most records held: those of the windows that can be open together, each with its most."""
        spread = 0.0 if self.late is None else 2 * self.late
        opened = self.edges.count if self.late is None else math.ceil(spread / self.every) + 2
        return int(self.publisher.delay) * opened

    @property
    def waits(self) -> bool:
        return self.late is None

    @property
    def held(self) -> int:
        return int(self.publisher.held) + sum(map(len, self._ahead.values())) // self._values

    def push(self, record: Any) -> Published:
        return self.push_many(np.array([record], dtype=np.float64))

    def push_many(self, batch: Any) -> Published:
        """Put each record into its window, if that takes it; no record ends a window."""
        width = self._values
        records = np.asarray(batch, dtype=np.float64).reshape(-1, width + (1 if self.late is None else 2))
        places = self.edges.places(records[:, width])
        kept = places >= self.ended
        if self.late is not None:
            kept &= places >= self.edges.ended(records[:, width + 1] - self.late)
            kept &= places < self.edges.begun(records[:, width + 1] + self.late)
        outside = int((places < 0).sum())
        self.note_left_out(NOWHEN, outside)
        self.note_left_out(LATE, len(kept) - int(kept.sum()) - outside)
        for place, values in _by_place(places[kept], self._as_taken(records[kept])):
            self._put(place, values)
        return self._nothing()

    def advance(self, now: float) -> Published:
        """Return the rows of the windows that have ended when the clock of arrivals shows `now`."""
        ended = self.over_at(now)
        self._refuse_many(ended - self.ended)
        self._clock = max(self._clock, now)
        return self._end_windows(ended)

    def over_at(self, now: float) -> int:
        """Return how many windows are over, lateness included, when the clock of arrivals shows `now`."""
        if self.late is None:
            raise ParameterError("no clock ends windows of records that do not arrive; flush them, or give late")
        return int(self.edges.ended(np.array([now - self.late]))[0])

    def flush(self) -> Published:
        """Return the rows of all windows; where records arrive, of those that have begun by the clock."""
        count = self.edges.count
        if self.late is not None:
            count = int(self.edges.begun(np.array([self._clock + self.late]))[0])
        self._refuse_many(count - self.ended)
        return self._end_windows(count)

    def _put(self, place: int, values: Numbers) -> None:
        """Put values into a window: the one that ends next counts them, those behind it hold them."""
        if place == self.ended:
            self.publisher.push_many(values)
        else:
            waiting = self._ahead.setdefault(place, array("d"))
            waiting.frombytes(values[: self.publisher.room(len(waiting) // self._values)].tobytes())

    def _as_taken(self, records: Numbers) -> Numbers:
        """Return values as the publisher behind takes them: a row for each record where it has several."""
        return records[:, 0] if self._values == 1 else records[:, : self._values]

    def _end_windows(self, count: int) -> Published:
        """Return the rows of all windows up to the first `count`."""
        left = []
        while self.ended < count:
            self.note_left_out(SILENT, not self.publisher.held)
            left.append(self.publisher.tick())
            held = np.array(self._ahead.pop(self.ended, ()), dtype=np.float64)
            self.publisher.push_many(self._as_taken(held.reshape(-1, self._values)))
        return join_published([*left, self._nothing()])

    def _refuse_many(self, windows: int) -> None:
        if windows > MOST_AT_ONCE:
            raise ParameterError(
                f"{windows} windows of {self.every:.12g} seconds from {iso(self.start)} on would leave at once, and "
                f"{MOST_AT_ONCE} may; give longer windows or a later start"
            )

    def _nothing(self) -> Published:
        nothing: Published = self.publisher.push_many(self._as_taken(np.empty((0, self._values))))
        return nothing

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the released columns, when the window of each row begins and, where rows tell it, when it ends."""
        numbers, rows = np.unique(published.group, return_inverse=True)
        panes = self.publisher.panes
        edges = {START: [self.edges.start_of(max(0, number + 1 - panes)) for number in numbers.tolist()]}
        if self.publisher.spans:
            edges[END] = [self.edges.end_of(number) for number in numbers.tolist()]
        told = {name: [self._told(moment) for moment in moments] for name, moments in edges.items()}
        spread = {name: [moments[row] for row in rows.tolist()] for name, moments in told.items()}
        return {**self.publisher.columns(published, names), **spread}

    def parameters(self) -> dict[str, Any]:
        until = None if self.until is None else self._told(iso(self.until))
        edges = {"from": self._told(iso(self.start)), "every": self.every, "until": until, "late": self.late}
        return {**self.publisher.parameters(), **edges, **({} if self.zone is None else {"zone": self.zone})}

    def _told(self, moment: str) -> str:
        """Return a moment as it is told: a clock on the wall has no offset."""
        return moment if self.zone is None else moment.removesuffix("Z")

    def state(self) -> bytes:
        ahead = dict(sorted(self._ahead.items()))
        arrays = {
            "ahead": np.concatenate([np.empty(0), *(np.array(values) for values in ahead.values())]),
            "places": np.array(list(ahead), dtype=np.int64),
            "sizes": np.array([len(values) for values in ahead.values()], dtype=np.int64),
        }
        return self.pack_with_inner(arrays, {"clock": None if math.isinf(self._clock) else self._clock})

    def restore(self, state: bytes) -> None:
        saved = self.unpack_with_inner(state)
        ends = np.cumsum(saved.arrays["sizes"])
        parts = np.split(saved.arrays["ahead"], ends[:-1])
        places = saved.arrays["places"].tolist()
        self._ahead = {place: array("d", part.tobytes()) for place, part in zip(places, parts, strict=False)}
        clock = saved.plain["clock"]
        self._clock = -math.inf if clock is None else float(clock)

    def card(self, *names: str) -> Card:
        behind = self.publisher.card(*names)
        ends = (START, END) if self.publisher.spans else (START,)
        if not {column.name for column in behind.released.columns}.isdisjoint(ends):
            raise ParameterError(f"a column '{START}' cannot be published: rows leave with one that says their window")
        told = [ReleasedColumn(name=name, role="other", type="text") for name in ends]
        return wrapped_card(self, behind, notes=self._notes(), columns=told)

    def promise(self) -> Promise | None:
        promise: Promise | None = self.publisher.promise()  # the windows of its chain have declared edges
        return promise

    def _notes(self) -> list[str]:
        last = "without an end" if self.until is None else f"up to {self._told(iso(self.until))}"
        clock = "Times are UTC, and so are those that name no zone."
        if self.zone is not None:
            clock = (
                f"Times are those of the clock on the wall in {self.zone}: where it is put back, one window holds the "
                "hour that comes twice; where it is put forward, the hour that is left out is an empty window."
            )
        taken = "Records do not arrive: none is late, and all windows leave at the end."
        if self.late is not None:
            taken = (
                f"A window ends {self.late:.12g} seconds behind its end on the reader's clock, which no record moves; "
                "later records are left out."
            )
        start, panes = self._told(iso(self.start)), self.publisher.panes
        windows = f"Windows of {self.every:.12g} seconds begin at {start}, {last}; each record is in its own."
        if panes > 1:
            windows = (
                f"Panes of {self.every:.12g} seconds begin at {start}, {last}; each record is in its own. With each of "
                f"them a window of the last {panes * self.every:.12g} seconds ends; the first ones are shorter."
            )
        return [
            windows,
            clock,
            taken,
            self.publisher.empty_note,
            "A record's own time is protected with its value; one in no window, or without a time, is left out.",
        ]

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        from sfumato.stream.publishers.clock import ClockWindows
        from sfumato.stream.publishers.statistics.clocked import ClockStatistics
        from sfumato.stream.publishers.totals import ClockTotals
        from sfumato.stream.publishers.w_event import WEventWindows

        inners = (
            ClockWindows((0, 100), most=500),
            ClockWindows((0, 100), kind="adaptive", bins=16, expected=30),
            ClockTotals((0, 100), total="mean", delta=1e-6, windows=3),
            WEventWindows((0, 100), successive=3, bins=2, spend="absorption"),
            ClockStatistics({"cost": (0, 100)}, "count, mean, median", panes=3),
        )
        still = (cls(inner, start=10.0, every=7.0, until=45.0) for inner in inners)
        return tuple(Sample(publisher, sample_times, keeps_rows=False) for publisher in still)


def sample_times(seed: int, rows: int) -> Numbers:
    """Return a stream of numbers from 0 to 100 with their times.

    >>> sample_times(1, 3).shape
    (3, 2)
    """
    return sample_arrivals(seed, rows)[:, :2]


def sample_arrivals(seed: int, rows: int) -> Numbers:
    """Return a stream of numbers with their times, some of them late, early or missing, and their arrivals.

    >>> sample_arrivals(1, 3).shape
    (3, 3)
    """
    draw = np.random.default_rng(seed)
    arrivals = np.cumsum(draw.exponential(0.3, rows))
    times = arrivals + draw.choice([0.0, -4.0, -20.0, 6.0, np.nan], rows, p=[0.6, 0.2, 0.1, 0.05, 0.05])
    return np.column_stack([draw.uniform(0, 100, rows), times, arrivals])


def _by_place(places: Integers, values: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield each window's number and its values in their order."""
    order = np.argsort(places, kind="stable")
    numbers, starts = np.unique(places[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(values[order], starts[1:]), strict=False)
