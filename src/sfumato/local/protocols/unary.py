"""Unary encodings: one bit for each value of the domain, every bit flipped with its own probability.

Symmetric as in basic RAPPOR (Erlingsson, Pihur & Korolova 2014) and in Pedro (2022), or optimised (Wang, Blocki, Li &
Jha 2017): the own bit is a fair coin, the others are set as rarely as ε allows.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sfumato.errors import ParameterError
from sfumato.local.base import ANY_SIZE, LocalProtocol
from sfumato.local.device import pack_bits, words64
from sfumato.local.probabilities import SCALE, asked_loss, exp_below, log_above, threshold_above, threshold_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
    from sfumato.local.domain import Value
    from sfumato.random import Source


@dataclass(frozen=True)
class UnaryEncoding(LocalProtocol):
    """What the unary encodings share, given the probabilities of the own bit and of another (Wang et al. 2017).

    >>> [kind.name for kind in UnaryEncoding.__subclasses__()]
    ['sue', 'oue']
    """

    auto_sizes: ClassVar[range] = ANY_SIZE

    @cached_property
    @abstractmethod
    def bits(self) -> tuple[int, int]:
        """The probabilities, out of 2^64, that the own bit is set and that another bit is."""

    @property
    def thresholds(self) -> dict[str, int]:
        own, other = self.bits
        return {"own": own, "other": other}

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        own, other = self.bits
        return Fraction(own, SCALE), Fraction(other, SCALE)

    @property
    def ratio(self) -> Fraction:
        own, other = self.support
        return own * (1 - other) / ((1 - own) * other)

    @property
    def report_bytes(self) -> int:
        return -(-len(self.domain) // 8)

    def draw(self, code: int) -> bytes:
        own, other = self.bits
        words = words64(len(self.domain))
        ones = (place for place, word in enumerate(words) if word < (own if place == code else other))
        return pack_bits(ones, len(self.domain))

    def probability(self, payload: bytes, code: int) -> Fraction:
        own, other = self.support
        bits, product = int.from_bytes(payload, "little"), Fraction(1)
        for place in range(len(self.domain)):
            probability = own if place == code else other
            product *= probability if bits >> place & 1 else 1 - probability
        return product

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """Whether the value's bit is set."""
        from sfumato.local.protocols.bulk import bits_at

        return bits_at(payload, codes)

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        from sfumato.local.protocols.bulk import random_rows

        return random_rows(codes, len(self.domain), *self.bits, source)

    def well_formed(self, payload: Payload) -> Mask:
        from sfumato.local.protocols.bulk import within

        return within(payload, len(self.domain))

    def count(self, payload: Payload) -> Integers:
        from sfumato.local.protocols.bulk import bit_counts

        return bit_counts(payload, len(self.domain))


@dataclass(frozen=True)
class SymmetricUnary(UnaryEncoding):
    """Every bit keeps its value with p and is flipped with 1 - p; ε = 2 ln(p/(1-p)) (Pedro 2022; basic RAPPOR).

    >>> protocol = SymmetricUnary(["north", "south", "east"], 2.251)
    >>> protocol.spent <= 2.251, round(float(protocol.support[0]), 3)
    (True, 0.755)
    """

    name: ClassVar[str] = "sue"
    words: ClassVar[str] = "symmetric unary encoding"

    @classmethod
    def from_p(cls, domain: Sequence[Value], p: float) -> SymmetricUnary:
        """The encoding that keeps a bit with probability p, above 1/2, at the ε that this costs.

        >>> [round(SymmetricUnary.from_p(["a", "b"], p).epsilon, 3) for p in (0.501, 0.755, 0.999)]
        [0.008, 2.251, 13.814]
        """
        kept = Fraction(str(p))
        if not Fraction(1, 2) < kept < 1:
            raise ParameterError(
                f"The 'p' parameter of SymmetricUnary must be above 0.5 and below 1. Got {p!r} instead."
            )
        return cls(domain, log_above((kept / (1 - kept)) ** 2))

    @cached_property
    def bits(self) -> tuple[int, int]:
        root = exp_below(asked_loss(self.epsilon) / 2)
        own = threshold_below(root / (root + 1))
        return own, SCALE - own


@dataclass(frozen=True)
class OptimizedUnary(UnaryEncoding):
    """The own bit is set with 1/2, every other with 1/(e^ε + 1): least variance of a rare value (Wang et al. 2017).

    >>> protocol = OptimizedUnary(["north", "south", "east"], 1)
    >>> [round(float(probability), 3) for probability in protocol.support]
    [0.5, 0.269]
    """

    name: ClassVar[str] = "oue"
    words: ClassVar[str] = "optimised unary encoding"

    @cached_property
    def bits(self) -> tuple[int, int]:
        return SCALE // 2, threshold_above(1 / (exp_below(asked_loss(self.epsilon)) + 1))
