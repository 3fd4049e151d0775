"""Central and local answers to one question of source 002: how many women start at each station in each hour.

Local answers are of three designs: only women report, as in the source (which tells that they are women); all riders
report one cell, with "not a woman" as a value of its own; all riders report one view (`sfumato.local.surveys.survey`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sfumato.core.arrays import Codes, Reals
from sfumato.experiments.bikes.rides import HOURS, Rides
from sfumato.local.base import LocalProtocol
from sfumato.local.protocol_choice import choose
from sfumato.local.protocols.unary import SymmetricUnary
from sfumato.local.surveys.structure import likeliest_middle
from sfumato.local.surveys.survey import Survey, View
from sfumato.random import Source, discrete_laplace

VIEWS = (  # kept after a comparison of sets on the very files they are measured on; PLAIN was not
    View(("woman",), 0.07),
    View(("hour",), 0.23),
    View(("district",), 0.23),
    View(("station",), 0.23),
    View(("station", "period"), 0.24),
)
PLAIN = (View(("woman",), 1 / 3), View(("hour",), 1 / 3), View(("station",), 1 / 3))  # every axis once, equal shares
FINE = 2**16
Answer = Callable[[Rides, float, Source], Reals]


def zeros(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return no women anywhere: what any useful answer has to beat.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> zeros(rides, 1.0, SeededSource(1)).sum()
    np.float64(0.0)
    """
    del epsilon, source
    return np.zeros((len(rides.stations), HOURS))


def central_raw(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the counts with discrete Laplace noise for a ride more or less.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> central_raw(rides, 13.814, SeededSource(1)).shape
    (2, 24)
    """
    true = rides.women()
    return true + discrete_laplace(true.size, 1 / Fraction(str(epsilon)), source).reshape(true.shape)


def central_continuous(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the source's central answer: Laplace noise on a fine grid, rounded, negative counts set to 0.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> central_continuous(rides, 0.1, SeededSource(1)).min() >= 0
    np.True_
    """
    true = rides.women()
    noise = discrete_laplace(true.size, FINE / Fraction(str(epsilon)), source) / FINE
    return np.maximum(np.rint(true + noise.reshape(true.shape)), 0.0)


def central(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the same, negative counts set to 0; they are whole numbers already.

    >>> from sfumato.random import SeededSource
    >>> rides = Rides("toy", ("A", "B"), np.zeros((2, 2)), np.array([0]), np.array([8]), np.array([True]))
    >>> central(rides, 0.1, SeededSource(1)).min() >= 0
    np.True_
    """
    return np.maximum(central_raw(rides, epsilon, source), 0.0)


def symmetric(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the source's local answer: women report by symmetric unary encoding; rounded, negative counts set to 0."""
    protocol = SymmetricUnary(_cells(rides), epsilon)
    return _counted(protocol, rides.cell[rides.woman], rides, source, consistent="rounded")


def symmetric_raw(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the same without rounding."""
    protocol = SymmetricUnary(_cells(rides), epsilon)
    return _counted(protocol, rides.cell[rides.woman], rides, source, consistent=False)


def chosen(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the counts of the protocol of lowest variance, women reporting, made consistent by Norm-Sub."""
    protocol = choose(_cells(rides), epsilon, int(rides.woman.sum()))
    return _counted(protocol, rides.cell[rides.woman], rides, source, consistent=True)


def symmetric_private(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the source's local answer with gender inside the domain: all riders report."""
    protocol = SymmetricUnary((*_cells(rides), "not a woman"), epsilon)
    codes = np.where(rides.woman, rides.cell, len(protocol.domain) - 1)
    return _counted(protocol, codes, rides, source, consistent="rounded")


def plain_views(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return the answer from the views anybody would start with: every axis once, equal shares."""
    return _viewed(rides, epsilon, source, PLAIN)


def views(rides: Rides, epsilon: float, source: Source) -> Reals:
    """Return our answer: all riders report one of the views that were kept."""
    return _viewed(rides, epsilon, source, VIEWS)


def _viewed(rides: Rides, epsilon: float, source: Source, shown: tuple[View, ...]) -> Reals:
    """All riders report a view, gender private; the median of the count each cell then expects."""
    survey = Survey(rides.crossing(), shown, epsilon, rides.number)
    cells = np.where(rides.woman, 0, len(rides.stations) * HOURS) + rides.cell
    expected = survey.estimate(survey.aggregate(survey.report_many(cells, source)))
    return likeliest_middle(expected[0]).astype(np.float64)


ANSWERS: dict[str, Answer] = {
    "all zeros": zeros,
    "central, Laplace, rounded and clamped": central_continuous,
    "central, discrete Laplace, raw": central_raw,
    "central, discrete Laplace, clamped": central,
    "local, women report, symmetric unary, raw": symmetric_raw,
    "local, women report, symmetric unary, clamped": symmetric,
    "local, women report, lowest variance, Norm-Sub": chosen,
    "local, all report, symmetric unary, clamped": symmetric_private,
    "local, all report, plain views": plain_views,
    "local, all report, views": views,
}


def hourly(rides: Rides, protocol: LocalProtocol, source: Source, *, consistent: bool | str) -> Reals:
    """Return the estimated rides per hour of day when every rider reports the hour."""
    tally = protocol.aggregate(protocol.report_many(rides.hour, source))
    return protocol.estimate(tally, consistent=consistent).counts


def _cells(rides: Rides) -> tuple[str, ...]:
    return tuple(f"{station} | {hour}" for station in rides.stations for hour in range(HOURS))


def _counted(protocol: LocalProtocol, codes: Codes, rides: Rides, source: Source, *, consistent: bool | str) -> Reals:
    tally = protocol.aggregate(protocol.report_many(codes, source))
    counts = protocol.estimate(tally, consistent=consistent).counts
    return counts[: len(rides.stations) * HOURS].reshape(len(rides.stations), HOURS)
