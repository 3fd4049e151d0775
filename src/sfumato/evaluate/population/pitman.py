"""Population uniques by Pitman's sampling formula, fitted by maximum likelihood.

N. Hoshino, *Applying Pitman's sampling formula to microdata disclosure risk assessment*, Journal of Official Statistics
17, 2001. The formula has two parameters, 0 ≤ α < 1 and θ > -α; α = 0 is Ewens' formula. The likelihood is maximised by
bisection: for each α the score has one root in θ, and the profile score is then a function of α alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.evaluate.population.sampled import SampledClasses

LEAST_ALPHA, MOST_ALPHA = 1e-3, 1 - 1e-9  # below the least, α is 0
FURTHEST = 60.0  # of log(θ + α)


@dataclass(frozen=True)
class PitmanFit:
    """The two parameters of Pitman's sampling formula.

    >>> round(PitmanFit(theta=20.0, alpha=0.0).uniques(1001), 2)
    19.63
    """

    theta: float
    alpha: float

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
    lowest = _best_theta(sample, LEAST_ALPHA)
    if lowest is None or _alpha_score(sample, LEAST_ALPHA, lowest) <= 0:
        theta = _best_theta(sample, 0.0)
        return None if theta is None else PitmanFit(theta, 0.0)
    return _inside(sample)


def pitman_uniques(sample: SampledClasses) -> float | None:
    """Return the expected number of population uniques under Pitman's formula, None where it cannot be fitted.

    >>> import numpy as np
    >>> sizes = np.repeat([1, 2, 3, 5, 9], [60, 20, 9, 4, 1])
    >>> round(pitman_uniques(SampledClasses.of(sizes, 1560)))
    93
    """
    fit = fit_pitman(sample)
    return None if fit is None else fit.uniques(sample.population)


def _inside(sample: SampledClasses) -> PitmanFit | None:
    from scipy.optimize import brentq

    def profile(alpha: float) -> float:
        theta = _best_theta(sample, alpha)
        return -math.inf if theta is None else _alpha_score(sample, alpha, theta)

    if profile(MOST_ALPHA) >= 0:
        return None
    alpha = float(brentq(lambda each: max(-1e300, profile(each)), LEAST_ALPHA, MOST_ALPHA, xtol=1e-10))
    theta = _best_theta(sample, alpha)
    return None if theta is None else PitmanFit(theta, alpha)


def _best_theta(sample: SampledClasses, alpha: float) -> float | None:
    """Return the root of the score in θ, looked for on the scale of log(θ + α)."""
    from scipy.optimize import brentq

    def score(place: float) -> float:
        return _theta_score(sample, alpha, math.exp(place) - alpha)

    low, high = -FURTHEST / 2, FURTHEST / 2
    if score(low) <= 0 or score(high) >= 0:
        return None
    return math.exp(float(brentq(score, low, high, xtol=1e-13))) - alpha


def _sum_over_classes(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return Σ 1/(θ + iα) for i = 1 … u-1, by digamma functions."""
    from scipy.special import digamma

    if alpha == 0:
        return (sample.classes - 1) / theta
    place = theta / alpha
    return float(digamma(place + sample.classes) - digamma(place + 1)) / alpha


def _theta_score(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood in θ, times 1 + θ + α, which keeps its sign and its size."""
    from scipy.special import digamma

    rows = digamma(theta + sample.rows) - digamma(theta + 1)
    return (1 + theta + alpha) * float(_sum_over_classes(sample, alpha, theta) - rows)


def _alpha_score(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood in α."""
    from scipy.special import digamma

    founded = (sample.classes - 1 - theta * _sum_over_classes(sample, alpha, theta)) / alpha
    joined = sample.numbers @ (digamma(sample.sizes - alpha) - digamma(1 - alpha))
    return founded - float(joined)
