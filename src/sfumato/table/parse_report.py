"""What became of the cells of a table when they were read as declared: values, missing, failed, outside.

A steward sees it before anything is released: what cannot be read would otherwise count as missing without a word
(van den Burg, Nazabal & Sutton 2019, "Wrangling messy CSV files by detecting row and type patterns"). It is computed
from the rows and is never public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from sfumato.errors import InputError
from sfumato.schema import Attribute, Schema
from sfumato.schema.kinds import is_missing
from sfumato.schema.times import bound_number
from sfumato.schema.values import advice, parse_cells
from sfumato.table.coding import listed_texts
from sfumato.table.table import Table

SHOWN = 5  # row numbers of each sort that are kept
SHARE = 0.01  # of the filled cells of a column that may fail, unless a schema says otherwise
TRIED = 1000  # failed cells by which another declaration is tried
LONGEST = 40  # characters of a cell that are quoted


class CellCount(NamedTuple):
    """How many cells of a sort there are, and the numbers of the first rows (from 1) that have one.

    >>> CellCount.of(pl.Series([False, True, True]))
    CellCount(cells=2, rows=(2, 3))
    """

    cells: int = 0
    rows: tuple[int, ...] = ()

    @classmethod
    def of(cls, found: pl.Series) -> CellCount:
        """Return the count of the true ones."""
        cells = int(found.sum())
        return cls(cells, tuple(row + 1 for row in found.arg_true().head(SHOWN)) if cells else ())

    def add(self, later: CellCount, rows: int) -> CellCount:
        """Return both counts together, where the later one begins behind so many rows."""
        moved = tuple(row + rows for row in later.rows)
        return CellCount(self.cells + later.cells, (*self.rows, *moved)[:SHOWN])

    @property
    def place(self) -> str:
        """Where the first one is, in words; nothing where rows have no number."""
        return f" (first row {self.rows[0]})" if self.rows else ""


NONE = CellCount()


class Fate(NamedTuple):
    """What happens to cells that could not be read, that lie beyond bounds, and that are not listed, in words.

    >>> IN_ANSWERS.beyond
    'counted as the nearest bound'
    """

    failed: str = ""
    beyond: str = ""
    unlisted: str = ""


TOLD = Fate()
IN_TABLES = Fate(failed="treated as missing")
IN_ANSWERS = Fate("treated as missing", "counted as the nearest bound", "in no group")
IN_PRIVATE_TABLES = Fate("treated as missing", "treated as missing", "treated as missing")


@dataclass(frozen=True)
class ColumnReport:
    """One declared column: its cells, and how many of them are missing, failed, or outside of what is declared.

    `example` is the text of the first failed cell, `remedy` a declaration with which such cells could be read; `limits`
    says what is declared, as in "[0, 120]".

    >>> ColumnReport("age", "integer", 10, failed=CellCount(1, (4,)), example="x").lines()
    ["column 'age': 1 of 10 filled cells is no integer (first row 4)"]
    """

    column: str
    kind: str
    cells: int
    missing: CellCount = NONE
    failed: CellCount = NONE
    outside: CellCount = NONE
    example: str | None = None
    limits: str = ""
    remedy: str | None = None

    @property
    def filled(self) -> int:
        """The cells that are not missing."""
        return self.cells - self.missing.cells

    @property
    def failed_share(self) -> float:
        """The share of the filled cells that could not be read."""
        return self.failed.cells / self.filled if self.filled else 0.0

    def lines(self, fate: Fate = TOLD) -> list[str]:
        """Return what a steward must know, in words."""
        told = []
        if self.failed.cells:
            told.append(f"{self._share(self.failed, 'no')} {self.kind}{self.failed.place}{_so(fate.failed)}")
        if self.outside.cells:
            effect = _so(fate.beyond if self.limits.startswith("[") else fate.unlisted)
            told.append(f"{self._share(self.outside, 'outside')} {self.limits}{self.outside.place}{effect}")
        return [f"column '{self.column}': {words}" for words in told]

    def _share(self, found: CellCount, word: str) -> str:
        share = f", {100 * found.cells / self.filled:.2g} %," if 1 < found.cells < self.filled else ""
        return f"{found.cells} of {self.filled} filled cells{share} {'is' if found.cells == 1 else 'are'} {word}"

    def add(self, later: ColumnReport) -> ColumnReport:
        """Return the report of both parts of a column, the later one behind this one."""
        rows = self.cells
        return replace(
            self,
            cells=rows + later.cells,
            missing=self.missing.add(later.missing, rows),
            failed=self.failed.add(later.failed, rows),
            outside=self.outside.add(later.outside, rows),
            example=later.example if self.example is None else self.example,
            remedy=later.remedy if self.remedy is None else self.remedy,
        )

    def located(self, other: ColumnReport) -> ColumnReport:
        """Return the same counts with the row numbers of another report, where that one counts as many."""
        found = {name: (getattr(self, name), getattr(other, name)) for name in ("missing", "failed", "outside")}
        known: dict[str, Any] = {name: theirs for name, (ours, theirs) in found.items() if ours.cells == theirs.cells}
        known |= {"example": other.example, "remedy": other.remedy} if "failed" in known else {}
        return replace(self, **known)

    def as_json(self) -> dict[str, Any]:
        """Return the report as data that JSON can hold."""
        counts = {name: getattr(self, name) for name in ("missing", "failed", "outside")}
        told = {name: {"cells": found.cells, "first_rows": list(found.rows)} for name, found in counts.items()}
        further = {"declared": self.limits or None, "example": self.example, "remedy": self.remedy}
        known = {name: value for name, value in further.items() if value is not None}
        return {"column": self.column, "type": self.kind, "cells": self.cells, **told, **known}


@dataclass(frozen=True)
class ParseReport:
    """The declared columns of a table, each with what became of its cells.

    >>> from sfumato.schema import Kind, Role
    >>> age = Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120))
    >>> people = Table(pl.DataFrame({"age": ["31", "x", "", "500"]}))
    >>> report = ParseReport.of(people, Schema({"age": age}))
    >>> for line in report.lines():
    ...     print(line)
    missing cells: age 1
    column 'age': 1 of 3 filled cells is no integer (first row 2)
    column 'age': 1 of 3 filled cells is outside [0, 120] (first row 4)
    >>> report.add(report).columns["age"].failed
    CellCount(cells=2, rows=(2, 6))
    """

    columns: Mapping[str, ColumnReport]

    @classmethod
    def of(cls, table: Table, schema: Schema) -> ParseReport:
        """Return the report of a table's declared columns."""
        declared = {name: entry for name, entry in schema.columns.items() if name in table.names}
        return cls({name: report_column(table.column(name), entry) for name, entry in declared.items()})

    def add(self, later: ParseReport) -> ParseReport:
        """Return the report of both parts of a table, the later rows behind these: for rows that come in batches."""
        if not self.columns:
            return later
        return ParseReport({name: entry.add(later.columns[name]) for name, entry in self.columns.items()})

    def located(self, other: ParseReport) -> ParseReport:
        """Return the same counts with the row numbers of another report, where that one counts as many.

        >>> counted = ParseReport({"age": ColumnReport("age", "integer", 9, failed=CellCount(1))})
        >>> read = ParseReport({"age": ColumnReport("age", "integer", 9, failed=CellCount(1, (4,)), example="x")})
        >>> counted.located(read).columns["age"].failed
        CellCount(cells=1, rows=(4,))
        """
        pairs = {name: (entry, other.columns.get(name, entry)) for name, entry in self.columns.items()}
        return ParseReport({name: entry.located(same) for name, (entry, same) in pairs.items()})

    def lines(self, fate: Fate = TOLD) -> list[str]:
        """Return one line on all missing cells, and one for each column with failed cells or cells outside."""
        missing = [f"{name} {entry.missing.cells}" for name, entry in self.columns.items() if entry.missing.cells]
        told = [f"missing cells: {', '.join(missing)}"] if missing else []
        return told + [line for entry in self.columns.values() for line in entry.lines(fate)]

    def as_json(self) -> dict[str, Any]:
        """Return the report as data that JSON can hold.

        >>> ParseReport({}).as_json()
        {'columns': []}
        """
        return {"columns": [entry.as_json() for entry in self.columns.values()]}

    def refuse_failed(self, share: float | None = None) -> None:
        """Refuse a table of which more than a share of the filled cells of a column could not be read.

        >>> age = ColumnReport("age", "integer", 2, failed=CellCount(1, (2,)), example="x")
        >>> ParseReport({"age": age}).refuse_failed()
        Traceback (most recent call last):
        sfumato.errors.InputError: column 'age': 1 of 2 filled cells is no integer, the first is 'x' in row 2, and at \
most 1 % may fail; declare the type that the cells have, declare 'x' as a missing mark, clean the rows, or allow more \
with --max-failed 0.5 (failed = 0.5 in the schema)
        """
        most = SHARE if share is None else share
        worst = max(self.columns.values(), key=lambda entry: entry.failed_share, default=None)
        if worst is not None and worst.failed_share > most:
            others = sum(entry.failed_share > most for entry in self.columns.values()) - 1
            raise InputError(_refusal(worst, most, others))

    def without_failed(self, table: Table, schema: Schema) -> Table:
        """Return the table with a missing cell in place of every one that could not be read.

        >>> from sfumato.schema import Kind, Role
        >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER)})
        >>> people = Table(pl.DataFrame({"age": ["31", "x"]}))
        >>> ParseReport.of(people, schema).without_failed(people, schema).column("age").to_list()
        ['31', None]
        """
        broken = [name for name, entry in self.columns.items() if entry.failed.cells]
        if not broken:
            return table
        cleaned = [_without_failed(table.column(name), schema.columns[name]) for name in broken]
        return table.with_columns(cleaned)

    @property
    def matters(self) -> bool:
        """Whether there is anything that a steward must know: a cell that is missing, failed or outside."""
        return bool(self.lines())

    @property
    def warnings(self) -> list[str]:
        """What the card of a syntactic release says of the cells that could not be read.

        >>> ParseReport({"age": ColumnReport("age", "integer", 9, failed=CellCount(1, (4,)))}).warnings
        ['cells that could not be read and were treated as missing: age 1']
        """
        failed = [f"{name} {entry.failed.cells}" for name, entry in self.columns.items() if entry.failed.cells]
        return [f"cells that could not be read and were treated as missing: {', '.join(failed)}"] if failed else []

    @property
    def failed_cells(self) -> int:
        """How many cells of all columns could not be read."""
        return sum(entry.failed.cells for entry in self.columns.values())


def take_in(table: Table, schema: Schema) -> Table:
    """Return the table with every cell that could not be read as missing, and what became of the cells (`intake`).

    Refused where more than the declared share (`Schema.failed`) of a column's filled cells could not be read. A table
    that was taken in before is returned as it is.

    >>> from sfumato.schema import Kind, Role
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER)}, failed=0.5)
    >>> people = take_in(Table(pl.DataFrame({"age": ["31", "x"]})), schema)
    >>> people.column("age").to_list(), people.intake.failed_cells
    (['31', None], 1)
    """
    if table.intake is not None:
        return table
    report = ParseReport.of(table, schema)
    report.refuse_failed(schema.failed)
    return report.without_failed(table, schema).with_intake(report)


def report_column(series: pl.Series, attribute: Attribute) -> ColumnReport:
    """Return what became of one column's cells.

    >>> from sfumato.schema import Kind, Role
    >>> report_column(pl.Series("sex", ["F", "X"]), Attribute("sex", Role.QUASI, categories=("F", "M"))).outside
    CellCount(cells=1, rows=(2,))
    """
    words = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    kind = str(attribute.kind or "category")
    if words is not None:
        return _report_words(series, attribute, words, kind)
    if attribute.kind is None or not attribute.kind.numeric:
        return ColumnReport(series.name, kind, len(series), CellCount.of(is_missing(series, attribute.missing)))
    values, missing, failed = parse_cells(series, attribute)
    counted = CellCount.of(failed)
    return ColumnReport(
        series.name,
        kind,
        len(series),
        CellCount.of(missing),
        counted,
        CellCount.of(_beyond(values, attribute)),
        example=quoted(series[counted.rows[0] - 1]) if counted.rows else None,
        limits=limits_words(attribute),
        remedy=advice(series.filter(failed).head(TRIED), attribute) if counted.cells else None,
    )


def _report_words(series: pl.Series, attribute: Attribute, words: tuple[str, ...], kind: str) -> ColumnReport:
    listed = attribute.hierarchy is not None
    marks = tuple(mark for mark in attribute.missing if not (listed and mark in words))  # a listed mark is a value
    texts = listed_texts(series, attribute) if listed else series.cast(pl.String)
    missing = is_missing(texts if listed else series, marks)
    outside = ~texts.is_in(list(words)).fill_null(value=False) & ~missing
    found = CellCount.of(missing), NONE, CellCount.of(outside)
    return ColumnReport(series.name, kind, len(series), *found, limits=limits_words(attribute))


def _beyond(values: pl.Series, attribute: Attribute) -> pl.Series:
    """Return which values lie beyond the declared bounds; guessed bounds are none."""
    if attribute.bounds is None or not attribute.public:
        return pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(values))
    low, high = map(bound_number, attribute.bounds)
    if values.dtype.is_integer():
        low, high = max(low, -(2**63)), min(high, 2**63 - 1)  # no cell lies beyond
    return ~values.is_between(low, high).fill_null(value=True)


def limits_words(attribute: Attribute) -> str:
    """Return what is declared about a column's values, in words.

    >>> from sfumato.schema import Kind, Role
    >>> limits_words(Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)))
    '[0, 120]'
    """
    if attribute.hierarchy is not None:
        return "the hierarchy"
    if attribute.categories is not None:
        return "the declared categories"
    return "" if attribute.bounds is None else f"[{attribute.bounds[0]}, {attribute.bounds[1]}]"


def _without_failed(series: pl.Series, attribute: Attribute) -> pl.Series:
    return series.set(parse_cells(series, attribute).failed, None)


def _so(fate: str) -> str:
    return f", {fate}" if fate else ""


def quoted(cell: object) -> str:
    """Return a cell as a message quotes it: cut where it is long.

    >>> quoted("x" * 50)[-2:]
    'x…'
    """
    text = str(cell)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _refusal(worst: ColumnReport, most: float, others: int) -> str:
    (found,) = replace(worst, failed=worst.failed._replace(rows=()), outside=NONE).lines()
    first = "" if worst.example is None else f", for example '{worst.example}'"
    if worst.failed.rows:
        first = f", the first is '{worst.example}' in row {worst.failed.rows[0]}"
    more = f" (so has {others} more)" if others else ""
    allowed = -(-worst.failed.cells * 10_000 // worst.filled) / 10_000  # rounded up, so that it is enough
    mark = "" if worst.example is None else f", declare '{worst.example}' as a missing mark"
    remedy = f"declare {worst.remedy}" if worst.remedy else f"declare the type that the cells have{mark}"
    return (
        f"{found}{first}, and at most {100 * most:g} % may fail{more}; {remedy}, clean the rows, or allow more with "
        f"--max-failed {allowed:g} (failed = {allowed:g} in the schema)"
    )
