"""Several coded columns packed into few, so that a group's key takes few look-ups.

Columns side by side share one code as long as their combinations stay few enough for the processor's
nearest cache; the idea is that of dictionary-coded composite keys (Graefe 1993, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.tabular.lattice.ladder import Ladder

Int64s = npt.NDArray[np.int64]
MOST_COMBINATIONS = 2048


class Keys(NamedTuple):
    """A cell's key is the sum over packs i of sums[starts[i] + its code in packs[i]]; keys lie below `span`."""

    packs: Int64s
    sums: Int64s
    starts: Int64s
    span: int


@dataclass(frozen=True, eq=False)
class Packing:
    """Which columns share a code, the packed codes (a row per cell, a column per pack), and their ladders."""

    places: tuple[tuple[int, ...], ...]
    codes: npt.NDArray[np.int32]
    ladders: tuple[Ladder, ...]
    tables: dict[tuple[int, tuple[int, ...]], tuple[Int64s, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, codes: npt.NDArray[np.int32], ladders: Sequence[Ladder]) -> Packing:
        """Return the columns of `codes` packed in their order.

        >>> import polars as pl
        >>> from sfumato.schema import Attribute
        >>> from sfumato.table.coding import code
        >>> from sfumato.schema import Role
        >>> sex = code(pl.Series("sex", ["F", "M"]), Attribute("sex", Role.QUASI))
        >>> packing = Packing.of(np.array([[0, 1], [1, 1]], dtype=np.int32), [Ladder.of(sex)] * 2)
        >>> packing.places, packing.codes.tolist(), packing.keys((0, 1)).sums.tolist()
        (((0, 1),), [[1], [3]], [0, 0, 1, 1])
        """
        places: list[list[int]] = []
        spans: list[int] = []
        packed: list[npt.NDArray[np.int32]] = []
        for place, ladder in enumerate(ladders):
            size = ladder.column.size
            if spans and spans[-1] * size <= MOST_COMBINATIONS:
                places[-1].append(place)
                spans[-1] *= size
                packed[-1] = packed[-1] * np.int32(size) + codes[:, place]
            else:
                places.append([place])
                spans.append(size)
                packed.append(codes[:, place])
        stacked = np.ascontiguousarray(np.stack(packed, axis=1))
        return cls(tuple(tuple(pack) for pack in places), stacked, tuple(ladders))

    def keys(self, levels: tuple[int, ...]) -> Keys:
        """Return what makes the keys of a node's groups; only packs that tell groups apart take part."""
        tables = [
            self._table(number, tuple(levels[place] for place in pack)) for number, pack in enumerate(self.places)
        ]
        packs = [number for number, (_, span) in enumerate(tables) if span > 1]
        stride = span = math.prod(span for _, span in tables)
        parts = []
        for number in packs:
            table, own = tables[number]
            stride //= own
            parts.append(table * stride)
        starts = np.cumsum([0, *(len(part) for part in parts)])
        return Keys(np.array(packs), np.concatenate(parts), starts, span)

    def span(self, levels: tuple[int, ...]) -> int:
        """The number of keys a node could have."""
        return math.prod(len(ladder.labels[level]) for ladder, level in zip(self.ladders, levels, strict=True))

    def _table(self, number: int, levels: tuple[int, ...]) -> tuple[Int64s, int]:
        """Return the key of every code of one pack at the levels of its columns, and how many keys there are."""
        found = self.tables.get((number, levels))
        if found is not None:
            return found
        table, span = np.zeros(1, dtype=np.int64), 1
        for place, level in zip(self.places[number], levels, strict=True):
            size = len(self.ladders[place].labels[level])
            table = (table[:, None] * size + self.ladders[place].nodes[level]).ravel()
            span *= size
        self.tables[number, levels] = table, span
        return table, span
