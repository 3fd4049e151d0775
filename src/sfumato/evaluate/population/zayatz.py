"""Population uniques from the chance that a sample unique is a population unique.

L. Zayatz, *Estimation of the number of unique population elements using a sample*, American Statistical Association,
Proceedings of the Section on Survey Research Methods, 1991. Class sizes of the population are taken to be distributed
as those of the sample; Bayes' rule then gives the chance that a class of one row was drawn from a class of one person.
Since a sample has relatively more small classes than its population, the estimate is too high for small fractions.
"""

from __future__ import annotations

import numpy as np

from sfumato.evaluate.population.sampled import Floats, SampledClasses


def zayatz_uniques(sample: SampledClasses) -> float:
    """Return the estimated number of population uniques; it always exists.

    >>> round(zayatz_uniques(SampledClasses.of(np.repeat([1, 2, 3], [60, 20, 10]), 1300)))
    299
    """
    if not sample.uniques:
        return 0.0
    shares = sample.numbers / sample.classes
    from_one = shares[sample.sizes == 1].sum() * sample.fraction
    chance = float(from_one / (shares @ chance_of_one(sample)))
    return sample.uniques * chance / sample.fraction


def chance_of_one(sample: SampledClasses) -> Floats:
    """Return, for classes of the sizes that occur, the chance that exactly one of the members is drawn.

    The law is hypergeometric: i·C(N-i, n-1)/C(N, n).

    >>> chance_of_one(SampledClasses.of(np.array([1, 2]), 6)).round(9).tolist()
    [0.5, 0.6]
    """
    from scipy.special import gammaln

    left, size = sample.population - sample.rows, sample.sizes
    possible = left - size + 2 > 0
    fits = np.where(possible, size, 1.0)
    others = gammaln(left + 1) - gammaln(left - fits + 2)  # log of left!/(left - i + 1)!
    places = gammaln(sample.population) - gammaln(sample.population - fits + 1)
    chance: Floats = np.where(possible, size * sample.fraction * np.exp(others - places), 0.0)
    return chance
