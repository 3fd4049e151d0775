"""Classes written out: ranges, sets, hierarchy nodes or a single value, tight around their rows.

Generalisation as Samarati & Sweeney (1998) describe it; the texts are those of `table.cells`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import LIMITS, SUPPRESSED, literal, range_text, set_text
from sfumato.schema import Kind
from sfumato.table.coded import Coded, smallest_type
from sfumato.table.coding import Codes, Column

Index = npt.NDArray[np.int64]
MASK_BITS = 64
BITS = np.arange(MASK_BITS, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Coarse:
    """One released column: its distinct values, and which of them each class shows."""

    name: str
    values: pl.Series
    index: Index

    def rows(self, classes: Index) -> pl.Series:
        """The column row by row, given each row's class."""
        return self.coded(classes).series()

    def coded(self, classes: Index) -> Coded:
        """The column row by row, as it is held in little memory."""
        places = self.index.astype(smallest_type(len(self.values)))
        return Coded(self.values.alias(self.name), places[classes])


@dataclass(frozen=True, eq=False)
class Extent:
    """The lowest and highest code of each class among values that are there, and whether one is missing.

    A class of nothing but missing values has low above high.
    """

    low: Codes
    high: Codes
    missing: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, column: Column, codes: Codes, classes: Index, count: int) -> Extent:
        """The extent of each of `count` classes over the given points."""
        from sfumato.tabular.recode_kernel import extents

        low, high = np.full(count, np.iinfo(np.int32).max, dtype=np.int32), np.full(count, -1, dtype=np.int32)
        missing = np.zeros(count, dtype=np.bool_)
        extents(codes, classes, low, high, missing, column.has_missing)
        return cls(low, high, missing)


def recode(column: Column, codes: Codes, classes: Index, count: int, ranges: str) -> list[Coarse]:
    """Return the released form of a column for classes of points: one column, or two for `ranges="columns"`.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> age = code(pl.Series("age", [31, 35, 70]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> recode(age, age.codes, np.array([0, 0, 1]), 2, "text")[0].values.to_list()
    ['[31-35]', '70']
    """
    extent = Extent.of(column, codes, classes, count)
    hierarchy = column.attribute.hierarchy
    if hierarchy is None and column.kind.numeric and ranges == "columns":
        return limits(column, extent)
    if hierarchy is None and column.kind is Kind.CATEGORY:
        return [_sets(column, codes, classes, count)]
    keys = (extent.low.astype(np.int64) * (column.size + 1) + extent.high) * 2 + extent.missing
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    texts = [_text(column, int(extent.low[i]), int(extent.high[i]), missing=bool(extent.missing[i])) for i in first]
    return [distinct_texts(column.name, texts, index)]


def _text(column: Column, low: int, high: int, *, missing: bool) -> str | None:
    if low > high:
        return mark_text(column)
    shift = int(column.has_missing)
    if column.attribute.hierarchy is not None:
        return SUPPRESSED if missing else column.attribute.hierarchy.label(low - shift, high - shift)
    if column.kind is Kind.TEXT and (low < high or missing):
        return SUPPRESSED
    return range_text(column.text(low), column.text(high), whole=column.kind is Kind.INTEGER, missing=missing)


def mark_text(column: Column) -> str | None:
    """Return what is released for a missing value alone: its mark, or nothing where the mark is an empty cell.

    >>> from sfumato.schema import Attribute, Role
    >>> from sfumato.table.coding import code
    >>> mark_text(code(pl.Series("sex", ["F"]), Attribute("sex", Role.QUASI, Kind.CATEGORY, missing=("?",))))
    '?'
    """
    return literal(column.missing_mark) or None


def limits(column: Column, extent: Extent) -> list[Coarse]:
    """Return the lowest and the highest value of each class as two columns, and a third where values are missing.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> age = code(pl.Series("age", [31, 35]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> [column.name for column in limits(age, Extent.of(age, age.codes, np.array([0, 0]), 1))]
    ['age_min', 'age_max']
    """
    values = np.asarray(column.levels if len(column.levels) else [0])
    empty = extent.low > extent.high
    low, high = (values[np.where(empty, 0, codes - column.has_missing)] for codes in (extent.low, extent.high))
    return limit_columns(column, np.where(empty, 1, low), np.where(empty, 0, high), extent.missing)


def limit_columns(
    column: Column, low: npt.NDArray[Any], high: npt.NDArray[Any], missing: npt.NDArray[np.bool_]
) -> list[Coarse]:
    """Return what `limits` does, from the numbers that classes reach from and to; low above high: nothing but missing.

    >>> from sfumato.schema import Attribute, Role
    >>> from sfumato.table.coding import code
    >>> age = code(pl.Series("age", [31, 35]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> limit_columns(age, np.array([30]), np.array([39]), np.array([False]))[1].values.to_list()
    [39]
    """
    empty = low > high
    columns = []
    for end, numbers in zip(LIMITS[:2], (low, high), strict=True):
        distinct, index = np.unique(numbers, return_inverse=True)
        shown = [column.as_value(number) for number in distinct]
        if empty.any():
            shown, index = [*shown, None], np.where(empty, len(shown), index)
        columns.append(distinct_texts(f"{column.name}_{end}", shown, index))
    if column.has_missing:
        columns.append(Coarse(f"{column.name}_{LIMITS[2]}", pl.Series([False, True]), missing.astype(np.int64)))
    return columns


def _sets(column: Column, codes: Codes, classes: Index, count: int) -> Coarse:
    words = [column.text(code) for code in range(column.size)]
    if column.size <= MASK_BITS:
        masks, index = _equal_masks(codes, classes, count)
        texts = [_set_text(column, words, np.flatnonzero(mask >> BITS & np.uint64(1))) for mask in masks]
        return distinct_texts(column.name, texts, index)
    pairs = np.unique(classes * column.size + codes)
    owners, members = np.divmod(pairs, column.size)
    bounds = np.searchsorted(owners, np.arange(count + 1))
    index = np.empty(count, dtype=np.int64)
    seen: dict[bytes, int] = {}
    texts = []
    for number in range(count):
        part = members[bounds[number] : bounds[number + 1]]
        place = seen.setdefault(part.tobytes(), len(texts))
        if place == len(texts):
            texts.append(_set_text(column, words, part))
        index[number] = place
    return distinct_texts(column.name, texts, index)


def _equal_masks(codes: Codes, classes: Index, count: int) -> tuple[npt.NDArray[np.uint64], Index]:
    """Return the different sets of codes as bits of a word, by their first class, and which of them each class has."""
    masks = np.zeros(count, dtype=np.uint64)
    np.bitwise_or.at(masks, classes, np.uint64(1) << codes.astype(np.uint64))
    found, first, index = np.unique(masks, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return found[order], rank[index]


def _set_text(column: Column, words: Sequence[str], members: Index) -> str | None:
    if column.has_missing and members.tolist() == [0]:
        return mark_text(column)
    return set_text([words[code] for code in members.tolist()])


def distinct_texts(name: str, values: list[object] | list[str | None] | list[str], index: Index) -> Coarse:
    """Return a column whose distinct values really are distinct: equal texts become one.

    >>> distinct_texts("sex", ["*", "F", "*"], np.array([0, 1, 2])).index.tolist()
    [0, 1, 0]
    """
    unique = list(dict.fromkeys(values))
    places = {value: place for place, value in enumerate(unique)}
    renumber = np.array([places[value] for value in values], dtype=np.int64)
    return Coarse(name, pl.Series(name, unique), renumber[index])
