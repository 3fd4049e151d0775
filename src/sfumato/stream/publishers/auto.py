"""Which publisher, and with what parameters: the least predicted error from public numbers alone.

The bounds, ε, the delay and what matters are public, the records are not looked at: a choice that looked would have to
be paid for (Chaudhuri & Vinterbo 2013). Predictions take values to be spread evenly over the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sfumato.core.parameters import OneOf, Option, Real, Whole
from sfumato.errors import ParameterError
from sfumato.random import Source
from sfumato.stream.base import DELAY, EPSILON, ColumnFactory, PublicBounds, Publisher
from sfumato.stream.noise import Interval
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.laplace import NaiveLaplace
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows
from sfumato.stream.windows import WindowedPublisher

FEWEST, MOST = 8, 1024


@dataclass(frozen=True)
class PublisherChoice(ColumnFactory):
    """What is public about a stream, and what the release must keep: the distribution of windows, or the order.

    >>> choice = PublisherChoice((0, 100), epsilon=1.0, delay=1000)
    >>> type(choice.publisher()).__name__
    'AdaptiveHistogram'
    >>> choice.reason()
    'adaptive: predicted mean squared error 1, against 8.16 of rank with blocks of 70 (values from 0 to 100)'
    """

    bounds: tuple[float, float]
    epsilon: float = 1.0
    delay: int = 1000
    keep: Literal["distribution", "order"] = "distribution"

    RULES: ClassVar = {
        "bounds": Interval(),
        "epsilon": Real(0, above=True),
        "delay": Whole(1),
        "keep": OneOf(("distribution", "order")),
    }
    OPTIONS: ClassVar = {
        "epsilon": EPSILON,
        "delay": DELAY,
        "keep": Option("What must be kept: the distribution of each window, or the order of the records."),
    }
    SHARED: ClassVar = WindowedPublisher.SHARED
    name: ClassVar[str] = "auto"

    @property
    def _span(self) -> float:
        return self.bounds[1] - self.bounds[0]

    @property
    def block(self) -> int:
        """The block that balances noise, 2/(kε)², and the spread of a block's values, (k/w)²/12."""
        return min(self.delay, max(1, round(24**0.25 * math.sqrt(self.delay / self.epsilon))))

    @property
    def bins(self) -> int:
        """As many bins as make the noise of one about as large as its count, a third of the records a bin."""
        return min(MOST, max(FEWEST, round(0.32 * self.delay * min(self.epsilon, 1))))

    def predicted_errors(self) -> dict[str, float]:
        """The predicted mean squared error of each publisher that keeps what must be kept."""
        square, epsilon, window = self._span**2, self.epsilon, self.delay
        if self.keep == "order":
            told = math.tanh(epsilon / 2) ** 2
            return {"linked": square * (1 - 0.75 * told) / 12, "laplace": 2 * square / epsilon**2}
        noise = 8 / (6 * (window * epsilon) ** 2)
        read = max(2.0, (1 / (6 * noise)) ** (1 / 3))  # bins that count after filtering, where noise meets their width
        rank = 2 / (self.block * epsilon) ** 2 + (self.block / window) ** 2 / 12
        return {"adaptive": square * (noise * read + 1 / (12 * read**2)), "rank": square * rank}

    def best(self) -> str:
        """The publisher with the least predicted error."""
        found = self.predicted_errors()
        return min(found, key=lambda name: found[name])

    def reason(self) -> str:
        """Why, in one sentence."""
        found, best = self.predicted_errors(), self.best()
        other = next(name for name in found if name != best)
        named = {"rank": f"rank with blocks of {self.block}"}
        low, high = self.bounds
        return (
            f"{best}: predicted mean squared error {found[best]:.3g}, against {found[other]:.3g} of "
            f"{named.get(other, other)} (values from {low:g} to {high:g})"
        )

    @classmethod
    def for_number(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> Publisher:
        if bounds is None:
            raise ParameterError(f"{cls.name} needs --bounds LOW HIGH, which are public")
        return cls.from_options(given, called=cls.name, bounds=bounds).publisher()

    @classmethod
    def reasons(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> tuple[str, ...]:
        choice = None if bounds is None else cls.from_options(given, called=cls.name, bounds=bounds)
        return () if choice is None else (f"Publisher chosen by auto: {choice.reason()}.",)

    def publisher(self, rng: Source | None = None) -> Publisher:
        """The publisher with the least predicted error, made with these parameters."""
        best = self.best()
        if best == "laplace":
            return NaiveLaplace(bounds=self.bounds, epsilon=self.epsilon, rng=rng)
        if best == "linked":
            return LinkedResponse(self.bounds, self.delay, self.epsilon, rng=rng)
        if best == "rank":
            return RankWindows(self.bounds, self.delay, self.epsilon, self.block, rng=rng)
        return AdaptiveHistogram(self.bounds, self.delay, self.epsilon, self.bins, rng=rng)


def auto(
    bounds: tuple[float, float],
    epsilon: float = 1.0,
    delay: int = 1000,
    keep: Literal["distribution", "order"] = "distribution",
    rng: Source | None = None,
) -> Publisher:
    """Return the publisher with the least predicted error; `PublisherChoice(…).reason()` says why.

    >>> auto((0, 100), keep="order").name, auto((0, 100), epsilon=0.01, delay=20).name
    ('linked', 'rank')
    """
    return PublisherChoice(bounds, epsilon, delay, keep).publisher(rng)
