"""Local hashing in bulk: seeds drawn without bias, values hashed, and the values that reports support counted."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Integers, Mask, Payload
from sfumato.local.protocols.hashing import PRIME, SEED, SHIFT
from sfumato.local.protocols.randomized_response import integer_bytes
from sfumato.local.protocols.responses import as_bytes, as_integers, respond_many
from sfumato.random import Source


def residues(count: int, source: Source) -> Codes:
    """Return uniform integers below 2^31 - 1; the one word in 2^31 that is not below is thrown away.

    >>> from sfumato.random import SeededSource
    >>> bool((residues(1000, SeededSource(1)) < PRIME).all())
    True
    """
    kept = np.empty(0, dtype=np.int64)
    while kept.size < count:
        drawn = (source.words(count - kept.size) >> np.uint32(1)).astype(np.int64)
        kept = np.concatenate([kept, drawn[drawn < PRIME]])
    return kept


def hash_reports(codes: Codes, groups: int, chances: tuple[int, int], source: Source) -> Payload:
    """Return a report for each code: slope, shift, and the randomised cell.

    >>> from sfumato.random import SeededSource
    >>> hash_reports(np.array([3, 4]), 4, (2**63, 2**61), SeededSource(1)).shape
    (2, 9)
    """
    slope, shift = residues(len(codes), source), residues(len(codes), source)
    cells = (slope * codes + shift) % PRIME * groups >> SHIFT
    answers = respond_many(cells, *chances, source)
    return np.hstack([as_bytes(slope, 4), as_bytes(shift, 4), as_bytes(answers, integer_bytes(groups))])


def valid_hashes(payload: Payload, groups: int) -> Mask:
    """Return which rows have seeds of the field and a cell that exists.

    >>> valid_hashes(np.array([[0] * 8 + [3], [255] * 8 + [3], [0] * 8 + [4]], dtype=np.uint8), 4).tolist()
    [True, False, False]
    """
    slope, shift, cells = _fields(payload)
    return (slope < PRIME) & (shift < PRIME) & (cells < groups)


def supported(payload: Payload, groups: int, size: int) -> Integers:
    """Return, for each of `size` values, how many reports name the cell that their seed gives it.

    >>> supported(np.array([[1, 0, 0, 0, 0, 0, 0, 0, 0]], dtype=np.uint8), 4, 3).tolist()
    [1, 1, 1]
    """
    from sfumato.local.protocols.hashing_kernel import count_supported

    slope, shift, cells = _fields(payload)
    starts = -(-(np.arange(groups + 1) << SHIFT) // groups)  # `cell_start` of every cell
    low, width = starts[cells], np.diff(starts)[cells]
    counts = np.zeros(size, dtype=np.int64)
    count_supported(slope, shift, low.astype(np.uint32), width.astype(np.uint32), counts)
    return counts


def _fields(payload: Payload) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return as_integers(payload[:, :4]), as_integers(payload[:, 4:8]), as_integers(payload[:, SEED.size :])
