"""What each label of a hierarchy stands for: how many values and, for the steward, how many rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.cells import literal
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Role, Schema
from sfumato.schema.attribute import Attribute
from sfumato.schema.kinds import is_missing
from sfumato.table import Table
from sfumato.table.coding import listed_texts

SHOWN = 20  # labels of a level that are printed


@dataclass(frozen=True)
class PreviewLabel:
    """One label: how many values of the hierarchy it stands for, and how many rows have one of these, if known.

    >>> PreviewLabel("[0-4]", values=5, rows=12).words
    '[0-4] (5 values, 12 rows)'
    """

    label: str
    values: int
    rows: int | None = None

    @property
    def words(self) -> str:
        """The label with its counts."""
        values = f"{self.values:,} value{'s' * (self.values != 1)}"
        rows = "" if self.rows is None else f", {self.rows:,} row{'s' * (self.rows != 1)}"
        return f"{self.label} ({values}{rows})"


@dataclass(frozen=True)
class Preview:
    """All labels of a hierarchy by level, from the values up; and cells of a table that it cannot place.

    >>> tree = Hierarchy.from_rows([("flu", "lung", "*"), ("ulcer", "gut", "*")])
    >>> preview = Preview.of(tree)
    >>> preview.lines()[1]
    'level 1: 2 labels, each for 1 value: lung (1 value), gut (1 value)'
    """

    levels: Sequence[Sequence[PreviewLabel]]
    rows: int | None = None
    missing: int = 0
    strangers: Sequence[str] = ()
    strange_rows: int = 0

    @classmethod
    def of(
        cls, hierarchy: Hierarchy, table: Table | None = None, column: str = "", schema: Schema | None = None
    ) -> Preview:
        """Return the labels of a hierarchy, with the rows of a table's column where one is given."""
        if table is None:
            return cls(_levels(hierarchy, None))
        known = (schema or Schema()).columns.get(column, Attribute(column, Role.QUASI))
        series = table.column(column)
        attribute = Attribute(
            column, Role.QUASI, known.kind, hierarchy=hierarchy, missing=known.missing, **vars(known.written)
        )
        marks = tuple(mark for mark in attribute.missing if mark not in hierarchy.leaves)
        absent = is_missing(series, marks)
        texts = listed_texts(series.filter(~absent), attribute)
        counts = dict(texts.value_counts().iter_rows())
        strange = {text: count for text, count in counts.items() if text not in set(hierarchy.leaves)}
        rows = np.array([counts.get(leaf, 0) for leaf in hierarchy.leaves], dtype=np.int64)
        return cls(_levels(hierarchy, rows), len(series), int(absent.sum()), sorted(strange), sum(strange.values()))

    def lines(self) -> list[str]:
        """Return a line for every level, with the first of its labels, and one for cells without a place."""
        found = [_line(number, level) for number, level in enumerate(self.levels)]
        if self.rows is not None:
            found.append(f"{self.rows:,} rows, of which {self.missing:,} have no value")
        if self.strangers:
            shown = ", ".join(f"'{text}'" for text in self.strangers[:SHOWN])
            more = f" and {len(self.strangers) - SHOWN:,} more" if len(self.strangers) > SHOWN else ""
            found.append(f"not in the hierarchy: {shown}{more} ({self.strange_rows:,} rows)")
        return found

    def as_json(self) -> dict[str, object]:
        """Return all labels as they stand in JSON."""
        levels = [
            [
                {"label": one.label, "values": one.values, **({} if one.rows is None else {"rows": one.rows})}
                for one in level
            ]
            for level in self.levels
        ]
        if self.rows is None:
            return {"levels": levels}
        strange = {"not_in_hierarchy": list(self.strangers), "rows_not_in_hierarchy": self.strange_rows}
        return {"levels": levels, "rows": self.rows, "rows_without_value": self.missing, **strange}


def _levels(hierarchy: Hierarchy, rows: np.ndarray[tuple[int], np.dtype[np.int64]] | None) -> list[list[PreviewLabel]]:
    """Return the labels of each level; a last one that stands for everything where no label does."""
    found: list[list[PreviewLabel]] = [[] for _ in hierarchy.paths[0]]
    for label, level, first, end in hierarchy.nodes():
        held = None if rows is None else int(rows[first:end].sum())
        found[level].append(PreviewLabel(label if level else literal(label), end - first, held))
    if len(found[-1]) > 1 or len(found) == 1:
        found.append([PreviewLabel("*", len(hierarchy.paths), None if rows is None else int(rows.sum()))])
    return found


def _line(number: int, level: Sequence[PreviewLabel]) -> str:
    fewest, most = min(one.values for one in level), max(one.values for one in level)
    span = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    count = f"{len(level):,} label{'s' * (len(level) != 1)}, each for {span} value{'s' * (most != 1)}"
    shown = ", ".join(one.words if number else _of_value(one) for one in level[:SHOWN])
    more = f", … {len(level) - SHOWN:,} more" if len(level) > SHOWN else ""
    return f"level {number}: {count}: {shown}{more}" if number else f"level 0: {len(level):,} values: {shown}{more}"


def _of_value(one: PreviewLabel) -> str:
    return one.label if one.rows is None else f"{one.label} ({one.rows:,})"
