"""How many people somebody who knows the keys of the whole population is expected to find again in the sample.

A person whose key F people of the population share is found with the chance 1/F; the expected number adds these chances
over all rows (Franconi & Polettini 2004). Benedetti & Franconi's risk takes every key of the population to be met in
the sample, and is too low where many are not (Rinott 2003); under Pitman's formula people with keys that were never met
are allowed for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import numpy as np

from sfumato.evaluate.population.individual import inverse_variance, mean_inverse
from sfumato.evaluate.population.interval import NORMAL, delta_error
from sfumato.evaluate.population.pitman import Fit, PitmanFit, fit_pitman, pitman_fits
from sfumato.evaluate.population.sampled import Floats, SampledClasses

CLASSIC, UNSEEN = "Benedetti & Franconi", "Pitman"
UNMET = "no solution: Pitman's formula cannot be fitted to this table"
NO_ERROR = "the interval leaves the error of Pitman's parameters out: a neighbouring sample has no solution"


class RowsFoundAgain(msgspec.Struct, frozen=True):
    """The expected number of rows found again, its 95 % interval, their share of all rows, and the highest risk.

    >>> RowsFoundAgain("Pitman", 12.0, 8.0, 16.0, share=0.12, highest=0.5).expected
    12.0
    """

    method: str
    expected: float | None
    low: float | None = None
    high: float | None = None
    share: float | None = None
    highest: float | None = None
    note: str = ""


def classic_risks(frequencies: Floats, shares: Floats) -> Floats:
    """Return Benedetti & Franconi's risk of each class, from its frequency and the share drawn of its people.

    >>> classic_risks(np.array([1.0, 3.0]), np.array([0.02, 0.02])).round(4).tolist()
    [0.0798, 0.0098]
    """
    return mean_inverse(frequencies, shares)


def unseen_shares(shares: Floats, sample: SampledClasses, fit: PitmanFit) -> Floats:
    """Return the share drawn of the people of keys that were met: larger, as some of the others' keys were never met.

    >>> sample = SampledClasses.of(np.array([1, 1, 2]), 40)
    >>> unseen_shares(np.array([0.1]), sample, PitmanFit(theta=4.0, alpha=0.2)).round(4).tolist()
    [0.1818]
    """
    odds = (1 - shares) / shares * sample.rows / (sample.rows + max(fit.theta, 0.0))
    return np.asarray(1 / (1 + odds), dtype=np.float64)


def unseen_risks(frequencies: Floats, shares: Floats, sample: SampledClasses) -> Floats | None:
    """Return the risk of each class under Pitman's formula; None where it cannot be fitted.

    >>> sample = SampledClasses.of(np.repeat([1, 2, 3], [60, 20, 10]), 6500)
    >>> unseen_risks(np.array([1.0, 3.0]), np.array([0.02, 0.02]), sample).round(2).tolist()
    [0.03, 0.02]
    """
    fit = fit_pitman(sample)
    return None if fit is None else mean_inverse(frequencies, unseen_shares(shares, sample, fit), fit.alpha)


def classic_total(frequencies: Floats, shares: Floats) -> RowsFoundAgain:
    """Return Benedetti & Franconi's expected number; the interval takes each share as known.

    >>> classic_total(np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    RowsFoundAgain(method='Benedetti & Franconi', expected=2.0, low=2.0, high=2.0, share=1.0, highest=1.0, note='')
    """
    kinds = _Kinds.of(frequencies, shares)
    variance = float(kinds.squares @ inverse_variance(kinds.frequencies, kinds.shares))
    return kinds.total(CLASSIC, classic_risks(kinds.frequencies, kinds.shares), math.sqrt(variance))


def unseen_total(frequencies: Floats, shares: Floats, sample: SampledClasses) -> RowsFoundAgain:
    """Return the expected number under Pitman's formula; the interval covers its parameters' error.

    Where the sample does not tell α = 0 from a negative α, the interval holds those of both.

    >>> unseen_total(np.array([1.0, 1.0]), np.array([0.1, 0.1]), SampledClasses.of(np.array([1, 1]), 20)).note
    "no solution: Pitman's formula cannot be fitted to this table"
    """
    kinds = _Kinds.of(frequencies, shares)
    totals = [_unseen_total(kinds, sample, fit) for fit in pitman_fits(sample)]
    lows, highs = (
        [one.low for one in totals if one.low is not None],
        [one.high for one in totals if one.high is not None],
    )
    if not lows or not highs or totals[0].expected is None:
        return totals[0]
    return msgspec.structs.replace(totals[0], low=min(lows), high=max(highs))


def _unseen_total(kinds: _Kinds, sample: SampledClasses, how: Fit) -> RowsFoundAgain:
    fit = how(sample)
    if fit is None:
        return RowsFoundAgain(UNSEEN, None, note=UNMET)
    met = unseen_shares(kinds.shares, sample, fit)
    risks = mean_inverse(kinds.frequencies, met, fit.alpha)
    variance = float(kinds.squares @ inverse_variance(kinds.frequencies, met, fit.alpha))

    def total(near: SampledClasses) -> float | None:
        other = how(near)
        if other is None:
            return None
        return float(
            kinds.rows @ mean_inverse(kinds.frequencies, unseen_shares(kinds.shares, sample, other), other.alpha)
        )

    error = delta_error(total, sample, float(kinds.rows @ risks))
    note = NO_ERROR if error is None else ""
    return kinds.total(UNSEEN, risks, math.hypot(math.sqrt(variance), error or 0.0), note)


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Classes that have a frequency and a share in common, and how many there are of each kind."""

    frequencies: Floats
    shares: Floats
    numbers: Floats

    @classmethod
    def of(cls, frequencies: Floats, shares: Floats) -> _Kinds:
        kinds, numbers = np.unique(np.stack([frequencies, shares]), axis=1, return_counts=True)
        return cls(kinds[0], kinds[1], numbers.astype(np.float64))

    @property
    def rows(self) -> Floats:
        return self.frequencies * self.numbers

    @property
    def squares(self) -> Floats:
        return self.frequencies**2 * self.numbers

    def total(self, method: str, risks: Floats, error: float, note: str = "") -> RowsFoundAgain:
        rows, expected = float(self.rows.sum()), float(self.rows @ risks)
        low, high = max(0.0, expected - NORMAL * error), min(rows, expected + NORMAL * error)
        return RowsFoundAgain(method, expected, low, high, expected / rows, float(risks.max()), note)
