"""Estimated counts with their variance and 95 % interval, raw or made consistent.

The estimator and its variance are those of pure protocols in Wang et al. (2017): (support - n·q) / (p - q). Intervals
are score intervals (Wilson 1927) with Yates's correction for whole reports: they hold for rare values at a large ε too.
Consistent counts are not negative, and together as many as there are users; that is post-processing and costs no
privacy: Wang, Lopuhaä-Zwakenberg, Li, Skoric & Li (2020), "Locally Differentially Private Frequency Estimation with
Consistency". `round_counts` is what Pedro (2022) did to its answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sfumato.core.arrays import Reals
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.local.base import LocalProtocol
from sfumato.local.collector.tally import Tally
from sfumato.local.domain import Value

if TYPE_CHECKING:
    from sfumato.release import Card, Release

WIDTH = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Spread:
    """The variance of a count's estimate, `still` + `slope`·count - `bend`·count², and half of what a report is worth.

    >>> low, high = Spread(0.0, 1.0, correction=0.0).interval(np.array([0.0, 100.0]))
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([0.0, 82.2], [3.8, 121.6])
    """

    still: float
    slope: float
    bend: float = 0.0
    correction: float = 0.0

    @classmethod
    def of(cls, protocol: LocalProtocol, users: int) -> Self:
        """The spread of a protocol's counts among `users`."""
        own, other = protocol.support
        empty, full = protocol.variance(users, 0), protocol.variance(users, users)
        return cls(empty, (full - empty) / max(users, 1), correction=0.5 / float(own - other))

    def for_sample(self, factor: float, users: int) -> Spread:
        """The same for counts of all `users`, of whom one in `factor` reported, drawn at random."""
        rest = factor - 1
        return Spread(factor**2 * self.still, factor * self.slope + rest, rest / users, factor * self.correction)

    def __add__(self, other: Spread) -> Spread:
        """The spread of the sum of two crowds' counts; where their shapes differ, one that is not too small."""
        return Spread(
            self.still + other.still,
            max(self.slope, other.slope),
            min(self.bend, other.bend) / 2,
            max(self.correction, other.correction),
        )

    def variance(self, counts: Reals) -> Reals:
        """The variance where the true counts are these."""
        return self.still + self.slope * counts - self.bend * counts**2

    def interval(self, raw: Reals) -> tuple[Reals, Reals]:
        """The ends of all true counts with the estimate within 1.96 of *their* deviations: roots of a quadratic."""
        first = 1 + WIDTH**2 * self.bend
        ends = []
        for side in (-1, 1):
            from_here = raw + side * self.correction
            second = from_here + WIDTH**2 * self.slope / 2
            last = from_here**2 - WIDTH**2 * self.still
            ends.append((second + side * np.sqrt(np.maximum(second**2 - first * last, 0.0))) / first)
        return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Counts of all values of the domain; `method` names the post-processing, or is None for unbiased counts.

    `raw` has the unbiased counts and `variance` is theirs. The interval covers the true count of a value 95 times of
    100 or oftener; it stays within 0 and the number of users and is widened, where needed, to hold a consistent count.

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
    raw: Reals
    spread: Spread | None = None  # None where the variance is no function of the count (RAPPOR's regression)

    def __add__(self, other: Estimate) -> Estimate:
        """The estimate of two crowds together: counts and variances add up, as those of their joined tallies do."""
        if (self.protocol, self.method) != (other.protocol, other.method):
            raise InputError(
                "estimates of two protocols or two consistency methods do not add up; join tallies instead"
            )
        counts, users, raw = self.counts + other.counts, self.users + other.users, self.raw + other.raw
        reasons = sorted({*self.rejected, *other.rejected})
        rejected = {reason: self.rejected.get(reason, 0) + other.rejected.get(reason, 0) for reason in reasons}
        variance = self.variance + other.variance
        low, high = interval(raw, variance, counts, users, spread := self._joint_spread(other))
        return Estimate(self.protocol, users, counts, variance, low, high, self.method, rejected, raw, spread)

    def _joint_spread(self, other: Estimate) -> Spread | None:
        return None if self.spread is None or other.spread is None else self.spread + other.spread

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
    raw = unbiased_counts(protocol, tally)
    spread = Spread.of(protocol, tally.users)
    variance = spread.variance(raw.clip(0, tally.users))
    counts = raw if method is None else METHODS[method](raw, np.sqrt(variance), tally.users)
    low, high = interval(raw, variance, counts, tally.users, spread)
    return Estimate(protocol, tally.users, counts, variance, low, high, method, dict(tally.rejected), raw, spread)


def unbiased_counts(protocol: LocalProtocol, tally: Tally) -> Reals:
    """Return the unbiased counts of all values.

    >>> from sfumato.local import OptimizedUnary
    >>> protocol = OptimizedUnary(["a", "b"], 1)
    >>> unbiased_counts(protocol, protocol.aggregate([])).tolist()
    [0.0, 0.0]
    """
    own, other = protocol.support
    if own == other:
        raise InputError(
            f"ε={protocol.epsilon:g} is too small to count {len(protocol.domain)} values by {protocol.name}"
        )
    supporting = protocol.supporting(tally.counts, tally.users).astype(np.float64)
    return (supporting - float(tally.users * other)) / float(own - other)


def interval(
    raw: Reals, variance: Reals, counts: Reals, users: int, spread: Spread | None = None
) -> tuple[Reals, Reals]:
    """Return the 95 % intervals around unbiased counts, within 0 and the users, widened to hold the consistent ones.

    >>> one = np.array([10.0])
    >>> [end.round(2).tolist() for end in interval(one, np.array([4.0]), one, 100)]
    [[6.08], [13.92]]
    """
    reach = WIDTH * np.sqrt(variance)
    low, high = (raw - reach, raw + reach) if spread is None else spread.interval(raw)
    return np.minimum(low.clip(0, users), counts), np.maximum(high.clip(0, users), counts)


def norm_sub(counts: Reals, users: float) -> Reals:
    """Return the nearest counts that are not negative and add up to `users`: one amount is taken from all.

    The Euclidean projection to the simplex, which maximum likelihood gives for equal variances.

    >>> norm_sub(np.array([6.0, 3.0, -2.0]), 8).tolist()
    [5.5, 2.5, 0.0]
    """
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - users) / np.arange(1, counts.size + 1)
    kept = max(1, int(np.count_nonzero(falling > excess)))
    nearest: Reals = np.maximum(counts - excess[kept - 1], 0.0)
    return nearest


def norm(counts: Reals, users: float) -> Reals:
    """Return counts shifted by one amount so that they add up to `users`; they may be negative.

    >>> norm(np.array([6.0, 3.0, -3.0]), 9).tolist()
    [7.0, 4.0, -2.0]
    """
    shift = (users - float(counts.sum())) / counts.size
    return counts + shift


def norm_mul(counts: Reals, users: float) -> Reals:
    """Return counts without the negative ones, multiplied so that they add up to `users`.

    >>> norm_mul(np.array([6.0, 2.0, -3.0]), 4).tolist()
    [3.0, 1.0, 0.0]
    """
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    return positive * (users / total) if total > 0 else np.full(counts.size, users / counts.size)


def round_counts(counts: Reals) -> Reals:
    """Return counts rounded to whole numbers, the negative ones as 0, as in Pedro (2022).

    >>> round_counts(np.array([1.6, -2.0])).tolist()
    [2.0, 0.0]
    """
    return np.maximum(np.rint(counts), 0.0)


def base_cut(counts: Reals, deviation: Reals, level: float = 0.05) -> Reals:
    """Return counts with those set to 0 that noise alone would reach with probability `level` somewhere in the domain.

    The limit is the normal quantile at 1 - level/d times a value's standard deviation.

    >>> base_cut(np.array([50.0, 3.0, -2.0]), np.array([2.0, 2.0, 2.0])).tolist()
    [50.0, 0.0, 0.0]
    """
    limit = NormalDist().inv_cdf(1 - level / counts.size) * deviation
    return np.where(counts > limit, counts, 0.0)


METHODS: dict[str, Callable[[Reals, Reals, int], Reals]] = {
    "norm-sub": lambda counts, _, users: norm_sub(counts, users),
    "norm": lambda counts, _, users: norm(counts, users),
    "norm-mul": lambda counts, _, users: norm_mul(counts, users),
    "base-cut": lambda counts, deviation, _: base_cut(counts, deviation),
    "rounded": lambda counts, _, __: round_counts(counts),
}


def method_name(consistent: bool | str) -> str | None:  # noqa: FBT001  # a switch that also takes a name
    """Return the name of the method asked for: Norm-Sub for True, None for raw counts.

    >>> method_name(True), method_name(False), method_name("rounded")
    ('norm-sub', None, 'rounded')
    """
    if isinstance(consistent, bool):
        return "norm-sub" if consistent else None
    if consistent not in METHODS:
        raise ParameterError(f"there is no consistency method '{consistent}'{suggestion(consistent, METHODS)}")
    return consistent
