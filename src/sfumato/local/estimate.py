"""Estimated counts with their variance and 95 % interval, raw or made consistent.

The estimator and its variance are those of pure protocols in Wang et al. (2017): (support - n·q) / (p - q).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import InputError
from sfumato.local.arrays import Reals
from sfumato.local.base import LocalProtocol
from sfumato.local.consistency import METHODS, method_name
from sfumato.local.domain import Value
from sfumato.local.tally import Tally

if TYPE_CHECKING:
    from sfumato.card import Card
    from sfumato.release import Release

WIDTH = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Counts of all values of the domain; `method` names the post-processing, or is None for unbiased counts.

    `variance` is that of the unbiased count. The interval covers the true count of a value 95 times of 100; it stays
    within 0 and the number of users and is widened, where needed, to hold a consistent count.

    >>> from sfumato.local import GeneralizedResponse
    >>> protocol = GeneralizedResponse(["red", "green"], 8)
    >>> reports = protocol.report_many(protocol.encode_many(["red"] * 60 + ["green"] * 40))
    >>> estimate = protocol.estimate(protocol.aggregate(reports))
    >>> round(sum(estimate.counts)), estimate.frame.columns
    (100, ['value', 'count', 'variance', 'low', 'high'])
    """

    protocol: LocalProtocol
    users: int
    counts: Reals
    variance: Reals
    low: Reals
    high: Reals
    method: str | None
    rejected: dict[str, int]
    raw: Reals | None = None

    def __add__(self, other: Estimate) -> Estimate:
        """The estimate of two crowds together: counts and variances add up, as those of their joined tallies do."""
        if (self.protocol, self.method) != (other.protocol, other.method):
            raise InputError(
                "estimates of two protocols or two consistency methods do not add up; join tallies instead"
            )
        counts, variance, users = self.counts + other.counts, self.variance + other.variance, self.users + other.users
        raw = (self.counts if self.raw is None else self.raw) + (other.counts if other.raw is None else other.raw)
        low, high = _interval(raw, np.sqrt(variance), counts, users)
        reasons = sorted({*self.rejected, *other.rejected})
        rejected = {reason: self.rejected.get(reason, 0) + other.rejected.get(reason, 0) for reason in reasons}
        return Estimate(self.protocol, users, counts, variance, low, high, self.method, rejected, raw)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values of the domain, in its order."""
        return tuple(self.protocol.domain)

    @property
    def frame(self) -> Any:
        """The rows `value, count, variance, low, high` as a polars frame; a domain of mixed kinds becomes text."""
        import polars as pl

        whole = all(isinstance(value, int) for value in self.values)
        names = list(self.values) if whole else [str(value) for value in self.values]
        columns = {"count": self.counts, "variance": self.variance, "low": self.low, "high": self.high}
        return pl.DataFrame({"value": names, **columns})

    @property
    def card(self) -> Card:
        """The public card of the estimate."""
        from sfumato.local.card import estimate_card

        return estimate_card(self)

    def release(self) -> Release:
        """The estimate as a release: its rows and its card."""
        from sfumato.release import Release
        from sfumato.table import Table

        return Release(Table.from_frame(self.frame), self.card)


def make_estimate(protocol: LocalProtocol, tally: Tally, *, consistent: bool | str) -> Estimate:
    """Return the estimate of a tally; `consistent` is True (Norm-Sub), False (unbiased) or a method's name.

    >>> from sfumato.local import OptimizedUnary
    >>> protocol = OptimizedUnary(["a", "b"], 1)
    >>> make_estimate(protocol, protocol.aggregate([]), consistent="rounded").counts.tolist()
    [0.0, 0.0]
    """
    if tally.protocol != protocol:
        raise InputError(f"the tally is one of another {tally.protocol.name} protocol; estimate with tally.protocol")
    method = method_name(consistent)
    raw = unbiased(protocol, tally)
    variance = _variance(protocol, tally.users, raw)
    deviation = np.sqrt(variance)
    counts = raw if method is None else METHODS[method](raw, deviation, tally.users)
    low, high = _interval(raw, deviation, counts, tally.users)
    return Estimate(protocol, tally.users, counts, variance, low, high, method, dict(tally.rejected), raw)


def unbiased(protocol: LocalProtocol, tally: Tally) -> Reals:
    """Return the unbiased counts of all values.

    >>> from sfumato.local import OptimizedUnary
    >>> protocol = OptimizedUnary(["a", "b"], 1)
    >>> unbiased(protocol, protocol.aggregate([])).tolist()
    [0.0, 0.0]
    """
    own, other = protocol.support
    supporting = protocol.supporting(tally.counts, tally.users).astype(np.float64)
    return (supporting - float(tally.users * other)) / float(own - other)


def _variance(protocol: LocalProtocol, users: int, raw: Reals) -> Reals:
    """The variance at the estimated counts, which is linear in the count: two values fix it."""
    empty, full = protocol.variance(users, 0), protocol.variance(users, users)
    share = np.clip(raw / max(users, 1), 0.0, 1.0)
    return empty + share * (full - empty)


def _interval(raw: Reals, deviation: Reals, counts: Reals, users: int) -> tuple[Reals, Reals]:
    low = np.clip(raw - WIDTH * deviation, 0.0, users)
    high = np.clip(raw + WIDTH * deviation, 0.0, users)
    return np.minimum(low, counts), np.maximum(high, counts)
