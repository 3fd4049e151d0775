"""What a block cipher is given, written down in one pass: counters behind seeds, and rows of numbers as chained blocks.

Counter mode is NIST SP 800-38A; chains of blocks of one length are Bellare, Kilian & Rogaway (1994).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.core.kernel import kernel

Blocks = npt.NDArray[np.uint64]


@kernel
def count_from(seeds: Blocks, first: int, counters: npt.NDArray[np.uint64]) -> None:
    """Fill `counters[i, j]` with seed i, its second half met by the number `first` + j."""
    for row in range(counters.shape[0]):
        for ahead in range(counters.shape[1]):
            counters[row, ahead, 0] = seeds[row, 0]
            counters[row, ahead, 1] = seeds[row, 1] ^ np.uint64(first + ahead)


@kernel
def chain_cells(seeds: Blocks, first: int, rows: Blocks, place: int) -> Blocks:
    """Return every seed met by two cells of its row from `place` on: the row's number is cell 0, 0 stands behind."""
    met = np.empty_like(seeds)
    for row in range(seeds.shape[0]):
        for side in range(2):
            column = place + side
            cell = np.uint64(0)
            if column == 0:
                cell = np.uint64(first + row)
            elif column <= rows.shape[1]:
                cell = rows[row, column - 1]
            met[row, side] = seeds[row, side] ^ cell
    return met
