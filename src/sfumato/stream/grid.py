"""The public grid on which noise is drawn: a step that is a power of two, fixed by public parameters alone.

Values are rounded to the grid and the noise is an integer number of steps, so that no floating-point rounding tells
one input from another (Mironov 2012); a power of two keeps the final product exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import ParameterError

LARGEST_STEPS = 2**52


@dataclass(frozen=True)
class Interval:
    """The rule of a pair of public bounds: two finite numbers, the lower one first.

    >>> Interval().accepts((0, 10)), Interval().accepts((10, 0))
    (True, False)
    """

    wanted: str = "a pair of finite numbers, the lower one first"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, tuple) or len(value) != 2:
            return False
        numbers = all(isinstance(limit, int | float) and not isinstance(limit, bool) for limit in value)
        return numbers and all(math.isfinite(limit) for limit in value) and value[0] < value[1]

    def refused(self) -> list[object]:
        return [(1, 0), (0, 0), (0, math.inf), (0,), 5, "x", None]


def step_for(scale: Fraction, steps: int) -> float:
    """Return the power of two of which `scale` is between `steps` and twice as many (`steps` a power of two).

    >>> step_for(Fraction(1000), 2**20)
    0.00048828125
    """
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    if Fraction(2) ** exponent > scale:
        exponent -= 1
    step = math.ldexp(1.0, exponent - steps.bit_length() + 1)
    if step == 0.0 or math.isinf(step):
        raise ParameterError(f"noise of scale {float(scale):g} cannot be drawn; give a scale between 1e-290 and 1e300")
    return step


def grid_steps(bound: float, step: float) -> int:
    """Return a bound in steps of the grid, refusing one so far out that sums would be rounded.

    >>> grid_steps(10.1, 0.5)
    20
    """
    steps = round(Fraction(bound) / Fraction(step))
    if abs(steps) >= LARGEST_STEPS:
        raise ParameterError(f"the bound {bound:g} is too far from 0 for noise this small; move the origin nearer")
    return steps
