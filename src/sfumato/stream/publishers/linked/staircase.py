"""The best that one ε-private report can tell about a number: staircase channels, and the single cut that is enough.

Kairouz, Oh & Viswanath (2014), "Extremal Mechanisms for Local Differential Privacy": a best channel answers sets with
likelihoods 1 and e^ε, and the best mixture is a linear programme; here the utility is the variance that is explained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.errors import ParameterError
from sfumato.stream.base import Numbers

MOST_SUBSETS = 14


@dataclass(frozen=True)
class Cut:
    """A cut before the value of index `place`, and the share of the variance that a report about it leaves."""

    place: int
    unexplained: float


def explained_variance(probabilities: Numbers, values: Numbers, truth: float) -> Numbers:
    """Return the variance that a report about each inner cut explains, the truth being told with probability `truth`.

    With μ the mean, T the sum of p(x)·(x−μ) above the cut and P the probability of the answer "above", the posterior
    means explain (2·truth−1)²·T²·(1/P + 1/(1−P)).

    >>> explained_variance(np.array([0.5, 0.5]), np.array([-1.0, 1.0]), 1.0).tolist()
    [1.0]
    """
    centred = probabilities * (values - probabilities @ values)
    above = np.cumsum(probabilities[::-1])[::-1][1:]
    moment = np.cumsum(centred[::-1])[::-1][1:]
    answered = np.clip(above * truth + (1 - above) * (1 - truth), 1e-12, 1 - 1e-12)
    found: Numbers = (2 * truth - 1) ** 2 * moment**2 * (1 / answered + 1 / (1 - answered))
    return found


def best_cut(probabilities: Numbers, values: Numbers, truth: float) -> Cut:
    """Return the cut whose side, told truly with probability `truth`, predicts a number best.

    >>> cut = best_cut(np.full(4, 0.25), np.array([0.0, 1.0, 9.0, 10.0]), 1.0)
    >>> cut.place, round(cut.unexplained, 4)
    (2, 0.0122)
    """
    told = explained_variance(probabilities, values, truth)
    variance = float(probabilities @ (values - probabilities @ values) ** 2)
    place = int(np.argmax(told))
    return Cut(place + 1, 1 - float(told[place]) / variance if variance > 0 else 1.0)


def optimum(probabilities: Numbers, values: Numbers, epsilon: float) -> float:
    """Return the least share of the variance that any ε-private report leaves, by the linear programme.

    All sets of values are tried for up to 14 values; for more, all intervals and their complements.

    >>> few = np.full(4, 0.25), np.array([0.0, 1.0, 9.0, 10.0])
    >>> bool(optimum(*few, 1.0) <= best_cut(*few, math.e / (1 + math.e)).unexplained + 1e-9)
    True
    """
    from scipy.optimize import linprog

    likelihoods = 1 + (math.exp(epsilon) - 1) * _sets(len(values))
    centred = values - probabilities @ values
    variance = float(probabilities @ centred**2)
    if variance <= 0:
        raise ParameterError("the values of a staircase programme are all the same; give at least two")
    utility = (likelihoods @ (probabilities * centred)) ** 2 / (likelihoods @ probabilities)
    found = linprog(-utility, A_eq=likelihoods.T, b_eq=np.ones(len(values)), method="highs")
    return 1 + float(found.fun) / variance


def _sets(size: int) -> Numbers:
    """Return a row of zeros and ones for each set of values that is tried."""
    if size <= MOST_SUBSETS:
        codes = np.arange(2**size)[:, None]
        return (codes >> np.arange(size) & 1).astype(np.float64)
    places = np.arange(size)
    inside = np.array([(low <= places) & (places < high) for low, high in combinations(range(size + 1), 2)])
    return np.concatenate([inside, ~inside]).astype(np.float64)
