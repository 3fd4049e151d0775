"""Optimised local hashing: the value is hashed to g cells by a seed of the report's own, then answered at random.

Wang, Blocki, Li & Jha (2017), with g = round(e^ε) + 1. The hash is affine over the field of 2^31 - 1 elements (Carter &
Wegman 1979), then scaled to g cells: the cells of two values are independent over the seeds, exactly, so that the
chance of a collision is known exactly too; it is 1/g to within 2^-30.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from sfumato.local.base import LocalProtocol
from sfumato.local.device import below
from sfumato.local.probabilities import SCALE, exp_below
from sfumato.local.protocols.randomized_response import integer_bytes, respond, response_chances

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Integers, Mask, Payload
    from sfumato.random import Source

PRIME = 2**31 - 1
SHIFT = 31
MOST_CELLS = 2**16
SEED = struct.Struct("<II")


@dataclass(frozen=True)
class LocalHashing(LocalProtocol):
    """A seed and the randomised cell of the value under it: a short report, whatever the domain (Wang et al. 2017).

    >>> protocol = LocalHashing(range(1000), 1)
    >>> protocol.groups, protocol.report_bytes
    (4, 9)
    """

    name: ClassVar[str] = "olh"
    seed_bytes: ClassVar[int] = SEED.size

    @cached_property
    def groups(self) -> int:
        """The number of cells: round(e^ε) + 1, and not above 2^16."""
        return min(round(exp_below(self.epsilon)) + 1, MOST_CELLS)

    @cached_property
    def _chances(self) -> tuple[int, int]:
        return response_chances(self.epsilon, self.groups)

    @property
    def chances(self) -> dict[str, int]:
        own, other = self._chances
        return {"own": own, "other": other, "groups": self.groups}

    @cached_property
    def collision(self) -> Fraction:
        """The exact chance, over the seeds, that two values share a cell."""
        edges = [cell_start(cell, self.groups) for cell in range(self.groups)] + [PRIME]
        return Fraction(sum((end - start) ** 2 for start, end in pairwise(edges)), PRIME**2)

    @cached_property
    def support(self) -> tuple[Fraction, Fraction]:
        own, other = (Fraction(chance, SCALE) for chance in self._chances)
        return own, other + (own - other) * self.collision

    @property
    def ratio(self) -> Fraction:
        return Fraction(*self._chances)

    @property
    def report_bytes(self) -> int:
        return SEED.size + integer_bytes(self.groups)

    def _payload(self, code: int) -> bytes:
        seed = below(PRIME), below(PRIME)
        cell = respond(hashed(code, *seed, self.groups), *self._chances)
        return SEED.pack(*seed) + cell.to_bytes(self.report_bytes - SEED.size, "little")

    def probability(self, payload: bytes, code: int) -> Fraction:
        own, other = (Fraction(chance, SCALE) for chance in self._chances)
        slope, shift = SEED.unpack_from(payload)
        true = hashed(code, slope, shift, self.groups)
        return own if int.from_bytes(payload[SEED.size :], "little") == true else other

    def _payloads(self, codes: Codes, source: Source) -> Payload:
        from sfumato.local.protocols.hashes import hash_reports

        return hash_reports(codes, self.groups, self._chances, source)

    def well_formed(self, payload: Payload) -> Mask:
        from sfumato.local.protocols.hashes import valid_hashes

        return valid_hashes(payload, self.groups)

    def count(self, payload: Payload) -> Integers:
        from sfumato.local.protocols.hashes import supported

        return supported(payload, self.groups, len(self.domain))


def hashed(code: int, slope: int, shift: int, groups: int) -> int:
    """Return the cell of a code under a seed.

    >>> hashed(5, 1, 0, 4), hashed(5, 2**30, 7, 4)
    (0, 2)
    """
    return (slope * code + shift) % PRIME * groups >> SHIFT


def cell_start(cell: int, groups: int) -> int:
    """Return the smallest residue that falls into a cell.

    >>> cell_start(0, 4), cell_start(1, 4) == 2**29
    (0, True)
    """
    return -(-(cell << SHIFT) // groups)
