"""Rows on a Spark cluster: the aggregate and the bounding of persons run there, and only exact integers leave.

What McSherry's PINQ (2009) does in a database runs on executors here; noise and ledger stay with the driver, so that a
question costs, promises and refuses the same. A task that is tried again computes the same integers. Spark's web page
and its event log show exact numbers of rows: keep them as secret as the rows. In Spark's ANSI mode casts, sums, `floor`
and list places raise unless they are guarded by CASEs, which Spark tries in order; it may evaluate both sides of an AND
(Haeberlen, Pierce & Narayan 2011, section 4, on why no row may make an answer fail).
"""

# ruff: noqa: S608  # names are our own, and texts are parameters

from __future__ import annotations

import copy
import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.dp.ledger import Ledger
from sfumato.dp.ledger.places import LedgerPlace
from sfumato.dp.questions.lookup import Lookup
from sfumato.dp.questions.request import Request, Tallies
from sfumato.dp.rows.cell_counts import count_cells
from sfumato.dp.rows.collect import UNREADABLE, check, collect
from sfumato.dp.rows.dialect import Dialect, StorageType
from sfumato.dp.rows.statement import SqlTable
from sfumato.engines.spark.folders import file_marks, read_cells, read_lines
from sfumato.engines.spark.session import spark_sentences, spark_session
from sfumato.errors import InputError, ParameterError
from sfumato.schema import Kind, Schema
from sfumato.table import ParseReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Result = TypeVar("Result")
STORED = {
    "string": StorageType.TEXT,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), StorageType.WHOLE),
    **dict.fromkeys(("float", "double", "decimal"), StorageType.REAL),
    "date": StorageType.DAY,
    "timestamp": StorageType.ZONED,
    "timestamp_ntz": StorageType.MOMENT,
}
PUBLIC_TYPES: dict[Kind | None, str] = {
    **dict.fromkeys((Kind.INTEGER, Kind.DATE), "BIGINT"),
    **dict.fromkeys((Kind.NUMBER, Kind.TIMESTAMP), "DOUBLE"),
}
DAY = 86_400_000_000  # in microseconds
IN_UTC = (
    f"TIMESTAMP_NTZ '1970-01-01 00:00:00' + make_dt_interval(CAST(unix_micros({{x}}) div {DAY} AS INT), 0, 0, "
    f"CAST(unix_micros({{x}}) % {DAY} AS DECIMAL(18, 0)) / 1000000)"
)
CELLS = {  # a text that is no UTF-8 is missing; a moment is one in UTC, whatever the session's zone is
    **dict.fromkeys(("string", "binary"), "try_validate_utf8(CAST({x} AS STRING))"),
    "timestamp": IN_UTC,
}
# DuckDB's spelling of a double from Java's: 1.0E7 is 10000000, 1.5E-9 is 1.5e-09. Java before 19 may add a digit.
_PLAIN = r"regexp_replace(CAST(try_cast({text} AS DECIMAL(38, 21)) AS STRING), r'\.?0+$', '')"
_EXPONENT = (
    r"format_string('%se%+03d', regexp_replace(substring_index({text}, 'E', 1), r'\.0$', ''), "
    "try_cast(substring_index({text}, 'E', -1) AS INT))"
)
SPARK = Dialect(
    name="spark",
    match=r"rlike({x}, r'^(?:{pattern})\z')",
    integer="try_cast({x} AS BIGINT)",
    number="(try_cast({x} AS DOUBLE) + 0e0)",  # -0 becomes 0, which is spelled alike when it is hashed
    day="try_cast({x} AS DATE)",
    whole="try_cast({x} AS BIGINT)",
    text="CAST({x} AS STRING)",
    wide="CAST({x} AS DECIMAL(38, 0))",
    digest="sha2({x}, 256)",
    length="octet_length({x})",
    holder=":{}",
    text_type="STRING",
    lists=False,
    wall="try_cast({x} AS TIMESTAMP_NTZ)",
    moment=f"({IN_UTC.replace('{x}', 'try_cast({x} AS TIMESTAMP)')})",
    micros=(
        "((unix_date(CAST({x} AS DATE)) * 86400L + hour({x}) * 3600 + minute({x}) * 60) * 1000000 "
        "+ CAST(extract(SECOND FROM {x}) * 1000000 AS BIGINT))"
    ),
    utc="{x}",
    local="convert_timezone('UTC', '{zone}', {x})",
    replaced="regexp_replace({x}, r'{pattern}', '{template}')",
    group="${}",
    double="DOUBLE",
    floor="CASE WHEN abs({x}) < 9e15 THEN CAST(floor({x}) AS DOUBLE) ELSE {x} END",  # beyond it doubles are whole
    days="CAST(unix_date({x}) AS BIGINT)",
    finite="{x} IS NOT NULL",
    whole_real="CASE WHEN abs({x}) < 9.2e18 THEN CASE WHEN {x} = floor({x}) THEN {whole} END END",
    real_text=(
        f"CASE WHEN {{x}} IS NULL THEN NULL WHEN instr({{text}}, 'E') = 0 THEN regexp_replace({{text}}, r'\\.0+$', '') "
        f"WHEN abs(try_cast({{text}} AS DOUBLE)) BETWEEN 1e-4 AND 9999999999999998e0 THEN {_PLAIN} ELSE {_EXPONENT} END"
    ),
    total="SUM(CAST({x} AS DECIMAL(38, 0)))",
    item="get(array({list}), CAST({place} AS INT))",
    small_floor="CAST(floor({x}) AS DOUBLE)",
    date="date_from_unix_date(CAST({x} AS INT))",
    quarter="trunc({x}, 'quarter')",
    later="add_months({x}, {months})",
    trimmed="trim(BOTH ' ' FROM {x})",
)


def storage_of(kind: str) -> StorageType:
    """Return how a column of one of Spark's types is stored.

    >>> storage_of("decimal(6,2)").value, storage_of("timestamp").value
    ('real', 'zoned')
    """
    return STORED.get(_kind(kind), StorageType.OTHER)


def moment_cell(x: str, kind: str) -> str:
    """Return a cell, a moment as its time in UTC, whatever the session's zone is.

    >>> moment_cell("age", "int")
    'age'
    """
    return f"({IN_UTC.format(x=x)})" if kind == "timestamp" else x


class SparkRows:
    """The rows of a Spark DataFrame, or of a folder of Parquet or CSV that Spark reads.

    Give them to `Session.create` and `Session.open` as the data.

    >>> SparkRows.of_folder("rides", Schema(), "somewhere")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'somewhere' is no Spark master; give local[*], spark://host:7077 or sc://host:15002
    """

    engine = "spark"

    def __init__(self, read: Callable[[], DataFrame], schema: Schema, path: Path | None) -> None:
        self._read, self._schema, self._path = read, schema, path
        self._digest = ""
        self._open()

    def __repr__(self) -> str:
        return "SparkRows(<rows are secret>)"

    @classmethod
    def of_folder(cls, path: str | Path, schema: Schema, master: str | None = None) -> SparkRows:
        """Return the rows of a folder (or one file) of Parquet or CSV, read by Spark at `master`."""
        session = spark_session(master)
        return cls(lambda: read_cells(session, path), schema, Path(path).resolve())

    @classmethod
    def of_ledger(cls, ledger: LedgerPlace, master: str | None = None, data: str | Path | None = None) -> SparkRows:
        """Return the rows as a ledger's schema declares them: of the folder that the ledger names, or of `data`."""
        opened = Ledger.open(ledger)
        facts = opened.facts
        if data is None and (facts.get("engine") != cls.engine or facts["data"] is None):
            raise ParameterError(
                f"ledger '{opened.name}' was not made for a folder with --engine spark; leave --engine out"
            )
        return cls.of_folder(facts["data"] if data is None else data, Schema.from_text(facts["schema"]), master)

    @classmethod
    def of_frame(cls, frame: DataFrame, schema: Schema) -> SparkRows:
        """Return the rows of a Spark DataFrame, in the session that it belongs to."""
        return cls(lambda: frame, schema, None)

    @property
    def address(self) -> str | None:
        """Where a ledger finds the rows again, or None for a DataFrame."""
        return None if self._path is None else str(self._path)

    @property
    def table(self) -> str:
        """What SQL calls the rows: the folder's stem, or `rows`."""
        return "rows" if self._path is None else self._path.name.partition(".")[0]

    def under(self, schema: Schema) -> SparkRows:
        """Return the same rows as another schema declares them."""
        return SparkRows(self._read, schema, self._path)

    def declare(self) -> None:
        """Refuse CSV files of which a line cannot be read; questions would take such a line as it comes."""
        if self._path is not None:
            refuse_broken_lines(self._session, self._path)

    def check(self, request: Request) -> None:
        """Refuse a request that contradicts the schema or how the columns are stored."""
        check(request, self._schema, self._source, SPARK)

    def collect(self, request: Request) -> Tallies:
        """Return the exact answers to a request.

        The secret is a row of its own table: a literal of the statement would stand in Spark's plans and logs.
        """
        with ExitStack() as views:
            table, hidden = (views.enter_context(_view(one)) for one in (self._cells, self._secret_table(request)))
            hold = partial(self._hold_public, views)
            source = replace(self._source, table=table, secret=f"(SELECT secret FROM {hidden})", public=hold)
            return collect(request, self._schema, source, SPARK, self._execute)

    def parse_report(self) -> ParseReport:
        """Return what became of the cells of the declared columns: for the curator alone."""
        with _view(self._cells) as table:
            return count_cells(self._schema, replace(self._source, table=table), SPARK, self._execute)

    def fingerprint(self) -> str:
        """Return a hash of the declared columns' rows, whatever their order; kept while the folder's files stay."""
        if self._path is None:
            return self._hash()
        self._reopen()
        if not self._digest:
            self._digest = self._hash()
        return self._digest

    @contextmanager
    def look(self) -> Iterator[SparkRows]:
        """Give the rows as they are now: a DataFrame is computed once, a folder that changes meanwhile is refused."""
        if self._path is None:
            pinned = copy.copy(self)
            pinned._cells = _without_engine_words(lambda: self._cells.localCheckpoint(eager=True))  # noqa: SLF001  # ours
            yield pinned
            return
        self._reopen()
        yield self
        if file_marks(self._path) != self._marks:
            raise InputError(f"'{self._path}' changed while it was read; ask again when it stays as it is")

    def _reopen(self) -> None:
        """Look at the columns again where files were changed."""
        if self._path is not None and file_marks(self._path) != self._marks:
            self._open()

    def _open(self) -> None:
        """Look at the columns and say how their cells are read."""
        self._marks = None if self._path is None else file_marks(self._path)
        self._digest = ""  # not known yet
        frame = self._read()
        kinds = [_kind(field.dataType.simpleString()) for field in frame.schema.fields]
        places = {name: place for place, name in enumerate(frame.columns)}
        for name in self._schema.columns:
            if name not in places:
                raise InputError(f"the rows have no column '{name}', which the schema declares; correct one of them")
        used = [places[name] for name in self._schema.columns]
        cells = [f"{CELLS.get(kinds[place], '{x}').format(x=f'v{place}')} AS v{place}" for place in used]
        self._session = frame.sparkSession
        self._cells = _without_engine_words(
            lambda: frame.toDF(*(f"v{place}" for place in range(len(kinds)))).selectExpr(*cells)
        )
        stored = {name: storage_of(kinds[place]) for name, place in places.items()}
        self._source = SqlTable("", stored, lambda name: f"v{places[name]}", public=lambda *_: "sfumato_public")

    def _secret_table(self, request: Request) -> DataFrame:
        return _without_engine_words(lambda: self._session.createDataFrame([(request.secret.hex(),)], "secret string"))

    def _hold_public(self, views: ExitStack, stage: Lookup, names: Sequence[str]) -> str:
        """Return the name of a view of a public table: its lists would be literals of the statement."""
        kinds = [PUBLIC_TYPES.get(stage.kind_of(name), "STRING") for name in names]
        columns = ", ".join(f"q{place} {kind}" for place, kind in enumerate(kinds))
        rows = list(zip(*(stage.cells[name] for name in names), strict=True))
        made = _without_engine_words(lambda: self._session.createDataFrame(rows, columns))
        return views.enter_context(_view(made))

    def _execute(self, statement: str, parameters: dict[str, object]) -> Sequence[tuple[Any, ...]]:
        return _without_engine_words(
            lambda: [tuple(row) for row in self._session.sql(statement, args=parameters).collect()]
        )

    def _hash(self) -> str:
        """Return the number of rows and the sums of two numbers made of their hashes, hashed."""
        names = sorted(self._schema.columns)
        row = SPARK.digest.format(x=" || ".join(SPARK.encode(self._source.name(name)) for name in names))
        parts = [f"SUM(CAST(xxhash64(row, {seed}) AS DECIMAL(28, 0)))" for seed in (1, 2)]  # of a SHA-256, as numbers
        with _view(self._cells) as table:
            (found,) = self._execute(f"SELECT COUNT(*), {', '.join(parts)} FROM (SELECT {row} AS row FROM {table})", {})
        return hashlib.sha256(repr([names, *map(str, found)]).encode()).hexdigest()


@contextmanager
def _view(frame: DataFrame) -> Iterator[str]:
    """Give a name to a DataFrame for the statements of the block."""
    name = f"sfumato_{secrets.token_hex(8)}"
    _without_engine_words(lambda: frame.createOrReplaceTempView(name))
    try:
        yield name
    finally:
        _without_engine_words(lambda: frame.sparkSession.catalog.dropTempView(name))


def _without_engine_words(work: Callable[[], Result]) -> Result:
    """Return what `work` gives; what Spark, Py4J or gRPC would say may quote a cell and goes no further."""
    done: list[Result] = []
    with suppress(Exception):
        done.append(work())
    if not done:
        raise InputError(UNREADABLE)
    return done[0]


def _kind(name: str) -> str:
    """Return a type without its precision or collation.

    >>> _kind("decimal(6,2)"), _kind("string collate UTF8_LCASE")
    ('decimal', 'string')
    """
    return name.partition("(")[0].partition(" ")[0]


def refuse_broken_lines(session: SparkSession, path: Path) -> None:
    """Refuse CSV files with a line that Spark cannot read as the single machine reads it.

    Every line must have its cells, be UTF-8, and end no line inside of quotes. Files are read strictly once, when a
    ledger is made; the curator sees the rows, so here an error may speak of a line (Haeberlen, Pierce & Narayan 2011,
    section 4).
    """
    from pyspark.sql import functions

    lines = read_lines(session, path)
    if lines is None:
        return
    with spark_sentences(f"'{path}' cannot be read"):
        line = functions.col("value")
        quotes = functions.length(line) - functions.length(
            functions.replace(line, functions.lit('"'), functions.lit(""))
        )
        tests = [~functions.is_valid_utf8(line), functions.is_valid_utf8(line) & (quotes % 2 == 1)]
        found = lines.agg(*(functions.count_if(test) for test in tests)).first()
        read_cells(session, path, strict=True).count()
    unreadable, torn = (0, 0) if found is None else found
    if unreadable:
        raise InputError(f"'{path}': {unreadable} lines are not UTF-8; save the files as UTF-8")
    if torn:
        raise InputError(
            f"'{path}': {torn} lines have an odd number of quotation marks, and Spark ends a row with its line; write "
            f"cells without line breaks, or Parquet"
        )
