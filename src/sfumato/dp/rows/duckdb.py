"""Rows read by an embedded DuckDB that can touch one file, or one dataframe in memory, and nothing else.

Files are scanned in place and only the columns asked for are read (Raasveldt & Mühleisen 2019, "DuckDB: an embeddable
analytical database").
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
import polars as pl

from sfumato.core.threads import most_threads
from sfumato.dp.questions.request import Request, Tallies
from sfumato.dp.rows.arrow_stream import Whole, whole_blocks
from sfumato.dp.rows.cell_counts import count_cells
from sfumato.dp.rows.collect import UNREADABLE, check, collect
from sfumato.dp.rows.dialect import DUCKDB, StorageType, quote_name
from sfumato.dp.rows.eager import Prepared
from sfumato.dp.rows.placed_persons import BLOCK, count_in_places, has_places
from sfumato.dp.rows.sorted_persons import count_persons
from sfumato.dp.rows.statement import SqlTable
from sfumato.errors import InputError
from sfumato.random import noise_from
from sfumato.schema import Schema
from sfumato.schema.times import on_walls
from sfumato.table import ParseReport, Table
from sfumato.table.table import text_columns

Result = TypeVar("Result")
Held = dict[str, dict[str, Whole]]
THREADS = 2
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",  # rows are never spilled to a disk
    "preserve_insertion_order": False,
}
STORED = {
    "VARCHAR": StorageType.TEXT,
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), StorageType.WHOLE),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), StorageType.WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), StorageType.REAL),
    "DATE": StorageType.DAY,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), StorageType.MOMENT),
    "TIMESTAMP WITH TIME ZONE": StorageType.ZONED,
}
BY_THE_ROWS = {  # what skips rows, or tests of them, by what the rows hold: the time it saves would tell of them
    "empty_result_pullup",
    "filter_pullup",
    "filter_pushdown",
    "join_filter_pushdown",
    "reorder_filter",
    "row_group_pruner",
    "statistics_propagation",
}
FRAME = "frame"


@dataclass(frozen=True)
class Holdings:
    """What a database may read: files by their places, and frames that it holds as tables, with their schemas.

    >>> Holdings(("rides.csv",)).frames
    {}
    """

    places: tuple[str, ...] = ()
    frames: Mapping[str, tuple[pl.DataFrame, Schema]] = field(default_factory=dict)


class DuckRows:
    """The rows of one file or dataframe.

    >>> rows = DuckRows.of_frame(pl.DataFrame({"age": [31, 47]}), Schema.from_roles(quasi=["age"]))
    >>> rows
    DuckRows(<rows are secret>)
    """

    def __init__(
        self,
        holdings: Holdings,
        table: str,
        schema: Schema,
        digest: Callable[[], str],
        zones: Mapping[str, str] | None = None,
    ) -> None:
        self._holdings, self._schema, self._digest = holdings, schema, digest
        # a fork keeps its parent's connection too: closing it would wait for threads
        self._connections = {os.getpid(): _connect(holdings)}
        self._source = SqlTable(table, self._storage_types(table), zones=zones or {}, sorts_persons=True)
        for name in schema.columns:
            if name not in self._source.stored:
                raise InputError(f"the rows have no column '{name}', which the schema declares; correct one of them")

    def __repr__(self) -> str:
        return "DuckRows(<rows are secret>)"

    @classmethod
    def of_scan(
        cls, place: str, scan: str, schema: Schema, digest: Callable[[], str], zones: Mapping[str, str] | None = None
    ) -> DuckRows:
        """Return the rows that a scan finds in the file at a place; `digest` hashes that file.

        `zones` are those in which moments were written, where the file tells.
        """
        return cls(Holdings((place,)), scan, schema, digest, zones)

    @classmethod
    def of_frame(cls, data: Any, schema: Schema) -> DuckRows:
        """Return the rows of any dataframe that narwhals knows.

        >>> import pandas as pd
        >>> len(DuckRows.of_frame(pd.DataFrame({"age": [31]}), Schema.from_roles(quasi=["age"])).fingerprint())
        64
        """
        frame = text_columns(Table.from_frame(data).frame)
        kinds = repr(sorted((name, str(dtype)) for name, dtype in frame.schema.items()))
        digest = hashlib.sha256(kinds.encode() + frame.write_csv().encode()).hexdigest()
        return cls(Holdings(frames={FRAME: (frame, schema)}), FRAME, schema, lambda: digest)

    @classmethod
    def of_content(cls, frame: pl.DataFrame, schema: Schema, digest: str) -> DuckRows:
        """Return the rows of a frame that was read from content with this SHA-256."""
        return cls(Holdings(frames={FRAME: (frame, schema)}), FRAME, schema, lambda: digest)

    @property
    def held(self) -> tuple[Holdings, SqlTable]:
        """What the database may read, and these rows in its words."""
        return self._holdings, self._source

    def beside(self, others: Mapping[str, DuckRows]) -> DuckRows:
        """Return these rows in a database that may read those of other tables as well, for joins, and nothing else."""
        holdings, beside = self._holdings, {}
        for place, (name, other) in enumerate(others.items()):
            theirs, source = other.held
            renamed = {f"{FRAME}{place}": held for held in theirs.frames.values()}
            holdings = Holdings((*holdings.places, *theirs.places), {**holdings.frames, **renamed})
            beside[name] = replace(source, table=next(iter(renamed), source.table))
        joint = DuckRows(holdings, self._source.table, self._schema, self._digest, self._source.zones)
        joint._source = replace(joint._source, beside=beside)
        return joint

    @contextmanager
    def look(self) -> Iterator[DuckRows]:
        """Give the rows as they are now: a frame never changes, and whoever holds a file looks after that."""
        yield self

    def check(self, request: Request) -> None:
        """Refuse a request that contradicts the schema or how the columns are stored."""
        self._connection()
        check(request, self._schema, self._source, DUCKDB)

    def collect(self, request: Request) -> Tallies:
        """Return the exact answers to a request."""
        held: Held = {}
        execute = partial(self._execute, held=held)
        return collect(request, self._schema, self._source, DUCKDB, execute, partial(self._hold_counts, held))

    def _hold_counts(self, held: Held, table: Prepared) -> None:
        """Keep the counts of persons for the statement that reads them."""
        held[table.name] = self._without_engine_words(lambda cursor: _counted(cursor, table))

    def parse_report(self) -> ParseReport:
        """Return what became of the cells of the declared columns: for the curator alone."""
        return count_cells(self._schema, self._source, DUCKDB, self._execute)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's or the dataframe's content."""
        return self._digest()

    def _storage_types(self, table: str) -> dict[str, StorageType]:
        described = self._execute(f"DESCRIBE SELECT * FROM {table}", {})  # noqa: S608  # our own words
        return {name: _storage_type(kind) for name, kind, *_ in described}

    def _connection(self) -> Any:
        """Return this process's database: the threads of one that was made before a fork are not in the child.

        A file is opened again; a dataframe is not, since the threads of its library are gone as well.
        """
        if os.getpid() not in self._connections:
            if self._holdings.frames:
                raise InputError("the rows are held by another process; open the session in the one that asks")
            self._connections[os.getpid()] = _connect(self._holdings)
        return self._connections[os.getpid()]

    def _execute(
        self, statement: str, parameters: dict[str, object], held: Mapping[str, Mapping[str, Whole]] | None = None
    ) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a result; `held` are tables of numbers that the statement names."""

        def work(cursor: Any) -> Sequence[tuple[Any, ...]]:
            for name, columns in (held or {}).items():
                cursor.register(name, columns)
            found: Sequence[tuple[Any, ...]] = cursor.execute(statement, parameters).fetchall()
            return found

        return self._without_engine_words(work)

    def _without_engine_words(self, work: Callable[[Any], Result]) -> Result:
        """Return what is done with a cursor; the engine's own words may quote a cell, so they go no further."""
        import duckdb

        done: list[Result] = []
        with suppress(duckdb.Error, OSError), self._connection().cursor() as cursor:
            done.append(work(cursor))
        if not done:
            raise InputError(UNREADABLE)
        return done[0]


@lru_cache(maxsize=1)
def load_engine() -> None:
    """Load what the first question of a process needs, with made-up rows: before any clock starts."""
    from sfumato.dp.questions.request import Count
    from sfumato.promise.unit import ProtectRows

    made_up = DuckRows.of_frame(pl.DataFrame({"one": [1]}), Schema())
    (counts,) = made_up.collect(Request((Count(),), ProtectRows())).columns
    noise_from().laplace([int(count) for count in counts], Fraction(1))


def _counted(cursor: Any, table: Prepared) -> dict[str, Whole]:
    """Return the counts of the persons that a selection finds."""
    found = cursor.sql(table.sql, params=table.parameters or None)
    if table.bounds is None or not has_places(table.bounds):
        return count_persons(whole_blocks(found), table.more_than)
    return count_in_places(whole_blocks(found, BLOCK), table.bounds, table.more_than)


def _storage_type(kind: str) -> StorageType:
    return StorageType.REAL if kind.startswith("DECIMAL") else STORED.get(kind, StorageType.OTHER)


def _connect(holdings: Holdings) -> Any:
    """Return a database in memory that can open some files and holds some frames, load nothing and change no setting.

    Moments of frames are by the clock of their zone.
    """
    connection = _database()
    for name, (frame, schema) in holdings.frames.items():
        _hold_frame(connection, name, frame, schema)
    if holdings.places:
        places = ", ".join(quote_text(place) for place in holdings.places)
        connection.execute(f"SET allowed_paths = [{places}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def quote_text(text: str) -> str:
    """Return a text as SQL writes it.

    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _hold_frame(connection: Any, name: str, frame: pl.DataFrame, schema: Schema) -> None:
    """Make a table of a frame."""
    zones = {name: entry.zone for name, entry in schema.columns.items()}
    moments = [name for name, dtype in frame.schema.items() if dtype == pl.Datetime]
    frame = frame.with_columns(on_walls(frame.get_column(name), zones.get(name)) for name in moments)
    connection.register("arrays", {name: _array(frame.get_column(name)) for name in frame.columns})
    dates = [quote_name(name) for name, dtype in frame.schema.items() if dtype == pl.Date]
    days = f" REPLACE ({', '.join(f'CAST({name} AS DATE) AS {name}' for name in dates)})" if dates else ""
    connection.execute(f"CREATE TABLE {name} AS SELECT *{days} FROM arrays")  # noqa: S608  # names are quoted
    connection.unregister("arrays")


def _database() -> Any:
    import duckdb

    connection = duckdb.connect(":memory:", config={**SETTINGS, "threads": min(THREADS, most_threads())})
    connection.execute("SET TimeZone = 'UTC'")
    there = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    connection.execute(f"SET disabled_optimizers = '{','.join(sorted(there & BY_THE_ROWS))}'")
    return connection


def _array(column: pl.Series) -> Any:
    """Return a column as NumPy holds it, so that no other library has to be there."""
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).to_numpy()
    if column.dtype.is_float():
        return column.to_numpy()
    if column.dtype.is_integer() and column.dtype not in (pl.Int128, pl.UInt128):
        return np.ma.array(column.fill_null(0).to_numpy(), mask=column.is_null().to_numpy())
    return np.array(column.cast(pl.String).to_list(), dtype=object)
