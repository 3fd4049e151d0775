"""The local door on Spark: reports are tallied where they lie, a file to a task, and the tallies add up here.

Counters of supporting reports are whole numbers (Wang, Blocki, Li & Jha 2017), so that their sum is that of one machine
to the last bit, and so are the rejected ones by reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.engines.spark.session import spark_sentences
from sfumato.errors import InputError
from sfumato.local.base import LocalProtocol
from sfumato.local.collector.tally import Tally
from sfumato.local.domain import fingerprint
from sfumato.local.reports.files import aggregate_file, read_header, to_header

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

FILE = "file string"
PART = "file string, header string, users bigint, rejected string, counts binary, error string"
CARD = ".card.json"


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
    return _sum_tallies(numbered.mapInPandas(count_files, PART), protocol)


def tally_reports(reports: DataFrame, protocol: LocalProtocol) -> Tally:
    """Return the tally of a frame whose one column has a report to a row, as devices send them: JSON text or bytes."""
    if len(reports.columns) != 1:
        raise InputError(f"a frame of reports has one column; this one has {len(reports.columns)}")

    def count(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        tally = Tally(protocol)
        for frame in frames:
            tally.add("" if cell is None else cell for cell in frame.iloc[:, 0])
        yield _tally_row("", tally)

    return _sum_tallies(reports.mapInPandas(count, PART), protocol)


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
        raise InputError("there is no report file; name one or more")
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
    return file.is_file() and not hidden and not file.name.endswith(CARD)


def _tally_row(file: str, tally: Tally | None, error: str | None = None) -> pd.DataFrame:
    """Return a tally as a row that Spark carries."""
    import pandas as pd

    row: dict[str, Any] = {"file": [file], "header": [""], "users": [0], "rejected": ["{}"], "counts": [b""]}
    if tally is not None:
        row["header"], row["users"] = [header_mark(tally.protocol)], [tally.users]
        row["rejected"], row["counts"] = [json.dumps(tally.rejected)], [tally.counts.astype("<i8").tobytes()]
    return pd.DataFrame({**row, "error": [error]})


def _sum_tallies(parts: DataFrame, protocol: LocalProtocol) -> Tally:
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
