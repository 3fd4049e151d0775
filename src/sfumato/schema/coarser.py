"""A rule proposed for a column of nearly unique numbers or days, under which hardly any value occurs once.

The steps are those people round to (1, 2 and 5 times a power of ten), with codes for the thin ends of the scale
(Hundepool et al. 2012, sections 3.2 and 3.3); like every proposal it looks at the rows, and a person decides.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.core.calendar import PERIODS
from sfumato.schema.coarsening import Coarsening
from sfumato.schema.kinds import Kind

ENOUGH = 10  # rows that share a released value
FINEST = 200  # steps over the middle of the scale
EPOCH = dt.date(1970, 1, 1)
DAY = 86_400_000_000  # microseconds
Numbers = npt.NDArray[Any]


def propose_rule(numbers: Numbers, kind: Kind) -> Coarsening:
    """Return the finest of some round rules that leaves each released value to ten rows or a twentieth of them.

    >>> propose_rule(np.random.default_rng(1).lognormal(7, 0.6, 2000).round(2), Kind.NUMBER)
    Coarsening(round=200, bands=None, microaggregate=None, top=4000, bottom=None, period=None)
    """
    enough = max(2, min(ENOUGH, len(numbers) // 20))
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return _period(numbers // DAY if kind is Kind.TIMESTAMP else numbers, enough)
    low, high = (float(end) for end in np.quantile(numbers, [0.02, 0.98]))
    for step in _steps((high - low) / FINEST, whole=kind is Kind.INTEGER):
        if step > high - low:
            break
        bottom, top = math.floor(low / step), math.ceil(high / step)
        places = np.clip(np.floor(numbers / step + 0.5), bottom, top)
        if np.unique(places, return_counts=True)[1].min() >= enough:
            ends = {"top": top, "bottom": bottom}
            cut = {"top": numbers.max() > (top + 0.5) * step, "bottom": numbers.min() < (bottom - 0.5) * step}
            given = {key: _plain(ends[key] * step) for key, needed in cut.items() if needed}
            return Coarsening(round=_plain(step), **given)  # type: ignore[arg-type]
    return Coarsening(microaggregate=ENOUGH)


def _steps(least: float, *, whole: bool) -> Iterator[float]:
    """Yield round numbers from about `least` on."""
    power = math.floor(math.log10(least)) if least > 0 else 0
    power = max(power, 0) if whole else power
    for exponent in range(power, power + 5):
        for digit in (1, 2, 5):
            step = digit * 10**exponent if exponent >= 0 else digit / 10**-exponent
            if step >= least and (step > 1 or not whole):
                yield step


def _plain(value: float) -> int | float:
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() else rounded


def _period(days: Numbers, enough: int) -> Coarsening:
    for period, label in PERIODS.items():
        labels = [label(EPOCH + dt.timedelta(days=int(day))) for day in days.tolist()]
        if np.unique(labels, return_counts=True)[1].min() >= enough:
            return Coarsening(period=period)
    return Coarsening(period="decade")
