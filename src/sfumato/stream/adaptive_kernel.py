"""What a window's noisy counts mean, compiled: a hidden Markov model along the bins, and its posterior moments.

Forward-backward after Baum, Petrie, Soules & Weiss (1970). A bin is empty (state 0), as full as the long run says
(state 1), or as full as one of a few rates says (the others); neighbouring bins tend to share their state, and how much
they do is learnt from windows released before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.kernel import kernel

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@kernel
def bin_counts(values: Numbers, low: float, width: float, default: int, bins: Integers, count: int) -> Integers:
    """Return how many values fall in each of `count` bins; `bins` has the bin of each cell of the public grid."""
    found = np.zeros(count, dtype=np.int64)
    last = bins.size - 1
    for value in values:
        cell = (value - low) / width
        found[bins[default if np.isnan(cell) else int(min(max(cell, 0.0), float(last)))]] += 1
    return found


@kernel
def emissions(
    observed: Integers,
    expected: Numbers,
    follow: Integers,
    rates: Numbers,
    rate_rows: Integers,
    slack: float,
    likelihood: Numbers,
    lowest: int,
) -> tuple[Numbers, Integers, Integers]:
    """Return each bin's likelihood under each state, with the rows and columns of the tables that belong to them.

    By Markov's inequality a bin of long-run mean m has a rate λ in at most m/λ of the windows: that is its weight.
    """
    bins, states = observed.size, rates.size + 2
    chance, rows = np.empty((bins, states)), np.empty((bins, states), dtype=np.int64)
    columns = np.empty(bins, dtype=np.int64)
    for place in range(bins):
        column = min(max(observed[place] - lowest, 0), likelihood.shape[1] - 1)
        columns[place] = column
        rows[place, 0], rows[place, 1] = likelihood.shape[0] - 1, follow[place]
        chance[place, 0], chance[place, 1] = likelihood[rows[place, 0], column], likelihood[rows[place, 1], column]
        for rate in range(rates.size):
            weight = min(1.0, (expected[place] + slack) / rates[rate])
            rows[place, rate + 2] = rate_rows[rate]
            chance[place, rate + 2] = likelihood[rate_rows[rate], column] * weight
    return chance, rows, columns


@kernel
def forward_backward(chance: Numbers, transition: Numbers, start: Numbers) -> tuple[Numbers, Numbers]:
    """Return the posterior probability of each bin's state, and the expected number of steps between states.

    Inner loops run over a whole row, so that they are done several states at a time.
    """
    bins, states = chance.shape
    posterior = np.zeros((bins, states))
    backwards = transition.T.copy()
    for place in range(bins):
        if place == 0:
            posterior[0] = start
        else:
            for other in range(states):
                before = posterior[place - 1, other]
                for state in range(states):
                    posterior[place, state] += before * transition[other, state]
        total = 0.0
        for state in range(states):
            posterior[place, state] *= chance[place, state]
            total += posterior[place, state]
        scale = 1 / total
        for state in range(states):
            posterior[place, state] *= scale
    steps = np.zeros((states, states))
    behind, ahead, weighted = np.ones(states), np.empty(states), np.empty(states)
    for place in range(bins - 2, -1, -1):
        total = 0.0
        for state in range(states):
            weighted[state] = chance[place + 1, state] * behind[state]
            ahead[state] = 0.0
        for other in range(states):
            for state in range(states):
                ahead[state] += backwards[other, state] * weighted[other]
        for state in range(states):
            total += posterior[place, state] * ahead[state]
        scale, largest = 1 / total, 1 / ahead.max()
        for state in range(states):
            share = posterior[place, state] * scale
            for other in range(states):
                steps[state, other] += share * weighted[other]
            posterior[place, state] = share * ahead[state]
            behind[state] = ahead[state] * largest
    return posterior, steps * transition


@kernel
def moments(
    posterior: Numbers, rows: Integers, columns: Integers, observed: Integers, mean: Numbers, variance: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the posterior mean and variance of each bin's count; a count beyond the tables stands as it is."""
    bins, states = posterior.shape
    means, variances = np.empty(bins), np.empty(bins)
    for place in range(bins):
        column = columns[place]
        first, second = 0.0, 0.0
        for state in range(states):
            value = mean[rows[place, state], column]
            first += posterior[place, state] * value
            second += posterior[place, state] * (variance[rows[place, state], column] + value * value)
        means[place], variances[place] = first, max(second - first * first, 1e-9)
        if column == mean.shape[1] - 1:
            means[place] = float(observed[place])
    return means, variances
