"""A folder that grows, as a stream of records that know their place: file by file, line by line.

Spark's file source takes files in the order of their times and remembers which batch took which (Armbrust et al. 2018,
"Structured Streaming"). Rows of a batch come in no order, so each carries where it stood: no value decides an order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.spark.folders import (
    PARQUET,
    csv_options,
    data_files,
    file_format,
    file_head,
    plain_columns,
    read_cells,
    spark_address,
)
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.streams.inputs import StreamInput
from sfumato.errors import InputError
from sfumato.table.formats.delimited import csv_header

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

ARRIVAL = ("_sfumato_time", "_sfumato_file", "_sfumato_block", "_sfumato_row")
BATCH = 2**30  # bytes of the files of one micro-batch, together


def read_growing(session: SparkSession, path: str | Path, *, files: int | None = None) -> DataFrame:
    """Return the records of a folder of Parquet or CSV as a stream, with the columns `ARRIVAL` that order them.

    A micro-batch takes a gigabyte of files, or so many as `files` says. CSV cells are text.

    >>> read_growing(None, "no-such-folder")
    Traceback (most recent call last):
    sfumato.errors.InputError: 'no-such-folder' is no folder; a stream on Spark reads a folder of Parquet or CSV
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"'{folder}' is no folder; a stream on Spark reads a folder of Parquet or CSV")
    found = data_files(folder)
    nested = next((file for file in found if file.parent != folder), None)
    if nested is not None:
        raise InputError(f"folder '{folder}' has files in folders of its own ('{nested}'); put them side by side")
    schema = read_cells(session, folder).schema
    limit = {"maxBytesPerTrigger": str(BATCH)} if files is None else {"maxFilesPerTrigger": str(files)}
    reader = session.readStream.schema(schema).options(**limit)
    with spark_sentences(f"'{folder}' cannot be read"):
        if file_format(found[0]) == PARQUET:
            return _with_arrival(plain_columns(reader.parquet(spark_address(folder))), "_metadata.row_index")
        delimiter, _ = csv_header(file_head(found[0]), str(found[0]))
        cells = reader.options(**csv_options(delimiter), enforceSchema="false").csv(spark_address(folder))
        return _number_rows(_with_arrival(cells, None))


class FolderInput(StreamInput):
    """A folder as the input of a stream: one that has grown is known by the names and sizes of its files.

    >>> FolderInput(Path("no-such-folder")).mark
    ''
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(mark_of(folder))


def mark_of(path: Path) -> str:
    """Return a fingerprint of the files of a folder by their names and sizes, by which one that grew is known.

    >>> mark_of(Path("no-such-folder"))
    ''
    """
    if not path.is_dir():
        return ""
    found = [(file.name, file.stat().st_size) for file in sorted(path.iterdir()) if file.name[0] not in "_."]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _with_arrival(frame: DataFrame, row: str | None) -> DataFrame:
    """Return the records with the time and a hash of their file, the block of it, and the row where that is known."""
    from pyspark.sql import functions

    parts: list[Column] = [
        functions.unix_micros("_metadata.file_modification_time"),
        functions.xxhash64("_metadata.file_path"),
        functions.col("_metadata.file_block_start") if row is None else functions.lit(0).cast("bigint"),
        functions.lit(0).cast("bigint") if row is None else functions.col(row),
    ]
    return frame.withColumns(dict(zip(ARRIVAL, parts, strict=True)))


def _number_rows(frame: DataFrame) -> DataFrame:
    """Return the records with a number that grows within each block of a file, as Spark reads it."""
    return frame.mapInArrow(number_batches, frame.schema)


def number_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a partition with its rows counted in their last column."""
    import pyarrow as pa

    done = 0
    for batch in batches:
        numbers = pa.array(range(done, done + batch.num_rows), pa.int64())
        done += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns[:-1], numbers], schema=batch.schema)
