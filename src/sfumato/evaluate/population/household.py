"""Households: the risk that at least one member is found again, which then holds for all of them.

Whoever finds one member learns who the others are (Hundepool et al. 2012, chapter 3; it is sdcMicro's household risk).
Members are taken to be found independently of each other.
"""

from __future__ import annotations

import msgspec
import numpy as np

from sfumato.evaluate.population.sampled import Floats, Int64s


class HouseholdRisk(msgspec.Struct, frozen=True):
    """How many households there are, the members of the largest, and the expected rows in households that are found.

    `unseen` is the expected number under Pitman's formula, None where it cannot be fitted.

    >>> HouseholdRisk(households=2, largest=2, expected=1.2, highest=0.5, unseen=1.9).households
    2
    """

    households: int
    largest: int
    expected: float
    highest: float
    unseen: float | None = None


def household_risks(risks: Floats, households: Int64s) -> Floats:
    """Return for each row the risk that somebody of its household is found: 1 - Π(1 - risk) over the members.

    >>> household_risks(np.array([0.5, 0.5, 0.1]), np.array([0, 0, 1])).round(6).tolist()
    [0.75, 0.75, 0.1]
    """
    with np.errstate(divide="ignore"):
        missed = np.bincount(households, weights=np.log1p(-np.minimum(risks, 1.0)))
    found: Floats = -np.expm1(missed)[households]
    return found


def summarise_households(risks: Floats, households: Int64s, unseen: Floats | None = None) -> HouseholdRisk:
    """Return the summary of the risks of households, given for each row, and of those under Pitman's formula.

    >>> summarise_households(np.array([0.75, 0.75, 0.1]), np.array([0, 0, 1])).largest
    2
    """
    sizes = np.bincount(households)
    under_pitman = None if unseen is None else float(unseen.sum())
    count, largest = int((sizes > 0).sum()), int(sizes.max())
    return HouseholdRisk(count, largest, float(risks.sum()), float(risks.max()), under_pitman)
