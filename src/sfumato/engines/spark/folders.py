"""Folders of Parquet or CSV in, folders of Parquet out, typed as the single machine types a file.

A folder is written beside its place and renamed when it is complete, so that half a release is never seen (the order
of steps is that of Pillai et al. 2014).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.files import Staging
from sfumato.engines.spark.session import spark_sentences
from sfumato.errors import InputError
from sfumato.schema import Role, Schema
from sfumato.table.formats.delimited import csv_header

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

HEAD = 1_000_000  # bytes of a file that are read to know its format and its header
PARQUET, CSV = "Parquet", "CSV"
NO_CELL = "\ufdd0"  # no character, so no cell holds it
INTEGER = r"^(0|-?[1-9][0-9]{0,18})$"  # what reads back as the very text it was


def read_folder(session: SparkSession, path: str | Path) -> DataFrame:
    """Return the rows of a file or a folder of Parquet or CSV (also .gz).

    CSV cells stay text, except whole columns of integers that read back as they were written, as `sfumato.read` has it.

    >>> read_folder(None, "no-such-folder")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'no-such-folder' does not exist; give a file or a folder of Parquet or CSV
    """
    frame, kind = _read(session, Path(path))
    with spark_sentences(f"'{path}' cannot be read"):
        return plain_columns(_with_integers(frame) if kind == CSV else frame)


def read_cells(session: SparkSession, path: str | Path, *, strict: bool = False) -> DataFrame:
    """Return the rows of a file or a folder with every CSV cell as text: how a column is stored depends on no row.

    Unless it is read strictly, no line can make reading fail: cells that a line does not have are missing.

    >>> read_cells(None, "no-such-folder")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'no-such-folder' does not exist; give a file or a folder of Parquet or CSV
    """
    return plain_columns(_read(session, Path(path), "FAILFAST" if strict else "PERMISSIVE")[0])


def read_lines(session: SparkSession, path: str | Path) -> DataFrame | None:
    """Return the lines of CSV files as they are written (column `value`), or None where the files are Parquet."""
    files = data_files(Path(path))
    return session.read.text(spark_address(Path(path))) if file_format(files[0]) == CSV else None


def file_marks(path: str | Path) -> dict[str, tuple[int, int, int, int]]:
    """Return the size, the times and the inode of every data file; they stay while nobody writes or moves one."""
    found = {str(file): file.stat() for file in data_files(Path(path))}
    return {name: (kept.st_size, kept.st_mtime_ns, kept.st_ctime_ns, kept.st_ino) for name, kept in found.items()}


def _read(session: SparkSession, place: Path, mode: str = "FAILFAST") -> tuple[DataFrame, str]:
    """Return the rows as they are stored, and the format of the files."""
    files = data_files(place)
    formats = {file: file_format(file) for file in files}
    if len(set(formats.values())) > 1:
        first, second = (next(file for file, kind in formats.items() if kind == wanted) for wanted in (PARQUET, CSV))
        raise InputError(f"folder '{place}' mixes Parquet ('{first.name}') and CSV ('{second.name}'); give one kind")
    with spark_sentences(f"'{place}' cannot be read"):
        if CSV in formats.values():
            return _csv(session, place, files, mode), CSV
        return session.read.parquet(spark_address(place)), PARQUET


def write_folder(frame: DataFrame, path: str | Path) -> None:
    """Write the rows as a new folder of Parquet, all or nothing; a path that exists is refused."""
    with new_folder(path) as staged, spark_sentences(f"output '{path}' cannot be written"):
        frame.write.parquet(spark_address(staged))


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Give a place to write a folder that appears under its name when the block ends without an error."""
    with Staging() as staging:
        rows = staging.place_folder(path)
        yield rows
        remove_marks(rows)


def remove_marks(folder: Path) -> None:
    """Remove Spark's own marks and checksums, which name the job, from a folder that it has written."""
    for mark in (*folder.glob("_*"), *folder.glob(".*")):
        mark.unlink()


def plain_columns(frame: DataFrame) -> DataFrame:
    """Return the frame with truth values as text, refusing columns that hold no plain value."""
    from pyspark.sql import functions, types

    for position, field in enumerate(frame.schema.fields, start=1):
        if not field.name.strip():
            raise InputError(f"column {position} has no name; name every column")
        wanted = (
            types.NumericType
            | types.StringType
            | types.BooleanType
            | types.DateType
            | types.TimestampType
            | types.TimestampNTZType
        )
        if not isinstance(field.dataType, wanted):
            kind = field.dataType.simpleString()
            raise InputError(f"column '{field.name}' holds {kind}, which is not a plain value; flatten or drop it")
    truths = [field.name for field in frame.schema.fields if isinstance(field.dataType, types.BooleanType)]
    return (
        frame.withColumns({name: functions.col(quote_name(name)).cast("string") for name in truths})
        if truths
        else frame
    )


def truths_again(released: DataFrame, original: DataFrame, schema: Schema) -> DataFrame:
    """Return released rows whose truth values are no texts any more: what is passed on keeps its type."""
    from pyspark.sql import functions, types

    kept = {*schema.names(Role.SENSITIVE), *schema.names(Role.OTHER)} & set(released.columns)
    fields = [field.name for field in original.schema.fields if isinstance(field.dataType, types.BooleanType)]
    truths = {name: functions.col(quote_name(name)).cast("boolean") for name in fields if name in kept}
    return released.withColumns(truths) if truths else released


def quote_name(name: str) -> str:
    """Return a column's name as Spark takes it literally, dots and all.

    >>> quote_name("home.zip")
    '`home.zip`'
    """
    return "`" + name.replace("`", "``") + "`"


def spark_address(path: Path) -> str:
    """Return a path as Spark takes it, whatever its letters and whatever file system is the default.

    >>> spark_address(Path("/data/batch=3"))
    'file:///data/batch=3'
    """
    return f"file://{path.resolve()}"  # not as_uri(): Spark takes %20 for three letters


def data_files(place: Path) -> list[Path]:
    """Return the data files of a folder, or the file itself; what starts with _ or . is none, as in Hadoop."""
    if not place.exists():
        raise InputError(f"'{place}' does not exist; give a file or a folder of Parquet or CSV")
    if place.is_file():
        return [place]
    inside = sorted(file for file in place.rglob("*") if file.is_file())
    files = [file for file in inside if not any(part[0] in "_." for part in file.relative_to(place).parts)]
    if not files:
        raise InputError(f"folder '{place}' holds no file; give a folder of Parquet or CSV")
    return files


def file_format(file: Path) -> str:
    """Return whether a file is Parquet or CSV; what is neither is refused."""
    head = file_head(file)
    if head[:4] == b"PAR1":
        return PARQUET
    if head[:6] == b"ARROW1" or head.lstrip()[:1] == b"{":
        raise InputError(f"file '{file}' is neither Parquet nor CSV, which is what the Spark engine reads; convert it")
    return CSV


def file_head(file: Path) -> bytes:
    """Return the first bytes of a file, unpacked."""
    try:
        with file.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        if packed and file.suffix != ".gz":
            raise InputError(
                f"file '{file}' is a gzip file without the ending .gz, by which Spark knows one; rename it"
            )
        with gzip.open(file) if packed else file.open("rb") as content:
            return content.read(HEAD).removeprefix(b"\xef\xbb\xbf")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"file '{file}' is a damaged gzip file: {error}") from error
    except OSError as error:
        raise InputError(f"file '{file}' cannot be read: {error.strerror}") from error


def _csv(session: SparkSession, place: Path, files: list[Path], mode: str) -> DataFrame:
    from pyspark.sql import types

    heads = [(file, file_head(file)) for file in files]
    empty = next((file for file, head in heads if not head.strip()), None)
    if empty is not None:
        raise InputError(f"file '{empty}' is empty; give a header line and rows")
    delimiter, header = csv_header(heads[0][1], str(files[0]))
    for file, head in heads[1:]:
        if csv_header(head, str(file)) != (delimiter, header):
            raise InputError(f"files '{files[0].name}' and '{file.name}' have different headers; give them the same")
    texts = types.StructType([types.StructField(name, types.StringType()) for name in header])
    return session.read.schema(texts).options(**csv_options(delimiter), mode=mode).csv(spark_address(place))


def csv_options(delimiter: str) -> dict[str, str]:
    """Return how Spark reads CSV as the single machine does: "" in quotes is a text without letters, not a missing one.

    >>> csv_options(";")["sep"]
    ';'
    """
    return {
        "header": "true",
        "sep": delimiter,
        "escape": '"',
        "columnPruning": "false",
        "nullValue": NO_CELL,
        "emptyValue": "",
    }


def _with_integers(frame: DataFrame) -> DataFrame:
    """Return the frame with whole columns of integers as such; the first rows tell which columns are worth a look."""
    from pyspark.sql import functions

    start = frame.limit(1000)
    names = frame.columns
    for sample in (start, frame):
        if names:
            seen = sample.agg(
                *(functions.bool_and(_reads_back(name)).alias(str(place)) for place, name in enumerate(names)),
            ).first()
            names = [name for place, name in enumerate(names) if seen is not None and seen[place]]
    return (
        frame.withColumns({name: functions.col(quote_name(name)).cast("bigint") for name in names}) if names else frame
    )


def _reads_back(name: str) -> Column:
    """Return whether a cell is an integer of 64 bits, written as one; null where the cell is empty."""
    from pyspark.sql import functions

    cell = functions.col(quote_name(name))
    return functions.when(cell.isNotNull(), cell.rlike(INTEGER) & cell.try_cast("bigint").isNotNull())
