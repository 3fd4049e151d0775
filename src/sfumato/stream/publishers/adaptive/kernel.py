"""What a window's noisy counts mean, compiled: a hidden Markov model along the bins, and its posterior moments.

Forward-backward after Baum, Petrie, Soules & Weiss (1970). A bin is empty (state 0), as full as the long run says
(state 1), or as full as one of a few rates says (the others); neighbouring bins tend to share their state, and how much
they do is learnt from windows released before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

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
) -> tuple[Numbers, Integers, Integers]:
    """Return each bin's likelihood under each state, with the rows and columns of the tables that belong to them.

    By Markov's inequality a bin of long-run mean m has a rate λ in at most m/λ of the windows: that is its weight.
    """
    bins, states = observed.size, rates.size + 2
    chance, rows = np.empty((bins, states)), np.empty((bins, states), dtype=np.int64)
    columns = np.empty(bins, dtype=np.int64)
    for place in range(bins):
        column = min(max(observed[place], 0), likelihood.shape[1] - 1)
        columns[place] = column
        rows[place, 0], rows[place, 1] = likelihood.shape[0] - 1, follow[place]
        chance[place, 0], chance[place, 1] = likelihood[rows[place, 0], column], likelihood[rows[place, 1], column]
        for rate in range(rates.size):
            weight = min(1.0, (expected[place] + slack) / rates[rate])
            rows[place, rate + 2] = rate_rows[rate]
            chance[place, rate + 2] = likelihood[rate_rows[rate], column] * weight
    return chance, rows, columns


@kernel
def forward_backward(chance: Numbers, stay: Numbers, jump: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return each bin's posterior over states, and how often states are expected to stay, to be left, to be jumped to.

    From bin to bin a state stays with its own probability, or gives way to one drawn from a common law (itself
    included), so that a step costs as much as there are states, not its square.
    """
    bins, states = chance.shape
    posterior, leave = np.empty((bins, states)), 1 - stay
    leaving = 1.0
    for place in range(bins):
        total = 0.0
        for state in range(states):
            kept = stay[state] * posterior[place - 1, state] if place > 0 else 0.0
            posterior[place, state] = (kept + leaving * jump[state]) * chance[place, state]
            total += posterior[place, state]
        scale, leaving = 1 / total, 0.0
        for state in range(states):
            posterior[place, state] *= scale
            leaving += posterior[place, state] * leave[state]
    stays, leaves, jumps = np.zeros(states), np.zeros(states), np.zeros(states)
    behind, weighted = np.ones(states), np.empty(states)
    for place in range(bins - 2, -1, -1):
        landed, left, total = 0.0, 0.0, 0.0
        for state in range(states):
            weighted[state] = chance[place + 1, state] * behind[state]
            landed += jump[state] * weighted[state]
            left += posterior[place, state] * leave[state]
            total += posterior[place, state] * stay[state] * weighted[state]
        total += left * landed
        scale, largest = 1 / total, 0.0
        for state in range(states):
            stayed = posterior[place, state] * stay[state] * weighted[state] * scale
            gone = posterior[place, state] * leave[state] * landed * scale
            stays[state] += stayed
            leaves[state] += gone
            jumps[state] += left * jump[state] * weighted[state] * scale
            posterior[place, state] = stayed + gone
            behind[state] = stay[state] * weighted[state] + leave[state] * landed
            largest = max(largest, behind[state])
        for state in range(states):
            behind[state] /= largest
    return posterior, stays, leaves, jumps


@kernel
def moments(
    posterior: Numbers,
    rows: Integers,
    columns: Integers,
    observed: Integers,
    mean: Numbers,
    variance: Numbers,
    beyond: int,
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
        if observed[place] >= beyond:
            means[place] = float(observed[place])
    return means, variances
