"""What all mechanisms share: parameters as exact fractions, checked when they are made.

A scale or an ε that passed through floating point can promise more than it keeps (Mironov 2012), so every parameter is
a fraction, and a binary fraction given by a person counts as its shortest decimal text.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sfumato.core.parameters import Validated
from sfumato.errors import ParameterError

Number = int | float | str | Decimal | Fraction


def exact(value: Number) -> Fraction:
    """Return the fraction that a number stands for.

    >>> exact(0.1), exact("1e-6"), exact(Decimal("2.5"))
    (Fraction(1, 10), Fraction(1, 1000000), Fraction(5, 2))
    >>> exact("much")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: 'much' is not a finite number
    """
    try:
        return Fraction(float.__repr__(value) if isinstance(value, float) else value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ParameterError(f"{value!r} is not a finite number") from None


@dataclass(frozen=True)
class Positive:
    """A fraction above 0, and below `below` where that is given.

    >>> Positive().wanted, Positive(below=1).accepts(Fraction(1, 10**6))
    ('a finite number above 0', True)
    """

    below: int | Fraction | None = None

    @property
    def wanted(self) -> str:
        return "a finite number above 0" + ("" if self.below is None else f" and below {self.below}")

    def accepts(self, value: object) -> bool:
        return isinstance(value, Fraction) and value > 0 and (self.below is None or value < self.below)

    def refused(self) -> list[object]:
        return [0, -1, "x", None, float("nan"), *([] if self.below is None else [self.below])]


class Mechanism(Validated):
    """Base for frozen dataclasses whose fields named in `EXACT` become fractions when they are made.

    >>> from sfumato.dp.mechanisms.additive import Laplace
    >>> Laplace(2.5).scale
    Fraction(5, 2)
    """

    EXACT: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.EXACT:
            try:
                object.__setattr__(self, name, exact(getattr(self, name)))
            except ParameterError:
                break  # the rules say it better
        super().__post_init__()


def outside_probability(confidence: float) -> Fraction:
    """Return the exact probability that is left outside, for a confidence strictly between 0 and 1.

    >>> outside_probability(0.95)
    Fraction(1, 20)
    """
    outside = 1 - exact(confidence)
    if not 0 < outside < 1:
        raise ParameterError(f"the confidence is {confidence}; give a number above 0 and below 1")
    return outside
