"""The answers of two neighbouring releases to the boxes of every class that one of them lacks.

Answers that differ by d, with Laplace noise of scale s each, have densities that differ by a factor of e^(d/s) (Dwork,
McSherry, Nissim & Smith 2006): the worst box is the evidence.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.audit.composition.answers import Claim, Numbers, Shown
from sfumato.audit.composition.neighbours import Change
from sfumato.evaluate.workload import Floats, Queries
from sfumato.schema import Kind
from sfumato.table.cells import range_text, set_text
from sfumato.table.coding import EPOCH, Column

LARGEST_POWER = 700.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """Queries for the boxes gone, then the new ones, their answers before and after one row went or came.

    `place` is the query that counts, the one whose answers differ most; `dropped` are rows that were left out of both
    tables.
    """

    row: int
    change: Change
    queries: Queries
    before: Floats
    after: Floats
    place: int = 0
    dropped: tuple[int, ...] = ()

    @classmethod
    def nothing(cls, row: int, change: Change) -> Comparison:
        """Return the comparison of two releases that have the same classes."""
        none = np.empty((0, 0))
        return cls(row, change, Queries(none, none), np.zeros(1), np.zeros(1))

    @classmethod
    def of(
        cls, row: int, change: Change, sides: tuple[Shown, Shown], claim: Claim, numbers: Numbers | None
    ) -> Comparison:
        """Return the answers of both releases to every box that one of them lacks."""
        gone, new = sides[0].boxes(change.gone), sides[1].boxes(change.new)
        queries = Queries(np.concatenate([gone.low, new.low]), np.concatenate([gone.high, new.high]))
        before, after = (side.answers(queries, claim, numbers) for side in sides)
        return cls(row, change, queries, before, after, int(np.argmax(np.abs(before - after))))

    @property
    def difference(self) -> float:
        """By how much the answer changed."""
        return float(abs(self.before[self.place] - self.after[self.place]))

    def told(self, columns: Sequence[Column], rows: int, scale: float) -> dict[str, Any]:
        """Return the evidence: the row, the box, its answers, the ratio of densities, the classes gone and new."""
        words = [_box(columns, self.queries, place) for place in range(self.queries.count)]
        bound = scale * self.difference
        before, after = float(self.before[self.place]), float(self.after[self.place])
        ratio = math.exp(min(bound, LARGEST_POWER))
        where = ", ".join(f"{name} {text}" for name, text in words[self.place].items())
        which = f"without row {self.row + 1}" if self.row < rows else "with one row more"
        return {
            "row": self.row + 1,
            "added": self.row >= rows,
            "rows dropped from both": [row + 1 for row in self.dropped],
            "box": words[self.place],
            "before": before,
            "after": after,
            "density ratio": ratio,
            "least epsilon": bound,
            "classes gone": words[: len(self.change.gone)],
            "classes new": words[len(self.change.gone) :],
            "reason": f"{which} the answer for {where} is {after:g} in place of {before:g}: densities differ by a "
            f"factor of {ratio:.4g}, so ε is at least {bound:.3g}",
        }


def _box(columns: Sequence[Column], queries: Queries, place: int) -> dict[str, str]:
    ends = zip(columns, queries.low[place], queries.high[place], strict=True)
    return {column.name: _side(column, low, high) for column, low, high in ends}


def _side(column: Column, low: float, high: float) -> str:
    """Return one side of a box as it would be published."""
    if low > high:
        return "missing"
    tree = column.attribute.hierarchy
    if tree is not None:
        return tree.label(int(low), int(high))
    if column.kind is Kind.NUMBER:
        return range_text(str(float(low)), str(float(high)), whole=False)
    if column.kind is Kind.INTEGER:
        return range_text(str(int(low)), str(int(high)), whole=True)
    if column.kind is Kind.DATE:
        first, last = ((EPOCH + dt.timedelta(days=int(end))).isoformat() for end in (low, high))
        return range_text(first, last, whole=False)
    words = [str(level) for level in column.levels[int(low) : int(high) + 1]]
    return range_text(words[0], words[-1], whole=False) if column.kind is Kind.ORDINAL else set_text(words)
