"""What becomes of bad tuples: cells that are not what the schema declares, in a stream of several attributes.

Numbers out of bounds are clamped; a cell without a value is never invented unless that was asked for, since a release
of generalised tuples (Cao, Carminati, Ferrari & Tan 2011) has no noise that would cover it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sfumato.errors import InputError
from sfumato.schema import Kind, Role
from sfumato.stream.base import Numbers
from sfumato.stream.intake import CellFlags
from sfumato.stream.publishers.castle import CASTLE
from sfumato.stream.publishers.castle.columns import TupleColumn
from sfumato.stream.runtime.batch import Batch, CellMarks, WantedColumns
from sfumato.stream.screens.base import OnBad, Screened, default_of, put_aside, text_flags


@dataclass(frozen=True)
class TupleScreen:
    """Lets good tuples of a CASTLE stream through and does with bad ones what was asked for.

    The public default of a column is the middle of its bounds, or its first category.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.schema import Schema
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 100))})
    >>> screen = TupleScreen(CASTLE(schema, k=2))
    >>> screen(Batch(2, {"age": np.array([31.0, 120.0])}), 0).values.tolist()
    [[31.0], [100.0]]
    """

    publisher: CASTLE
    on_bad: OnBad = field(default_factory=OnBad)

    @property
    def wanted(self) -> WantedColumns:
        """The columns to read: plain numbers, and everything else as text."""
        plain = tuple(column.name for column in self._columns if _is_plain_number(column))
        texts = tuple(name for name in self.publisher.names if name not in plain)
        return WantedColumns(plain, texts, {column.name: _marks(column) for column in self._columns})

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that rows leave under: all but the person."""
        return tuple(column.name for column in self._columns)

    @property
    def _columns(self) -> list[TupleColumn]:
        schema = self.publisher.schema
        names = (*schema.names(Role.QUASI), *schema.names(Role.SENSITIVE))
        return [TupleColumn(schema.columns[name]) for name in names]

    def __call__(self, batch: Batch, first: int) -> Screened:
        """Return the tuples of a batch whose first record has the number `first`."""
        rows = self.publisher.encode({**batch.numbers, **batch.texts})
        cells = {column.name: self._flags(batch, rows[:, at], column) for at, column in enumerate(self._columns)}
        if self.on_bad.action == "quarantine":
            kept = self.publisher.valid(rows)
            aside = put_aside(batch, first, kept, lambda _, place: self._reason(rows[place]))
            return Screened(rows[kept], kept, aside, cells)
        for place, column in enumerate(self._columns):
            rows[:, place] = self._map_bad(rows[:, place], column)
        wrong = np.isnan(rows).any(axis=1)
        if wrong.any():
            place = int(np.argmax(wrong))
            raise InputError(
                f"record {first + place}: {self._reason(rows[place])}; clean it, or give --on-bad quarantine:FILE or "
                "default"
            )
        return Screened(rows, cells=cells)

    def _flags(self, batch: Batch, values: Numbers, column: TupleColumn) -> CellFlags:
        low, high = column.limits
        outside = (values < low) | (values > high)
        if column.name in batch.numbers:
            failed = batch.failed_in(column.name) | batch.unreadable
            return CellFlags(np.isnan(values) & ~failed, failed, outside)
        found = text_flags(batch, column.name, np.isnan(values), _marks(column))
        return CellFlags(found.missing, found.failed, outside)

    def _map_bad(self, values: Numbers, column: TupleColumn) -> Numbers:
        low, high = column.limits
        if self.on_bad.action == "clamp":
            return np.clip(values, low, high)
        default = 0.0 if column.values is not None else default_of((low, high))
        whole = column.attribute.kind is not Kind.NUMBER
        return np.where((values >= low) & (values <= high), values, math.floor(default) if whole else default)

    def _reason(self, row: Numbers) -> str:
        for value, column in zip(row, self._columns, strict=False):
            low, high = column.limits
            if not low <= value <= high:
                return f"column '{column.name}' is missing or not what the schema declares"
        return "the person is missing"


def _marks(column: TupleColumn) -> CellMarks:
    declared = column.attribute
    return CellMarks(declared.decimal or ".", declared.thousands, tuple(filter(None, declared.missing)))


def _is_plain_number(column: TupleColumn) -> bool:
    return column.values is None and column.attribute.kind in {Kind.INTEGER, Kind.NUMBER}
