"""Rows as points in space, so that numbers and words can be grouped by one distance.

Numbers, dates and ranks are z-scored (Domingo-Ferrer & Mateo-Sanz 2002). A category becomes one coordinate per
value, scaled so that the column's total variance is 1 like that of a z-scored number; with a hierarchy, one per node,
so that values apart high in the tree lie farther apart (after Domingo-Ferrer & Torra 2005 on heterogeneous data).
A missing number takes the column's mean and stands one standard deviation off in a coordinate of its own.
"""

from __future__ import annotations

import numpy as np

from sfumato.table.coding import Column
from sfumato.tabular.microaggregation.loss import Labels, Records, standardize

MOST_COORDINATES = 64  # a level of words with more than this many is placed by its order alone


def records(columns: list[Column]) -> Records:
    """Return a point for each row; every column has total variance 1, or 0 if it is constant.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute
    >>> from sfumato.table.coding import code
    >>> from sfumato.schema import Kind
    >>> from sfumato.schema import Role
    >>> sex = code(pl.Series("sex", ["F", "M"]), Attribute("sex", Role.QUASI, Kind.CATEGORY))
    >>> records([sex]).var(axis=0).sum().round(6).item()
    1.0
    """
    return np.ascontiguousarray(np.concatenate([_block(column) for column in columns], axis=1))


def _block(column: Column) -> Records:
    if is_number(column):
        values = numbers(column)[:, None]
        if not column.has_missing:
            return standardize(values)
        present = column.codes > 0
        block = np.zeros((len(values), 2))
        block[present, :1] = standardize(values[present]) if present.any() else 0.0
        block[~present, 1] = 1.0
        return _scale_to_unit_variance(block)
    return _scale_to_unit_variance(np.concatenate(_levels(column), axis=1))


def is_number(column: Column) -> bool:
    """Return whether a column is placed by its value or rank rather than by its words."""
    return column.kind.ordered and column.attribute.hierarchy is None


def numbers(column: Column) -> Records:
    """Return the value, day or rank of every row; 0 where it is missing."""
    levels = column.levels if column.kind.numeric else np.arange(len(column.levels))
    table = np.concatenate([np.zeros(int(column.has_missing)), np.asarray(levels, dtype=np.float64)])
    return np.asarray(table[column.codes], dtype=np.float64)


def _levels(column: Column) -> list[Records]:
    """Return coordinates for the words, and for every level of nodes above them but the root."""
    hierarchy = column.attribute.hierarchy
    if hierarchy is None:
        return [_indicators(column.codes.astype(np.int64))]
    shift = int(column.has_missing)
    blocks = []
    for height in range(hierarchy.height):
        node = np.zeros(column.size, dtype=np.int64)
        for number, (_, level, first, last) in enumerate(hierarchy.nodes(), start=1):
            if level == height:
                node[first + shift : last + shift] = number
        blocks.append(_indicators(node[column.codes]))
    return blocks


def _indicators(labels: Labels) -> Records:
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) > MOST_COORDINATES:
        return standardize(codes[:, None].astype(np.float64))
    return np.equal(codes[:, None], np.arange(len(values))).astype(np.float64)


def _scale_to_unit_variance(block: Records) -> Records:
    variance = float(block.var(axis=0).sum())
    centred = block - block.mean(axis=0)
    return np.asarray(centred / np.sqrt(variance) if variance > 0 else centred * 0.0)
