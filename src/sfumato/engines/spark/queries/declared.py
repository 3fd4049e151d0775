"""What a curator's CSV files must be like: every line has its cells, is UTF-8, and ends no line inside of quotes.

They are read strictly once, when a ledger is made; the curator sees the rows, so here an error may speak of a line
(Haeberlen, Pierce & Narayan 2011, section 4).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.engines.spark.folders import read_cells, read_lines
from sfumato.engines.spark.session import spark_sentences
from sfumato.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refuse_broken_lines(session: SparkSession, path: Path) -> None:
    """Refuse CSV files with a line that Spark cannot read as the single machine reads it."""
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
