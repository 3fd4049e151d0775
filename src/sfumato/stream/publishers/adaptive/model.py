"""What an adaptive histogram has learnt from released counts: the long run, its fine shape, and how windows differ.

The long run is the mean of noisy counts, never projected before it is averaged, so that it stays unbiased; the shape
within bins is sharpened by overlapping bins (Richardson 1972; Lucy 1974). The noise's law is public (Canonne, Kamath &
Steinke 2020), so a noisy count can be read as exactly as it was written: a Poisson law convolved with a two-sided
geometric one needs two passes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sfumato.stream.base import Integers, Numbers
from sfumato.stream.state import Array

CELLS = 4096  # the public grid on which bins begin and end
FIRST = 32  # bins of the first window; each later one may have as many more
EVEN, EVEN_TWICE = 0.05, 0.15  # the share of bins spread evenly, so that no region is left without; if counted twice
MEMORY, SHAPE_MEMORY = 300, 50  # windows after which the long run fades, and the shape within bins
TAIL, TAIL_TWICE = 2, 24  # rows at either end that leave as expectations; of a window that is counted twice
RATES = 16  # how many rates a bin may have besides nothing and the long run's
STICKY = 0.98  # how likely neighbouring bins are alike, before anything is learnt
FADE = 0.02  # how fast that first guess, and what was learnt later, fades from window to window
SLACK = 0.1  # of the long run's own noise, allowed before Markov's inequality is used
LEAST = 1e-6  # no state is ever impossible, none stays for ever
POSSIBLE = 1e-4  # nor is any value: so much of an even distribution is mixed into the long run
COARSE = 4  # a window that will be looked at twice has so many times fewer bins at first
CROWDED = 20.0  # in scales of the noise: records that make a bin crowded, and half of them those of a finer bin
UNEVEN = 4.0  # times its even share, which a crowded bin holds at least
REACH = 16  # cells on either side over which the long run is smoothed before bins follow its root
CALM = 750.0  # what makes rows up for earlier ones is weighed against so many squared scales of noise in a window
GOLDEN = (math.sqrt(5) - 1) / 2
LEAST_RATE, STEPS = 0.02, 4  # rates on a geometric grid: from LEAST_RATE, STEPS to each doubling
EVERY_COUNT = np.iinfo(np.int64).max
TINY = 1e-290  # no count is impossible at any rate, or a division would fail
LARGEST = 4096  # counts above it are read as they are: there the noise is small


class NoiseScales(NamedTuple):
    """The noise of a window counted once, and of one counted twice: coarsely, then finely."""

    plain: float
    coarse: float
    fine: float


class CountingBins(NamedTuple):
    """The cells at which bins begin (and the last one ends), the bin of each cell, and the long run behind them."""

    edges: Integers
    of_cell: Integers
    long_run: Numbers


class Reading(NamedTuple):
    """What a window's noisy counts were read as: each bin's mean and variance, and the mean count of each cell."""

    noisy: Integers
    bins: CountingBins
    size: int
    means: Numbers
    variances: Numbers
    cells: Numbers


class HistogramModel:
    """Everything that is public before a window is counted; `read` takes its noisy counts, `rows` learns from them.

    >>> model = HistogramModel((0.0, 10.0), 100, 8, NoiseScales(2.0, 2.0, 2.0))
    >>> bins = model.bins()
    >>> reading = model.read(model.count(np.full(100, 5.0), bins), bins, 100)
    >>> bool(abs(np.median(model.rows(reading)) - 5) < 1)
    True
    """

    def __init__(self, bounds: tuple[float, float], window: int, bins: int, scales: NoiseScales) -> None:
        self._low, self._high = bounds
        self._width = (bounds[1] - bounds[0]) / CELLS
        self._window, self._most, self._scales = window, bins, scales
        self._rates = np.geomspace(0.35 * scales.plain, max(0.45 * window, 0.7 * scales.plain), RATES)
        self._rate_rows = tables(scales.plain, window).rows(self._rates)
        states = RATES + 2
        self._stays, self._leaves = np.full(states, STICKY), np.full(states, 1 - STICKY)
        self._jumps = np.full(states, 1 / states)
        self._raw = np.full(CELLS, 1 / CELLS)
        self._shape = self._raw.copy()
        self._due, self._given = np.zeros(CELLS), np.zeros(CELLS)
        self._calm = max(1.0, CALM * scales.plain**2 / window)
        self._seen, self._crowd = np.zeros(1), np.zeros(1)

    def arrays(self) -> dict[str, Array]:
        """What was learnt, as it stands in a state."""
        steps = {"stays": self._stays, "leaves": self._leaves, "jumps": self._jumps}
        rows = {"due": self._due, "given": self._given}
        return {**steps, **rows, "raw": self._raw, "within": self._shape, "seen": self._seen, "crowd": self._crowd}

    @property
    def twice(self) -> bool:
        """Whether the next window is counted twice: most records of the last ones sat in crowded bins."""
        return self._scales.fine > 0 and bool(self._crowd[0] > 0.5)

    def bins(self) -> CountingBins:
        """The bins of the next window: by the long run's root, shifted a little from window to window."""
        from sfumato.stream.publishers.adaptive.cells_kernel import cut_bins, long_run, root_of

        turn = int(self._seen[0])
        most = max(2, self._most // COARSE) if self.twice else self._most
        count = min(most, FIRST * (turn + 1), CELLS)
        run = long_run(self._raw)
        even = EVEN_TWICE if self.twice else EVEN
        return CountingBins(*cut_bins(root_of(run, REACH), even, count, turn * GOLDEN % 1 if turn else 1.0), run)

    def count(self, values: Numbers, bins: CountingBins) -> Integers:
        """The exact counts of a window's records in its bins: secret until noise falls on them."""
        from sfumato.stream.publishers.adaptive.kernel import bin_counts

        return bin_counts(values, self._low, self._width, CELLS // 2, bins.of_cell, len(bins.edges) - 1)

    def read(self, noisy: Integers, bins: CountingBins, size: int) -> Reading:
        """Take the noisy counts of a window of `size` records; return what they mean."""
        from sfumato.stream.publishers.adaptive.cells_kernel import bin_sums, fix_total, spread_counts

        likely = (1 - POSSIBLE) * bin_sums(bins.long_run, bins.edges) + POSSIBLE / CELLS * np.diff(bins.edges)
        expected = likely * size
        means, variances = self._posterior(noisy, expected)
        fix_total(means, variances, expected, size)
        return Reading(noisy, bins, size, means, variances, spread_counts(means, bins.edges, self._shape))

    def finer(self, reading: Reading) -> CountingBins:
        """The bins in which a window is counted a second time: crowded ones cut into parts."""
        from sfumato.stream.publishers.adaptive.cells_kernel import finer_bins

        part = CROWDED / 2 * self._scales.coarse
        return CountingBins(*finer_bins(reading.means, reading.bins.edges, reading.cells, part), reading.bins.long_run)

    def sharpen(self, reading: Reading, noisy: Integers, finer: CountingBins) -> Reading:
        """Take the noisy counts of the finer bins; return the reading with cells that follow them."""
        from sfumato.stream.publishers.adaptive.cells_kernel import sharpen_counts, spread_counts

        noise = 2 * self._scales.fine**2
        counts = sharpen_counts(reading.means, reading.bins.edges, reading.cells, finer.edges, noisy, noise)
        return reading._replace(cells=spread_counts(counts, finer.edges, self._shape))

    def rows(self, reading: Reading) -> Numbers:
        """The rows of a window in rank order; what it says is learnt for the windows to come."""
        from sfumato.stream.publishers.adaptive.cells_kernel import remember, replace_tails

        noisy, bins, size, means, variances, cells = reading
        rows = self._follow_stream(reading)
        tail = TAIL_TWICE if self.twice else TAIL
        if size > 2 * tail:
            replace_tails(rows, means, variances, bins.edges.astype(np.float64), tail)
        weight = min(1.0, size / self._window)
        gains = (weight * max(1 / (self._seen[0] + more), 1 / most) for more, most in ((1, MEMORY), (2, SHAPE_MEMORY)))
        remember(self._raw, self._shape, bins.long_run, noisy, bins.edges, cells, size, *gains)
        crowd = float(means[means > max(CROWDED * self._scales.plain, UNEVEN * size / len(means))].sum()) / size
        self._crowd += max(1 / (self._seen[0] + 1), 0.1) * (crowd - self._crowd)
        self._seen += 1
        return np.clip(self._low + self._width * rows, self._low, self._high)

    def _follow_stream(self, reading: Reading) -> Numbers:
        """Return a window's quantiles, in cells, bent so that all rows so far follow all that was counted so far."""
        from sfumato.stream.publishers.adaptive.cells_kernel import (
            follow_stream,
            hand_out,
            quantile_rows,
            spread_counts,
        )

        if self.twice:
            self._due += reading.cells
        else:
            counted = reading.noisy + (reading.size - reading.noisy.sum()) / len(reading.noisy)
            self._due += spread_counts(counted, reading.bins.edges, self._shape)
        rows = quantile_rows(follow_stream(reading.cells, self._due, self._given, self._calm), reading.size)
        hand_out(rows, self._given)
        return rows

    def _posterior(self, noisy: Integers, expected: Numbers) -> tuple[Numbers, Numbers]:
        """Return mean and variance of every bin's count, and learn how alike neighbouring bins are."""
        from sfumato.stream.publishers.adaptive.kernel import emissions, forward_backward, moments

        scale = self._scales.coarse if self.twice else self._scales.plain
        made = tables(scale, self._window)
        slack = SLACK * math.sqrt(2) * scale / math.sqrt(min(self._seen[0] + 1, MEMORY))
        facts = self._rates, self._rate_rows, slack, made.likelihood
        chance, rows, columns = emissions(noisy, expected, made.rows(expected), *facts)
        stay = self._stays / (self._stays + self._leaves)
        posterior, *steps = forward_backward(chance, stay, self._jumps / self._jumps.sum())
        new = max(1 / (self._seen[0] + 2), FADE)
        for learnt, found in zip((self._stays, self._leaves, self._jumps), steps, strict=True):
            learnt[:] = (1 - new) * learnt + new * found / len(noisy) + LEAST
        return moments(posterior, rows, columns, noisy, made.mean, made.variance, made.beyond)


class Tables(NamedTuple):
    """By rate (the last one is 0) and noisy count: the likelihood, and the posterior mean and variance of the count.

    A noisy count below 0 says as much as 0 does, and one above the largest possible count as much as that: the tails
    of Laplace noise fall by the same factor whatever the count. From `beyond` on, counts are read as they are.
    """

    likelihood: Numbers
    mean: Numbers
    variance: Numbers
    beyond: int

    @property
    def zero(self) -> int:
        """The row of the rate 0."""
        return len(self.likelihood) - 1

    def rows(self, rates: Numbers) -> Integers:
        """The rows nearest to some rates."""
        nearest = np.rint(STEPS * np.log2(np.maximum(rates, LEAST_RATE) / LEAST_RATE))
        found: Integers = np.clip(nearest, 0, self.zero - 1).astype(np.int64)
        return found


@lru_cache(maxsize=16)
def tables(scale: float, most: int) -> Tables:
    """Return the tables for noise of a scale and counts up to `most`.

    >>> made = tables(2.0, 10)
    >>> bool(2.9 < made.mean[made.rows(np.array([3.0]))[0], 3] < 3.1)
    True
    """
    beyond = LARGEST if most > LARGEST else EVERY_COUNT
    most = min(most, LARGEST)
    rates = LEAST_RATE * 2 ** (np.arange(math.ceil(STEPS * math.log2(max(2, most) / LEAST_RATE)) + 1) / STEPS)
    counts = np.arange(most + 1)
    logs = counts * np.log(rates[:, None]) - rates[:, None] - np.array([math.lgamma(c + 1) for c in counts])
    prior = np.vstack([np.exp(logs), np.where(counts == 0, 1.0, 0.0)])
    likelihood = _convolve(prior, scale) + TINY
    mean = _convolve(prior * counts, scale) / likelihood
    variance = np.maximum(_convolve(prior * counts**2, scale) / likelihood - mean**2, 0)
    return Tables(likelihood, mean, variance, beyond)


def _convolve(rows: Numbers, scale: float) -> Numbers:
    """Return each row convolved with the law of discrete Laplace noise."""
    fade = math.exp(-1 / scale)
    left, right = rows.copy(), rows.copy()
    for place in range(1, rows.shape[1]):
        left[:, place] += fade * left[:, place - 1]
        right[:, -place - 1] += fade * right[:, -place]
    convolved: Numbers = (1 - fade) / (1 + fade) * (left + right - rows)
    return convolved
