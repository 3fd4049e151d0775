"""Histograms of windows in time under w-event privacy: any w successive windows share one ε, for ever.

Kellaris, Papadopoulos, Xiao & Papadias (2014), "Differentially Private Event Sequences over Infinite Streams": a window
that is like the last published one repeats it, and what it saves is spent on later ones. The proof, and where we
depart from the paper, are in `docs/algorithms/w-event.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.core.parameters import OneOf, Option, Real, Whole
from sfumato.errors import ParameterError
from sfumato.promise import (
    Clamp,
    Cost,
    Edges,
    Input,
    Metric,
    Neighbours,
    Promise,
    ProtectRows,
    SuccessiveWindows,
    Windows,
)
from sfumato.promise.linear import decimal_above
from sfumato.random import Source
from sfumato.release import Card
from sfumato.release.card import ReleasedColumn
from sfumato.stream.base import EPSILON, Integers, Numbers, PublicBounds, Published, Publisher, ReleasedColumns, Sample
from sfumato.stream.card import PRESENT, guarantee_of, make_card
from sfumato.stream.noise import Interval, exact_epsilon, noise_scale
from sfumato.stream.publishers.totals.measure import Measure
from sfumato.stream.state import Array
from sfumato.stream.windows import WindowedPublisher

UNITS = 2**30  # of the half of ε that pays for published windows
WIDEST = 4096  # bins of a histogram
LONGEST = 2**20  # successive windows: a share of ε would be worth nothing
LEAST = 2**10  # units below which no window is published: its noise would drown it


def distributed(spent: Integers) -> int:
    """Return what a window may spend by budget distribution: half of what the w-1 windows before have left.

    >>> distributed(np.array([UNITS // 2, 0])) == UNITS // 4
    True
    """
    return int(UNITS - spent.sum()) // 2


def absorbed(spent: Integers) -> int:
    """Return what a window may spend by budget absorption: its own share and those that came to nothing before it.

    A window that spent k shares takes k-1 shares from the windows behind it. `spent` are the w-1 windows before.

    >>> share = UNITS // 3
    >>> [absorbed(np.array(spent)) // share for spent in ([0, 0], [share, 0], [0, 2 * share], [2 * share, 0])]
    [3, 2, 0, 1]
    """
    windows = len(spent) + 1
    share = UNITS // windows
    published = np.flatnonzero(spent)
    if not len(published):
        return windows * share
    last = int(published[-1])
    taken = last + int(spent[last]) // share - 1  # the last window whose share is gone
    return max(0, len(spent) - taken) * share


@dataclass(eq=False)
class WEventWindows(WindowedPublisher):
    """The histogram of each window in time, or the last published one again, under one ε for any `successive` windows.

    `spend` is "distribution" (half of what is left) or "absorption" (a share for each window, and those saved before).

    >>> from sfumato.random import SeededSource
    >>> publisher = WEventWindows((0, 4), epsilon=100.0, successive=2, bins=2, rng=SeededSource(1))
    >>> _ = publisher.push_many(np.array([1.0] * 50 + [3.0] * 20))
    >>> publisher.tick().values.round(-1).tolist(), publisher.tick().values.shape
    ([[50.0, 20.0]], (1, 2))
    """

    bounds: tuple[float, float]
    epsilon: float = 1.0
    successive: int = 10
    bins: int = 20
    spend: Literal["distribution", "absorption"] = "distribution"
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "bounds": Interval(),
        "epsilon": Real(0, above=True),
        "successive": Whole(2),
        "bins": Whole(1),
        "spend": OneOf(("distribution", "absorption")),
    }
    OPTIONS: ClassVar = {
        "epsilon": EPSILON,
        "successive": Option("How many successive windows ε is for."),
        "bins": Option("How many bins the histogram of a window has; 1 for a count."),
        "spend": Option("How windows share ε: each half of what is left, or a share and those saved before."),
    }
    SHARED: ClassVar = ("bounds", "schema", "person", "per_person", "time", "late", "every", "from_", "until")
    NOTES: ClassVar = (
        PRESENT,
        "Windows end by the clock, which is public; a row leaves for each.",
        "A window that is like the last published row, by a noisy distance, repeats that row.",
        "Values are clamped to the public bounds; what is no number stands as a public default in its place.",
        "Noise is discrete Laplace, drawn exactly in integers, so no floating-point rounding weakens the promise.",
    )
    empty_note: ClassVar[str] = "All windows are public and have the same rows, however many records they have."
    name: ClassVar[str] = "w-event"
    needs_clock: ClassVar[bool] = True
    panes: ClassVar[int] = 1
    spans: ClassVar[bool] = False

    def prepare(self) -> None:
        bounds = float(self.bounds[0]), float(self.bounds[1])
        self._measure = Measure("histogram", bounds, self.bins, Neighbours.PRESENCE)
        if self.bins > WIDEST:
            raise ParameterError(f"{self.bins} bins are more than {WIDEST}; give fewer")
        if self.successive > LONGEST:
            raise ParameterError(f"{self.successive} successive windows are more than {LONGEST}; give fewer")
        self._measure.names("")  # bins that are none are refused
        self._distance_scale = noise_scale(1, exact_epsilon(self.epsilon) / (2 * self.successive))
        self._sum = np.zeros(self.bins, dtype=np.int64)
        self._shown = np.zeros(self.bins, dtype=np.int64)
        self._spent = np.zeros(self.successive - 1, dtype=np.int64)  # by the windows before, the oldest first
        self._come = np.zeros(1, dtype=np.int64)

    @property
    def window(self) -> int:
        """More than ever wait: records are counted as they come, and the clock ends windows."""
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
            self._sum += self._measure.of_windows(values[None])[0]
            self._come += len(values)
        return self._nothing

    def tick(self) -> Published:
        """Return the row of the window that ends now."""
        return self.number_rows([self.release(self._nothing.values, self._group)])

    def flush(self) -> Published:
        """Return the row of the last window, which ends with the stream."""
        return self.tick()

    def release(self, values: Numbers, number: int) -> Numbers:
        """Return the counts of the window, or the last ones shown where a noisy distance says they are alike."""
        del values
        counts = self._sum.copy()  # what noise covers is not changed afterwards
        units = (distributed if self.spend == "distribution" else absorbed)(self._spent)
        away = np.abs(counts - self._shown).sum(keepdims=True)
        noisy = int(self.add_noise(away, self._distance_scale, number, "distance", self._shown)[0])
        spent = 0
        if units >= LEAST:
            scale = noise_scale(1, exact_epsilon(self.epsilon) * Fraction(units, 2 * UNITS))
            if noisy > self.bins * scale:
                self._shown[:] = self.add_noise(counts, scale, number, "counts")
                spent = units
        self._spent[:] = np.append(self._spent[1:], spent)
        self._sum[:] = self._come[:] = 0
        return self._shown[None].astype(np.float64)

    def learnt_arrays(self) -> dict[str, Array]:
        return {"sum": self._sum, "shown": self._shown, "spent": self._spent, "come": self._come}

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the counts under the column's name and their bins."""
        told = [name for column in names for name in self._measure.names(column)]
        table = published.values.reshape(-1, len(told)) if len(published) else np.empty((0, len(told)))
        return {name: table[:, place] for place, name in enumerate(told)}

    def promise(self) -> Promise:
        """Return what one record is promised, and, behind a cap in each window, a person over successive windows."""
        epsilon = exact_epsilon(self.epsilon)
        distance = 1 / self._distance_scale
        most = Fraction(1, 4) if self.spend == "distribution" else Fraction(1, 2)
        together, alone = (Cost(epsilon=decimal_above(cost)) for cost in (epsilon, distance + most * epsilon))
        mechanism = SuccessiveWindows(together, alone, self.successive, Neighbours.PRESENCE)
        metric = Metric(ProtectRows(), Neighbours.PRESENCE, Input.RECORDS)
        return Promise(metric, (Clamp(), Windows(Edges.DECLARED)), mechanism)

    def card(self, *names: str) -> Card:
        told = [name for column in names for name in self._measure.names(column)]
        columns = [ReleasedColumn(name=name, role="sensitive", type="number") for name in told]
        shared = (
            f"Any {self.successive} successive windows share ε = {self.epsilon:g} for a unit with a record in each."
        )
        notes = [shared, *self.NOTES]
        return make_card(self, guarantee_of(self), columns, assumptions=notes, source=self._run.source)

    @classmethod
    def for_number(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> Publisher:
        del bounds, given
        raise ParameterError(f"{cls.name} publishes windows in time; give --every, --from and, for their times, --time")

    @classmethod
    def for_clock(cls, bounds: PublicBounds, given: Mapping[str, Any]) -> Publisher:
        return cls.from_options(given, called=cls.name, bounds=bounds)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return (Sample(cls((0, 1000), bins=4), keeps_rows=False),)
