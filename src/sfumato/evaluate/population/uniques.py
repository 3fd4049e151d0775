"""Population uniques by every estimator, which of them is usually taken, and a bound that needs no model.

F. Dankar, K. El Emam, A. Neisa & T. Roffey, *Estimating the re-identification risk of clinical data sets*, BMC Medical
Informatics and Decision Making 12:66, 2012, compare the estimators and give the rule: up to a sampling fraction of 10 %
Pitman's, or Zayatz's where Pitman's has no solution; above it the smaller one of Zayatz's and the slide negative
binomial's.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sfumato.evaluate.population.interval import LEVEL, Estimator, delta_interval
from sfumato.evaluate.population.pitman import Fit, fit_pitman, pitman_fits, pitman_uniques
from sfumato.evaluate.population.sampled import SampledClasses
from sfumato.evaluate.population.slide import slide_uniques
from sfumato.evaluate.population.zayatz import zayatz_uniques

PITMAN, ZAYATZ, SLIDE = "Pitman", "Zayatz", "slide negative binomial"
ESTIMATORS: Mapping[str, Estimator] = {PITMAN: pitman_uniques, ZAYATZ: zayatz_uniques, SLIDE: slide_uniques}
SMALL_FRACTION = 0.1
UNSOLVED = {
    PITMAN: "no solution: the likelihood of Pitman's formula has no maximum",
    SLIDE: "no solution: no parameters give the sample's numbers of uniques and pairs",
}
BOUNDARY = "α = 0, Ewens' formula: the sample shows neither rarer keys nor more even ones"
EVEN = "α is negative: keys are even, about {keys:,.0f} of them exist"
COUNTED = "the table is the whole population, so its unique rows are counted"


class UniquesEstimate(msgspec.Struct, frozen=True):
    """A number of population uniques by one estimator, with a 95 % interval for the chance of sampling.

    `value` is None where the equations have no solution, and `low` and `high` where no interval could be computed.

    >>> UniquesEstimate("Zayatz", 120.0, 100.0, 144.0).solved
    True
    """

    estimator: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def solved(self) -> bool:
        """Whether there is an estimate."""
        return self.value is not None


class UniquesChoice(msgspec.Struct, frozen=True):
    """The estimate that the rule takes, and why; `at_most` is a 95 % upper bound that needs no model.

    >>> import numpy as np
    >>> choice = estimate_uniques(SampledClasses.of(np.array([2, 3, 4]), 900)).choice
    >>> choice.estimator, choice.value, round(choice.at_most)
    ('Pitman', 0.0, 298)
    """

    estimator: str
    value: float
    why: str
    at_most: float


class PopulationUniques(msgspec.Struct, frozen=True):
    """Every estimate of the number of population uniques, and the one that is taken.

    >>> import numpy as np
    >>> found = estimate_uniques(SampledClasses.of(np.array([1, 1, 1]), 30))
    >>> [each.solved for each in found.estimates], found.choice.estimator
    ([False, True, False], 'Zayatz')
    """

    estimates: list[UniquesEstimate]
    choice: UniquesChoice


def estimate_uniques(sample: SampledClasses) -> PopulationUniques:
    """Return the estimates of all three estimators and the choice among them.

    >>> import numpy as np
    >>> sizes = np.repeat([1, 2, 3, 5, 9], [60, 20, 9, 4, 1])
    >>> estimate_uniques(SampledClasses.of(sizes, 1560)).choice.why
    'the sampling fraction is at most 10 %'
    """
    estimates = [_estimate(name, sample) for name in ESTIMATORS]
    return PopulationUniques(estimates, choose(estimates, sample))


def choose(estimates: list[UniquesEstimate], sample: SampledClasses) -> UniquesChoice:
    """Return the estimate that the rule of Dankar et al. 2012 takes.

    >>> import numpy as np
    >>> given = [UniquesEstimate(name, value) for name, value in zip(ESTIMATORS, (5.0, 4.0, 3.0), strict=True)]
    >>> choose(given, SampledClasses.of(np.array([1, 2]), 6)).estimator
    'slide negative binomial'
    """
    found = {each.estimator: each.value for each in estimates if each.value is not None}
    zayatz, limit = found[ZAYATZ], f"{SMALL_FRACTION:.0%}".replace("%", " %")
    if sample.fraction <= SMALL_FRACTION and PITMAN in found:
        name, why = PITMAN, f"the sampling fraction is at most {limit}"
    elif sample.fraction <= SMALL_FRACTION:
        name, why = ZAYATZ, f"the sampling fraction is at most {limit}, and Pitman's formula has no solution"
    elif found.get(SLIDE, zayatz) < zayatz:
        name, why = SLIDE, f"the sampling fraction is above {limit}, and Zayatz's estimate is larger"
    elif SLIDE in found:
        name, why = ZAYATZ, f"the sampling fraction is above {limit}, and the slide law's estimate is no smaller"
    else:
        name, why = ZAYATZ, f"the sampling fraction is above {limit}, and the slide law has no solution"
    return UniquesChoice(name, found[name], why, most_uniques(sample))


def most_uniques(sample: SampledClasses) -> float:
    """Return the largest number of population uniques that agrees with the sample, at 95 %, whatever the population is.

    Each population unique is drawn with the sampling fraction and is then a sample unique (Clopper & Pearson 1934).

    >>> import numpy as np
    >>> round(most_uniques(SampledClasses.of(np.array([1, 1, 18]), 400)))
    124
    """
    from scipy.optimize import brentq
    from scipy.special import betainc

    if sample.complete:
        return sample.uniques
    uniques, missed = sample.uniques, 1 - sample.fraction
    high = uniques + 1
    while betainc(high - uniques, uniques + 1, missed) > 1 - LEVEL:
        high *= 2
    bound = brentq(lambda many: betainc(many - uniques, uniques + 1, missed) - (1 - LEVEL), uniques + 1e-9, high)
    return min(float(bound), sample.population)


def _estimate(name: str, sample: SampledClasses) -> UniquesEstimate:
    if sample.complete or not sample.uniques:
        exact = sample.uniques
        note = COUNTED if sample.complete else "no row is unique"
        return UniquesEstimate(name, exact, exact, exact, note)
    value = ESTIMATORS[name](sample)
    if value is None:
        return UniquesEstimate(name, None, note=UNSOLVED[name])
    low, high = _interval(name, sample, value) or (None, None)
    notes = [note for note in [_pitman_note(sample)] if note and name == PITMAN]
    if value > sample.population:
        notes.append("more than the population has; the population's size is taken")
    if low is None:
        notes.append("no interval: a neighbouring sample has no solution")
    return UniquesEstimate(name, min(value, sample.population), low, high, "; ".join(notes))


def _interval(name: str, sample: SampledClasses, value: float) -> tuple[float, float] | None:
    """Return the ends of an interval; under Pitman's formula one that holds those of every fit that is not rejected."""
    if name != PITMAN:
        return delta_interval(ESTIMATORS[name], sample, value)
    ends = [_fitted_interval(fit, sample) for fit in pitman_fits(sample)]
    found = [one for one in ends if one is not None]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _fitted_interval(fit: Fit, sample: SampledClasses) -> tuple[float, float] | None:
    def estimator(near: SampledClasses) -> float | None:
        found = fit(near)
        return None if found is None else found.uniques(near.population)

    value = estimator(sample)
    return None if value is None else delta_interval(estimator, sample, value)


def _pitman_note(sample: SampledClasses) -> str:
    fit = fit_pitman(sample)
    if fit is None or fit.alpha > 0:
        return ""
    return BOUNDARY if fit.alpha == 0 else EVEN.format(keys=fit.keys)
