"""Optimised local hashing: the value is hashed to g cells by a seed of the report's own, then answered at random.

Wang, Blocki, Li & Jha (2017), with g = round(e^ε) + 1. The hash is affine over the field of 2^31 - 1 elements (Carter &
Wegman 1979), then scaled to g cells: the cells of two values are independent over the seeds, exactly, so that the
probability of a collision is known exactly too; it is 1/g to within 2^-30.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.local.base import ANY_SIZE, LocalProtocol
from sfumato.local.device import below
from sfumato.local.probabilities import SCALE, asked_loss, exp_below
from sfumato.local.protocols.randomized_response import integer_bytes, respond, response_thresholds

if TYPE_CHECKING:
    from sfumato.core.arrays import Codes, Integers, Mask, Payload, Reals
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
    words: ClassVar[str] = "local hashing"
    auto_sizes: ClassVar[range] = ANY_SIZE
    seed_bytes: ClassVar[int] = SEED.size

    @cached_property
    def groups(self) -> int:
        """The number of cells: round(e^ε) + 1, and not above 2^16."""
        return min(round(exp_below(asked_loss(self.epsilon))) + 1, MOST_CELLS)

    @cached_property
    def _thresholds(self) -> tuple[int, int]:
        return response_thresholds(self.epsilon, self.groups)

    @property
    def thresholds(self) -> dict[str, int]:
        own, other = self._thresholds
        return {"own": own, "other": other, "groups": self.groups}

    @cached_property
    def collision(self) -> Fraction:
        """The exact probability, over the seeds, that two values share a cell."""
        edges = [cell_start(cell, self.groups) for cell in range(self.groups)] + [PRIME]
        return Fraction(sum((end - start) ** 2 for start, end in pairwise(edges)), PRIME**2)

    @cached_property
    def support(self) -> tuple[Fraction, Fraction]:
        own, other = (Fraction(threshold, SCALE) for threshold in self._thresholds)
        return own, other + (own - other) * self.collision

    @property
    def ratio(self) -> Fraction:
        return Fraction(*self._thresholds)

    @property
    def report_bytes(self) -> int:
        return SEED.size + integer_bytes(self.groups)

    def draw(self, code: int) -> bytes:
        seed = below(PRIME), below(PRIME)
        cell = respond(cell_of(code, *seed, self.groups), *self._thresholds)
        return SEED.pack(*seed) + cell.to_bytes(self.report_bytes - SEED.size, "little")

    def probability(self, payload: bytes, code: int) -> Fraction:
        own, other = (Fraction(threshold, SCALE) for threshold in self._thresholds)
        slope, shift = SEED.unpack_from(payload)
        true = cell_of(code, slope, shift, self.groups)
        return own if int.from_bytes(payload[SEED.size :], "little") == true else other

    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        """Whether the value falls into the named cell under the report's own seed."""
        import numpy as np

        slope, shift, cells = (field.astype(np.int64)[:, None] for field in _fields(payload))
        hits: Reals = ((slope * codes + shift) % PRIME * self.groups >> SHIFT == cells).astype(np.float64)
        return hits

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        import numpy as np

        from sfumato.local.protocols.bulk import as_bytes, respond_many

        slope, shift = residues(len(codes), source), residues(len(codes), source)
        cells = (slope * codes + shift) % PRIME * self.groups >> SHIFT
        answers = respond_many(cells, *self._thresholds, source)
        parts = [as_bytes(slope, 4), as_bytes(shift, 4), as_bytes(answers, integer_bytes(self.groups))]
        return np.hstack(parts)

    def well_formed(self, payload: Payload) -> Mask:
        slope, shift, cells = _fields(payload)
        valid: Mask = (slope < PRIME) & (shift < PRIME) & (cells < self.groups)
        return valid

    def count(self, payload: Payload) -> Integers:
        import numpy as np

        from sfumato.local.protocols.hashing_kernel import count_supported

        slope, shift, cells = _fields(payload)
        starts = -(-(np.arange(self.groups + 1) << SHIFT) // self.groups)  # `cell_start` of every cell
        low, width = starts[cells], np.diff(starts)[cells]
        counts = np.zeros(len(self.domain), dtype=np.int64)
        count_supported(slope, shift, low.astype(np.uint32), width.astype(np.uint32), counts)
        return counts


def cell_of(code: int, slope: int, shift: int, groups: int) -> int:
    """Return the cell of a code under a seed.

    >>> cell_of(5, 1, 0, 4), cell_of(5, 2**30, 7, 4)
    (0, 2)
    """
    return (slope * code + shift) % PRIME * groups >> SHIFT


def cell_start(cell: int, groups: int) -> int:
    """Return the smallest residue that falls into a cell.

    >>> cell_start(0, 4), cell_start(1, 4) == 2**29
    (0, True)
    """
    return -(-(cell << SHIFT) // groups)


def residues(count: int, source: Source) -> Codes:
    """Return uniform integers below 2^31 - 1; the one word in 2^31 that is not below is thrown away.

    >>> from sfumato.random import SeededSource
    >>> bool((residues(1000, SeededSource(1)) < PRIME).all())
    True
    """
    import numpy as np

    kept = np.empty(0, dtype=np.int64)
    while kept.size < count:
        drawn = (source.words(count - kept.size) >> np.uint32(1)).astype(np.int64)
        kept = np.concatenate([kept, drawn[drawn < PRIME]])
    return kept


def _fields(payload: Payload) -> tuple[Any, Any, Any]:
    """The slope, the shift and the cell of each row."""
    from sfumato.local.protocols.bulk import as_integers

    return as_integers(payload[:, :4]), as_integers(payload[:, 4:8]), as_integers(payload[:, SEED.size :])
