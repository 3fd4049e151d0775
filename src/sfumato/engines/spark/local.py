"""The local door on Spark: rows become reports where they are, and reports are tallied where they lie.

Every row gives one report, drawn from the secure source: a task that Spark runs twice draws twice, but one attempt is
kept (the commit protocol of Hadoop's output, White 2015, chapter 8), and attempts lie in a folder for their owner until
the release appears. Counters of supporting reports are whole numbers (Wang, Blocki, Li & Jha 2017), so that their
sum is that of one machine to the last bit, and so are the rejected ones by reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from sfumato.core.files import Staging
from sfumato.engines.spark.folders import quote_name, read_cells, remove_marks, spark_address
from sfumato.engines.spark.session import spark_sentences, spark_session
from sfumato.engines.spark.streams.keys import refuse_missing
from sfumato.engines.spark.tables.intake import count_cells
from sfumato.errors import InputError
from sfumato.local.base import LocalProtocol
from sfumato.local.card import for_silent_rows
from sfumato.local.collector.tally import NO_FILE, Tally, require_reports
from sfumato.local.columns import ColumnMean, PerturbedColumn, mean_of_tally
from sfumato.local.domain import Value, fingerprint
from sfumato.local.intake import domain_column, number_column, silent_numbers, silent_values
from sfumato.local.means.base import MeanProtocol
from sfumato.local.means.tally import MeanTally
from sfumato.local.protocol_choice import AUTO, mean_protocol_for, protocol_for
from sfumato.local.reports.files import aggregate_file, header_line, read_header, to_header
from sfumato.local.reports.forms import report_lines
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.schema import Attribute, Reading, Schema
from sfumato.schema.values import parse_cells
from sfumato.table.parse_report import CellCount, ColumnReport

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

CELL, LINE = "cell", "value string"
FILE = "file string"
PART = "file string, header string, users bigint, rejected string, counts binary, error string"
BESIDE = (".card.json", ".statement.txt", ".statement.html")  # what lies beside reports and is none
NO_FOLDER = "Spark reads files and folders; - is none"


def read_rows(table: str | Path, master: str | None = None) -> DataFrame:
    """Return the rows of a file or a folder as a Spark frame, every CSV cell as text.

    >>> read_rows("-")
    Traceback (most recent call last):
    sfumato.errors.InputError: Spark reads files and folders; - is none
    """
    if str(table) == "-":
        raise InputError(NO_FOLDER)
    return read_cells(spark_session(master), table, strict=True)


def perturb_rows(  # noqa: PLR0913  # what is reported, how, and where each file goes
    rows: DataFrame,
    output: str | Path,
    *,
    column: str,
    domain: Sequence[Value],
    epsilon: float,
    protocol: str = AUTO,
    card: str | Path | None = None,
    naming: Naming = UNNAMED,
    reading: Reading | None = None,
    max_failed: float | None = None,
) -> PerturbedColumn:
    """Write a folder of report files and its card, as `sfumato.local.write_perturbed` writes a file."""
    target = Path(output)
    if str(output) == "-":
        raise InputError("reports on Spark are a folder of files; name one with -o")
    with Staging() as staging:
        folder = staging.place_folder(target)  # refused before all rows are counted
        card_files = CardFiles.place(staging, card or target.with_name(f"{target.name}.card.json"))
        others = silent_values(*_silent_cells(rows, domain_column(column, domain, reading)))
        others.refuse(max_failed)
        written = others.rows - others.silent.cells
        chosen = protocol_for(protocol, domain, epsilon, written)
        _write_reports(rows, column, chosen, folder)
        plain = for_silent_rows(chosen.card(written))
        released = msgspec.structs.replace(plain.released, file=target.name)
        final = naming.name(msgspec.structs.replace(plain, released=released))
        card_files.write(final)
    return PerturbedColumn(chosen, final, others)


def mean_of_rows(  # noqa: PLR0913 - all that is declared about a mean
    rows: DataFrame,
    *,
    column: str,
    bounds: tuple[float, float],
    epsilon: float,
    protocol: str = AUTO,
    consistent: bool = True,
    reading: Reading | None = None,
    max_failed: float | None = None,
) -> ColumnMean:
    """Return the mean of a column of a Spark frame, as `sfumato.local.estimate_mean` does."""
    chosen = mean_protocol_for(protocol, *bounds, epsilon)
    declared = number_column(column, (chosen.low, chosen.high), reading)
    others = silent_numbers(*_silent_cells(rows, declared), chosen)
    others.refuse(max_failed)
    return mean_of_tally(chosen, tally_numbers(rows, declared, chosen), column, others, consistent=consistent)


def tally_folders(paths: Sequence[str | Path], *, master: str | None = None) -> Tally:
    """Return the tally of report files and folders, as `sfumato.local.tally_report_files` does of files.

    >>> tally_folders(["-"])
    Traceback (most recent call last):
    sfumato.errors.InputError: Spark reads files and folders; - is none
    """
    if not paths:
        raise InputError(NO_FILE)
    if "-" in map(str, paths):
        raise InputError(NO_FOLDER)
    return require_reports(tally_files(spark_session(master), paths))


def write_report_folder(rows: DataFrame, column: str, protocol: LocalProtocol, target: Path) -> None:
    """Write a folder of report files, JSON lines, one for each part of the rows; all or nothing.

    A row whose value is not in the domain has no report.
    """
    with Staging() as staging:
        _write_reports(rows, column, protocol, staging.place_folder(target))


def _write_reports(rows: DataFrame, column: str, protocol: LocalProtocol, folder: Path) -> None:
    places = {str(value): code for code, value in enumerate(protocol.domain)}

    def perturb(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        import pandas as pd

        yield pd.DataFrame({"value": [header_line(protocol).decode()]})
        for frame in frames:
            codes = np.array([places[cell] for cell in frame[CELL] if cell in places], dtype=np.int64)
            for reports in protocol.report_many(codes):
                yield pd.DataFrame({"value": [line.decode().rstrip("\n") for line in report_lines(reports)]})

    with spark_sentences("reports cannot be written"):
        _text_cells(rows, column).mapInPandas(perturb, LINE).write.text(spark_address(folder))
    remove_marks(folder)


def tally_numbers(rows: DataFrame, declared: Attribute, protocol: MeanProtocol) -> MeanTally:
    """Return the tally of one fresh report of every row that has a number within the bounds."""

    def report(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        import pandas as pd
        import polars as pl

        for frame in frames:
            texts = pl.Series(CELL, frame[CELL].to_list(), dtype=pl.String)
            numbers, _, _ = parse_cells(texts, declared)
            within = numbers.filter(numbers.is_between(protocol.low, protocol.high).fill_null(value=False))
            tally = protocol.aggregate(protocol.report_many(within.to_numpy()))
            yield pd.DataFrame({"tally": [msgspec.json.encode(tally).decode()]})

    with spark_sentences(f"column '{declared.name}' cannot be read"):
        parts = _text_cells(rows, declared.name).mapInPandas(report, "tally string").collect()
    total = protocol.aggregate(np.empty(0, dtype=np.int64))
    for part in parts:
        total += msgspec.json.decode(part["tally"], type=MeanTally)
    return total


def tally_files(session: SparkSession, paths: Sequence[str | Path]) -> Tally:
    """Return the tally of report files and of folders of them, counted in parallel; equal to that of one machine.

    Every executor must see the files under the same names.

    >>> tally_files(None, [])
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no report file; name one or more
    """
    files = report_files(paths)
    protocol = read_header(files[0])
    tasks = max(1, min(len(files), int(session.conf.get("spark.sql.shuffle.partitions") or 1)))
    numbered = session.createDataFrame([(str(file),) for file in files], FILE).repartition(tasks)
    return _sum_of_tallies(numbered.mapInPandas(count_files, PART), protocol)


def tally_reports(reports: DataFrame, protocol: LocalProtocol) -> Tally:
    """Return the tally of a frame whose one column has a report to a row, as devices send them: JSON text or bytes."""
    if len(reports.columns) != 1:
        raise InputError(f"a frame of reports has one column; this one has {len(reports.columns)}")

    def count(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        tally = Tally(protocol)
        for frame in frames:
            tally.add("" if cell is None else cell for cell in frame.iloc[:, 0])
        yield _tally_row("", tally)

    return _sum_of_tallies(reports.mapInPandas(count, PART), protocol)


def report_files(paths: Sequence[str | Path]) -> list[Path]:
    """Return the report files that are named or lie in a named folder; cards beside them are none.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> report_files([folder])
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no report file; name one or more
    """
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [file.resolve() for file in inside if file == path or _is_report(file, path)]
    twice = next((file for place, file in enumerate(found) if file in found[:place]), None)
    if twice is not None:
        raise InputError(f"report file '{twice}' is named twice; its reports would count twice")
    if not found:
        raise InputError(NO_FILE)
    return found


def count_files(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
    """Yield the tallies of the report files that a task is given, one for each protocol, and what is wrong."""
    tallies: dict[str, tuple[str, Tally]] = {}
    for file in (name for frame in frames for name in frame["file"]):
        try:
            tally = aggregate_file(file)
        except InputError as error:
            yield _tally_row(file, None, str(error))
            continue
        mark = header_mark(tally.protocol)
        first, total = tallies.get(mark, (file, None))
        tallies[mark] = min(first, file), tally if total is None else total + tally
    for file, tally in tallies.values():
        yield _tally_row(file, tally)


def header_mark(protocol: LocalProtocol) -> str:
    """Return a fingerprint of all that must be the same for tallies to add up.

    >>> from sfumato.local import WarnerResponse
    >>> header_mark(WarnerResponse(["no", "yes"], 1)) == header_mark(WarnerResponse(["no", "yes"], 2))
    False
    """
    return fingerprint(to_header(protocol))


def _is_report(file: Path, folder: Path) -> bool:
    hidden = any(part[0] in "._" for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden and not file.name.endswith(BESIDE)


def _tally_row(file: str, tally: Tally | None, error: str | None = None) -> pd.DataFrame:
    """Return a tally as a row that Spark carries."""
    import pandas as pd

    row: dict[str, Any] = {"file": [file], "header": [""], "users": [0], "rejected": ["{}"], "counts": [b""]}
    if tally is not None:
        row["header"], row["users"] = [header_mark(tally.protocol)], [tally.users]
        row["rejected"], row["counts"] = [json.dumps(tally.rejected)], [tally.counts.astype("<i8").tobytes()]
    return pd.DataFrame({**row, "error": [error]})


def _sum_of_tallies(parts: DataFrame, protocol: LocalProtocol) -> Tally:
    """Return the sum of tallies; the first file by name that does not belong is told, as one machine would."""
    with spark_sentences("reports cannot be counted"):
        found = sorted(parts.collect(), key=lambda part: str(part["file"]))
    mark, total = header_mark(protocol), Tally(protocol)
    for part in found:
        if part["error"] is not None:
            raise InputError(part["error"])
        own = protocol if part["header"] == mark else read_header(part["file"])
        counts = np.frombuffer(part["counts"], dtype="<i8").astype(np.int64)
        total += Tally(own, counts, part["users"], json.loads(part["rejected"]))
    return total


def _text_cells(rows: DataFrame, column: str) -> DataFrame:
    from pyspark.sql import functions

    refuse_missing(rows, column)
    return rows.select(functions.col(quote_name(column)).cast("string").alias(CELL))


def _silent_cells(rows: DataFrame, declared: Attribute) -> tuple[ColumnReport, CellCount]:
    """Return what became of a column's cells, and how many of them cannot be reported."""
    texts = _text_cells(rows, declared.name).withColumnRenamed(CELL, declared.name)
    with spark_sentences("rows cannot be counted"):
        cells = count_cells(texts, Schema({declared.name: declared})).columns[declared.name]
    return cells, CellCount(cells.missing.cells + cells.failed.cells + cells.outside.cells)
