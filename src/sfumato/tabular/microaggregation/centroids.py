"""Groups written out: the mean of numbers, the middle of ranks and dates, the commonest word, the common node.

Centroids stand in the original units (Domingo-Ferrer & Mateo-Sanz 2002; Domingo-Ferrer & Torra 2005 for words).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import literal, point_text
from sfumato.schema import Kind
from sfumato.schema.times import time_text
from sfumato.table.coding import Column
from sfumato.tabular.microaggregation.loss import Labels
from sfumato.tabular.microaggregation.records import is_number, numbers
from sfumato.tabular.recode import Coarse, distinct_texts, mark_text, recode

Floats = npt.NDArray[np.float64]
SECOND = 1_000_000  # microseconds


def centroid(column: Column, labels: Labels, count: int) -> Coarse:
    """Return the column with the centroid of each group in place of its values.

    A missing value among them leaves a trailing `?`; a group of nothing but missing values shows the mark.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Role
    >>> age = code(pl.Series("age", [30, 31, 70]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> centroid(age, np.array([0, 0, 1]), 2).values.to_list()
    [30.5, 70.0]
    """
    if is_number(column):
        return _middle(column, labels, count)
    if column.attribute.hierarchy is not None or column.kind is Kind.TEXT:
        return recode(column, column.codes, labels, count, "text")[0]
    marks = {0: mark_text(column)} if column.has_missing else {}
    codes = _commonest(column, labels, count).tolist()
    shown = [marks[code] if code in marks else literal(column.text(code)) for code in codes]
    return distinct_texts(column.name, shown, np.arange(count))


def _commonest(column: Column, labels: Labels, count: int) -> Labels:
    """Return the commonest code of each group, the lowest on ties; memory grows with the rows, not with the codes."""
    pairs, times = np.unique(labels * column.size + column.codes, return_counts=True)
    groups, codes = np.divmod(pairs, column.size)
    order = np.lexsort((codes, -times, groups))
    return np.asarray(codes[order][np.searchsorted(groups, np.arange(count))])


def _means(values: Floats, labels: Labels, count: int) -> Floats:
    """Return the mean of each group, 0 where it is empty; rounding never takes it past the group's own values."""
    exponent = np.frexp(np.abs(values).max(initial=0.0))[1]  # a power of two, so that no sum overflows
    sums = np.bincount(labels, weights=np.ldexp(values, -exponent), minlength=count)
    sizes = np.bincount(labels, minlength=count)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, labels, values)
    np.maximum.at(high, labels, values)
    return np.where(sizes > 0, np.clip(np.ldexp(sums / np.maximum(sizes, 1), exponent), low, high), 0.0)


def _middle(column: Column, labels: Labels, count: int) -> Coarse:
    present = np.ones(len(labels), dtype=bool) if not column.has_missing else column.codes > 0
    sizes = np.bincount(labels[present], minlength=count)
    texts = _texts(column, _means(numbers(column)[present], labels[present], count))
    if not column.has_missing:
        words = [literal(text) if isinstance(text, str) else text for text in texts]
        return distinct_texts(column.name, words, np.arange(count))
    joined = np.bincount(labels[~present], minlength=count) > 0
    shown = [
        point_text(str(text), missing=bool(mixed)) if size > 0 else mark_text(column)
        for text, size, mixed in zip(texts, sizes, joined, strict=True)
    ]
    return distinct_texts(column.name, shown, np.arange(count))


def _texts(column: Column, means: Floats) -> list[object]:
    """Return the means as they are released: numbers as numbers, days as dates, ranks as words."""
    if column.kind in {Kind.INTEGER, Kind.NUMBER}:
        return [float(mean) for mean in means]
    if column.kind is Kind.DATE:
        days = pl.Series(np.round(means).astype(np.int32)).cast(pl.Date)
        return [day.isoformat() for day in days]
    if column.kind is Kind.TIMESTAMP:
        whole = not np.any(np.asarray(column.levels, dtype=np.int64) % SECOND)  # a mean is no finer than the times are
        return [time_text(round(mean / SECOND) * SECOND if whole else round(mean)) for mean in means.tolist()]
    last = len(column.levels) - 1
    return [str(column.levels[min(last, max(0, round(mean)))]) for mean in means]
