"""One exact bit per record, compiled: randomised response with a probability in 64-bit integers, and local averages.

Warner (1965), "Randomized Response"; the truth is told when a uniform 64-bit number lies below a public integer. Which
thresholds to ask about is an optimal allocation (Neyman 1934).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Bits = npt.NDArray[np.uint8]
ROUNDS = 40


@kernel
def respond(values: Numbers, cuts: Numbers, default: float, truthful: np.uint64, words: Words) -> Bits:
    """Return for each value whether it lies above its cut, told truly when two words are below `truthful`."""
    reports = np.empty(values.size, dtype=np.uint8)
    for place in range(values.size):
        value = default if np.isnan(values[place]) else values[place]
        drawn = (np.uint64(words[2 * place]) << np.uint64(32)) | np.uint64(words[2 * place + 1])
        reports[place] = np.uint8((value > cuts[place]) == (drawn < truthful))
    return reports


@kernel
def neighbour_mean(signal: Numbers, used: Bits, reach: int) -> Numbers:
    """Return for each place the mean of the used signals at most `reach` away, itself left out; 0 where none are."""
    size = signal.size
    sums, counts = np.zeros(size + 1), np.zeros(size + 1, dtype=np.int64)
    for place in range(size):
        sums[place + 1] = sums[place] + (signal[place] if used[place] else 0.0)
        counts[place + 1] = counts[place] + used[place]
    means = np.zeros(size)
    for place in range(size):
        start, end = max(0, place - reach), min(size, place + reach + 1)
        total, count = sums[end] - sums[start], counts[end] - counts[start]
        if used[place]:
            total -= signal[place]
            count -= 1
        if count > 0:
            means[place] = total / count
    return means


@kernel
def decode(reports: Bits, thresholds: Integers, above: Numbers, tables: Numbers) -> Numbers:
    """Return each record's posterior mean; `above` is the local prior probability that it lies above the main cut.

    `tables[threshold, report]` holds mass and moment of the prior below and above the main cut, times the likelihood.
    """
    values = np.empty(reports.size)
    for place in range(reports.size):
        low_mass, low_moment, high_mass, high_moment = tables[thresholds[place], reports[place]]
        high, low = above[place], 1 - above[place]
        values[place] = (low * low_moment + high * high_moment) / (low * low_mass + high * high_mass)
    return values


@kernel
def allocate(loss: Numbers, answers: Numbers, lesson: float, total: float) -> Numbers:
    """Return the answers still wanted at each threshold, about `total` in all, by bisection on the multiplier λ."""
    low, high = 1e-12, 1e3
    for _ in range(ROUNDS):
        middle = math.sqrt(low * high)
        if np.maximum(np.sqrt(lesson / (loss + middle)) - answers, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(np.sqrt(lesson / (loss + high)) - answers, 0) + 1e-9 * total
