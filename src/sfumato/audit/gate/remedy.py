"""What a steward can do about a column through which an attack succeeds, in words.

Dropping, rounding, bands and microaggregation are the masking methods of Hundepool et al. (2012, "Statistical
Disclosure Control", chapter 3); declaring a column quasi-identifying lets the models protect it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.audit.gate.risk import THRESHOLD
from sfumato.audit.gate.view import Column, Floats, Numbers
from sfumato.schema import Role

STEPS = (1, 2, 5)


def remedy(column: Column) -> str:
    """Return what helps against a column, as the end of a sentence.

    >>> import polars as pl
    >>> from sfumato.audit.gate.view import View
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"cost": [100 + x / 7 for x in range(700)], "note": ["a", "b"] * 350}))
    >>> for column in View.of(people, people).columns:
    ...     print(remedy(column))
    drop it, declare it quasi, or round it to multiples of 0.5, band or microaggregate it
    drop it, or declare it quasi
    """
    facts = column.facts
    if facts.role is Role.QUASI:
        plain = facts.exact[facts.rows].mean() > 0.5
        return "choose an algorithm that generalises it, or drop it" if plain else "ask for a larger k, or drop it"
    if isinstance(column, Numbers):
        step = shared_step(column.guesses[facts.rows])
        how = "" if step is None else f" to multiples of {step:g}"
        ways = f"round it{how}, band or microaggregate it"
        return f"{ways}, or drop it" if facts.role is Role.SENSITIVE else f"drop it, declare it quasi, or {ways}"
    if (facts.counts == 1).sum() > THRESHOLD * len(facts.rows):
        return "declare it an identifier, which is dropped, or put its values into groups"
    return "drop it, or declare it quasi"


def shared_step(values: Floats) -> float | None:
    """Return the smallest step 1, 2, 5, 10, … to whose multiples hardly any number is rounded alone.

    >>> shared_step(np.array([1.0, 2.0, 3.0] * 20)), shared_step(np.array([1.0, 900.0]))
    (None, None)
    """
    known = values[np.isfinite(values)]
    if len(known) == 0 or _alone(known) <= THRESHOLD / 2 or np.ptp(known) == 0:
        return None
    span = float(np.ptp(known))
    for power in itertools.count(math.floor(math.log10(span / len(known)))):
        for first in STEPS:
            step = first * 10.0**power
            if step > span / 2:
                return None
            if _alone(np.round(known / step)) <= THRESHOLD / 2:
                return step
    return None  # pragma: no cover  # the step outgrows the span before


def _alone(values: Floats) -> float:
    """Return the share of values that occur once."""
    counts = np.unique(values, return_counts=True)[1]
    return float((counts == 1).sum() / len(values))
