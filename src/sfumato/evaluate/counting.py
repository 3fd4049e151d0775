"""One counting query on a generalised table, values taken as evenly spread inside a cell.

LeFevre, DeWitt & Ramakrishnan 2006, section 5, answer range queries so; a differentially private table is read the same
way, as often as anybody likes.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfumato.errors import SchemaError, suggestion
from sfumato.evaluate.regions import read_regions
from sfumato.evaluate.workload import Boxes, Queries
from sfumato.schema import Kind, Schema
from sfumato.table import Table
from sfumato.table.coding import EPOCH, Column
from sfumato.tabular.private.public_columns import domain_ends, domain_words

Limit = int | float | str | dt.date
Condition = tuple[Limit, Limit] | Collection[Limit]


def expected_count(released: Table, schema: Schema, conditions: Mapping[str, Condition]) -> float:
    """Return how many rows a generalised table says satisfy every condition.

    A condition is a pair of limits (both counted) on numbers, dates or ordered words, or a list of words.

    >>> import polars as pl, sfumato as sf
    >>> schema = sf.Schema({
    ...     "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69)),
    ...     "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))})
    >>> table = Table(pl.DataFrame({"age": ["[20-29]", "[20-29]", "[30-69]"], "sex": ["{F, M}", "F", "M"]}))
    >>> expected_count(table, schema, {"age": (25, 69), "sex": ["F"]})
    0.75
    """
    if released.rows == 0:
        return 0.0
    columns = {name: _column(schema, name) for name in conditions}
    runs = [_runs(columns[name], condition) for name, condition in conditions.items()]
    boxes = Boxes.of([read_regions(column, released) for column in columns.values()])
    queries = np.array(list(itertools.product(*runs)), dtype=np.float64)
    low, high = (np.ascontiguousarray(queries[:, :, end]) for end in (0, 1))
    return float(boxes.answers(Queries(low, high), "expected").sum())


def _column(schema: Schema, name: str) -> Column:
    """Return a column as its public domain is, without any row."""
    if name not in schema.columns:
        raise SchemaError(f"column '{name}' is not in the schema{suggestion(name, schema.columns)}")
    attribute = schema.columns[name]
    words = domain_words(attribute)
    levels = np.array(domain_ends(attribute)) if words is None else list(words)
    kind = attribute.kind or Kind.CATEGORY
    return Column(replace(attribute, kind=kind), np.empty(0, dtype=np.int32), levels, has_missing=False)


def _runs(column: Column, condition: Condition) -> list[tuple[float, float]]:
    """Return the stretches of a column's scale that a condition asks for; they do not overlap."""
    words = domain_words(column.attribute)
    if words is None:
        low, high = condition
        return [(_number(low), _number(high))]
    if isinstance(condition, tuple) and column.kind is Kind.ORDINAL and len(condition) == 2:
        first, last = (_place(column, words, word) for word in condition)
        return [(first, last)]
    return [(place, place) for place in sorted({_place(column, words, word) for word in condition})]


def _place(column: Column, words: Sequence[str], word: object) -> float:
    if str(word) not in words:
        raise SchemaError(f"column '{column.name}' has no value '{word}'{suggestion(str(word), words)}")
    return float(words.index(str(word)))


def _number(limit: Limit) -> float:
    date = dt.date.fromisoformat(limit) if isinstance(limit, str) else limit
    return float((date - EPOCH).days if isinstance(date, dt.date) else date)
