"""Hadamard response: a report is a row of a Hadamard matrix, more likely one where the value's column has a plus.

Acharya, Sun & Zhang (2019), "Hadamard Response: Estimating Distributions Privately, Efficiently, and with Little
Communication", in its form for strong privacy (one block). Reports are a few bytes, tallies cost O(n + d log d).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sfumato.local.base import ANY_SIZE, LocalProtocol
from sfumato.local.device import below, words64
from sfumato.local.probabilities import SCALE, asked_loss, exp_below, threshold_below
from sfumato.local.protocols.randomized_response import integer_bytes

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
    from sfumato.random import Source


@dataclass(frozen=True)
class HadamardResponse(LocalProtocol):
    """A uniform row among those with a plus in the value's column with e^ε/(e^ε + 1), else among the rest.

    Two columns agree in half of the rows, so every other value is supported with exactly 1/2 (Acharya et al. 2019).

    >>> protocol = HadamardResponse(range(1000), 1)
    >>> protocol.cells, protocol.report_bytes, float(protocol.support[1])
    (1024, 2, 0.5)
    """

    name: ClassVar[str] = "hr"
    words: ClassVar[str] = "Hadamard response"
    auto_sizes: ClassVar[range] = ANY_SIZE

    @property
    def cells(self) -> int:
        """The number of rows: the power of two above the size of the domain (column 0 has no minus and is not used)."""
        return 1 << len(self.domain).bit_length()

    @cached_property
    def _plus(self) -> int:
        """The probability, out of 2^64, of a row with a plus."""
        power = exp_below(asked_loss(self.epsilon))
        return threshold_below(power / (power + 1))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"plus": self._plus}

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        return Fraction(self._plus, SCALE), Fraction(1, 2)

    @property
    def ratio(self) -> Fraction:
        return Fraction(self._plus, SCALE - self._plus)

    @property
    def report_bytes(self) -> int:
        return integer_bytes(self.cells)

    def draw(self, code: int) -> bytes:
        row, column = below(self.cells), code + 1
        (word,) = words64(1)
        if _minus(row, column) == (word < self._plus):
            row ^= column & -column  # turns the sign, and pairs rows with a plus and rows with a minus
        return row.to_bytes(self.report_bytes, "little")

    def probability(self, payload: bytes, code: int) -> Fraction:
        plus = self.support[0]
        minus = _minus(int.from_bytes(payload, "little"), code + 1)
        return (1 - plus if minus else plus) * 2 / self.cells

    def supporting(self, counts: Integers, users: int) -> Integers:
        from sfumato.local.protocols.bulk import hadamard_transform

        return (users + hadamard_transform(counts)[1 : len(self.domain) + 1]) // 2

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """Whether the value's column of the matrix has a plus in the reported row."""
        import numpy as np

        from sfumato.local.protocols.bulk import as_integers

        rows = as_integers(payload).astype(np.int64)
        pluses: Reals = (np.bitwise_count(rows[:, None] & (codes + 1)) & 1 == 0).astype(np.float64)
        return pluses

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        from sfumato.local.protocols.bulk import as_bytes, hadamard_rows

        return as_bytes(hadamard_rows(codes + 1, self.cells, self._plus, source), self.report_bytes)

    def well_formed(self, payload: Payload) -> Mask:
        from sfumato.local.protocols.bulk import as_integers

        return as_integers(payload) < self.cells

    def count(self, payload: Payload) -> Integers:
        from sfumato.local.protocols.bulk import histogram

        return histogram(payload, self.cells)


def _minus(row: int, column: int) -> bool:
    """Whether Sylvester's matrix has a minus at a row and a column."""
    return (row & column).bit_count() & 1 == 1
