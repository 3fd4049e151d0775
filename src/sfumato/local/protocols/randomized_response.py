"""Randomised response: the true value with one probability, else any other value, all alike.

Warner (1965), "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias", for two values; Kairouz,
Bonawitz & Ramage (2016) for many, where Wang et al. (2017) call it generalised or direct encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from sfumato.errors import ParameterError
from sfumato.local.base import ANY_SIZE, LocalProtocol
from sfumato.local.device import words64
from sfumato.local.domain import DomainRule, Value
from sfumato.local.probabilities import SCALE, asked_loss, exp_below, threshold_above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
    from sfumato.random import Source


@dataclass(frozen=True)
class GeneralizedResponse(LocalProtocol):
    """The true value with e^ε/(e^ε + d - 1), every other one with 1/(e^ε + d - 1) (Kairouz et al. 2016).

    >>> protocol = GeneralizedResponse(["north", "south", "east"], 1)
    >>> [round(float(probability), 3) for probability in protocol.support]
    [0.576, 0.212]
    """

    name: ClassVar[str] = "grr"
    words: ClassVar[str] = "generalised randomised response"
    auto_sizes: ClassVar[range] = ANY_SIZE[1:]  # for two values Warner's is the same

    def __post_init__(self) -> None:
        super().__post_init__()
        response_thresholds(self.epsilon, len(self.domain))  # or refuse, before anybody reports

    @cached_property
    def _thresholds(self) -> tuple[int, int]:
        """The probabilities, out of 2^64, of the true value and of each other one; one word decides among them all."""
        return response_thresholds(self.epsilon, len(self.domain))

    @property
    def thresholds(self) -> dict[str, int]:
        own, other = self._thresholds
        return {"own": own, "other": other}

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        own, other = self._thresholds
        return Fraction(own, SCALE), Fraction(other, SCALE)

    @property
    def ratio(self) -> Fraction:
        return Fraction(*self._thresholds)

    @property
    def report_bytes(self) -> int:
        return integer_bytes(len(self.domain))

    def draw(self, code: int) -> bytes:
        return respond(code, *self._thresholds).to_bytes(self.report_bytes, "little")

    def probability(self, payload: bytes, code: int) -> Fraction:
        own, other = self.support
        return own if int.from_bytes(payload, "little") == code else other

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """Whether the report names the value."""
        import numpy as np

        from sfumato.local.protocols.bulk import as_integers

        named: Reals = (as_integers(payload)[:, None] == codes).astype(np.float64)
        return named

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        from sfumato.local.protocols.bulk import as_bytes, respond_many

        return as_bytes(respond_many(codes, *self._thresholds, source), self.report_bytes)

    def well_formed(self, payload: Payload) -> Mask:
        from sfumato.local.protocols.bulk import as_integers

        return as_integers(payload) < len(self.domain)

    def count(self, payload: Payload) -> Integers:
        from sfumato.local.protocols.bulk import histogram

        return histogram(payload, len(self.domain))


@dataclass(frozen=True)
class WarnerResponse(GeneralizedResponse):
    """The truth with e^ε/(e^ε + 1), else the opposite (Warner 1965); for a domain of two values.

    >>> protocol = WarnerResponse(["no", "yes"], 1)
    >>> round(float(protocol.support[0]), 3)
    0.731
    """

    name: ClassVar[str] = "rr"
    words: ClassVar[str] = "randomised response"
    auto_sizes: ClassVar[range] = range(2, 3)
    RULES: ClassVar = {**GeneralizedResponse.RULES, "domain": DomainRule(size=2)}

    @classmethod
    def sample(cls, domain: Sequence[Value], epsilon: float) -> Self:
        return cls(domain[:2], epsilon)


def response_thresholds(epsilon: float, size: int) -> tuple[int, int]:
    """Return the probabilities out of 2^64 of the true value and of each other one of `size` values.

    With millions of values and a tiny ε no whole number lies between the share that ε asks for and an equal one: the
    rounding of each other value would make the true one the rarest, beyond ε. This is refused.

    >>> own, other = response_thresholds(1, 3)
    >>> own + 2 * other == SCALE
    True
    """
    other = threshold_above(1 / (exp_below(asked_loss(epsilon)) + size - 1))
    own = SCALE - (size - 1) * other
    if own <= other:
        raise ParameterError(
            f"randomised response over {size} values cannot keep epsilon {epsilon:g} in probabilities out of 2^64; "
            "give a larger epsilon, a smaller domain or another protocol"
        )
    return own, other


def respond(code: int, own: int, other: int) -> int:
    """Return the code or another one, by one 64-bit word from the operating system.

    >>> respond(3, SCALE, 0)
    3
    """
    (word,) = words64(1)
    if word < own:
        return code
    place = (word - own) // other
    return place + (place >= code)


def integer_bytes(size: int) -> int:
    """Return how many bytes hold any integer below `size`: 1, 2 or 4.

    >>> integer_bytes(256), integer_bytes(257), integer_bytes(70_000)
    (1, 2, 4)
    """
    return next(width for width in (1, 2, 4) if size <= 256**width)
