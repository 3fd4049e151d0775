"""What a curator declares once: where the rows are, that every line can be read, and a schema that needs no file.

The curator sees the rows, an analyst does not: here an error may speak of a line, later none does (Haeberlen, Pierce &
Narayan 2011, section 4).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.questions.request import Count, EngineRows, QueryableRows, Request
from sfumato.dp.rows import RowsElsewhere, open_rows
from sfumato.dp.rows.cell_counts import ReportsCells
from sfumato.dp.rows.file import FileRows
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import ProtectRows
from sfumato.schema import Attribute, Reading, Schema
from sfumato.table import ParseReport, Table
from sfumato.table.database import holds_password

TABLE_FACTS = ("data", "engine", "schema", "fingerprint", "reading")


def address(data: Any) -> str | None:
    """Return where a ledger finds its rows again; a password has no place in it.

    >>> address("postgresql://ana:secret@server/city#rides")
    Traceback (most recent call last):
    sfumato.errors.InputError: the address of the database holds a password; give it as PGPASSWORD or in a password file
    """
    if isinstance(data, EngineRows):
        return data.address
    if holds_password(data):
        raise InputError("the address of the database holds a password; give it as PGPASSWORD or in a password file")
    if isinstance(data, str) and "://" in data:
        return data
    return str(Path(data).resolve()) if isinstance(data, str | Path) else None


def whereabouts(data: Any) -> dict[str, str | None]:
    """Return what a ledger notes about where its rows are: their address, and the engine that opens them if one does.

    >>> whereabouts("postgresql://server/city#rides")
    {'data': 'postgresql://server/city#rides'}
    """
    engine = {"engine": data.engine} if isinstance(data, EngineRows) else {}
    return {"data": address(data), **engine}


def declared_rows(data: Any, schema: Schema) -> QueryableRows:
    """Return the rows as the curator declares them: a file is read once in full, so a broken line is refused here.

    Later questions leave out what they cannot read, since an error would depend on the rows.

    >>> import polars as pl
    >>> len(declared_rows(pl.DataFrame({"age": [31]}), Schema.from_roles(quasi=["age"])).fingerprint())
    64
    """
    address(data)  # refuses a password
    if isinstance(data, str | Path) and "://" not in str(data):
        return _declared_file(Path(data), schema)
    rows = open_rows(data, schema)
    if isinstance(rows, EngineRows):
        rows.declare()
    return rows


def _declared_file(path: Path, schema: Schema) -> FileRows:
    rows, table = FileRows.declare(path, schema)
    lines = table.rows
    (found,) = rows.collect(Request((Count(),), ProtectRows())).columns[0]
    if found != lines:
        lost = f"{lines - found} of {lines} lines cannot be read"
        raise InputError(f"file '{address(path)}': {lost}; shorten lines of more than 2 MB")
    return rows


def laid_out(schema: Schema, reading: Reading) -> Schema:
    """Return the schema for a new file that is laid out otherwise; what its texts mean stays as it was declared.

    >>> laid_out(Schema(), Reading(decimal=","))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: decimal, thousands, date format, zone and missing marks belong to the ledger's \
schema, which stays as it is; leave them out
    """
    if reading != reading.layout:
        raise ParameterError(
            "decimal, thousands, date format, zone and missing marks belong to the ledger's schema, which stays as it "
            "is; leave them out"
        )
    return schema.read_as(reading)


def noted_reading(rows: QueryableRows) -> dict[str, object]:
    """Return what a ledger notes of how the rows' file is written, so that every question reads it alike.

    >>> import polars as pl
    >>> noted_reading(open_rows(pl.DataFrame({"age": [31]}), Schema()))
    {}
    """
    return {"reading": rows.reading.layout.to_mapping()} if isinstance(rows, FileRows) else {}


def declared_cells(data: Any, rows: QueryableRows, schema: Schema) -> ParseReport | None:
    """Return what answers will make of the cells; refused where more than the declared share could not be read.

    >>> import polars as pl
    >>> from sfumato.schema import Kind, Role
    >>> schema = Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))})
    >>> frame = pl.DataFrame({"age": ["31", "120", ""]})
    >>> declared_cells(frame, open_rows(frame, schema), schema).lines()
    ['missing cells: age 1', "column 'age': 1 of 2 filled cells is outside [0, 99] (first row 2)"]
    """
    if not isinstance(rows, ReportsCells):
        return None
    report = rows.parse_report()
    if report.matters and not isinstance(data, str | Path | EngineRows):
        report = report.located(ParseReport.of(Table.from_frame(data), schema))
    report.refuse_failed(schema.failed)
    return report


def seconds_of_a_count(rows: QueryableRows) -> float:
    """Return how long one look at the rows and a plain count of them take, as every question does at least.

    >>> import polars as pl
    >>> seconds_of_a_count(open_rows(pl.DataFrame({"age": [31]}), Schema.from_roles(quasi=["age"]))) > 0
    True
    """
    begun = time.monotonic()
    with rows.look() as seen:
        seen.fingerprint()
        seen.collect(Request((Count(),), ProtectRows()))
    return time.monotonic() - begun


def without_files(schema: Schema) -> Schema:
    """Return the schema as the ledger keeps it: a hierarchy's leaves listed as categories, so that no file is needed.

    >>> without_files(Schema())
    Traceback (most recent call last):
    sfumato.errors.InputError: the schema declares no column; a private answer needs declared bounds and categories
    """
    if not schema.columns:
        raise InputError("the schema declares no column; a private answer needs declared bounds and categories")
    columns = {
        name: entry
        if entry.hierarchy is None
        else replace(entry, hierarchy=None, hierarchy_file=None, categories=_leaves(entry))
        for name, entry in schema.columns.items()
    }
    return replace(schema, columns=columns)


def _leaves(entry: Attribute) -> tuple[str, ...] | None:
    numeric = entry.kind is not None and entry.kind.numeric
    return None if numeric or entry.hierarchy is None else entry.hierarchy.leaves


def facts_by_table(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what a ledger notes of each of its tables, by their names, the first one first.

    >>> facts_by_table({"table": "rides", "data": "rides.csv", "beside": {"riders": {"data": "riders.csv"}}})["riders"]
    {'data': 'riders.csv'}
    """
    first = {name: facts[name] for name in TABLE_FACTS if name in facts}
    return {facts.get("table", "rows"): first, **facts.get("beside", {})}


@dataclass(eq=False)
class LedgerRows:
    """The rows that a ledger speaks of, opened at the first look and again whenever the ledger has a new version.

    `given` is a dataframe or an engine's rows, which a ledger cannot find by itself.

    >>> import tempfile, polars as pl
    >>> from sfumato.promise.cost import Budget
    >>> schema, frame = Schema.from_roles(quasi=["age"]), pl.DataFrame({"age": [31]})
    >>> facts = {"data": None, "fingerprint": open_rows(frame, schema).fingerprint()}
    >>> ledger = Ledger.create(f"{tempfile.mkdtemp()}/L", Budget(epsilon=1), facts)
    >>> with LedgerRows(ledger, schema, frame).look(1) as rows:
    ...     rows.collect(Request((Count(),), ProtectRows())).columns
    [[1]]
    """

    ledger: Ledger
    schema: Schema
    given: Any = None
    opened: tuple[int, QueryableRows] | None = None
    table: str | None = None  # which of the ledger's tables; the first one unless named

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed about a file that was just declared; for the curator, who sees the rows."""
        rows = None if self.opened is None else self.opened[1]
        return rows.guesses if isinstance(rows, FileRows) else ()

    @contextmanager
    def look(self, version: int) -> Iterator[QueryableRows]:
        """Give the rows of a version as they are at one moment; refuse others than were declared with it."""
        opened = self.open(version)
        with opened.look() as rows:
            self.refuse_others(version, rows.fingerprint())
            yield rows

    def open(self, version: int) -> QueryableRows:
        """Return the rows of a version, before anybody looked whether they are still the declared ones."""
        if self.opened is None or self.opened[0] != version:
            self.opened = (version, self._open(self._facts(version)))
        return self.opened[1]

    def refuse_others(self, version: int, fingerprint: str) -> None:
        """Refuse rows with another fingerprint than was declared with the version."""
        if fingerprint != self._facts(version)["fingerprint"]:
            raise InputError(
                "the data are no longer those the ledger was made for; declare them with `sfumato budget new-version`"
            )

    def _facts(self, version: int) -> Mapping[str, Any]:
        facts = self.ledger.facts_of(version)
        return facts if self.table is None else facts_by_table(facts)[self.table]

    def _open(self, facts: Mapping[str, Any]) -> QueryableRows:
        if self.given is None and "engine" in facts:
            return RowsElsewhere(facts["engine"])
        schema = self.schema.read_as(Reading.from_mapping(facts.get("reading", {})))
        return open_rows(facts["data"] if self.given is None else self.given, schema)
