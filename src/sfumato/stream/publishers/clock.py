"""Clock windows: whatever comes within an interval is one window, whose number of records is hidden by noise too.

Under add/remove neighbours a record may be there or not, so the count is a secret: it leaves with discrete Laplace
noise, and windows are padded or cut to the noisy count, blind to values (`docs/algorithms/rank-windows.md`).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.promise import Edges, Neighbours, Promise, Windows
from sfumato.random import Source
from sfumato.release import Card
from sfumato.stream.base import DELAY, EPSILON, Integers, Numbers, Published, Sample
from sfumato.stream.card import PRESENT, private_card, record_promise
from sfumato.stream.noise import Interval, exact_epsilon, noise_scale
from sfumato.stream.publishers.adaptive import BINS
from sfumato.stream.publishers.adaptive.model import HistogramModel, NoiseScales
from sfumato.stream.publishers.rank import BLOCK, RankGrid
from sfumato.stream.state import Array, Saved, fill_arrays
from sfumato.stream.windows import WindowedPublisher

COUNTED = Fraction(1, 10)  # the share of ε that pays for a window's count where rank blocks leave


@dataclass(eq=False)
class ClockWindows(WindowedPublisher):
    """Windows that end when `tick` is called, hidden counts included (event level, add/remove neighbours).

    `kind` is "rank" (a tenth of ε for the count, the rest for rank blocks) or "adaptive" (noise of scale 1/ε on every
    bin, whose sum is the count). `most` is the most records of an interval whose rank blocks leave, the first ones;
    `expected` is about how many come, a public guess. A group's number is that of its window, counted from 0.

    >>> from sfumato.random import SeededSource
    >>> publisher = ClockWindows(bounds=(0, 100), epsilon=2.0, rng=SeededSource(1))
    >>> len(publisher.push_many(np.full(500, 40.0)))
    0
    >>> 450 < len(publisher.tick()) < 550
    True
    """

    bounds: tuple[float, float]
    epsilon: float = 1.0
    kind: Literal["rank", "adaptive"] = "rank"
    block: int = 50
    bins: int = 320
    expected: int = 1000
    most: int = 1_000_000
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "bounds": Interval(),
        "epsilon": Real(0, above=True),
        "kind": OneOf(("rank", "adaptive")),
        "block": Whole(1),
        "bins": Whole(2),
        "expected": Whole(1),
        "most": Whole(1),
    }
    OPTIONS: ClassVar = {"epsilon": EPSILON, "block": BLOCK, "bins": BINS, "expected": DELAY}
    NOTES: ClassVar = (
        PRESENT,
        (
            "Windows end by the clock, which is public; how many rows leave comes from a noisy count, not from the "
            "records."
        ),
        "Values are clamped to the public bounds; what is no number stands as a public default in its place.",
        "Noise is discrete Laplace, drawn exactly in integers, so no floating-point rounding weakens the promise.",
    )
    name: ClassVar[str] = "clock"
    needs_clock: ClassVar[bool] = True
    empty_note: ClassVar[str] = (
        "All windows are public: one with a noisy count of 0 or less has a single row of size 0, without a value."
    )
    panes: ClassVar[int] = 1
    spans: ClassVar[bool] = False

    def prepare(self) -> None:
        epsilon = exact_epsilon(self.epsilon)
        self._count_scale = noise_scale(1, epsilon * COUNTED)
        self._grid = RankGrid(self.bounds, self.block, epsilon * (1 - COUNTED))
        self._bin_scale = noise_scale(1, epsilon)
        scales = NoiseScales(float(self._bin_scale), 0.0, 0.0)
        self._model = HistogramModel(self.bounds, self.expected, self.bins, scales)
        self._ticks = 0
        self._padding = np.array([(self.bounds[0] + self.bounds[1]) / 2])
        self._begin()

    @property
    def window(self) -> int:
        """More than ever wait: the clock ends windows."""
        return self.most + 1

    def _begin(self) -> None:
        """Fix the bins of the interval that begins; they come from released counts."""
        self._bins = self._model.bins()
        self._counts: Integers = np.zeros(len(self._bins.edges) - 1, dtype=np.int64)

    @property
    def held(self) -> int:
        return len(self._waiting) + int(self._counts.sum())

    @property
    def ended(self) -> int:
        return self._ticks

    def room(self, waiting: int) -> int | None:
        """Return how many more records of an interval can count behind `waiting` others; None where all do.

        A histogram must take all: one record more would push out the last one, and two bins would change.
        """
        return self.most - waiting if self.kind == "rank" else None

    def push(self, record: float) -> Published:
        return self.push_many(np.array([float(record)]))

    def push_many(self, batch: Numbers) -> Published:
        values = np.asarray(batch, dtype=np.float64).reshape(-1)
        if self.kind == "adaptive":
            self._counts += self._model.count(values, self._bins)
        else:
            self._waiting += values[: self.room(len(self._waiting))].tolist()
        return self._nothing

    def tick(self) -> Published:
        """Return the rows of the interval that ends now."""
        records = self.take_waiting()
        rows = self.release(records, self._ticks) if self.kind == "rank" else self._release_counts()
        self._group = self._ticks  # a window keeps its number though no row of the one before left
        self._ticks += 1
        if len(rows):
            return self.number_rows([rows])
        return replace(self._nothing, vacant=np.array([self._ticks - 1]))

    def flush(self) -> Published:
        """Return the rows of the last interval, which ends with the stream."""
        return self.tick()

    def release(self, values: Numbers, number: int) -> Numbers:
        """Return as many rows as the noisy count says: the first records, or all of them and a public value."""
        noisy = int(self.add_noise(np.array([len(values)]), self._count_scale, number, "count")[0])
        size = min(max(noisy, 0), self.most)
        if size == 0:
            return np.empty(0)
        padded = np.concatenate([values[:size], np.full(max(size - len(values), 0), self._padding[0])])
        rows: Numbers = self._grid.release(padded[None], self._run, number)[0]
        self._padding[0] = np.median(rows)  # released, so public: nearer to the records than the middle of the bounds
        return rows

    def _release_counts(self) -> Numbers:
        """Return as many rows as the noisy counts of the bins add up to."""
        noisy = self.add_noise(self._counts, self._bin_scale, self._ticks, "bins", self._bins.edges)
        size = max(int(noisy.sum()), 0)
        bins = self._bins
        rows = self._model.rows(self._model.read(noisy, bins, size)) if size else np.empty(0)
        self._begin()
        return rows

    def learnt_arrays(self) -> dict[str, Array]:
        return {"counts": self._counts, "padding": self._padding, **self._model.arrays()}

    def counters(self) -> dict[str, int]:
        return {"ticks": self._ticks, **super().counters()}

    def resume(self, saved: Saved) -> None:
        fill_arrays(self._model.arrays(), saved)
        self._begin()  # the bins that the saved counts are of
        self._ticks = int(saved.plain["ticks"])
        super().resume(saved)

    def card(self, *names: str) -> Card:
        return private_card(self, names, notes=self.NOTES, source=self._run.source)

    def promise(self) -> Promise | None:
        return record_promise(self.epsilon, Windows(Edges.DECLARED), neighbours=Neighbours.PRESENCE)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        ranked = cls(bounds=(0, 1000), kind="rank", expected=300, most=400)
        counted = cls(bounds=(0, 1000), kind="adaptive", bins=16, expected=300, most=400)
        return tuple(Sample(publisher, keeps_rows=False) for publisher in (ranked, counted))
