"""The chance that a match with a unique row is right, from the numbers of unique rows and of pairs alone.

C. Skinner & M. Elliot, *A measure of disclosure risk for microdata*, Journal of the Royal Statistical Society B 64,
2002. An intruder draws a person from the population and finds that a unique row of the sample matches; the measure is
the chance that the row is this person's. It assumes nothing about the population but that the sample was drawn at
random.
"""

from __future__ import annotations

import math

from sfumato.evaluate.population.interval import NORMAL
from sfumato.evaluate.population.sampled import SampledClasses


def chance_of_correct_match(sample: SampledClasses) -> float | None:
    """Return π·n₁ / (π·n₁ + 2(1 - π)·n₂), None where no row is unique.

    >>> import numpy as np
    >>> chance_of_correct_match(SampledClasses.of(np.repeat([1, 2], [40, 10]), 600))
    0.18181818181818182
    """
    right = sample.fraction * sample.uniques
    wrong = 2 * (1 - sample.fraction) * sample.pairs
    return right / (right + wrong) if right else None


def match_interval(sample: SampledClasses) -> tuple[float, float] | None:
    """Return a 95 % interval by the delta method on the logarithm of the odds; None without uniques or without pairs.

    >>> import numpy as np
    >>> [round(end, 2) for end in match_interval(SampledClasses.of(np.repeat([1, 2], [40, 10]), 600))]
    [0.1, 0.31]
    """
    chance = chance_of_correct_match(sample)
    if chance is None or not sample.pairs or sample.complete:
        return None
    error = NORMAL * math.sqrt(1 / sample.uniques + 1 / sample.pairs)
    odds = math.log(chance / (1 - chance))
    low, high = (1 / (1 + math.exp(-end)) for end in (odds - error, odds + error))
    return low, high
