"""How well a record can be guessed from an ε-differentially private release: never better than an inequality allows.

Let records be independent draws of one distribution. The release as a whole is then an ε-private report about each of
them, so that no predictor has a squared error below Var·sech²(ε/2); a linear programme over staircase channels
(Kairouz, Oh & Viswanath 2014) gives the exact limit of a distribution. Proofs: `docs/algorithms/audit-streams.md`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.random import Source
from sfumato.stream.publishers.linked.staircase import optimum

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
MOST_SUBSETS = 14  # for more values the programme does not try all sets, and its optimum is no limit any more
MOST_PROGRAMME = 4.0  # beyond, the programme's coefficients lie too far apart to be solved in floating point
MOST_EPSILON = 50.0
HALVINGS = 20
RESAMPLES = 20_000
BUCKETS = 24
MOST_TOLD = 100


@dataclass(frozen=True, eq=False)
class Distribution:
    """The declared distribution that records are drawn from, with replacement: equally likely values.

    >>> Distribution.of([0, 2, 2, 4]).variance
    2.0
    """

    values: Floats

    @classmethod
    def of(cls, values: Any) -> Distribution:
        """Return the distribution of a list of equally likely values; one that comes twice is twice as likely."""
        listed = np.sort(np.asarray(values, dtype=np.float64))
        if len(listed) < 2 or not np.isfinite(listed).all() or listed[0] == listed[-1]:
            raise ParameterError("the declared distribution needs at least two different finite values")
        return cls(listed)

    @property
    def mean(self) -> float:
        """The expected value of a record."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """The variance of the distribution itself, not of a sample."""
        return float(self.values.var())

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """The different values and their probabilities."""
        atoms, counts = np.unique(self.values, return_counts=True)
        return atoms, counts / len(self.values)

    @property
    def listed_values(self) -> list[float] | str:
        """The values as the evidence tells them: all of a few, the number and the hash of many."""
        if len(self.values) <= MOST_TOLD:
            return [float(value) for value in self.values]
        return f"{len(self.values)} values, sha256 {hashlib.sha256(self.values.tobytes()).hexdigest()}"

    def draw(self, count: int, source: Source) -> Floats:
        """Return independent records."""
        places = (source.words(count).astype(np.uint64) * np.uint64(len(self.values))) >> np.uint64(32)
        return self.values[places.astype(np.int64)]


def least_share(distribution: Distribution, epsilon: float) -> tuple[float, str]:
    """Return the least share of the variance that a guess leaves, and what says so: the programme or sech².

    The programme is used where the distribution has at most 14 values and ε is at most 4.

    >>> share, _ = least_share(Distribution.of([0, 1]), 1.0)
    >>> round(share, 4) == round(1 / math.cosh(0.5) ** 2, 4)
    True
    """
    atoms, chances = distribution.atoms
    if len(atoms) <= MOST_SUBSETS and epsilon <= MOST_PROGRAMME:
        return optimum(chances, atoms, epsilon), "staircase programme"
    return 1 / math.cosh(epsilon / 2) ** 2, "sech²(ε/2)"


def epsilon_from(distribution: Distribution, share: float) -> float:
    """Return the least ε under which a guess may leave as little as this share of the variance.

    >>> round(epsilon_from(Distribution.of(range(100)), 1 / math.cosh(0.5) ** 2), 3)
    1.0
    """
    low, high = 0.0, MOST_EPSILON
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if least_share(distribution, middle)[0] > share else (low, middle)
    return low


@dataclass(frozen=True, eq=False)
class Predictor:
    """A guess of each record from its published value: a line for every size of group, fixed on streams of its own.

    >>> alone = np.array([1, 1])
    >>> Predictor.fit(np.array([0.0, 2.0]), alone, np.array([0.0, 1.0])).guess(np.array([1.0, 4.0]), alone).tolist()
    [0.5, 1.0]
    """

    slopes: Floats
    offsets: Floats
    low: float
    high: float

    @classmethod
    def fit(cls, published: Floats, sizes: Integers, records: Floats) -> Predictor:
        """Return the least-squares lines of records on published values, by size; guesses stay among the records."""
        bucket, weight = _bucket(sizes), np.maximum(np.bincount(_bucket(sizes), minlength=BUCKETS), 1)

        def mean(part: Floats) -> Floats:
            averages: Floats = np.bincount(bucket, weights=part, minlength=BUCKETS) / weight
            return averages

        there, true = mean(published), mean(records)
        spread = mean((published - there[bucket]) ** 2)
        together = mean((published - there[bucket]) * (records - true[bucket]))
        slopes = np.where(spread > 0, together / np.where(spread > 0, spread, 1), 0)
        seen = np.bincount(bucket, minlength=BUCKETS) > 0
        offsets = np.where(seen, true - slopes * there, records.mean())
        return cls(slopes, offsets, float(records.min()), float(records.max()))

    def guess(self, published: Floats, sizes: Integers) -> Floats:
        """Return the guess of every record."""
        bucket = _bucket(sizes)
        return np.clip(self.offsets[bucket] + self.slopes[bucket] * published, self.low, self.high)


def _bucket(sizes: Integers) -> Integers:
    """Return sizes by powers of two."""
    return np.minimum(np.frexp(np.maximum(sizes, 1))[1], BUCKETS - 1).astype(np.int64)


def upper_mean(errors: Floats, confidence: float, source: Source) -> float:
    """Return the one-sided upper limit of the mean of one error for each stream, resampled by stream.

    >>> from sfumato.random import SeededSource
    >>> 1.0 < upper_mean(np.repeat([0.5, 1.5], 50), 0.99, SeededSource(1)) < 1.2
    True
    """
    draw = np.random.default_rng(source.words(4))
    means = errors[draw.integers(0, len(errors), (RESAMPLES, len(errors)))].mean(axis=1)
    return float(np.quantile(means, confidence))
