"""Columns of tuples as CASTLE's numbers, and generalised tuples as text.

Numbers stay themselves, categories become their place among the declared ones, persons a hash; ranges and labels are
written as in tables (`table.cells`). Cao, Carminati, Ferrari & Tan (2011), section 3.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from sfumato.core.cells import SUPPRESSED, range_text
from sfumato.errors import SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Kind, Role, Schema
from sfumato.schema.attribute import Attribute, Bound
from sfumato.schema.kinds import numbers_in
from sfumato.stream.base import Numbers
from sfumato.stream.publishers.castle.state import ATTRIBUTE, NUMBER, SPAN, TupleAttributes
from sfumato.tabular.coarsen import coarse_bounds, coarsen_numbers

EPOCH = dt.date(1970, 1, 1)
MIDNIGHT = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of the clock on the wall
HASH_BYTES = 6


@dataclass(frozen=True)
class TupleColumn:
    """One declared column of a tuple; `values` are its categories in the order of their codes, None for a number.

    >>> from sfumato.schema import Role
    >>> age = TupleColumn(Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)))
    >>> age.range_text(31.0, 47.0), age.range_text(31.0, 31.0)
    ('[31-47]', '31')
    """

    attribute: Attribute

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    @cached_property
    def values(self) -> tuple[str, ...] | None:
        """The categories, or None where the column holds numbers or dates."""
        if self.attribute.hierarchy is not None:
            return self.attribute.hierarchy.leaves
        return self.attribute.categories

    @cached_property
    def _codes(self) -> dict[str, float]:
        return {value: float(code) for code, value in enumerate(self.values or ())}

    @property
    def has_ranges(self) -> bool:
        """Whether a range of its values makes sense; a hierarchy's nodes stand for the others."""
        kind = self.attribute.kind
        return self.attribute.hierarchy is None and kind is not None and kind.ordered

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number a tuple may have here."""
        if self.values is not None:
            return 0.0, len(self.values) - 1.0
        bounds = coarse_bounds(self.attribute)
        return (-math.inf, math.inf) if bounds is None else (_number(bounds[0]), _number(bounds[1]))

    @cached_property
    def tree(self) -> Hierarchy:
        """The hierarchy, or one with nothing but a root over the categories."""
        flat = Hierarchy(tuple((value, SUPPRESSED) for value in self.values or ()))
        return self.attribute.hierarchy or flat

    def encode(self, column: Iterable[object]) -> Numbers:
        """Return the column as numbers by its rule, NaN where a cell is none or not among the declared values."""
        numbers = self._numbers(column)
        return numbers if self.attribute.coarsen is None else coarsen_numbers(numbers, self.attribute)

    def _numbers(self, column: Iterable[object]) -> Numbers:
        if isinstance(column, np.ndarray) and column.dtype != object and self.values is None:
            return column.astype(np.float64)
        if self.values is not None:
            return np.array([self._codes.get(str(cell), math.nan) for cell in column], dtype=np.float64)
        if self.attribute.kind in {Kind.DATE, Kind.TIMESTAMP}:
            return self._times(list(column))
        return np.array([self._parse(cell) for cell in column], dtype=np.float64)

    def _times(self, cells: Sequence[object]) -> Numbers:
        """Return dates as days and times as microseconds since 1970, read as the column declares."""
        texts = pl.Series([cell.strip() if isinstance(cell, str) else None for cell in cells], dtype=pl.String)
        read = numbers_in(texts, self.attribute.kind or Kind.DATE, self.attribute.written).cast(pl.Float64)
        found = read.fill_null(math.nan).to_numpy()
        given = ((at, cell) for at, cell in enumerate(cells) if isinstance(cell, dt.date | int | float))
        others = {at: _number(cell) for at, cell in given}
        return np.array([others.get(at, value) for at, value in enumerate(found.tolist())], dtype=np.float64)

    def _parse(self, cell: object) -> float:
        if isinstance(cell, dt.date):
            return _number(cell)
        try:
            return float(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return math.nan

    def value_text(self, value: float) -> str:
        """Return one value as text; `*` for a suppressed one."""
        if math.isnan(value):
            return SUPPRESSED
        if self.values is not None:
            return self.values[int(value)]
        if self.attribute.kind is Kind.DATE:
            return (EPOCH + dt.timedelta(days=int(value))).isoformat()
        if self.attribute.kind is Kind.TIMESTAMP:
            return (MIDNIGHT + dt.timedelta(microseconds=int(value))).isoformat(sep=" ")
        return str(int(value)) if self.attribute.kind is Kind.INTEGER else str(value)

    def range_text(self, low: float, high: float) -> str:
        """Return generalised bounds as text; `*` for suppressed ones."""
        if math.isnan(low):
            return SUPPRESSED
        if not self.has_ranges:
            return self.tree.label(int(low), int(high))
        whole = self.attribute.kind is Kind.INTEGER
        return range_text(self.value_text(low), self.value_text(high), whole=whole)


def kernel_attributes(columns: Sequence[TupleColumn]) -> TupleAttributes:
    """Return the quasi-identifiers as the kernels read them.

    >>> from sfumato.schema import Role
    >>> sex = TupleColumn(Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M")))
    >>> kernel_attributes([sex]).spans["many"].tolist()
    [1, 1, 2, 2]
    """
    spans: list[tuple[int, int]] = []
    described = []
    for column in columns:
        described.append((NUMBER if column.has_ranges else len(spans), len(column.values or ()), _weight(column)))
        spans += [] if column.has_ranges else _levels(column.tree)
    return TupleAttributes(np.array(described, dtype=ATTRIBUTE), np.array(spans or [(0, 0)], dtype=SPAN))


def _levels(tree: Hierarchy) -> list[tuple[int, int]]:
    """Return, level by level and leaf by leaf, the first leaf of its node and how many the node has; a root last."""
    spans = []
    for _, _, start, end in tree.nodes():
        spans += [(start, end - start)] * (end - start)
    count = len(tree.paths)
    return spans if spans[-1] == (0, count) else [*spans, *[(0, count)] * count]


def _weight(column: TupleColumn) -> float:
    low, high = column.limits
    if math.isinf(high - low):
        kind = "bounds = [low, high]" if column.values is None else "categories"
        raise SchemaError(f"column '{column.name}' has no declared domain; declare {kind} in the schema")
    return 1 / (high - low) if high > low else 0.0


def encode_persons(cells: Iterable[object]) -> Numbers:
    """Return a hash of each person's id; two persons with one hash count as one, which errs on the safe side.

    >>> len(set(encode_persons(["ann", "bob", "ann"]).tolist()))
    2
    """
    digests = (hashlib.blake2b(str(cell).encode(), digest_size=HASH_BYTES).digest() for cell in cells)
    return np.array([float(int.from_bytes(digest, "little")) for digest in digests], dtype=np.float64)


def _number(limit: Bound) -> float:
    if isinstance(limit, dt.datetime):
        return float((limit.replace(tzinfo=None) - MIDNIGHT) // dt.timedelta(microseconds=1))
    return float((limit - EPOCH).days) if isinstance(limit, dt.date) else float(limit)


def sample_patients(seed: int, rows: int) -> Numbers:
    """Return a stream of patients: age, job, disease and one of rows/3 persons, as codes.

    >>> sample_patients(1, 3).shape
    (3, 4)
    """
    draw = np.random.default_rng(seed)
    columns = [draw.integers(0, limit, rows) for limit in (100, 5, 3, max(1, rows // 3))]
    return np.column_stack(columns).astype(np.float64)


def sample_ages(seed: int, rows: int) -> Numbers:
    """Return a stream of ages alone.

    >>> sample_ages(1, 3).shape
    (3, 1)
    """
    return sample_patients(seed, rows)[:, :1].copy()


def sample_schema(*names: str, person: str | None = None) -> Schema:
    """Return a schema of the named columns of `sample_patients`.

    >>> list(sample_schema("age", "job").columns)
    ['age', 'job']
    """
    kinds = {"cook": "food", "baker": "food", "nurse": "care", "doctor": "care", "clerk": "office"}
    jobs = Hierarchy.from_rows([(job, kind, SUPPRESSED) for job, kind in kinds.items()])
    columns = [
        Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 99)),
        Attribute("job", Role.QUASI, Kind.CATEGORY, hierarchy=jobs),
        Attribute("disease", Role.SENSITIVE, Kind.CATEGORY, categories=("flu", "gout", "ulcer")),
        Attribute("id", Role.IDENTIFIER),
    ]
    return Schema({column.name: column for column in columns if column.name in names}, person=person)
