"""Population uniques by Pitman's sampling formula, fitted by maximum likelihood.

N. Hoshino, *Applying Pitman's sampling formula to microdata disclosure risk assessment*, Journal of Official Statistics
17, 2001. The formula has two parameters (Pitman 1995): 0 ≤ α < 1 with θ > -α, where new keys never end and α = 0 is
Ewens' formula, or α < 0 with θ = m|α|, where m keys exist in all. The likelihood is maximised by bracketing: for each α
the score has a root in θ, and the profile score is then a function of α alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.evaluate.population.sampled import SampledClasses

LEAST_ALPHA, MOST_ALPHA = 1e-3, 1 - 1e-9  # nearer to 0 than the least, α is 0
MOST_EVEN = 1e4  # of -α: keys are then as even as chance allows
FURTHEST = 30.0  # of the logarithm of θ above its least value


@dataclass(frozen=True)
class PitmanFit:
    """The two parameters of Pitman's sampling formula.

    >>> round(PitmanFit(theta=20.0, alpha=0.0).uniques(1001), 2)
    19.63
    >>> PitmanFit(theta=50.0, alpha=-0.5).keys
    100.0
    """

    theta: float
    alpha: float

    @property
    def keys(self) -> float:
        """The number of keys that exist, infinite unless α is negative."""
        return self.theta / -self.alpha if self.alpha < 0 else math.inf

    def uniques(self, people: float) -> float:
        """Return the expected number of classes of one among so many people."""
        from scipy.special import gammaln

        theta, alpha = self.theta, self.alpha
        inner = gammaln(theta + 1) - gammaln(theta + alpha)
        outer = gammaln(theta + alpha + people - 1) - gammaln(theta + people)
        return people * math.exp(inner + outer)


def fit_pitman(sample: SampledClasses) -> PitmanFit | None:
    """Return the most likely parameters; None where the likelihood has no maximum.

    That is so where all rows are unique (θ grows without end), or all lie in one class.

    >>> import numpy as np
    >>> fit_pitman(SampledClasses.of(np.array([1, 1, 1]), 30)) is None
    True
    """
    if not 1 < sample.classes < sample.rows:
        return None
    if _profile(sample, LEAST_ALPHA) > 0:
        alpha = _root(sample, LEAST_ALPHA, MOST_ALPHA)
    elif _profile(sample, -LEAST_ALPHA) > 0:
        alpha = 0.0
    elif _profile(sample, -MOST_EVEN) < 0:
        alpha = -MOST_EVEN
    else:
        alpha = _root(sample, -MOST_EVEN, -LEAST_ALPHA)
    theta = None if alpha is None else _best_theta(sample, alpha)
    return None if alpha is None or theta is None else PitmanFit(theta, alpha)


def pitman_uniques(sample: SampledClasses) -> float | None:
    """Return the expected number of population uniques under Pitman's formula, None where it cannot be fitted.

    >>> import numpy as np
    >>> sizes = np.repeat([1, 2, 3, 5, 9], [60, 20, 9, 4, 1])
    >>> round(pitman_uniques(SampledClasses.of(sizes, 1560)))
    84
    """
    fit = fit_pitman(sample)
    return None if fit is None else fit.uniques(sample.population)


def _root(sample: SampledClasses, low: float, high: float) -> float | None:
    """Return the α between two of one sign at which the profile score changes its sign, looked for on a log scale."""
    from scipy.optimize import brentq

    sign = math.copysign(1.0, low)
    ends = sorted((math.log(abs(low)), math.log(abs(high))))

    def score(place: float) -> float:
        return _profile(sample, sign * math.exp(place))

    if score(ends[0]) * score(ends[1]) >= 0:
        return None
    return sign * math.exp(float(brentq(score, *ends, xtol=1e-11)))


def _profile(sample: SampledClasses, alpha: float) -> float:
    """Return the score in α at the best θ; far below 0 where there is none."""
    theta = _best_theta(sample, alpha)
    return -1e300 if theta is None else _alpha_score(sample, alpha, theta)


def _best_theta(sample: SampledClasses, alpha: float) -> float | None:
    """Return the root of the score in θ, looked for on the logarithm of its distance from the least θ."""
    from scipy.optimize import brentq

    least = -alpha if alpha >= 0 else -alpha * (sample.classes - 1)

    def score(place: float) -> float:
        return _theta_score(sample, alpha, least + math.exp(place))

    low, high = (
        (-FURTHEST, FURTHEST) if alpha >= 0 else (math.log(least) - FURTHEST / 2, math.log(least) + FURTHEST / 2)
    )
    if score(low) <= 0 or score(high) >= 0:
        return None
    return least + math.exp(float(brentq(score, low, high, xtol=1e-13)))


def _sum_over_classes(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return Σ 1/(θ + iα) for i = 1 … u-1, by digamma functions."""
    from scipy.special import digamma

    if alpha == 0:
        return (sample.classes - 1) / theta
    if alpha < 0:
        keys = theta / -alpha
        return float(digamma(keys) - digamma(keys - sample.classes + 1)) / -alpha
    place = theta / alpha
    return float(digamma(place + sample.classes) - digamma(place + 1)) / alpha


def _theta_score(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood in θ, times 1 + θ, which keeps its sign and its size."""
    from scipy.special import digamma

    rows = digamma(theta + sample.rows) - digamma(theta + 1)
    return (1 + abs(theta)) * float(_sum_over_classes(sample, alpha, theta) - rows)


def _alpha_score(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood in α."""
    from scipy.special import digamma

    founded = (sample.classes - 1 - theta * _sum_over_classes(sample, alpha, theta)) / alpha
    joined = sample.numbers @ (digamma(sample.sizes - alpha) - digamma(1 - alpha))
    return founded - float(joined)
