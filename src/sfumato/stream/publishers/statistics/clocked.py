"""Statistics of windows that end by the clock, where it is hidden how many records there are (add/remove neighbours).

Only what is counted of the open pane is held, never a record (`docs/algorithms/window-statistics.md`).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.core.parameters import Whole
from sfumato.promise import Edges, Neighbours, Promise
from sfumato.random import Source
from sfumato.release.card import Card
from sfumato.stream.base import EPSILON, Integers, Numbers, Published, Sample
from sfumato.stream.card import PRESENT
from sfumato.stream.publishers.rank import sample_pairs
from sfumato.stream.publishers.statistics import (
    BINS,
    QUANTILES,
    ROWS,
    STATISTICS,
    Chosen,
    StatisticsPublisher,
)
from sfumato.stream.publishers.statistics.grammar import Domain
from sfumato.stream.state import Array, Saved

ANY = 2**53


@dataclass(eq=False)
class ClockStatistics(StatisticsPublisher):
    """Statistics of the last `panes` panes, each of which ends when `tick` is called; the count is hidden by noise too.

    >>> from sfumato.random import SeededSource
    >>> publisher = ClockStatistics({"cost": (0, 100)}, "count, mean", panes=2, epsilon=20.0, rng=SeededSource(1))
    >>> for _ in range(3):
    ...     nothing = publisher.push_many(np.full(500, 40.0))
    ...     out = publisher.tick()
    >>> out.values[:, 0].round(0).tolist(), publisher.held
    ([1000.0, 40.0], 0)
    """

    domains: dict[str, Domain]
    statistics: str = "count, histogram"
    panes: int = 1
    epsilon: float = 1.0
    bins: int = 32
    quantiles: Chosen = "choice"
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {**StatisticsPublisher.RULES, "panes": Whole(1)}
    OPTIONS: ClassVar = {"epsilon": EPSILON, "statistics": STATISTICS, "bins": BINS, "quantiles": QUANTILES}
    NOTES: ClassVar = (
        PRESENT,
        "Windows end by the clock, which is public; how many records a window has is not, and every window has rows.",
        "Values are clamped to the public bounds; what is no number stands as a public default in its place.",
        "Noise is discrete Laplace, drawn exactly in integers, so no floating-point rounding weakens the promise.",
    )
    name: ClassVar[str] = "clock-statistics"
    needs_clock: ClassVar[bool] = True
    empty_note: ClassVar[str] = "All windows are public and have the same rows, however many records they have."

    spans: ClassVar[bool] = True

    def prepare(self) -> None:
        self.lay_out(Neighbours.PRESENCE, self.panes)
        self._nothing = Published.empty(len(ROWS) - 3)
        self._open: Integers = np.zeros(self.plan.cells, dtype=np.int64)
        self._counted: Integers = np.zeros(1, dtype=np.int64)

    @property
    def window(self) -> int:
        """More than ever come: the clock ends windows."""
        return ANY

    @property
    def held(self) -> int:
        return int(self._counted[0])

    @property
    def ended(self) -> int:
        return self._group

    def room(self, waiting: int) -> int | None:
        """Return None: all records count."""
        del waiting
        return None

    def push(self, record: Any) -> Published:
        return self.push_many([record])

    def push_many(self, batch: Any) -> Published:
        values = self.read_many(batch)
        self._open += self.tally(values)
        self._counted += len(values)
        return self._nothing

    def tick(self) -> Published:
        """Return the rows of the window that ends now."""
        rows = self.release(np.empty(0), self._group)
        self._open[:] = 0
        self._counted[:] = 0
        return self.number_rows([rows])

    def flush(self) -> Published:
        """Return the rows of the last window, which ends with the stream."""
        return self.tick()

    def release(self, values: Numbers, number: int) -> Numbers:
        """Return the rows of a window whose last pane was counted as its records came."""
        del values
        return self.history.release(self._run, self._open.copy(), 0, number)

    def learnt_arrays(self) -> dict[str, Array]:
        return {"open": self._open, "counted": self._counted, **super().learnt_arrays()}

    def resume(self, saved: Saved) -> None:
        super().resume(saved)
        self._waiting = []

    def card(self, *names: str) -> Card:
        del names
        return self.stated_card(self.NOTES)

    def promise(self) -> Promise | None:
        return self.plan.promise(Edges.DECLARED)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        pairs: dict[str, Domain] = {"cost": (0, 99), "zone": ("a", "b", "c", "d", "e")}
        asked = "count, mean, sum of cost:2, histogram, quantile 0.9 of cost, median of cost at 10 20 50"
        return (
            Sample(cls({"cost": (0, 1000)}, "count, sum"), keeps_rows=False),
            Sample(cls(pairs, asked, 3, bins=4), sample_pairs, keeps_rows=False),
            Sample(cls(pairs, asked, 3, bins=4, quantiles="histogram"), sample_pairs, keeps_rows=False),
        )
