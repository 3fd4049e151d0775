"""The inner loop of local hashing: which values does each report support?

A value's residue is the last value's plus the slope, modulo 2^31 - 1, so no product is needed; a few hundred reports
stay in the nearest cache while the whole domain passes over them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Words = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]

BLOCK = 1024
PRIME = np.uint32(2**31 - 1)


@kernel
def count_supported(slope: Words, shift: Words, low: Words, width: Words, counts: Integers) -> None:
    """Add to `counts[v]` the reports whose residue slope·v + shift lies within `width` of `low`."""
    steps, residue = np.empty(BLOCK, dtype=np.uint32), np.empty(BLOCK, dtype=np.uint32)
    lows, widths = np.empty(BLOCK, dtype=np.uint32), np.empty(BLOCK, dtype=np.uint32)
    for start in range(0, slope.size, BLOCK):
        block = min(BLOCK, slope.size - start)
        widths[block:] = np.uint32(0)  # what lies behind the last report supports nothing
        for report in range(block):
            steps[report], residue[report] = slope[start + report], shift[start + report]
            lows[report], widths[report] = low[start + report], width[start + report]
        for value in range(counts.size):
            counts[value] += pass_over(steps, residue, lows, widths)


@kernel
def pass_over(steps: Words, residue: Words, lows: Words, widths: Words) -> np.int64:
    """The number of residues that lie within their width; each residue then moves on by its step."""
    inside = np.uint32(0)
    for report in range(BLOCK):
        now = residue[report]
        inside = np.uint32(inside + np.uint32(np.uint32(now - lows[report]) < widths[report]))
        following = np.uint32(now + steps[report])
        residue[report] = min(following, np.uint32(following - PRIME))
    return np.int64(inside)
