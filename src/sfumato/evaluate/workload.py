"""Random counting queries, their true answers, and how far the answers of a release lie from them.

The workload is that of section 4.3 of Pereira 2014 (after Xiao & Tao 2007): an interval on every
column at once, each of the same share of its column, counted on generalised rows in three ways. A single query takes
values as evenly spread inside a cell (LeFevre, DeWitt & Ramakrishnan 2006, section 5).
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import OneOf, Real, Validated, Whole
from sfumato.errors import InputError, ParameterError, SchemaError, suggestion
from sfumato.evaluate.regions import Regions, code_original, domain, exact_regions, is_continuous, read_regions
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.times import bound_number, read_time
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.table.distinct import distinct
from sfumato.tabular.coarsen import coarsen_table
from sfumato.tabular.private.public_columns import domain_ends, domain_words

if TYPE_CHECKING:
    from sfumato.evaluate.workload_kernel import ColumnScales

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Counting = Literal["inclusion", "overlap", "expected"]
WAYS: tuple[Counting, ...] = ("inclusion", "overlap", "expected")
COUNTING = OneOf(WAYS)
Limit = int | float | str | dt.date
Condition = tuple[Limit, Limit] | Collection[Limit]


@dataclass(frozen=True, eq=False)
class Queries:
    """Conjunctions of intervals, both ends counted: one row per query, one column per condition.

    >>> Queries(low=np.array([[20.0, 0.0]]), high=np.array([[49.0, 1.0]])).count
    1
    """

    low: Floats
    high: Floats

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self.low)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Distinct generalised rows with a weight each: a released table as queries see it.

    `cells[b, c]` is the region of box b on column c. Weights are numbers of rows, or noisy counts.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 29, 40]}))
    >>> age = code_original(people, Schema.from_roles(quasi=["age"]).settled(people), "age")
    >>> boxes = Boxes.of([read_regions(age, Table(pl.DataFrame({"age": ["[20-29]", "[20-29]", "40"]})))])
    >>> query = Queries(np.array([[25.0]]), np.array([[40.0]]))
    >>> [boxes.answers(query, how).tolist() for how in WAYS]
    [[1.0], [3.0], [2.0]]
    """

    regions: Sequence[Regions]
    cells: Index
    weights: Floats

    @classmethod
    def of(cls, regions: Sequence[Regions]) -> Self:
        """Return the boxes of a released table, given the regions of its columns."""
        rows = distinct([column.index for column in regions], [column.count for column in regions])
        first = rows.examples
        cells = np.stack([column.index[first] for column in regions], axis=1)
        return cls(regions, cells, rows.counts.astype(np.float64))

    def answers(self, queries: Queries, how: Counting) -> Floats:
        """Return each query's count over the boxes.

        *inclusion* counts a box that lies inside the query on every column: never too much. *overlap*
        counts one that meets it on every column: never too little. *expected* counts the share of the box
        inside the query, taking values as uniform: points on a grid, length on a continuous scale,
        members of a set; a missing value that joined is one more point, and on a continuous scale nothing.
        """
        from sfumato.evaluate.workload_kernel import count

        scales = self._scales()
        return count(scales, self.cells + scales.first[:-1], self.weights, queries.low, queries.high, WAYS.index(how))

    def _scales(self) -> ColumnScales:
        from sfumato.evaluate.workload_kernel import ColumnScales

        counts = [len(column.low) for column in self.regions]
        before = np.cumsum([0, *counts])
        return ColumnScales(
            first=np.cumsum([0, *(column.count for column in self.regions)]),
            grain=np.array([column.grain for column in self.regions]),
            starts=np.concatenate(
                [*(column.starts[:-1] + past for column, past in zip(self.regions, before, strict=False)), before[-1:]]
            ),
            low=np.concatenate([column.low for column in self.regions]),
            high=np.concatenate([column.high for column in self.regions]),
            sizes=np.concatenate([column.sizes for column in self.regions]),
            missing=np.concatenate([column.missing for column in self.regions]),
        )


@dataclass(frozen=True, eq=False)
class Workload(Validated):
    """Random range queries over columns of an original table (Pereira 2014, section 4.3).

    On each column an interval covers `range_ratio` of the domain and lies anywhere in it with the same
    chance: on integers, dates and categories (in code order) a run of that share of the domain's points,
    rounded, at least one; on continuous numbers a stretch of that share of its length. The domain is the
    declared one where there is one, else the observed. A missing value meets no condition.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(500))
    >>> schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
    >>> workload = Workload.draw(people, schema, count=200, seed=1)
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)])
    >>> 0 < workload.mean_error(workload.answers(release.table, "expected")) < 0.5
    True
    """

    columns: Sequence[Column]
    count: int = 5000
    range_ratio: float = 0.6
    seed: int = 0

    RULES: ClassVar = {"count": Whole(1), "range_ratio": Real(0, 1, above=True), "seed": Whole(0)}

    @classmethod
    def draw(
        cls,
        original: Table,
        schema: Schema,
        columns: Sequence[str] | None = None,
        *,
        count: int = 5000,
        range_ratio: float = 0.6,
        seed: int = 0,
    ) -> Self:
        """Return queries on `columns`, or on every quasi-identifier and sensitive column.

        >>> import polars as pl
        >>> people = Table(pl.DataFrame({"age": [20, 69], "sex": [1, 2]}))
        >>> drawn = Workload.draw(people, Schema.from_roles(quasi=["age", "sex"]), count=1)
        >>> (drawn.queries.high - drawn.queries.low + 1).tolist()
        [[30.0, 1.0]]
        """
        original, settled = coarsen_table(original, schema.settled(original))
        names = (*settled.names(Role.QUASI), *settled.names(Role.SENSITIVE)) if columns is None else tuple(columns)
        if not names:
            raise InputError("there is no quasi-identifier or sensitive column to ask about; name at least one")
        return cls([code_original(original, settled, name) for name in names], count, range_ratio, seed)

    @cached_property
    def queries(self) -> Queries:
        """The queries."""
        draw = np.random.default_rng(self.seed)
        ends = [_intervals(column, self.count, self.range_ratio, draw) for column in self.columns]
        return Queries(*(np.stack(limits, axis=1) for limits in zip(*ends, strict=True)))

    @cached_property
    def truth(self) -> Floats:
        """Each query's count on the original rows."""
        return Boxes.of([exact_regions(column) for column in self.columns]).answers(self.queries, "overlap")

    def answers(self, released: Table, how: Counting = "expected") -> Floats:
        """Return each query's count on a released table, by *inclusion*, *overlap* or *expected*.

        >>> import polars as pl
        >>> people = Table(pl.DataFrame({"age": [20, 25, 70, 80]}))
        >>> workload = Workload.draw(people, Schema.from_roles(quasi=["age"]), count=50)
        >>> coarse = Table(pl.DataFrame({"age": ["[20-25]", "[20-25]", "[70-80]", "[70-80]"]}))
        >>> bool((workload.answers(coarse, "inclusion") <= workload.truth).all())
        True
        """
        if not COUNTING.accepts(how):
            raise ParameterError(f"The 'how' parameter of answers must be {COUNTING.wanted}. Got {how!r} instead.")
        return Boxes.of([read_regions(column, released) for column in self.columns]).answers(self.queries, how)

    def relative_errors(self, answers: Floats) -> Floats:
        """Return |truth - answer| / truth for every query whose true count is not 0.

        >>> import polars as pl
        >>> ages = Table(pl.DataFrame({"age": [20, 20, 21, 21]}))
        >>> workload = Workload.draw(ages, Schema.from_roles(quasi=["age"]), count=3)
        >>> workload.relative_errors(workload.truth + 1).tolist()
        [0.5, 0.5, 0.5]
        """
        asked = self.truth > 0
        errors: Floats = np.abs(self.truth[asked] - answers[asked]) / self.truth[asked]
        return errors

    def mean_error(self, answers: Floats) -> float:
        """Return the mean relative error; NaN where every true count is 0.

        >>> import polars as pl
        >>> workload = Workload.draw(Table(pl.DataFrame({"age": [20, 21]})), Schema.from_roles(quasi=["age"]), count=3)
        >>> workload.mean_error(workload.truth)
        0.0
        """
        errors = self.relative_errors(answers)
        return float(errors.mean()) if len(errors) else float("nan")


def _intervals(column: Column, count: int, ratio: float, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the ends of intervals that cover `ratio` of the column's domain."""
    low, high = domain(column)
    if is_continuous(column):
        slack, shift = (high - low) * (1 - ratio), draw.random(count)
        return low + shift * slack, high - (1 - shift) * slack
    low, high = math.ceil(low), math.floor(high)
    points = high - low + 1
    covered = max(1, int(points * ratio + 0.5))
    offsets = draw.integers(0, points - covered, count, endpoint=True).astype(np.float64)
    return low + offsets, low + offsets + (covered - 1)


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
        return [(_number(low, column.kind), _number(high, column.kind))]
    if isinstance(condition, tuple) and column.kind is Kind.ORDINAL and len(condition) == 2:
        first, last = (_place(column, words, word) for word in condition)
        return [(first, last)]
    return [(place, place) for place in sorted({_place(column, words, word) for word in condition})]


def _place(column: Column, words: Sequence[str], word: object) -> float:
    if str(word) not in words:
        raise SchemaError(f"column '{column.name}' has no value '{word}'{suggestion(str(word), words)}")
    return float(words.index(str(word)))


def _number(limit: Limit, kind: Kind) -> float:
    if kind is Kind.TIMESTAMP and isinstance(limit, str):
        time = read_time(limit)
        if time is None:
            raise SchemaError(f"'{limit}' is not a time like 2026-01-31 14:30:00")
        return float(bound_number(time))
    return float(bound_number(dt.date.fromisoformat(limit) if isinstance(limit, str) else limit))
