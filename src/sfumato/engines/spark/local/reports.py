"""Devices in bulk on Spark: every row of a column becomes a report, drawn where the row is, from the secure source.

A task that Spark runs twice draws twice, but one attempt alone is kept (the commit protocol of Hadoop's output, White
2015, chapter 8), and attempts lie in a folder for their owner until the release appears; so a row gives one report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from sfumato.engines.spark.folders import new_folder, quote_name, spark_address
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.streams.keys import refuse_missing
from sfumato.errors import InputError
from sfumato.local.base import LocalProtocol
from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.tally import MeanTally
from sfumato.local.reports.files import header_line
from sfumato.local.reports.forms import report_lines
from sfumato.stream.runtime.batch import number

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

CELL, LINE = "cell", "value string"
COUNTED = "rows bigint, wrong bigint"


def count_values(rows: DataFrame, column: str, domain: tuple[str, ...]) -> int:
    """Return how many rows there are; a value that is not in the domain is refused before anything is drawn."""
    places = frozenset(domain)

    def count(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        for frame in frames:
            yield _count_frame(len(frame), sum(cell not in places for cell in frame[CELL]))

    return _refuse_wrong(
        _cells(rows, column).mapInPandas(count, COUNTED),
        f"column '{column}': {{}} a value that is not in the domain; complete the domain or clean the rows",
    )


def write_perturbed(rows: DataFrame, column: str, protocol: LocalProtocol, target: Path) -> None:
    """Write a folder of report files, JSON lines, one for each part of the rows; all or nothing."""
    places = {value: code for code, value in enumerate(protocol.domain)}

    def perturb(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        import pandas as pd

        yield pd.DataFrame({"value": [header_line(protocol).decode()]})
        for frame in frames:
            codes = np.array([places[cell] for cell in frame[CELL]], dtype=np.int64)
            for reports in protocol.report_many(codes):
                yield pd.DataFrame({"value": [line.decode().rstrip("\n") for line in report_lines(reports)]})

    with new_folder(target) as staged, spark_sentences(f"reports '{target}' cannot be written"):
        _cells(rows, column).mapInPandas(perturb, LINE).write.text(spark_address(staged))


def tally_numbers(rows: DataFrame, column: str, protocol: MeanProtocol) -> MeanTally:
    """Return the tally of one fresh report of every row; a row without a number within the bounds is refused."""

    def report(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        import pandas as pd

        for frame in frames:
            values = np.array([number(cell) for cell in frame[CELL]], dtype=np.float64)
            good = (values >= protocol.low) & (values <= protocol.high)
            tally = protocol.aggregate(protocol.report_many(values[good]))
            wrong = int(len(values) - np.count_nonzero(good))
            yield pd.DataFrame({"tally": [msgspec.json.encode(tally).decode()], "wrong": [wrong]})

    with spark_sentences(f"column '{column}' cannot be read"):
        parts = _cells(rows, column).mapInPandas(report, "tally string, wrong bigint").collect()
    _refuse(
        sum(part["wrong"] for part in parts), f"column '{column}': {{}} no number within the bounds; clean the rows"
    )
    total = protocol.aggregate(np.empty(0, dtype=np.int64))
    for part in parts:
        total += msgspec.json.decode(part["tally"], type=MeanTally)
    return total


def _cells(rows: DataFrame, column: str) -> DataFrame:
    from pyspark.sql import functions

    refuse_missing(rows, column)
    return rows.select(functions.col(quote_name(column)).cast("string").alias(CELL))


def _count_frame(rows: int, wrong: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"rows": [rows], "wrong": [wrong]})


def _refuse_wrong(parts: DataFrame, sentence: str) -> int:
    with spark_sentences("rows cannot be counted"):
        found = parts.collect()
    _refuse(sum(part["wrong"] for part in found), sentence)
    return sum(part["rows"] for part in found)


def _refuse(wrong: int, sentence: str) -> None:
    if wrong:
        raise InputError(sentence.format(f"{wrong} rows have" if wrong > 1 else "1 row has"))
