"""Subset selection: a report is a set of k values, more likely one that holds the true value.

Ye & Barg (2018), "Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy", and Wang et
al. (2016); with k near d/(e^ε + 1) no protocol has a lower variance, and k = 1 is generalised randomised response.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING, ClassVar

from sfumato.local.base import ANY_SIZE, LocalProtocol
from sfumato.local.device import pack_bits, subset, words64
from sfumato.local.probabilities import SCALE, asked_loss, exp_below, threshold_below

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
    from sfumato.random import Source

LARGEST_RUN = 2**20  # 32-bit words


@dataclass(frozen=True)
class SubsetSelection(LocalProtocol):
    """A uniform k-subset that holds the true value with k·e^ε/(k·e^ε + d - k) (Ye & Barg 2018).

    >>> protocol = SubsetSelection(range(10), 1)
    >>> protocol.size, [round(float(probability), 3) for probability in protocol.support]
    (3, [0.538, 0.274])
    """

    name: ClassVar[str] = "ss"
    words: ClassVar[str] = "subset selection"
    aliases: ClassVar[tuple[str, ...]] = ("subset",)
    auto_sizes: ClassVar[range] = ANY_SIZE

    @cached_property
    def size(self) -> int:
        """The size of the sets: the whole number beside d/(e^ε + 1) that has the lower variance."""
        whole = int(len(self.domain) / (exp_below(asked_loss(self.epsilon)) + 1))
        return min((max(whole, 1), whole + 1), key=self._noise)

    @cached_property
    def _held_threshold(self) -> int:
        """The probability, out of 2^64, that the set holds the true value."""
        return self._threshold(self.size)

    def _threshold(self, size: int) -> int:
        weight = size * exp_below(asked_loss(self.epsilon))
        return threshold_below(weight / (weight + len(self.domain) - size))

    def _support(self, size: int) -> tuple[Fraction, Fraction]:
        own = Fraction(self._threshold(size), SCALE)
        return own, (own * (size - 1) + (1 - own) * size) / (len(self.domain) - 1)

    def _noise(self, size: int) -> Fraction:
        own, other = self._support(size)
        empty, full = other * (1 - other), own * (1 - own)
        return (empty + (full - empty) / len(self.domain)) / (own - other) ** 2

    @property
    def thresholds(self) -> dict[str, int]:
        return {"held": self._held_threshold, "size": self.size}

    @cached_property
    def support(self) -> tuple[Fraction, Fraction]:
        return self._support(self.size)

    @property
    def ratio(self) -> Fraction:
        held, values = self._held_threshold, len(self.domain)
        return Fraction(held, SCALE - held) * Fraction(values - self.size, self.size)

    @property
    def report_bytes(self) -> int:
        return -(-len(self.domain) // 8)

    def draw(self, code: int) -> bytes:
        (word,) = words64(1)
        held = word < self._held_threshold
        others = subset(self.size - held, len(self.domain) - 1)
        return pack_bits([code] * held + [place + (place >= code) for place in others], len(self.domain))

    def probability(self, payload: bytes, code: int) -> Fraction:
        own, others = self.support[0], len(self.domain) - 1
        if int.from_bytes(payload, "little") >> code & 1:
            return own / comb(others, self.size - 1)
        return (1 - own) / comb(others, self.size)

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """Whether the value's bit is set."""
        from sfumato.local.protocols.bulk import bits_at

        return bits_at(payload, codes)

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        import numpy as np

        from sfumato.local.protocols.bits_kernel import fill_subsets

        domain, size = len(self.domain), self.size
        rows = np.zeros((len(codes), self.report_bytes), dtype=np.uint8)
        most = 2 * size + 64  # a user reads two words and about one for each member; too few only costs another round
        done, unread = 0, np.empty(0, dtype=np.uint32)
        while done < len(codes):
            fresh = source.words(max(most, min((size + 4) * (len(codes) - done), LARGEST_RUN)))
            words = np.concatenate([unread, fresh])
            done, place = fill_subsets(rows, done, codes, domain, size, np.uint64(self._held_threshold), words)
            unread = words[place:]
        return rows

    def well_formed(self, payload: Payload) -> Mask:
        import numpy as np

        from sfumato.local.protocols.bulk import within

        members = np.bitwise_count(payload).sum(axis=1, dtype=np.int64)
        valid: Mask = within(payload, len(self.domain)) & (members == self.size)
        return valid

    def count(self, payload: Payload) -> Integers:
        from sfumato.local.protocols.bulk import bit_counts

        return bit_counts(payload, len(self.domain))
