"""Population uniques by the slide negative binomial law of class sizes.

G. Chen & S. Keller-McNulty, *Estimation of identification disclosure risk in microdata*, Journal of Official Statistics
14, 1998. The size of a population class is one more than a negative binomial number with parameters a and b. Sampling
keeps each person with the fraction π; the expected numbers of sample classes of one and two then give a and b. The
number K of population classes comes from the third estimator of Haas & Stokes (*Estimating the number of classes in a
finite population*, JASA 93, 1998), as Dankar et al. 2012 take it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.evaluate.population.sampled import SampledClasses

GRID = np.linspace(-14.0, 14.0, 281)  # of log(b / (1 - b)), where a change of sign is looked for


def slide_uniques(sample: SampledClasses) -> float | None:
    """Return the estimated number of population uniques, None where no parameters give the sample's counts.

    Where several do, those count whose population is nearest to the declared size.

    >>> round(slide_uniques(SampledClasses.of(np.repeat([1, 2, 3, 4], [120, 60, 30, 15]), 1950)))
    94
    """
    if not sample.uniques or not sample.pairs:
        return None
    classes = population_classes(sample)
    found = [(a, b) for b in _roots(sample, classes) if (a := _shape(sample, b)) is not None]
    if not found:
        return None
    near = [abs(math.log(classes * (1 + a * (1 - b) / b) / sample.population)) for a, b in found]
    a, b = found[int(np.argmin(near))]
    return classes * math.exp(a * math.log(b))


def population_classes(sample: SampledClasses) -> float:
    """Return the estimated number of classes in the population (Haas & Stokes 1998, after Shlosser 1981).

    >>> round(population_classes(SampledClasses.of(np.repeat([1, 2], [10, 10]), 60)), 1)
    26.2
    """
    sizes, numbers, share = sample.sizes, sample.numbers, sample.fraction
    missed = numbers * (1 - share) ** sizes
    first = (sizes * share**2 * (1 - share**2) ** (sizes - 1)) @ numbers
    second = missed @ ((1 + share) ** np.minimum(sizes, 700 / math.log1p(share)) - 1)
    third = missed.sum() / ((sizes * share * (1 - share) ** (sizes - 1)) @ numbers)
    return sample.classes + sample.uniques * float(first / second * third**2)


def _shape(sample: SampledClasses, b: float) -> float | None:
    """Return the a that gives the sample's ratio of pairs to uniques under b: the positive root of a quadratic."""
    share, ratio = sample.fraction, sample.pairs / sample.uniques
    missed = (1 - b) * (1 - share)
    kept = 1 - missed
    square = (1 - b) * share * missed
    linear = (1 - b) * share * (2 - missed) - 2 * ratio * kept * missed
    constant = -2 * ratio * kept**2
    root = math.sqrt(linear**2 - 4 * square * constant)
    below = linear + root if linear > 0 else root - linear
    if not square or not below:
        return None
    return -2 * constant / below if linear > 0 else below / (2 * square)


def _excess(sample: SampledClasses, classes: float, b: float) -> float:
    """Return how far the logarithm of the expected number of sample uniques lies above that of the true number."""
    a = _shape(sample, b)
    if a is None or not math.isfinite(a):
        return math.nan
    missed = (1 - b) * (1 - sample.fraction)
    kept = 1 - missed
    expected = math.log(classes * sample.fraction) + a * math.log(b / kept) + math.log1p(a * missed / kept)
    return expected - math.log(sample.uniques)


def _roots(sample: SampledClasses, classes: float) -> list[float]:
    from scipy.optimize import brentq

    def excess(place: float) -> float:
        return _excess(sample, classes, 1 / (1 + math.exp(-place)))

    values = np.array([excess(place) for place in GRID])
    changes = np.flatnonzero(np.signbit(values[1:]) != np.signbit(values[:-1]))
    sound = [place for place in changes if np.isfinite(values[place : place + 2]).all()]
    roots = [float(brentq(excess, GRID[place], GRID[place + 1], xtol=1e-12)) for place in sound]
    return [1 / (1 + math.exp(-root)) for root in roots]
