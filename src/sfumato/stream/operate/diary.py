"""What a steward's report needs of a run, kept in memory that does not grow: spans, sizes, delays, two histograms.

Bins and spans are merged in pairs when there are too many (as Gilbert, Kotidis, Muthukrishnan & Strauss 2001 keep
summaries of streams that nobody can hold). Everything here is computed from the records and is never public.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.stream.base import Published
from sfumato.stream.setup import StreamSetup

Numbers = npt.NDArray[np.float64]
BINS = 120
MOST_SPANS = 120
MOST_SIZES = 400
MOST_WAITING = 1024
CAME, LEFT = 0, 1


class PairedHistogram:
    """Counts of what came and of what left over the same bins, which widen twofold where a value lies outside.

    >>> pair = PairedHistogram((0.0, 1.0))
    >>> pair.add(CAME, np.array([0.5, np.nan, 3.0]))
    >>> pair.add(LEFT, np.array([0.75]))
    >>> pair.low, pair.high, pair.counts.sum(axis=1).tolist(), pair.means
    (0.0, 4.0, [2.0, 1.0], (1.75, 0.75))
    """

    def __init__(self, bounds: tuple[float, float] | None) -> None:
        self.low, self.high = bounds or (math.nan, math.nan)
        self.counts = np.zeros((2, BINS))
        self._sums = np.zeros((2, 2))

    @property
    def edges(self) -> Numbers:
        """Where the bins begin and end."""
        return np.linspace(self.low, self.high, BINS + 1)

    @property
    def numbers(self) -> tuple[int, int]:
        """How many values came and left."""
        came, left = self.counts.sum(axis=1)
        return int(came), int(left)

    @property
    def means(self) -> tuple[float, float]:
        """The means of both, NaN where there is none."""
        came, left = (_ratio(sums[0], number) for sums, number in zip(self._sums, self.numbers, strict=True))
        return came, left

    @property
    def spreads(self) -> tuple[float, float]:
        """The standard deviations of both."""
        pairs = zip(self._sums, self.numbers, self.means, strict=True)
        came, left = (math.sqrt(max(_ratio(sums[1], number) - mean**2, 0.0)) for sums, number, mean in pairs)
        return came, left

    @property
    def in_common(self) -> float:
        """The share that both histograms have in common; 0 where one is empty."""
        shares = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1.0)
        return float(shares.min(axis=0).sum())

    def add(self, side: int, values: Numbers) -> None:
        """Count values that came or left; NaN is none."""
        values = values[np.isfinite(values)]
        if not len(values):
            return
        self._reach(float(values.min()), float(values.max()))
        places = (values - self.low) * (BINS / (self.high - self.low))
        self.counts[side] += np.bincount(np.clip(places.astype(np.int64), 0, BINS - 1), minlength=BINS)
        self._sums[side] += (values.sum(), (values**2).sum())

    def _reach(self, least: float, most: float) -> None:
        if math.isnan(self.low):
            self.low, self.high = least, most if most > least else least + 1.0
        while least < self.low or most > self.high:
            merged = self.counts.reshape(2, BINS // 2, 2).sum(axis=2)
            nothing = np.zeros_like(merged)
            if least < self.low:
                self.low -= self.high - self.low
                self.counts = np.hstack([nothing, merged])
            else:
                self.high += self.high - self.low
                self.counts = np.hstack([merged, nothing])


@dataclass(frozen=True)
class Span:
    """Some windows that left one after the other: when, what came since the span before, and what left.

    >>> Span(0.0, 5.0, records=3, came=6.0).plus(Span(5.0, 9.0, rows=2, left=1.0))
    Span(start=0.0, end=9.0, records=3, rows=2, groups=0, came=6.0, left=1.0)
    """

    start: float
    end: float
    records: int = 0
    rows: int = 0
    groups: int = 0
    came: float = 0.0  # the sum of the first column
    left: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end - self.start

    def plus(self, later: Span) -> Span:
        """Return both as one."""
        counts = (getattr(self, name) + getattr(later, name) for name in ("records", "rows", "groups", "came", "left"))
        return Span(self.start, later.end, *counts)


class Waits:
    """How long records waited: they leave in the order in which they came, as far as can be told from outside.

    >>> waits = Waits()
    >>> waits.take(came=5, held=5, now=10.0)
    >>> waits.take(came=0, held=1, now=13.0)
    >>> waits.seconds, waits.longest
    (Counter({2: 4}), 3.0)
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, float]] = deque()
        self._held = 0
        self.seconds: Counter[int] = Counter()  # of records, by the power of two that is above their seconds
        self.longest = 0.0

    def take(self, came: int, held: int, now: float) -> None:
        """Note that so many records came, and how many are held since."""
        if came:
            self._waiting.append((came, now))
        left = self._held + came - held
        if left < 0:  # held since before this run: nobody knows for how long
            self._waiting.appendleft((-left, math.nan))
        self._held = held
        while left > 0 and self._waiting:
            number, since = self._waiting.popleft()
            gone = min(number, left)
            if gone < number:
                self._waiting.appendleft((number - gone, since))
            self._note(gone, now - since)
            left -= gone
        if len(self._waiting) > MOST_WAITING:
            self._merge()

    def _note(self, records: int, seconds: float) -> None:
        if math.isfinite(seconds):
            self.seconds[math.ceil(math.log2(max(seconds, 2.0**-10)))] += records
            self.longest = max(self.longest, seconds)

    def _merge(self) -> None:
        pairs = list(self._waiting)
        if len(pairs) % 2:
            pairs.append((0, pairs[-1][1]))
        merged = [
            (first + second, (first * since + second * then) / (first + second))
            for (first, since), (second, then) in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        self._waiting = deque(merged)


@dataclass(eq=False)
class Diary:
    """What happened in one run of a stream, as its hooks tell; `watch` is one of them.

    >>> from sfumato.stream import build
    >>> setup = build("rank", ["hours"], bounds=(0, 10), delay=2, block=2)
    >>> diary = Diary.of(setup)
    >>> diary.watch(np.array([1.0, 3.0]), setup.publisher.push_many(np.array([1.0, 3.0])), 0)
    >>> diary.records, diary.rows, diary.sizes, diary.columns["hours"].means[CAME]
    (2, 2, Counter({2: 1}), 2.0)
    """

    columns: dict[str, PairedHistogram]
    clock: Callable[[], float] = time.time
    spans: list[Span] = field(default_factory=list, init=False)
    sizes: Counter[int] = field(default_factory=Counter, init=False)
    waits: Waits = field(default_factory=Waits, init=False)
    records: int = field(default=0, init=False)
    rows: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.start = self.clock()
        self._open, self._each = Span(self.start, self.start), 1

    @classmethod
    def of(cls, setup: StreamSetup) -> Diary:
        """Return the diary of a stream; values are compared where numbers or categories are released as such."""
        return cls({name: PairedHistogram(bounds) for name, bounds in _compared(setup).items()})

    @property
    def all_spans(self) -> list[Span]:
        """The spans, with the one that is not over."""
        return [*self.spans, *([self._open] if self._open.groups or self._open.records else [])]

    def watch(self, came: Numbers | None, left: Published, held: int) -> None:
        """Take what came and what left in one step of the publisher, and how many records it holds since."""
        now, number = self.clock(), 0 if came is None else len(came)
        self.waits.take(number, held, now)
        self.records, self.rows = self.records + number, self.rows + len(left)
        sums = [self._compare(side, values) for side, values in ((CAME, came), (LEFT, left.values))]
        groups = self._count_sizes(left) + len(left.vacant)
        self._open = self._open.plus(Span(now, now, number, len(left), groups, *sums))
        if self._open.groups >= self._each:
            self._close(now)

    def _compare(self, side: int, values: Numbers | None) -> float:
        """Count values in their columns' histograms; return the sum of the first one."""
        if values is None or not len(values) or not self.columns:
            return 0.0
        table = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        for place, pair in enumerate(self.columns.values()):
            pair.add(side, table[:, place])
        return float(np.nansum(table[:, 0]))

    def _count_sizes(self, left: Published) -> int:
        sizes = left.size[np.flatnonzero(np.diff(left.group, prepend=-1))].tolist()
        self.sizes.update(sizes if len(self.sizes) < MOST_SIZES else map(_step_of, sizes))
        if len(self.sizes) > MOST_SIZES:
            coarse: Counter[int] = Counter()
            for size, number in self.sizes.items():
                coarse[_step_of(size)] += number
            self.sizes = coarse
        return len(sizes)

    def _close(self, now: float) -> None:
        self.spans.append(self._open)
        self._open = Span(now, now)
        if len(self.spans) > MOST_SPANS:
            last = self.spans[-1:] if len(self.spans) % 2 else []
            pairs = zip(self.spans[::2], self.spans[1::2], strict=False)
            self.spans = [first.plus(second) for first, second in pairs] + last
            self._each *= 2


def _compared(setup: StreamSetup) -> dict[str, tuple[float, float] | None]:
    """Return the released columns whose values mean the same before and after, with their bounds where declared."""
    from sfumato.stream.screens.base import CategoryScreen, NumberScreen
    from sfumato.stream.screens.times import MarkedScreen

    screen = setup.screen.inner if isinstance(setup.screen, MarkedScreen) else setup.screen
    if isinstance(screen, NumberScreen):
        return dict(screen.bounds)
    if isinstance(screen, CategoryScreen):
        return {screen.column: (-0.5, BINS - 0.5)} if len(screen.categories) <= BINS else {}
    return {}


def _step_of(size: int) -> int:
    """Return the power of two that a size is reached by.

    >>> [_step_of(size) for size in (1, 2, 3, 1000)]
    [1, 2, 2, 512]
    """
    return 1 << (size.bit_length() - 1)


def _ratio(total: float, number: int) -> float:
    return float(total) / number if number else math.nan
