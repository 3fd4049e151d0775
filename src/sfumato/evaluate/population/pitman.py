"""Population uniques by Pitman's sampling formula, fitted by maximum likelihood.

N. Hoshino, *Applying Pitman's sampling formula to microdata disclosure risk assessment*, Journal of Official Statistics
17, 2001. The formula has two parameters (Pitman 1995): 0 ≤ α < 1 with θ > -α, where new keys never end and α = 0 is
Ewens' formula, or α < 0 with θ = m|α|, where m keys exist in all. The likelihood is maximised by bracketing: for each α
the score has a root in θ, and the profile score is then a function of α alone. A negative α lowers every risk, so it is
taken only where the sample shows it: where a likelihood-ratio test at 5 % rejects α = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.evaluate.population.sampled import Floats, SampledClasses

LEAST_ALPHA, MOST_ALPHA = 1e-3, 1 - 1e-9  # nearer to 0 than the least, α is 0
MOST_EVEN = 1e4  # of -α: keys are then as even as chance allows
SHOWN = 1.92  # half the 95 % quantile of χ² with one degree of freedom
LARGE = 1e5  # from here on ψ is its asymptotic series
FURTHEST = 30.0  # of the logarithm of θ above its least value


Fit = Callable[[SampledClasses], "PitmanFit | None"]


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
    """Return the most likely parameters, with a negative α only where α = 0 is rejected; None without a maximum.

    There is none where all rows are unique (θ grows without end), or all lie in one class.

    >>> import numpy as np
    >>> fit_pitman(SampledClasses.of(np.array([1, 1, 1]), 30)) is None
    True
    """
    return pitman_fits(sample)[0](sample)


def pitman_fits(sample: SampledClasses) -> list[Fit]:
    """Return the ways to fit that the sample does not tell apart, the one that is taken first.

    >>> import numpy as np
    >>> sizes = np.repeat([1, 2, 3, 5, 9], [60, 20, 9, 4, 1])
    >>> [fit.__name__ for fit in pitman_fits(SampledClasses.of(sizes, 1560))]
    ['fit_ewens', 'fit_even']
    """
    if _has_maximum(sample) and _profile(sample, LEAST_ALPHA) > 0:
        return [fit_rare]
    ewens, even = fit_ewens(sample), fit_even(sample)
    if ewens is None or even is None or ewens == even:
        return [fit_ewens]
    gain = _log_likelihood(sample, even) - _log_likelihood(sample, ewens)
    return [fit_even] if gain > SHOWN else [fit_ewens, fit_even]


def fit_ewens(sample: SampledClasses) -> PitmanFit | None:
    """Return the most likely θ for α = 0.

    >>> import numpy as np
    >>> round(fit_ewens(SampledClasses.of(np.repeat([1, 2], [60, 20]), 1000)).theta)
    184
    """
    return _at(sample, 0.0) if _has_maximum(sample) else None


def fit_rare(sample: SampledClasses) -> PitmanFit | None:
    """Return the most likely parameters with 0 ≤ α < 1.

    >>> import numpy as np
    >>> round(fit_rare(SampledClasses.of(np.repeat([1, 2, 9], [60, 5, 2]), 1000)).alpha, 2)
    0.88
    """
    if not _has_maximum(sample) or _profile(sample, LEAST_ALPHA) <= 0:
        return fit_ewens(sample)
    alpha = _root(sample, LEAST_ALPHA, MOST_ALPHA)
    return None if alpha is None else _at(sample, alpha)


def fit_even(sample: SampledClasses) -> PitmanFit | None:
    """Return the most likely parameters with α ≤ 0.

    >>> import numpy as np
    >>> fit_even(SampledClasses.of(np.repeat([1, 2], [60, 20]), 1000)).alpha
    -10000.0
    """
    if not _has_maximum(sample) or _profile(sample, -LEAST_ALPHA) >= 0:
        return fit_ewens(sample)
    if _profile(sample, -MOST_EVEN) <= 0:
        return _at(sample, -MOST_EVEN)
    alpha = _root(sample, -MOST_EVEN, -LEAST_ALPHA)
    return None if alpha is None else _at(sample, alpha)


def pitman_uniques(sample: SampledClasses) -> float | None:
    """Return the expected number of population uniques under Pitman's formula, None where it cannot be fitted.

    >>> import numpy as np
    >>> sizes = np.repeat([1, 2, 3, 5, 9], [60, 20, 9, 4, 1])
    >>> round(pitman_uniques(SampledClasses.of(sizes, 1560)))
    93
    """
    fit = fit_pitman(sample)
    return None if fit is None else fit.uniques(sample.population)


def _has_maximum(sample: SampledClasses) -> bool:
    return 1 < sample.classes < sample.rows


def _at(sample: SampledClasses, alpha: float) -> PitmanFit | None:
    theta = _best_theta(sample, alpha)
    return None if theta is None else PitmanFit(theta, alpha)


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
    more = sample.classes - 1
    if alpha == 0:
        return more / theta
    first = theta / alpha + 1 if alpha > 0 else theta / -alpha - more
    return float(_rise(first, more)) / abs(alpha)


def _theta_score(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood in θ, times 1 + θ, which keeps its sign and its size."""
    rows = float(_rise(theta + 1, sample.rows - 1))
    return (1 + abs(theta)) * (_sum_over_classes(sample, alpha, theta) - rows)


def _alpha_score(sample: SampledClasses, alpha: float, theta: float) -> float:
    """Return the derivative of the log-likelihood in α."""
    founded = (sample.classes - 1 - theta * _sum_over_classes(sample, alpha, theta)) / alpha
    return founded - float(sample.numbers @ _rise(1 - alpha, sample.sizes - 1))


def _rise(first: float, more: float | Floats) -> Floats:
    """Return ψ(first + more) - ψ(first), the sum of 1/(first + i) for i below `more`; large numbers lose no digits."""
    from scipy.special import digamma

    if first < LARGE:
        return np.asarray(digamma(first + more) - digamma(first), dtype=np.float64)
    last = first + more
    return np.asarray(np.log1p(more / first) + more / (2 * first * last) + (first**-2 - last**-2) / 12)


def _log_likelihood(sample: SampledClasses, fit: PitmanFit) -> float:
    """Return the logarithm of the likelihood, but for what depends on the sample alone; α must not be positive."""
    from scipy.special import gammaln

    theta, even, more = fit.theta, -fit.alpha, sample.classes - 1
    if even:
        founded = more * math.log(even) + gammaln(theta / even) - gammaln(theta / even - more)
    else:
        founded = more * math.log(theta)
    joined = sample.numbers @ (gammaln(sample.sizes + even) - gammaln(1 + even))
    return float(founded + joined - gammaln(theta + sample.rows) + gammaln(theta + 1))
