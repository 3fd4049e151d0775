"""What became of the cells of declared columns, counted where the rows are, by the very expressions that answers use.

Only the curator is told, before there is a ledger: an answer treats a cell that holds no value of its type as missing
and moves a value to the nearest bound, without a word (Haeberlen, Pierce & Narayan 2011, section 4, on why it must).
"""

# ruff: noqa: S608  # names are quoted, numbers are numbers, and texts are parameters

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from sfumato.dp.questions.clock import seconds_of
from sfumato.dp.questions.request import Request
from sfumato.dp.rows.dialect import Dialect, double, refuse_stored
from sfumato.dp.rows.statement import SqlTable, Statement
from sfumato.promise.unit import ProtectRows
from sfumato.schema import Attribute, Schema
from sfumato.schema.attribute import Bound
from sfumato.schema.times import bound_number
from sfumato.table.parse_report import CellCount, ColumnReport, ParseReport, limits_words, quoted

MANY = 256  # categories that a statement names
Execute = Callable[[str, dict[str, object]], Sequence[tuple[Any, ...]]]


@runtime_checkable
class ReportsCells(Protocol):
    """Rows that can say what became of the cells of their declared columns."""

    def parse_report(self) -> ParseReport: ...


def count_cells(schema: Schema, source: SqlTable, dialect: Dialect, execute: Execute) -> ParseReport:
    """Return what became of the cells of every declared column; `execute` runs a statement with its parameters.

    >>> from sfumato.dp.rows.dialect import DUCKDB, StorageType
    >>> from sfumato.schema import Kind, Role
    >>> schema = Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))})
    >>> stored = SqlTable("people", {"age": StorageType.TEXT})
    >>> count_cells(schema, stored, DUCKDB, lambda statement, parameters: [(10, 1, 7, 3, "x")]).lines()[1]
    "column 'age': 2 of 9 filled cells, 22 %, are no integer"
    """
    statement = Statement(Request((), ProtectRows()), schema, source, dialect)
    columns = [_Column(statement, place, attribute) for place, attribute in enumerate(schema.columns.values())]
    if not columns:
        return ParseReport({})
    raw = ", ".join(f"{source.name(column.attribute.name)} AS r{column.place}" for column in columns)
    cells = ", ".join(column.cells for column in columns)
    counts = ", ".join(column.counts for column in columns)
    inner = f"SELECT {cells} FROM (SELECT {raw} FROM {source.table}) AS raw"
    ((rows, *found),) = execute(f"SELECT COUNT(*), {counts} FROM ({inner}) AS cells", statement.parameters)
    parts = [found[4 * place : 4 * place + 4] for place in range(len(columns))]
    reports = {}
    for column, part in zip(columns, parts, strict=True):
        report = column.report(int(rows), part)
        if column.has_long_list:
            outside = _unlisted(column.attribute, schema, source, dialect, execute)
            report = replace(report, outside=CellCount(outside))
        reports[report.column] = report
    return ParseReport(reports)


def _unlisted(attribute: Attribute, schema: Schema, source: SqlTable, dialect: Dialect, execute: Execute) -> int:
    """Return how many cells hold none of many categories: counted value by value, and compared here."""
    statement = Statement(Request((), ProtectRows()), schema, source, dialect)
    cells = _Column(statement, 0, attribute).cells
    inner = f"SELECT {cells} FROM (SELECT {source.name(attribute.name)} AS r0 FROM {source.table}) AS raw"
    found = execute(f"SELECT c0, COUNT(*) FROM ({inner}) AS cells GROUP BY c0", statement.parameters)
    listed = {None, *(attribute.categories or ())}
    return sum(int(count) for cell, count in found if cell not in listed)


class _Column:
    """One column of the statement: its cell as answers read it, whether it is missing, and the counts of both."""

    def __init__(self, statement: Statement, place: int, attribute: Attribute) -> None:
        self._statement, self.place, self.attribute = statement, place, attribute
        self._stored = statement.source.stored[attribute.name]
        refuse_stored(attribute.name, self._stored, attribute.kind)

    @property
    def has_long_list(self) -> bool:
        """Whether more categories are declared than a statement names."""
        return self.attribute.categories is not None and len(self.attribute.categories) > MANY

    @property
    def cells(self) -> str:
        """The raw cell as text, the cell as it is read, and whether it is missing."""
        raw, place = f"r{self.place}", self.place
        text = self._statement.dialect.as_text(raw, self._stored)
        marked = f"{text} {self._statement.one_of(self.attribute.missing)}" if self.attribute.missing else "FALSE"
        missing = f"CASE WHEN {raw} IS NULL THEN 1 WHEN {marked} THEN 1 ELSE 0 END"
        read = self._statement.read_cell(raw, self._stored, self.attribute)
        return f"{text} AS t{place}, {read} AS c{place}, {missing} AS m{place}"

    @property
    def counts(self) -> str:
        """How many cells are missing, are read, and lie outside, and one that could not be read."""
        place = self.place
        failed = f"CASE WHEN m{place} = 0 AND c{place} IS NULL THEN t{place} END"
        outside = f"SUM(CASE WHEN {self._outside} THEN 1 ELSE 0 END)"
        return f"SUM(m{place}), COUNT(c{place}), {outside}, MIN({failed})"

    @property
    def _outside(self) -> str:
        attribute, cell = self.attribute, f"c{self.place}"
        if self.has_long_list:
            return "FALSE"  # counted by itself
        if attribute.categories is not None:
            return f"{cell} IS NOT NULL AND NOT ({cell} {self._statement.one_of(attribute.categories)})"
        if attribute.bounds is None or not attribute.public:
            return "FALSE"
        number = f"CAST({cell} AS {self._statement.dialect.double})"
        low, high = (double(_number(limit)) for limit in attribute.bounds)
        return f"{number} < {low} OR {number} > {high}"

    def report(self, rows: int, found: Sequence[Any]) -> ColumnReport:
        """Return the report of the column from its counts."""
        missing, read, outside = (int(part or 0) for part in found[:3])
        return ColumnReport(
            self.attribute.name,
            str(self.attribute.kind or "category"),
            rows,
            CellCount(missing),
            CellCount(rows - missing - read),
            CellCount(outside),
            example=None if found[3] is None else quoted(found[3]),
            limits=limits_words(self.attribute),
        )


def _number(limit: Bound) -> float:
    """Return a bound as engines count: days for a date, seconds for a time."""
    return seconds_of(limit) if isinstance(limit, dt.datetime) else float(bound_number(limit))
