"""What an adaptive histogram has learnt from released counts: the long run, its fine shape, and how windows differ.

The long run is the mean of noisy counts, never projected before it is averaged, so that it stays unbiased; the shape
within bins is sharpened by overlapping bins (Richardson 1972; Lucy 1974).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.stream.adaptive_table import tables
from sfumato.stream.base import Integers, Numbers

CELLS = 2048  # the public grid on which bins begin and end
FIRST = 32  # bins of the first window; each later one may have as many more
EVEN = 0.05  # the share of bins that is spread evenly, so that no region is left without
MEMORY = 300  # windows after which the past fades
TAIL = 12  # rows at either end that leave as expectations
RATES = 8  # how many rates a bin may have besides nothing and the long run's
STICKY = 0.98  # how likely neighbouring bins are alike, before anything is learnt
STRENGTH = 20.0  # the weight of that first guess
FADE = 0.02  # how fast it, and what was learnt later, fades from window to window
SLACK = 0.1  # of the long run's own noise, allowed before Markov's inequality is used
LEAST_WEIGHT = 1e-5  # no step from one state to another is ever impossible
POSSIBLE = 1e-4  # nor is any value: so much of an even distribution is mixed into the long run
GOLDEN = (math.sqrt(5) - 1) / 2


class Bins(NamedTuple):
    """The cells at which bins begin (and the last one ends), and the bin of each cell."""

    edges: Integers
    of_cell: Integers


class Model:
    """Everything that is public before a window is counted; `learn` takes its noisy counts and returns its rows.

    >>> model = Model((0.0, 10.0), 100, 8, 2.0)
    >>> bins = model.bins()
    >>> noisy = model.count(np.full(100, 5.0), bins)
    >>> bool(abs(np.median(model.learn(noisy, bins, 100)) - 5) < 1)
    True
    """

    def __init__(self, bounds: tuple[float, float], window: int, bins: int, scale: float) -> None:
        self._low, self._high = bounds
        self._width = (bounds[1] - bounds[0]) / CELLS
        self._window, self._most, self._scale = window, bins, scale
        self._tables = tables(scale, window)
        self._rates = np.geomspace(0.35 * scale, max(0.45 * window, 0.7 * scale), RATES)
        self._rate_rows = self._tables.rows(self._rates)
        states = RATES + 2
        alike = np.full((states, states), (1 - STICKY) / (states - 1))
        np.fill_diagonal(alike, STICKY)
        self._alike, self._start = alike * STRENGTH, np.full(states, STRENGTH / states)
        self._raw = np.full(CELLS, 1 / CELLS)
        self._shape = self._raw.copy()
        self._seen = np.zeros(1)

    def arrays(self) -> dict[str, Numbers]:
        """What was learnt, as it stands in a state."""
        named = {"alike": self._alike, "start": self._start, "raw": self._raw, "shape": self._shape}
        return {**named, "seen": self._seen}

    def bins(self) -> Bins:
        """The bins of the next window: at quantiles of the long run, shifted a little from window to window."""
        from sfumato.stream.adaptive_cells_kernel import cut_bins, long_run

        turn = int(self._seen[0])
        count = min(self._most, FIRST * (turn + 1), CELLS)
        return Bins(*cut_bins(long_run(self._raw), EVEN, count, turn * GOLDEN % 1 if turn else 1.0))

    def count(self, values: Numbers, bins: Bins) -> Integers:
        """The exact counts of a window's records in its bins: secret until noise falls on them."""
        from sfumato.stream.adaptive_kernel import bin_counts

        return bin_counts(values, self._low, self._width, CELLS // 2, bins.of_cell, len(bins.edges) - 1)

    def learn(self, noisy: Integers, bins: Bins, size: int) -> Numbers:
        """Take the noisy counts of a window; return `size` rows in rank order."""
        from sfumato.stream.adaptive_cells_kernel import bin_sums, fix_total, long_run, remember, spread_counts
        from sfumato.stream.adaptive_rows_kernel import quantile_rows, replace_tails

        run = long_run(self._raw)
        expected = bin_sums((1 - POSSIBLE) * run + POSSIBLE / CELLS, bins.edges) * size
        means, variances = self._posterior(noisy, expected)
        fix_total(means, variances, expected, size)
        cells = spread_counts(means, bins.edges, self._shape)
        rows = quantile_rows(cells, size)
        if size > 2 * TAIL:
            replace_tails(rows, means, variances, bins.edges.astype(np.float64), TAIL)
        weight = min(1.0, size / self._window)
        gains = (weight * max(1 / (self._seen[0] + extra), 1 / MEMORY) for extra in (1, 2))
        remember(self._raw, self._shape, run, noisy, bins.edges, cells, size, *gains)
        self._seen += 1
        return np.clip(self._low + self._width * rows, self._low, self._high)

    def _posterior(self, noisy: Integers, expected: Numbers) -> tuple[Numbers, Numbers]:
        """Return mean and variance of every bin's count, and learn how alike neighbouring bins are."""
        from sfumato.stream.adaptive_kernel import emissions, forward_backward, moments

        made = self._tables
        slack = SLACK * math.sqrt(2) * self._scale / math.sqrt(min(self._seen[0] + 1, MEMORY))
        facts = self._rates, self._rate_rows, slack, made.likelihood, made.lowest
        chance, rows, columns = emissions(noisy, expected, made.rows(expected), *facts)
        alike = self._alike / self._alike.sum(axis=1, keepdims=True)
        posterior, steps = forward_backward(chance, alike, self._start / self._start.sum())
        new = max(1 / (self._seen[0] + 2), FADE)
        self._alike += new * (STRENGTH * steps / len(noisy) - self._alike) + LEAST_WEIGHT
        self._start += new * (STRENGTH * posterior[0] - self._start) + LEAST_WEIGHT
        return moments(posterior, rows, columns, noisy, made.mean, made.variance)
