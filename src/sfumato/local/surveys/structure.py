"""A table of expected counts from noisy counts of several views: shrink, then fit, view after view.

The collector starts from equal counts and pulls the table towards what each view's reports say: empirical Bayes
shrinkage (Efron & Morris 1973; Morris 1983) of the view's estimates towards the table so far, then one step of
iterative proportional fitting (Deming & Stephan 1940). All of it is post-processing of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Codes, Reals
from sfumato.local.surveys.survey import Crossing, View

DISPERSIONS = np.geomspace(1e-4, 30.0, 80)  # squared relative deviation of a view's cells from the table so far
EVIDENCE = 2.0  # a view that raises the log-likelihood by less says nothing that noise would not
LARGE = 30.0  # from here the median follows its expansion λ + 1/3 - 0.02/λ (Choi 1994)


@dataclass(frozen=True, eq=False)
class Observed:
    """What the reports of a view say: unbiased counts, and their variance for an empty cell and for every one in it.

    >>> seen = Observed(View(("hour",), 1.0), np.array([40.0, 60.0]), noise=9.0, slope=0.5)
    >>> seen.variance(np.array([0.0, 10.0])).tolist()
    [9.0, 14.0]
    """

    view: View
    counts: Reals
    noise: float
    slope: float

    def variance(self, counts: Reals) -> Reals:
        """The variance of each count if the true ones were these."""
        return self.noise + self.slope * counts


def fit(crossing: Crossing, observed: Sequence[Observed], users: float) -> Reals:
    """Return expected counts for every cell that agree with all views as far as their reports are to be trusted.

    >>> from sfumato.local.surveys.survey import Axis
    >>> crossing = Crossing([Axis("sex", ("f", "m")), Axis("hour", ("8", "17"))])
    >>> sure = [Observed(View((name,), 0.5), np.array(counts), 1.0, 0.0)
    ...         for name, counts in (("sex", [80.0, 20.0]), ("hour", [50.0, 50.0]))]
    >>> fit(crossing, sure, 100).round(0).tolist()
    [[40.0, 40.0], [10.0, 10.0]]
    """
    table = np.full(crossing.shape, users / np.prod(crossing.shape))
    for entry in observed:
        expected = crossing.project(table, entry.view)
        believed = shrink(entry.counts, expected, entry.variance(expected))
        believed *= users / believed.sum()
        factors = np.divide(believed, expected, out=np.zeros_like(expected), where=expected > 0)
        table = table * factors[crossing.cells(entry.view)]
    return table


def shrink(estimates: Reals, expected: Reals, variance: Reals) -> Reals:
    """Return estimates drawn towards what was expected of them, more so the noisier they are.

    True counts are taken to lie around the expected ones with a standard deviation proportional to these; the factor
    is the likeliest for the estimates at hand, and nothing moves unless it explains them clearly better than noise.

    >>> shrink(np.array([130.0, 70.0]), np.array([100.0, 100.0]), np.array([1e6, 1e6])).tolist()
    [100.0, 100.0]
    """
    residual = estimates - expected
    spread = DISPERSIONS[:, None] * expected**2 + variance
    gain = (np.log(variance) + residual**2 / variance - np.log(spread) - residual**2 / spread).sum(axis=1) / 2
    best = int(gain.argmax())
    if gain[best] < EVIDENCE:
        return expected.copy()
    weight = 1.0 - variance / spread[best]
    believed: Reals = np.maximum(expected + weight * residual, 0.0)
    return believed


def likeliest_middle(expected: Reals) -> Codes:
    """Return for each cell the median of a Poisson count with that expectation: the answer of least absolute error.

    >>> likeliest_middle(np.array([0.5, 0.8, 3.0])).tolist()
    [0, 1, 3]
    """
    middle = np.zeros(expected.shape, dtype=np.int64)
    mass = np.exp(-expected)
    below = mass.copy()
    large = expected > LARGE
    for count in range(1, int(LARGE) + 8):
        middle += below < 0.5
        mass = mass * expected / count
        below += mass
    far = np.floor(expected + 1 / 3 - 0.02 / np.maximum(expected, 1.0))
    return np.where(large, far, middle).astype(np.int64)
