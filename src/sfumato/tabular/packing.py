"""Several coded columns packed into few, so that a group's key takes few look-ups.

Columns side by side share one code as long as their combinations stay few enough for the processor's
nearest cache; the idea is that of dictionary-coded composite keys (Graefe 1993, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
MOST_COMBINATIONS = 2048


@dataclass(frozen=True, eq=False)
class Packing:
    """Which columns share a code, and the packed codes: a row per cell, a column per pack.

    >>> packing = Packing.of(np.array([[0, 1], [1, 2]], dtype=np.int32), [2, 3])
    >>> packing.places, packing.codes.tolist()
    (((0, 1),), [[1], [5]])
    """

    places: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    codes: npt.NDArray[np.int32]

    @classmethod
    def of(cls, codes: npt.NDArray[np.int32], sizes: Sequence[int]) -> Packing:
        """Return the columns packed in their order, each holding codes 0…size-1."""
        places: list[list[int]] = []
        spans: list[int] = []
        packed: list[npt.NDArray[np.int32]] = []
        for place, size in enumerate(sizes):
            if spans and spans[-1] * size <= MOST_COMBINATIONS:
                places[-1].append(place)
                spans[-1] *= size
                packed[-1] = packed[-1] * np.int32(size) + codes[:, place]
            else:
                places.append([place])
                spans.append(size)
                packed.append(codes[:, place])
        return cls(tuple(tuple(pack) for pack in places), tuple(sizes), np.ascontiguousarray(np.stack(packed, axis=1)))

    def keys(self, parts: Sequence[Int64s | None]) -> tuple[Int64s, Int64s, Int64s]:
        """Return packs, sums and starts: pack i's code c adds sums[starts[i] + c] when parts[j] is what column j adds.

        Columns whose part is None add nothing; packs of such columns alone are left out.

        >>> packing = Packing.of(np.array([[0, 1], [1, 2]], dtype=np.int32), [2, 3])
        >>> packing.keys([np.array([0, 10]), np.array([0, 1, 1])])[1].tolist()
        [0, 1, 1, 10, 11, 11]
        """
        packs, tables = [], []
        for number, pack in enumerate(self.places):
            if all(parts[place] is None for place in pack):
                continue
            table = np.zeros(1, dtype=np.int64)
            for place in pack:
                part = parts[place]
                added = np.zeros(self.sizes[place], dtype=np.int64) if part is None else part
                table = (table[:, None] + added).ravel()
            packs.append(number)
            tables.append(table)
        return np.array(packs), np.concatenate(tables), np.cumsum([0, *(len(table) for table in tables)])
