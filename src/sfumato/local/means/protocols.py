"""Means of a bounded number from local reports: Laplace, Duchi, piecewise and hybrid, in exact probabilities.

Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu (2019), "Collecting and Analyzing Multidimensional Data with Local
Differential Privacy"; Duchi, Jordan & Wainwright (2018), "Minimax Optimal Procedures for Locally Private Estimation".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sfumato.local import device
from sfumato.local.means.base import STEPS, MeanProtocol
from sfumato.local.probabilities import SCALE, asked_loss, exp_below, log_above, threshold_below
from sfumato.promise.ratio import loss_above

if TYPE_CHECKING:
    from sfumato.core.arrays import Integers
    from sfumato.local.means.base import Parts
    from sfumato.random import Source

FINEST = 2**20  # denominators of the ε that Laplace noise is drawn for
LOWEST_HYBRID = 0.61  # below it Duchi alone is better: ε* of Wang et al. (2019), section III-C


@dataclass(frozen=True)
class LaplaceMean(MeanProtocol):
    """Discrete Laplace noise on the grid: simple, unbounded, and best for no ε at all.

    >>> LaplaceMean(0, 1, 2).worst_variance
    2.0
    """

    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "the Laplace mechanism"
    automatic: ClassVar[bool] = True

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps of the grid."""
        exact = Fraction(repr(float(self.epsilon)))
        if exact.denominator > FINEST:
            exact = Fraction(max(1, math.floor(exact * FINEST)), FINEST)
        return 2 * STEPS / exact

    @property
    def thresholds(self) -> dict[str, int]:
        return {"steps": STEPS, "scale_top": self.scale.numerator, "scale_bottom": self.scale.denominator}

    @property
    def spent(self) -> float:
        return float(2 * STEPS / self.scale)

    @property
    def loss(self) -> Decimal:
        exact = 2 * STEPS / self.scale
        return Context(prec=60, rounding=ROUND_CEILING).divide(Decimal(exact.numerator), Decimal(exact.denominator))

    @property
    def noise(self) -> tuple[float, float]:
        return 8 / self.epsilon**2, 0.0

    def parts(self, reports: Integers) -> Parts:
        return [(abs(reports) < 2**62, Fraction(1, STEPS))]

    def probability(self, report: int, step: int) -> float:
        return math.exp(-abs(report - step) / self.scale)

    def draw(self, step: int) -> int:
        return step + device_laplace(self.scale)

    def draw_many(self, steps: Integers, source: Source) -> Integers:
        from sfumato.random import discrete_laplace

        return steps + discrete_laplace(steps.size, self.scale, source)


@dataclass(frozen=True)
class Duchi(MeanProtocol):
    """One of two answers, far left or far right: the best at a small ε.

    The value is rounded at random to an end of the bounds, and the end told by Warner's randomised response, which is
    the mechanism of Duchi, Jordan & Wainwright (2018) in one dimension.

    >>> Duchi(0, 1, 1).thresholds["truth"] / 2**64
    0.7310585786300049
    """

    name: ClassVar[str] = "duchi"
    words: ClassVar[str] = "Duchi's mechanism"
    automatic: ClassVar[bool] = True

    @cached_property
    def truth(self) -> int:
        """The probability of telling the true end."""
        odds = exp_below(asked_loss(self.epsilon))
        return threshold_below(odds / (1 + odds))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"steps": STEPS, "truth": self.truth}

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values, exactly."""
        return Fraction(self.truth, SCALE - self.truth)

    @property
    def spent(self) -> float:
        return log_above(self.ratio)

    @property
    def loss(self) -> Decimal:
        return loss_above(self.ratio)

    @property
    def noise(self) -> tuple[float, float]:
        return (1 / math.tanh(self.epsilon / 2)) ** 2, -1.0

    def parts(self, reports: Integers) -> Parts:
        return [(abs(reports) == 1, Fraction(SCALE, 2 * self.truth - SCALE))]

    def probability(self, report: int, step: int) -> Fraction:
        right, truth = Fraction(step + STEPS, 2 * STEPS), Fraction(self.truth, SCALE)
        told = right * truth + (1 - right) * (1 - truth)
        return {1: told, -1: 1 - told}.get(report, Fraction(0))

    def draw(self, step: int) -> int:
        end = 1 if device.below(2 * STEPS) < step + STEPS else -1
        return end if device.words64(1)[0] < self.truth else -end

    def draw_many(self, steps: Integers, source: Source) -> Integers:
        from sfumato.local.protocols.bulk import draw_coins, uniform_integers

        ends = 2 * (uniform_integers(2 * STEPS, steps.size, source) < steps + STEPS) - 1
        return ends * (2 * draw_coins(self.truth, steps.size, source) - 1)


@dataclass(frozen=True)
class Piecewise(MeanProtocol):
    """An integer, likelier in a window around the value than outside it: the best single one at a larger ε.

    The window is 2·`half`+1 grid points wide and lies within the grid widened by `half` on either side; windows of all
    values are equally wide, so one ratio of probabilities holds for every report.

    >>> Piecewise(0, 1, 1).spent
    1.0
    """

    name: ClassVar[str] = "piecewise"
    words: ClassVar[str] = "the piecewise mechanism"
    automatic: ClassVar[bool] = True

    @cached_property
    def half(self) -> int:
        """How far the window reaches on either side: the paper's C, in whole steps."""
        return max(0, round(STEPS * exp_below(Fraction(self.epsilon) / -2) - Fraction(1, 2)))

    @property
    def width(self) -> int:
        """The grid points of a window."""
        return 2 * self.half + 1

    @cached_property
    def inside(self) -> int:
        """The probability of a report within the window."""
        odds = exp_below(asked_loss(self.epsilon)) * Fraction(self.width, 2 * STEPS)
        return threshold_below(odds / (1 + odds))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"steps": STEPS, "half": self.half, "inside": self.inside}

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two values, exactly."""
        return Fraction(self.inside * 2 * STEPS, (SCALE - self.inside) * self.width)

    @property
    def spent(self) -> float:
        return log_above(self.ratio)

    @property
    def loss(self) -> Decimal:
        return loss_above(self.ratio)

    @property
    def noise(self) -> tuple[float, float]:
        power = math.exp(self.epsilon / 2)
        return (power + 3) / (3 * (power - 1) ** 2), 1 / (power - 1)

    def parts(self, reports: Integers) -> Parts:
        inside = Fraction(self.inside, SCALE)
        expected = inside - (1 - inside) * Fraction(self.width, 2 * STEPS)  # of a report, in steps for each step
        return [(abs(reports) <= STEPS + self.half, 1 / (expected * STEPS))]

    def probability(self, report: int, step: int) -> Fraction:
        inside = Fraction(self.inside, SCALE)
        if abs(report) > STEPS + self.half:
            return Fraction(0)
        return inside / self.width if abs(report - step) <= self.half else (1 - inside) / (2 * STEPS)

    def draw(self, step: int) -> int:
        if device.words64(1)[0] < self.inside:
            return step - self.half + device.below(self.width)
        place = device.below(2 * STEPS) - STEPS - self.half
        return place + self.width if place >= step - self.half else place

    def draw_many(self, steps: Integers, source: Source) -> Integers:
        import numpy as np

        from sfumato.local.protocols.bulk import draw_coins, uniform_integers

        near = steps - self.half + uniform_integers(self.width, steps.size, source)
        far = uniform_integers(2 * STEPS, steps.size, source) - STEPS - self.half
        far += self.width * (far >= steps - self.half)
        return np.where(draw_coins(self.inside, steps.size, source), near, far)


@dataclass(frozen=True)
class Hybrid(MeanProtocol):
    """Piecewise or Duchi by a public coin: the lowest worst-case variance of all, at every ε.

    Duchi's two answers are the two integers beyond the piecewise grid.

    >>> Hybrid(0, 1, 0.5).thresholds["coin"], Hybrid(0, 1, 1).thresholds["coin"] / 2**64
    (0, 0.3934693402873666)
    """

    name: ClassVar[str] = "hybrid"
    words: ClassVar[str] = "the hybrid mechanism"
    automatic: ClassVar[bool] = True

    @cached_property
    def piecewise(self) -> Piecewise:
        """The one that a coin of `coin` out of 2^64 chooses."""
        return Piecewise(self.low, self.high, self.epsilon)

    @cached_property
    def duchi(self) -> Duchi:
        """The other one."""
        return Duchi(self.low, self.high, self.epsilon)

    @cached_property
    def coin(self) -> int:
        """The probability of the piecewise mechanism."""
        if self.epsilon <= LOWEST_HYBRID:
            return 0
        return threshold_below(1 - exp_below(asked_loss(self.epsilon) / -2))

    @property
    def thresholds(self) -> dict[str, int]:
        return {**self.piecewise.thresholds, **self.duchi.thresholds, "coin": self.coin}

    @property
    def spent(self) -> float:
        return max(self.piecewise.spent, self.duchi.spent) if self.coin else self.duchi.spent

    @property
    def loss(self) -> Decimal:
        return max(self.piecewise.loss, self.duchi.loss) if self.coin else self.duchi.loss

    @property
    def noise(self) -> tuple[float, float]:
        if not self.coin:
            return self.duchi.noise
        power = math.exp(self.epsilon / 2)  # the two squares cancel
        return (power + 3) / (3 * power * (power - 1)) + self.duchi.noise[0] / power, 0.0

    def parts(self, reports: Integers) -> Parts:
        end = STEPS + self.piecewise.half + 1
        extreme = abs(reports) == end
        worth = self.duchi.parts(reports)[0][1] / end
        return [*(self.piecewise.parts(reports) if self.coin else []), (extreme, worth)]

    def probability(self, report: int, step: int) -> Fraction:
        coin, end = Fraction(self.coin, SCALE), STEPS + self.piecewise.half + 1
        if abs(report) == end:
            return (1 - coin) * self.duchi.probability(report // end, step)
        return coin * self.piecewise.probability(report, step)

    def draw(self, step: int) -> int:
        if device.words64(1)[0] < self.coin:
            return self.piecewise.draw(step)
        return self.duchi.draw(step) * (STEPS + self.piecewise.half + 1)

    def draw_many(self, steps: Integers, source: Source) -> Integers:
        from sfumato.local.protocols.bulk import draw_coins

        fine = draw_coins(self.coin, steps.size, source)
        reports = self.duchi.draw_many(steps, source) * (STEPS + self.piecewise.half + 1)
        reports[fine] = self.piecewise.draw_many(steps[fine], source)
        return reports


def device_laplace(scale: Fraction) -> int:
    """Return one draw of discrete Laplace noise in pure Python (Canonne, Kamath & Steinke 2020, algorithm 2).

    >>> isinstance(device_laplace(Fraction(10)), int)
    True
    """
    while True:
        offset = device.below(scale.numerator)
        if not _exp_coin(offset, scale.numerator):
            continue
        whole = 0
        while _exp_coin(1, 1):
            whole += 1
        size = (offset + scale.numerator * whole) // scale.denominator
        negative = device.below(2)
        if size or not negative:
            return -size if negative else size


def _exp_coin(top: int, bottom: int) -> bool:
    """Heads with probability exp(-top/bottom), for a ratio of at most 1."""
    trial = 1
    while device.below(bottom * trial) < top:
        trial += 1
    return trial % 2 == 1
