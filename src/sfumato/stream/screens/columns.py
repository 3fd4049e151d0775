"""Several columns of numbers and categories side by side: each cell is screened as it would be alone.

A cell that is no value of its column becomes a public default of that column (`sfumato.stream.screens.base`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.stream.runtime.batch import Batch, WantedColumns
from sfumato.stream.screens.base import CategoryScreen, NumberScreen, OnBad, Screened


@dataclass(frozen=True)
class ColumnScreens:
    """Screens of one column each, whose values stand side by side in a record; none of them leaves a record out.

    >>> screens = ColumnScreens((NumberScreen({"cost": (0, 9)}), CategoryScreen("zone", ("a", "b"))))
    >>> screens(Batch(1, {"cost": np.array([12.0])}, {"zone": ["b"]}), 0).values.tolist()
    [[9.0, 1.0]]
    """

    parts: tuple[NumberScreen | CategoryScreen, ...]

    @property
    def on_bad(self) -> OnBad:
        """What becomes of bad cells."""
        return self.parts[0].on_bad

    @property
    def wanted(self) -> WantedColumns:
        """The columns to read."""
        each = [part.wanted for part in self.parts]
        numbers = tuple(name for one in each for name in one.numbers)
        texts = tuple(name for one in each for name in one.texts)
        return WantedColumns(numbers, texts, {name: one.marks_of(name) for one in each for name in one.names})

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that are published."""
        return tuple(name for part in self.parts for name in part.released)

    def __call__(self, batch: Batch, first: int) -> Screened:
        """Return the records of a batch: a number for each where there is one column, else a row."""
        found = [part(batch, first) for part in self.parts]
        cells = {name: flags for one in found for name, flags in one.cells.items()}
        columns = [one.values for one in found]
        return Screened(columns[0] if len(columns) == 1 else np.column_stack(columns), cells=cells)
