"""Adaptive histograms: noisy counts in bins that follow what was released before, read by their exact noise.

Bins are cut at quantiles of the released past, so the noise of a window costs ε once (disjoint windows, McSherry
2009); everything learnt comes from noisy counts and is free (`docs/algorithms/adaptive-histogram.md`).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import ClassVar

from sfumato.core.parameters import Real, Whole
from sfumato.random import Source
from sfumato.random.random_words import WordRun
from sfumato.release import Card
from sfumato.stream.base import Numbers, Published, Publisher
from sfumato.stream.grid import Interval
from sfumato.stream.noise import covered, exact_epsilon, noise_scale
from sfumato.stream.promise import private_card, windows_note
from sfumato.stream.publishers.adaptive.model import Model, Scales
from sfumato.stream.state import pack, unpack
from sfumato.stream.windows import Tumbling

SENSITIVITY = 2  # a replaced record leaves one bin and enters another
FINE = Fraction(1, 5)  # the share of ε for the second count of a window that is counted twice
NOTES = (
    "Rows of a window leave in rank order, drawn from the released distribution; none comes from a record.",
    "Noise of scale 2/ε falls on each bin's count; bins are chosen from counts released before, never from records.",
    "After windows that sat in few bins, a window is counted twice, coarsely and finely, with 80 % and 20 % of ε.",
)


@dataclass(eq=False)
class AdaptiveHistogram(Publisher):
    """Windows of `window` records within public `bounds`, counted in `bins` bins that follow the released past.

    >>> import numpy as np
    >>> from sfumato.random import SeededSource
    >>> publisher = AdaptiveHistogram(bounds=(0, 100), window=50, rng=SeededSource(1))
    >>> out = publisher.push_many(np.linspace(20, 30, 50))
    >>> len(out), bool((np.diff(out.values) >= 0).all()), out.position is None
    (50, True, True)
    """

    bounds: tuple[float, float]
    window: int = 1000
    epsilon: float = 1.0
    bins: int = 160
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "bounds": Interval(),
        "window": Whole(1),
        "epsilon": Real(0, above=True),
        "bins": Whole(2),
    }
    name: ClassVar[str] = "adaptive"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        epsilon = exact_epsilon(self.epsilon)
        self._plain = noise_scale(SENSITIVITY, epsilon)
        self._coarse = noise_scale(SENSITIVITY, epsilon * (1 - FINE))
        self._fine = noise_scale(SENSITIVITY, epsilon * FINE)
        scales = Scales(float(self._plain), float(self._coarse), float(self._fine))
        self._model = Model(self.bounds, self.window, self.bins, scales)
        self._run = WordRun(rng)
        self._windows = Tumbling(self.window)

    @property
    def delay(self) -> int:
        return self.window - 1

    @property
    def held(self) -> int:
        return len(self._windows.waiting)

    def push(self, record: float) -> Published:
        full = self._windows.one(record)
        return self._windows.nothing if full is None else self._windows.published([self._release(full, 0)])

    def push_many(self, batch: Numbers) -> Published:
        return self._windows.published(
            [self._release(window, ahead) for ahead, window in enumerate(self._windows.many(batch))]
        )

    def flush(self) -> Published:
        """Return the rows of the last, shorter window: its number of records is public."""
        rest = self._windows.rest()
        return self._windows.published([self._release(rest, 0)] if len(rest) else [])

    def _release(self, values: Numbers, ahead: int) -> Numbers:
        """Return the rows of a window; the records are looked at in `count` alone, and noise falls on all it tells."""
        twice, bins, number = self._model.twice, self._model.bins(), self._windows.group + ahead
        counts = self._model.count(values, bins)
        noisy = covered(self._run, counts, self._coarse if twice else self._plain, number, "bins", bins.edges)
        reading = self._model.read(noisy, bins, len(values))
        if twice:
            finer = self._model.finer(reading)
            counts = self._model.count(values, finer)
            noisy = covered(self._run, counts, self._fine, number, "finer", finer.edges)
            reading = self._model.sharpen(reading, noisy, finer)
        return self._model.rows(reading)

    def state(self) -> bytes:
        self._run.forget()
        arrays = {"waiting": self._windows.held(), **self._model.arrays()}
        return pack(self.name, self.parameters(), arrays, self._windows.plain())

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self._windows.restore(saved.arrays["waiting"], **saved.plain)
        for name, array in self._model.arrays().items():
            array[:] = saved.arrays[name]
        self._run.forget()

    def card(self, *names: str) -> Card:
        return private_card(
            self, names, self.epsilon, notes=[windows_note(self.window), *NOTES], source=self._run.source
        )
