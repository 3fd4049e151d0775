"""A local protocol for the mean of a bounded number: what the four mechanisms have in common.

Values are rounded at random to a public grid of integers, so that what leaves a device is an integer with an exact
law; Mironov (2012), "On Significance of the Least Significant Bits", shows what floating-point noise gives away.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato.core.parameters import Real, Validated
from sfumato.core.seam import choose
from sfumato.errors import InputError, ParameterError
from sfumato.local import device
from sfumato.local.base import EPSILON
from sfumato.local.domain import fingerprint
from sfumato.local.laws import MeanReportLaw
from sfumato.local.probabilities import SCALE

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.core.arrays import Integers, Mask, Reals
    from sfumato.local.means.tally import MeanEstimate, MeanTally
    from sfumato.promise import Promise
    from sfumato.random import Source

    Parts = list[tuple[Mask, Fraction]]

STEPS = 2**16  # on either side of the middle of the bounds
ANY = Real(-1e12, 1e12)


@dataclass(frozen=True)
class MeanProtocol(Validated, ABC):
    """What devices and collector agree on: bounds, an ε, and how a number becomes an integer report.

    >>> from sfumato.local.means.protocols import Piecewise
    >>> protocol = Piecewise(16, 94, epsilon=1)
    >>> tally = protocol.aggregate(protocol.perturb(age) for age in [31, 47, 60])
    >>> tally.users, protocol.spent <= 1
    (3, True)
    """

    low: float
    high: float
    epsilon: float

    name: ClassVar[str]  # what a person types, and what stands on a card
    words: ClassVar[str] = ""  # its plain name, for a reader
    aliases: ClassVar[tuple[str, ...]] = ()  # other names that a person may type
    automatic: ClassVar[bool] = False  # whether `choose_mean` considers it
    RULES: ClassVar = {"low": ANY, "high": ANY, "epsilon": EPSILON}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low < self.high:
            raise ParameterError(f"the bounds are {self.low:g} and {self.high:g}; the first must be the smaller one")

    # What the class says about itself.

    @classmethod
    def sample(cls, low: float, high: float, epsilon: float) -> Self:
        """A protocol for tests.

        >>> from sfumato.local import Duchi
        >>> Duchi.sample(0, 1, 2).high
        1
        """
        return cls(low, high, epsilon)

    # What is agreed.

    @property
    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The thresholds out of 2^64 and the whole numbers that fix the law of a report."""

    @property
    @abstractmethod
    def spent(self) -> float:
        """The ε that the probabilities really give, rounded up; never above the one asked for."""

    @property
    def loss(self) -> Decimal:
        """The exact loss of a report, or a decimal above it."""
        return Decimal(self.spent)

    @cached_property
    def promise(self) -> Promise:
        """What one report of one device is promised, from the probabilities that are used.

        >>> from sfumato.local import Duchi
        >>> Duchi(0, 1, 0.1).promise.cost.epsilon
        Decimal('0.1')
        """
        from sfumato.local.promise import report_promise

        return report_promise(self.loss, self.epsilon)

    @property
    @abstractmethod
    def noise(self) -> tuple[float, float]:
        """A and C of the variance A + C·x² that the report of a value x has, where the bounds are -1 and 1."""

    @property
    def worst_variance(self) -> float:
        """The largest variance of one report's estimate, where the bounds are -1 and 1."""
        still, square = self.noise
        return still + max(square, 0.0)

    @abstractmethod
    def parts(self, reports: Integers) -> Parts:
        """Which reports are of each kind, and what a step of that kind is worth, where the bounds are -1 and 1."""

    @cached_property
    def design_hash(self) -> str:
        """The fingerprint of the protocol, its bounds and its probabilities."""
        return fingerprint({"protocol": self.name, "bounds": [self.low, self.high], "chances": self.thresholds})

    # On the device.

    def position(self, value: float) -> float:
        """The value on the grid, between -STEPS and STEPS; a value outside the bounds is refused."""
        if not self.low <= value <= self.high:
            raise InputError(f"value {value!r} is outside the bounds {self.low:g} to {self.high:g}")
        return float(self._grid_position(value))

    def perturb(self, value: float) -> int:
        """A fresh report of a value, drawn from the operating system's generator, in pure Python."""
        place = self.position(value)
        step = math.floor(place)
        return choose(
            lambda: MeanReportLaw(self, [place]),
            lambda: self.draw(step + (device.words64(1)[0] < (place - step) * SCALE)),
        )

    def _grid_position(self, value: Any) -> Any:
        return 2 * STEPS * ((value - self.low) / (self.high - self.low)) - STEPS

    @abstractmethod
    def probability(self, report: int, step: int) -> Fraction | float:
        """The probability of a report of a grid point, or a number in proportion to it."""

    @abstractmethod
    def draw(self, step: int) -> int:
        """A fresh report of a grid point."""

    # For many users at once, and at the collector.

    def report_many(self, values: npt.ArrayLike, source: Source | None = None) -> Integers:
        """Fresh reports of many users, each drawn by itself; `source=None` is the secure one."""
        from sfumato.local.protocols.bulk import round_at_random
        from sfumato.random import SecureSource

        origin = SecureSource() if source is None else source
        places = self._grid_position(self.checked(values))
        return choose(
            lambda: MeanReportLaw(self, places.tolist()),
            lambda: self.draw_many(round_at_random(places, origin), origin),
        )

    def checked(self, values: npt.ArrayLike) -> Reals:
        """The values as numbers, all of them within the bounds; others are refused and counted."""
        import numpy as np

        given: Reals = np.asarray(values, dtype=np.float64)
        outside = np.flatnonzero(~((given >= self.low) & (given <= self.high)))
        if outside.size:
            found = (
                f"{outside.size} values are" if outside.size > 1 else f"row {outside[0] + 1}: {given[outside[0]]:g} is"
            )
            raise InputError(
                f"{found} outside the bounds {self.low:g} to {self.high:g}; clamp them or widen the bounds"
            )
        return given

    @abstractmethod
    def draw_many(self, steps: Integers, source: Source) -> Integers:
        """A fresh report for each grid point."""

    def aggregate(self, reports: Iterable[int] | Integers) -> MeanTally:
        """The tally of reports; what no device could have sent is rejected and counted."""
        from sfumato.local.means.tally import tally_of

        return tally_of(self, reports)

    def estimate(self, tally: MeanTally, *, consistent: bool = True) -> MeanEstimate:
        """The mean with variance and 95 % interval, within the bounds unless raw."""
        from sfumato.local.means.tally import make_mean_estimate

        return make_mean_estimate(self, tally, consistent=consistent)
