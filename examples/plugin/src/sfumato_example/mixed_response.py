"""Mixed response: a uniform value with one probability, the truth otherwise (Warner 1965, in the form of Kairouz 2016).

With μ = d/(e^ε + d - 1) the truth is e^ε times as likely as any other value. The probability is a threshold out of
2^64, rounded up, so that ε is never exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sfumato.local.base import ANY_SIZE, LocalProtocol
from sfumato.local.device import below, words64
from sfumato.local.probabilities import SCALE, exp_below, threshold_above
from sfumato.local.protocols.randomized_response import integer_bytes

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Integers, Mask, Payload
    from sfumato.random import Source


@dataclass(frozen=True)
class MixedResponse(LocalProtocol):
    """The truth, or any value of the domain, all alike.

    >>> protocol = MixedResponse(["no", "yes"], 1)
    >>> round(float(protocol.support[0]), 3)
    0.731
    """

    name: ClassVar[str] = "mixed"
    words: ClassVar[str] = "mixed response"
    auto_sizes: ClassVar[range] = ANY_SIZE[:0]  # never better than ours, so `auto` need not weigh it

    @cached_property
    def _mixed(self) -> int:
        """Out of 2^64, how likely a uniform value is sent."""
        size = len(self.domain)
        return threshold_above(Fraction(size) / (exp_below(self.epsilon) + size - 1))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"mixed": self._mixed}

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        uniform = Fraction(self._mixed, SCALE)
        other = uniform / len(self.domain)
        return 1 - uniform + other, other

    @property
    def ratio(self) -> Fraction:
        own, other = self.support
        return own / other

    @property
    def report_bytes(self) -> int:
        return integer_bytes(len(self.domain))

    def draw(self, code: int) -> bytes:
        """Return one report, drawn on the device without numpy."""
        (word,) = words64(1)
        shown = below(len(self.domain)) if word < self._mixed else code
        return shown.to_bytes(self.report_bytes, "little")

    def probability(self, payload: bytes, code: int) -> Fraction:
        own, other = self.support
        return own if int.from_bytes(payload, "little") == code else other

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        import numpy as np

        from sfumato.local.protocols.bulk import as_bytes, draw_coins, uniform_integers

        uniform = uniform_integers(len(self.domain), len(codes), source)
        mixed = draw_coins(self._mixed, len(codes), source)
        return as_bytes(np.where(mixed, uniform, codes), self.report_bytes)

    def well_formed(self, payload: Payload) -> Mask:
        from sfumato.local.protocols.bulk import as_integers

        return as_integers(payload) < len(self.domain)

    def count(self, payload: Payload) -> Integers:
        from sfumato.local.protocols.bulk import histogram

        return histogram(payload, len(self.domain))
