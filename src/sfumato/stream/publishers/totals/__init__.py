"""Running totals: the sum, count, mean or histogram of all windows so far, or of the last ones, behind every window.

By the square root of the prefix-sum matrix (Henzinger, Upadhyay & Upadhyay 2023; Fichtenberger, Henzinger & Upadhyay
2023), or by the binary tree (Chan, Shi & Song 2011; Dwork, Naor, Pitassi & Rothblum 2010); the proof is in
`docs/algorithms/running-totals.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.core.parameters import OneOf, Option, Optional, Real, Whole
from sfumato.errors import ParameterError
from sfumato.promise import Clamp, Edges, Input, Metric, Neighbours, Promise, ProtectRows, Windows
from sfumato.promise.zcdp import rho_of
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.release import Card
from sfumato.release.card import ReleasedColumn
from sfumato.stream.base import (
    AUDITED,
    EPSILON,
    Numbers,
    PublicBounds,
    Published,
    Publisher,
    ReleasedColumns,
    Sample,
)
from sfumato.stream.card import EVENT, LAPLACE_NOTE, PRESENT, guarantee_of, make_card, notes_in_rho
from sfumato.stream.noise import Interval, exact_epsilon
from sfumato.stream.publishers.totals.engine import Noise, RunningSums
from sfumato.stream.publishers.totals.factor import ROOM
from sfumato.stream.publishers.totals.measure import KINDS, Measure
from sfumato.stream.state import Array, Saved
from sfumato.stream.windows import WindowedPublisher

WIDEST = 4096  # bins of a histogram
LONGEST = 2**32  # windows that may be declared
MOST_KEPT = 2**22  # numbers of the last windows, which lie in every checkpoint
RULES: dict[str, Any] = {
    "bounds": Interval(),
    "epsilon": Real(0, above=True),
    "delta": Real(0, 0.5),
    "total": OneOf(KINDS),
    "windows": Optional(Whole(1)),
    "last": Optional(Whole(1)),
    "bins": Whole(2),
}
OPTIONS = {
    "epsilon": EPSILON,
    "delta": Option("The δ of running totals: above 0, noise is Gaussian at the ρ that keeps ε and δ."),
    "total": Option("What runs: the sum, the count (with --every), the mean or the histogram."),
    "windows": Option("How many windows there may be; without it totals run for ever, with more noise."),
    "last": Option("Totals of so many last windows, in place of all.", name="last_windows"),
    "bins": Option("How many bins of equal width a histogram has."),
}


@dataclass(frozen=True)
class TotalsPlan:
    """What totals promise and how they are drawn, from declared numbers alone.

    >>> measure = Measure("sum", (0, 10), 2, Neighbours.VALUE)
    >>> TotalsPlan(1.0, 0.0, None, None, measure).promise(Edges.POSITION).cost.epsilon
    Decimal('1')
    """

    epsilon: float
    delta: float
    windows: int | None
    last: int | None
    measure: Measure

    def __post_init__(self) -> None:
        if self.windows is not None and self.last is not None:
            raise ParameterError(
                "--windows is of totals so far and --last-windows of the last windows; give one of the two"
            )
        if self.measure.width > WIDEST:
            raise ParameterError(f"{self.measure.width} bins are more than {WIDEST}; give fewer")
        if (self.windows or 1) > LONGEST:
            raise ParameterError(f"--windows is {self.windows}, and more than {LONGEST} are none; leave it out")
        if self.measure.width * (self.last or 1) > MOST_KEPT:
            raise ParameterError(
                f"the last {self.last} windows with {self.measure.width} numbers each would keep more than "
                f"{MOST_KEPT}; give fewer"
            )

    @property
    def rho(self) -> Decimal:
        """The ρ that keeps ε and δ; 0 where noise is Laplace."""
        if not self.delta:
            return Decimal(0)
        epsilon = exact_epsilon(self.epsilon)
        return rho_of(Decimal(epsilon.numerator) / epsilon.denominator, Decimal(repr(self.delta)))

    def sums(self, run: WordRun | None) -> RunningSums:
        """Return the totals before the first window."""
        noise = Noise(self.epsilon, self.rho, self.windows is None and self.last is None)
        declared, sliding = self.last or self.windows, self.last is not None
        return RunningSums(run, noise, self.measure.width, self.measure.moves, declared, sliding=sliding)  # type: ignore[arg-type]

    def promise(self, edges: Edges) -> Promise:
        """Return what one record is promised; the price follows from the noise that is drawn."""
        metric = Metric(ProtectRows(), self.measure.neighbours, Input.RECORDS)
        mechanism = self.sums(None).promise(self.measure.neighbours)
        told_at = Decimal(repr(self.delta)) if self.delta else Decimal(0)
        return Promise(metric, (Clamp(), Windows(edges)), mechanism, told_at=told_at)

    def notes(self) -> list[str]:
        """Return what the card says of the totals and their noise."""
        span = "Totals are of all windows so far"
        if self.last is not None:
            span = f"Totals are of the last {self.last} windows"
        drawn = "discrete Laplace noise on the nodes of a binary tree"
        if self.delta:
            matrix = "a binary tree" if self.windows is self.last is None else "the square root of the prefix sums"
            drawn = f"discrete Gaussian noise by {matrix}; ρ keeps ε = {self.epsilon:g} at δ = {self.delta:g}"
        notes = [
            f"{span}, with {drawn}; a record is in one window and costs what is promised once, however many leave."
        ]
        if self.windows is not None:
            notes.append(f"Beyond {self.windows} windows totals go on from the last noisy one, and its noise stays.")
        if self.measure.kind == "mean":
            notes.append("The mean is read from noisy totals (post-processing), and costs nothing of its own.")
        if self.measure.kind == "histogram":
            notes.append("The bins of a histogram are public, of equal width, and share one noise: a record is in one.")
        return notes


class _Totals(WindowedPublisher):
    """What totals by arrivals and by the clock have in common."""

    bounds: PublicBounds
    delta: float
    total: Literal["sum", "count", "mean", "histogram"]
    windows: int | None
    last: int | None
    bins: int
    neighbours: ClassVar[Neighbours]
    edges: ClassVar[Edges]

    def prepare(self) -> None:
        bounds = float(self.bounds[0]), float(self.bounds[1])
        self._measure = Measure(self.total, bounds, self.bins, self.neighbours)
        self._plan = TotalsPlan(self.epsilon, self.delta, self.windows, self.last, self._measure)
        self._sums = self._plan.sums(self._run)
        self._promise = self._plan.promise(self.edges)

    def promise(self) -> Promise | None:
        return self._promise

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the totals under the column's name and what they are."""
        told = [name for column in names for name in self._measure.names(column)]
        table = published.values.reshape(-1, len(told)) if len(published) else np.empty((0, len(told)))
        return {name: table[:, place] for place, name in enumerate(told)}

    def learnt_arrays(self) -> dict[str, Array]:
        return self._sums.arrays()

    def resume(self, saved: Saved) -> None:
        self._sums.resume(saved.arrays)
        super().resume(saved)

    def _card(self, names: Sequence[str], notes: Sequence[str]) -> Card:
        told = [name for column in names for name in self._measure.names(column)]
        columns = [ReleasedColumn(name=name, role="sensitive", type="number") for name in told]
        held = notes_in_rho(notes) if self.delta else notes
        source = self._run.source
        return make_card(self, guarantee_of(self), columns, assumptions=[*self._plan.notes(), *held], source=source)


@dataclass(eq=False)
class RunningTotals(_Totals):
    """A row for every window of `window` arrivals: the total of all windows so far, or of the `last` ones.

    Noise is discrete Laplace at ε, or, with a `delta`, discrete Gaussian at the ρ that keeps ε and δ: by the square
    root of the prefix sums of up to `windows` windows where these are declared, by a binary tree where they are not.

    >>> from sfumato.random import SeededSource
    >>> publisher = RunningTotals((0, 10), window=2, epsilon=1e6, rng=SeededSource(1))
    >>> publisher.push_many(np.array([1.0, 2.0, 3.0, 4.0])).values.round(3).tolist()
    [[3.0], [10.0]]
    """

    bounds: tuple[float, float]
    window: int = 1000
    epsilon: float = 1.0
    delta: float = 0.0
    total: Literal["sum", "count", "mean", "histogram"] = "sum"
    windows: int | None = None
    last: int | None = None
    bins: int = 20
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {**RULES, "window": Whole(1)}
    OPTIONS: ClassVar = {**OPTIONS, "window": WindowedPublisher.OPTIONS["window"]}
    SHARED: ClassVar = (*WindowedPublisher.SHARED, "every", "from_", "until")
    name: ClassVar[str] = "totals"
    neighbours: ClassVar[Neighbours] = Neighbours.VALUE
    edges: ClassVar[Edges] = Edges.POSITION

    def prepare(self) -> None:
        if self.total == "count":
            raise ParameterError("how many records came is public where windows count arrivals; give --every")
        super().prepare()

    def release(self, values: Numbers, number: int) -> Numbers:
        rows: Numbers = self.release_many(values[None], number)[0]
        return rows

    def release_many(self, windows: Numbers, first: int) -> Numbers:
        so_far = np.arange(first + 1, first + 1 + len(windows))
        missing = self.window - windows.shape[1]  # in the last window, which may be shorter
        counted = np.minimum(so_far, self.last or so_far) * self.window - missing
        totals = self._sums.extend(self._measure.of_windows(windows))
        return self._measure.rows(totals, counted)[:, None, :]

    def card(self, *names: str) -> Card:
        return self._card(names, EVENT)

    @classmethod
    def for_clock(cls, bounds: PublicBounds, given: Mapping[str, Any]) -> Any:
        return ClockTotals.from_options(given, called=cls.name, bounds=bounds)

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> Publisher:
        return cls(AUDITED, window=delay, epsilon=epsilon, rng=rng)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        plain = cls((0, 1000), window=7)
        rooted = cls((0, 1000), window=2, epsilon=2.0, delta=1e-6, total="mean", windows=5000)
        again = cls((0, 1000), window=7, delta=1e-6, windows=9)
        bins = cls((0, 1000), window=7, delta=1e-6, total="histogram", last=4, bins=5)
        return tuple(Sample(publisher, keeps_rows=False) for publisher in (plain, rooted, again, bins))


@dataclass(eq=False)
class ClockTotals(_Totals):
    """The same behind windows that end when `tick` is called, in which how many records came is a secret.

    >>> from sfumato.random import SeededSource
    >>> publisher = ClockTotals((0, 10), epsilon=1e6, total="count", rng=SeededSource(1))
    >>> len(publisher.push_many(np.array([1.0, 2.0, 3.0]))), publisher.tick().values.tolist()
    (0, [[3.0]])
    """

    bounds: tuple[float, float]
    epsilon: float = 1.0
    delta: float = 0.0
    total: Literal["sum", "count", "mean", "histogram"] = "sum"
    windows: int | None = None
    last: int | None = None
    bins: int = 20
    rng: InitVar[Source | None] = None

    RULES: ClassVar = RULES
    OPTIONS: ClassVar = OPTIONS
    NOTES: ClassVar = (
        PRESENT,
        "Windows end by the clock, which is public; a row leaves for each, whether records came or not.",
        "Values are clamped to the public bounds; what is no number stands as a public default in its place.",
        LAPLACE_NOTE,
    )
    empty_note: ClassVar[str] = "All windows are public and have the same rows, however many records they have."
    name: ClassVar[str] = "clock-totals"
    panes: ClassVar[int] = 1
    spans: ClassVar[bool] = False
    needs_clock: ClassVar[bool] = True
    neighbours: ClassVar[Neighbours] = Neighbours.PRESENCE
    edges: ClassVar[Edges] = Edges.DECLARED

    def prepare(self) -> None:
        super().prepare()
        self._sum = np.zeros(self._measure.width, dtype=np.int64)
        self._come = np.zeros(1, dtype=np.int64)

    @property
    def window(self) -> int:
        """More than ever wait: records are added up as they come, and the clock ends windows."""
        return 2**53

    @property
    def held(self) -> int:
        return int(self._come[0])

    @property
    def ended(self) -> int:
        return self._group

    def push(self, record: float) -> Published:
        return self.push_many(np.array([float(record)]))

    def push_many(self, batch: Numbers) -> Published:
        values = np.asarray(batch, dtype=np.float64).reshape(-1)
        if len(values):
            added = self._sum + self._measure.of_windows(values[None])[0]
            self._sum[:] = np.clip(added, -ROOM, ROOM)
            self._come += len(values)
        return self._nothing

    def tick(self) -> Published:
        """Return the row of the window that ends now."""
        return self.number_rows([self.release(self._nothing.values, self._group)])

    def flush(self) -> Published:
        """Return the row of the last window, which ends with the stream."""
        return self.tick()

    def release(self, values: Numbers, number: int) -> Numbers:
        """Return the row of the window whose records were added up."""
        del values, number
        rows = self._measure.rows(self._sums.extend(self._sum[None]), self._come)
        self._sum[:] = self._come[:] = 0
        return rows

    def learnt_arrays(self) -> dict[str, Array]:
        return {"sum": self._sum, "come": self._come, **super().learnt_arrays()}

    def card(self, *names: str) -> Card:
        return self._card(names, self.NOTES)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        counted = cls((0, 1000), total="mean", delta=1e-6, windows=100)
        return tuple(Sample(publisher, keeps_rows=False) for publisher in (counted, replace(counted, delta=0.0)))
