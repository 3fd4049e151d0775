"""An interval around an estimate that reads only how many classes have each size: the delta method over classes.

Numbers of classes are taken as Poisson numbers that add up to the rows drawn. The derivative in each number is the
change that one class more makes, as in the infinitesimal jackknife (Efron 1982). It covers the chance of sampling, not
that a model is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.evaluate.population.sampled import Floats, SampledClasses

LEVEL = 0.95
NORMAL = 1.959963984540054  # the standard normal's quantile at 0.975
MOST_SIZES = 60  # at which derivatives are taken; between them they are interpolated
Estimator = Callable[[SampledClasses], float | None]


def delta_interval(estimator: Estimator, sample: SampledClasses, value: float) -> tuple[float, float] | None:
    """Return the ends of a 95 % interval, on the scale of logarithms; None where a neighbour has no estimate.

    >>> sample = SampledClasses.of(np.repeat([1, 2], [100, 50]), 2000)
    >>> low, high = delta_interval(lambda near: near.uniques / near.fraction, sample, 1000)
    >>> round(low), round(high)
    (853, 1172)
    """
    if value <= 0:
        return (0.0, 0.0) if value == 0 else None
    error = delta_error(estimator, sample, value)
    if error is None:
        return None
    spread = math.exp(min(700.0, NORMAL * error / value))
    return value / spread, min(value * spread, sample.population)


def delta_error(estimator: Estimator, sample: SampledClasses, value: float) -> float | None:
    """Return the standard error of an estimate; None where a neighbour has no estimate.

    >>> round(delta_error(lambda near: near.uniques, SampledClasses.of(np.repeat([1, 2], [100, 50]), 2000), 100), 2)
    8.16
    """
    changes = _derivatives(estimator, sample, value)
    if changes is None:
        return None
    sizes, numbers = sample.sizes, sample.numbers
    slope = (sizes * numbers) @ changes / ((sizes**2) @ numbers)  # rows drawn are given: what moves them is left out
    return math.sqrt(float(numbers @ (changes - slope * sizes) ** 2))


def _derivatives(estimator: Estimator, sample: SampledClasses, value: float) -> Floats | None:
    """Return what one class more of each size changes."""
    places = np.arange(len(sample.sizes))
    if len(places) > MOST_SIZES:
        places = np.unique(np.geomspace(1, len(places), MOST_SIZES).round().astype(int)) - 1
    moved = [estimator(sample.with_more(int(place), 1.0)) for place in places]
    found = [after - value for after in moved if after is not None]
    if len(found) < len(places):
        return None
    return np.interp(np.log(sample.sizes), np.log(sample.sizes[places]), found)
