"""What all mechanisms share: a name and a sentence, exact parameters, and how an auditor puts them to trials.

A scale or an ε that passed through floating point can promise more than it keeps (Mironov 2012), so every parameter is
a fraction, and a binary fraction given by a person counts as its shortest decimal text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

from sfumato.core.parameters import Validated
from sfumato.dp.mechanisms.trial import Trial
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

    def bad_values(self) -> list[object]:
        return [0, -1, "x", None, float("nan"), *([] if self.below is None else [self.below])]


class Mechanism(Validated, ABC):
    """Base for mechanisms: frozen dataclasses whose fields named in `EXACT` become fractions when they are made.

    A class says its `name` (its entry point in the group `sfumato.mechanisms`, and what people type), its `words` (what
    cards call it) and one `sentence` about it. `sfumato audit epsilon NAME` and `sfumato.checks.mechanism_checks` work
    with what it tells about itself.

    >>> from sfumato.dp.mechanisms.additive import Laplace
    >>> Laplace(2.5).scale, Laplace.name, Laplace.sample("0.1")
    (Fraction(5, 2), 'laplace', Laplace(scale=Fraction(10, 1)))
    """

    name: ClassVar[str]
    words: ClassVar[str]
    sentence: ClassVar[str]
    EXACT: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        """Return a small instance that claims ε, with the δ that its trial names, for the neighbours of its trial."""

    @abstractmethod
    def trial(self) -> Trial:
        """Return how to run the mechanism many times, and neighbouring inputs that it must not tell apart."""

    def law(self, value: Any) -> Mapping[Any, float] | None:
        """Return how likely outputs of the trial are on one input, or None where the law is not stated.

        Outputs that are not named share the rest. The conformance suite tests draws against this law.
        """
        del value
        return None

    def __post_init__(self) -> None:
        for name in self.EXACT:
            try:
                object.__setattr__(self, name, exact(getattr(self, name)))
            except ParameterError:
                break  # the rules refuse it, and say what is wanted
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
