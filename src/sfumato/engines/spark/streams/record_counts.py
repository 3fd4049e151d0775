"""What became of all records that a stream on Spark read: cells read, missing, failed and out of bounds.

Each task counts the records of its part and sends counts alone, which add up (Dean & Ghemawat 2004). Records on Spark
have no number, so none is told; what publishers leave out is kept in their states and is not counted here. All of it is
the steward's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sfumato.core.files import write_durably
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.engines.spark.streams.task import read_batch
from sfumato.errors import InputError
from sfumato.stream.intake import CellCount, ColumnCount, Intake

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

COUNTED = "intake string"
UNCOUNTED = "records have no number on Spark, and what publishers left out is not counted there"
FORGOTTEN = "records that the broker has deleted since they were read are not counted"


def count_records(records: DataFrame, name: str, stream: SparkStream) -> Intake:
    """Return what became of records that are no stream any more, counted in parallel; `name` is their input's."""
    screen, wanted = stream.screen, stream.screen.wanted

    def count(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
        import pandas as pd

        for frame in frames:
            batch = read_batch(frame, wanted)
            found = Intake.of(screen(batch, 0).cells, batch.unreadable, 0)
            yield pd.DataFrame({"intake": [msgspec.json.encode(without_numbers(found)).decode()]})

    with spark_sentences(f"'{name}' cannot be counted"):
        cells = stream.wanted_cells(records)
        parts = cells.mapInPandas(count, COUNTED).collect()
    return reduce(Intake.plus, (msgspec.json.decode(part["intake"], type=Intake) for part in parts), Intake())


def without_numbers(intake: Intake) -> Intake:
    """Return the same counts without the numbers of records, which parts of a folder have not.

    >>> without_numbers(Intake(records=3, broken=CellCount(1, [2]))).broken
    CellCount(cells=1, first_records=[])
    """
    columns = {
        name: ColumnCount(one.cells, *(CellCount(sort.cells) for sort in (one.missing, one.failed, one.outside)))
        for name, one in intake.columns.items()
    }
    return msgspec.structs.replace(intake, broken=CellCount(intake.broken.cells), columns=columns)


def write_record_counts(place: Path, name: str, stream: SparkStream, notes: tuple[str, ...], intake: Intake) -> None:
    """Write the counts to a file that its owner alone can read."""
    told = {
        "do_not_publish": True,
        "the input": name,
        "publisher": stream.publisher.name,
        "notes": [*notes, UNCOUNTED],
    }
    content = msgspec.json.format(msgspec.json.encode({**told, "intake": intake}), indent=2)
    try:
        write_durably(place, content + b"\n")
    except OSError as error:
        raise InputError(f"parse report '{place}' cannot be written: {error.strerror}") from error
