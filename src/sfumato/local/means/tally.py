"""What a collector keeps of reports about a number: how many, their sum and the sum of their squares, and the mean.

Reports are unbiased, so their average is the estimate (Wang et al. 2019, section III); their spread and the protocol's
known noise give its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from sfumato.errors import InputError
from sfumato.local.collector.estimate import WIDTH, Spread
from sfumato.local.means.base import MeanProtocol

if TYPE_CHECKING:
    from sfumato.core.arrays import Integers

LARGEST = 2**62


class MeanTally(msgspec.Struct, frozen=True, kw_only=True):
    """Whole numbers that add up across files and machines, for each kind of report that a protocol sends.

    >>> from sfumato.local.means.protocols import Duchi
    >>> protocol = Duchi(0, 10, 1)
    >>> both = protocol.aggregate([1, -1, 7]) + protocol.aggregate([1])
    >>> both.users, both.sums, both.rejected
    (3, (1,), 1)
    """

    design: str
    counts: tuple[int, ...]
    sums: tuple[int, ...]
    squares: tuple[int, ...]
    rejected: int = 0

    @property
    def users(self) -> int:
        """The number of reports that were counted."""
        return sum(self.counts)

    def __add__(self, other: MeanTally) -> MeanTally:
        if other.design != self.design:
            raise InputError("the two tallies are of different protocols, bounds or ε; only tallies of one kind add up")
        return MeanTally(
            design=self.design,
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            sums=tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            squares=tuple(a + b for a, b in zip(self.squares, other.squares, strict=True)),
            rejected=self.rejected + other.rejected,
        )


class MeanEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """An estimated mean, its variance and an interval that holds the true one 95 times in 100.

    >>> MeanEstimate(mean=41.0, variance=4.0, low=37.0, high=45.0, users=900).users
    900
    """

    mean: float
    variance: float
    low: float
    high: float
    users: int


def tally_of(protocol: MeanProtocol, reports: Iterable[int] | Integers) -> MeanTally:
    """Return the tally of reports; integers that the protocol never sends are rejected.

    >>> from sfumato.local.means.protocols import Duchi
    >>> tally_of(Duchi(0, 10, 1), [1, 1, 0]).rejected
    1
    """
    given = (
        reports
        if isinstance(reports, np.ndarray)
        else np.array([_integer_report(one) for one in reports], dtype=np.int64)
    )
    kinds = [given[own].astype(object) for own, _ in protocol.parts(given)]  # Python's integers do not overflow
    return MeanTally(
        design=protocol.design_hash,
        counts=tuple(kind.size for kind in kinds),
        sums=tuple(int(kind.sum()) for kind in kinds),
        squares=tuple(int((kind * kind).sum()) for kind in kinds),
        rejected=given.size - sum(kind.size for kind in kinds),
    )


def make_mean_estimate(protocol: MeanProtocol, tally: MeanTally, *, consistent: bool) -> MeanEstimate:
    """Return the mean of the reports and its error; `consistent` keeps both within the bounds, as post-processing.

    The error is what the reports' spread says, or what the protocol's noise must have added where that is more.

    >>> from sfumato.local.means.protocols import Duchi
    >>> protocol = Duchi(0, 10, 1)
    >>> round(protocol.estimate(protocol.aggregate([1, -1] * 50)).mean, 9)
    5.0
    """
    if tally.design != protocol.design_hash:
        raise InputError("the tally is of another protocol, other bounds or another ε than this one")
    if tally.users < 2:
        raise InputError(f"a mean needs at least 2 reports; the tally has {tally.users}")
    worths = [worth for _, worth in protocol.parts(np.empty(0, dtype=np.int64))]
    first = sum((worth * total for worth, total in zip(worths, tally.sums, strict=True)), Fraction()) / tally.users
    second = sum((worth**2 * total for worth, total in zip(worths, tally.squares, strict=True)), Fraction())
    found = (second - tally.users * first**2) / (tally.users - 1)
    middle, variance = float(first), max(float(found), _least_noise(protocol, float(first))) / tally.users
    reach = WIDTH * math.sqrt(variance)
    low, high = _plausible_means(protocol, middle, tally.users)
    half = (protocol.high - protocol.low) / 2
    mean, low, high = (
        protocol.low + half + half * place for place in (middle, min(middle - reach, low), max(middle + reach, high))
    )
    if consistent:
        mean, low, high = (min(max(number, protocol.low), protocol.high) for number in (mean, low, high))
    return MeanEstimate(mean=mean, variance=half**2 * variance, low=low, high=high, users=tally.users)


def _least_noise(protocol: MeanProtocol, middle: float) -> float:
    """The least variance of a report's noise if the mean is `middle`; reports that are all alike do not show it."""
    still, square = protocol.noise
    return still + square * min(middle**2, 1.0)


def _plausible_means(protocol: MeanProtocol, middle: float, users: int) -> tuple[float, float]:
    """All means from which the average of `users` reports is within 1.96 deviations of noise (Wilson 1927)."""
    still, square = protocol.noise
    growing, falling = max(square, 0.0) * min(middle**2, 1.0), max(-square, 0.0)
    correction = math.sqrt(still) / users if falling else 0.0  # half a report, where there are only two
    spread = Spread((still + growing) / users, 0.0, falling / users, correction)
    low, high = spread.interval(np.array([middle]))
    return float(low[0]), float(high[0])


def _integer_report(report: object) -> int:
    """The report, or a number that no protocol sends in place of what is no report."""
    whole = isinstance(report, int) and not isinstance(report, bool) and abs(report) < LARGEST
    return int(report) if whole else LARGEST  # type: ignore[call-overload]
