"""Adaptive histograms: noisy counts in bins that follow what was released before, read by their exact noise.

Bins are cut at quantiles of the released past, so the noise of a window costs ε once (disjoint windows, McSherry
2009); everything learnt comes from noisy counts and is free (`docs/algorithms/adaptive-histogram.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.core.parameters import Option, Whole
from sfumato.random import Source
from sfumato.stream.base import Numbers, PublicBounds, Publisher, Sample
from sfumato.stream.noise import Interval, exact_epsilon, noise_scale
from sfumato.stream.publishers.adaptive.model import HistogramModel, NoiseScales
from sfumato.stream.state import Array
from sfumato.stream.windows import WindowedPublisher

if TYPE_CHECKING:
    from sfumato.stream.publishers.clock import ClockWindows

SENSITIVITY = 2  # a replaced record leaves one bin and enters another
FINE = Fraction(3, 20)  # the share of ε for the second count of a window that is counted twice
BINS = Option("How many cells the value range has, with several columns that of each.")


@dataclass(eq=False)
class AdaptiveHistogram(WindowedPublisher):
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

    RULES: ClassVar = {"bounds": Interval(), **WindowedPublisher.RULES, "bins": Whole(2)}
    OPTIONS: ClassVar = {**WindowedPublisher.OPTIONS, "bins": BINS}
    SHARED: ClassVar = (*WindowedPublisher.SHARED, "every", "from_", "until")
    NOTES: ClassVar = (
        "Rows of a window leave in rank order, drawn from the released distribution; none comes from a record.",
        (
            "Noise of scale 2/ε falls on each bin's count; bins are chosen from counts released before, never from "
            "records."
        ),
        "After windows that sat in few bins, a window is counted twice, coarsely and finely, with 85 % and 15 % of ε.",
    )
    name: ClassVar[str] = "adaptive"
    takes_several: ClassVar[bool] = True

    def prepare(self) -> None:
        epsilon = exact_epsilon(self.epsilon)
        self._plain = noise_scale(SENSITIVITY, epsilon)
        self._coarse = noise_scale(SENSITIVITY, epsilon * (1 - FINE))
        self._fine = noise_scale(SENSITIVITY, epsilon * FINE)
        scales = NoiseScales(float(self._plain), float(self._coarse), float(self._fine))
        self._model = HistogramModel(self.bounds, self.window, self.bins, scales)

    def learnt_arrays(self) -> dict[str, Array]:
        return self._model.arrays()

    def release(self, values: Numbers, number: int) -> Numbers:
        """Return the rows of a window; the records are looked at in `count` alone, and noise falls on all it tells."""
        twice, bins = self._model.twice, self._model.bins()
        counts = self._model.count(values, bins)
        noisy = self.add_noise(counts, self._coarse if twice else self._plain, number, "bins", bins.edges)
        reading = self._model.read(noisy, bins, len(values))
        if twice:
            finer = self._model.finer(reading)
            counts = self._model.count(values, finer)
            noisy = self.add_noise(counts, self._fine, number, "finer", finer.edges)
            reading = self._model.sharpen(reading, noisy, finer)
        return self._model.rows(reading)

    @classmethod
    def for_numbers(cls, bounds: Sequence[PublicBounds], given: Mapping[str, Any]) -> Publisher:
        from sfumato.stream.publishers.counts import CellHistogram

        return CellHistogram.from_options(given, called=cls.name, bounds=tuple(bounds))

    @classmethod
    def for_categories(cls, categories: tuple[str, ...], given: Mapping[str, Any]) -> Publisher:
        from sfumato.stream.publishers.counts import CategoryWindows

        return CategoryWindows.from_options(given, called=cls.name, categories=categories)

    @classmethod
    def for_clock(cls, bounds: PublicBounds, given: Mapping[str, Any]) -> ClockWindows:
        from sfumato.stream.publishers.clock import ClockWindows

        return ClockWindows.from_options(given, called=cls.name, bounds=bounds, kind="adaptive")

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        from sfumato.stream.publishers.counts import CategoryWindows, CellHistogram

        own = Sample(cls(bounds=(0, 1000), window=70, bins=16))
        return (own, *CategoryWindows.sample(), *CellHistogram.sample())
