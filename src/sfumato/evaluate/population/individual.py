"""The risk of one person: the expected value of 1/F, where F people of the population share the person's key.

R. Benedetti & L. Franconi, *Statistical and technological solutions for controlled data dissemination*, NTTS 1998; L.
Franconi & S. Polettini, *Individual risk estimation in μ-Argus*, PSD 2004. Given a sample frequency f, the number F - f
of people who were not drawn is negative binomial with shape f and chance p, the share drawn of the key's people.

Under Pitman's formula with parameter α the shape is f - α: a key that was met f times has fewer people unseen, since
some of them belong to keys that were never met. Benedetti & Franconi's risk is the case α = 0. A negative α means that
keys are few and even.
"""

from __future__ import annotations

import numpy as np

from sfumato.evaluate.population.sampled import Floats

LARGE = 50  # from here on the series needs few terms whatever p is
TERMS = 120
NODES = 200
BY_LEADING_TERM = 100  # from this frequency on the variance is its leading term


def mean_inverse(frequencies: Floats, shares: Floats, alpha: float = 0.0) -> Floats:
    """Return E[1/F | f] = (p/f)·₂F₁(1 + α, 1; f + 1; 1 - p) for frequencies f and shares p.

    The closed form for f = 1 is carried on to f = 2, 3, … by a recurrence that loses no digits while p < 1/2. The
    hypergeometric series serves where p is at least 1/2 or f large: its terms are positive and fall geometrically.
    Under a negative α they would not be; there E[1/F] is an integral, and from f = 100 on its two leading terms.

    >>> mean_inverse(np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.1, 1.0])).round(6).tolist()
    [0.255843, 0.082684, 0.2]
    """
    frequencies, shares = np.broadcast_arrays(np.asarray(frequencies, float), np.minimum(shares, 1.0))
    pairs, places = np.unique(np.stack([frequencies, shares]), axis=1, return_inverse=True)
    f, p = pairs
    if alpha < 0:
        return _mean_inverse_even(f, p, alpha)[places.reshape(-1)].reshape(frequencies.shape)
    found = np.empty(len(f))
    series = (p >= 0.5) | (f >= LARGE)
    found[series] = _by_series(f[series], p[series], alpha)
    found[~series] = _by_recurrence(f[~series], p[~series], alpha)
    return found[places.reshape(-1)].reshape(frequencies.shape)


def _mean_inverse_even(f: Floats, p: Floats, alpha: float) -> Floats:
    mean, variance = _moments(f, p, alpha)
    found: Floats = (1 + variance / mean**2) / mean
    some = (f < BY_LEADING_TERM) & (p < 1)
    found[some] = _integral(f[some], p[some], alpha, squared=False)
    return found


def _moments(f: Floats, p: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return the mean and the variance of F."""
    return f + (f - alpha) * (1 - p) / p, (f - alpha) * (1 - p) / p**2


def _by_series(f: Floats, p: Floats, alpha: float) -> Floats:
    total, term = np.ones(len(f)), np.ones(len(f))
    for step in range(TERMS):
        term = term * (1 + alpha + step) / (f + 1 + step) * (1 - p)
        total += term
    risk: Floats = p / f * total
    return risk


def _by_recurrence(f: Floats, p: Floats, alpha: float) -> Floats:
    q = 1 - p
    integral = -np.log(p) / q if alpha == 0 else np.expm1(-alpha * np.log(p)) / (alpha * q)
    found = p * integral
    for size in range(2, int(f.max(initial=1)) + 1):
        integral = (1 - (size - 1) * p * integral) / (q * (size - 1 - alpha))
        found = np.where(f == size, p * integral, found)
    return found


def inverse_variance(frequencies: Floats, shares: Floats, alpha: float = 0.0) -> Floats:
    """Return the variance of 1/F given f, for frequencies f and shares p.

    E[1/F²] is integrated by Gauss and Legendre's rule; from a frequency of 100 on the leading term stands for it all,
    which is p²(1 - p)/f³ for α = 0.

    >>> inverse_variance(np.array([1.0, 2.0]), np.array([0.1, 1.0])).round(6).tolist()
    [0.078957, 0.0]
    """
    frequencies, shares = np.broadcast_arrays(np.asarray(frequencies, float), np.minimum(shares, 1.0))
    pairs, places = np.unique(np.stack([frequencies, shares]), axis=1, return_inverse=True)
    f, p = pairs
    mean, spread = _moments(f, p, alpha)
    found = spread / mean**4
    some = (f < BY_LEADING_TERM) & (p < 1)
    square = _integral(f[some], p[some], alpha, squared=True)
    found[some] = np.maximum(0.0, square - mean_inverse(f[some], p[some], alpha) ** 2)
    return found[places.reshape(-1)].reshape(frequencies.shape)


def _integral(f: Floats, p: Floats, alpha: float, *, squared: bool) -> Floats:
    """Return E[1/F] as the integral of E[exp(-tF)], or E[1/F²] as that of t·E[exp(-tF)], on a smooth scale."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    place = (nodes + 1) / 2
    total, span = np.zeros(len(f)), -np.log(p)
    for middle, weight in zip(place**3, weights * 1.5 * place**2, strict=True):
        odds = np.expm1(span * middle) * p / (1 - p)
        time = np.log1p(-p) - np.log(-np.expm1(-span * middle)) if squared else 1.0
        total += weight * time * odds ** (f - 1) * np.exp(alpha * span * (1 - middle)) * span * p / (1 - p)
    return total
