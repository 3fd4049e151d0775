"""Messages as records on Spark, without Spark: the cells of one machine, and a place for each record."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="needs pyspark and Java 17")

from sfumato.engines.spark.streams.kafka.cells import ARRIVAL, PayloadCells  # noqa: E402
from sfumato.engines.spark.streams.task import BROKEN  # noqa: E402
from sfumato.errors import InputError, ParameterError  # noqa: E402
from sfumato.schema import Reading  # noqa: E402
from sfumato.stream.connectors.payloads import PayloadParser  # noqa: E402
from sfumato.stream.connectors.registry import find_connector  # noqa: E402
from sfumato.stream.runtime.batch import CellMarks, WantedColumns  # noqa: E402

WANTED = WantedColumns(("wait",), ("rider",), {"wait": CellMarks(missing=("n/a",))})
ADDRESS = "kafka://server/rides"
LINES = [
    b'{"wait": 5, "rider": "a", "stop": 7}',
    b'{"wait": "x", "stop": "s"}',
    b'{"wait": "n/a", "rider": 12, "stop": null}',
    b"no record",
    b"",
    b'{"wait": 1e400}',
    b'{"wait": true, "stop": "\\u0000"}',
    b'{"wait": -0.0, "stop": "u"}',
]


def cells(options: str = "", *further: str) -> PayloadCells:
    return PayloadCells.of(find_connector(ADDRESS + options), WANTED, further or ("stop",), Reading())


def batches(payloads: list[bytes | None], size: int) -> list[Any]:
    """Return messages of two partitions as Spark gives them, so many to a batch."""
    offsets = range(100, 100 + len(payloads))
    columns = [
        pa.array(payloads, pa.binary()),
        pa.array([3] * len(payloads), pa.int32()),
        pa.array(offsets, pa.int64()),
    ]
    whole = pa.RecordBatch.from_arrays(columns, ["value", "partition", "offset"])
    return [whole.slice(start, size) for start in range(0, len(payloads), size)]


def records(made: PayloadCells, payloads: list[bytes | None], size: int = 3) -> Any:
    return pa.Table.from_batches(list(made(iter(batches(payloads, size)))))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_cells_are_those_of_one_machine_and_say_what_failed(size: int) -> None:
    found = records(cells(), list(LINES), size)
    alone = PayloadParser(WantedColumns(("wait",), ("rider", "stop"), WANTED.marks), ADDRESS)(LINES)
    values = found["wait"].to_numpy()
    finite = np.isfinite(values)
    assert values[finite].tolist() == alone.numbers["wait"][finite].tolist() == [5.0, 0.0]
    assert np.isnan(alone.numbers["wait"][~finite]).all()
    assert np.isinf(values).tolist() == alone.failed_in("wait").tolist()
    assert np.isinf(values).sum() == 2
    assert found[BROKEN].to_pylist() == alone.unreadable.tolist()
    assert sum(found[BROKEN].to_pylist()) == 3
    for name in ("rider", "stop"):
        assert found[name].to_pylist() == list(alone.texts[name])
    assert found["stop"].to_pylist()[:3] == ["7", "s", None]
    assert found[ARRIVAL[1]].to_pylist() == list(range(100, 108))
    assert set(found[ARRIVAL[0]].to_pylist()) == {3}
    assert set(found[ARRIVAL[2]].to_pylist()) == {0}


def test_records_of_one_message_are_numbered_and_a_message_with_too_many_is_one_broken_record() -> None:
    lines = [json.dumps({"wait": number, "stop": "s"}).encode() for number in range(9)]
    payloads = [b"\n".join(lines[:3]), lines[3], b"\n".join(lines), None, b"\n\n".join(lines[4:6])]
    found = records(cells("?records=4"), payloads, 2)
    assert np.nan_to_num(found["wait"].to_numpy(), nan=-1).tolist() == [0, 1, 2, 3, -1, -1, 4, 5]
    assert found[ARRIVAL[1]].to_pylist() == [100, 100, 100, 101, 102, 103, 104, 104]
    assert found[ARRIVAL[2]].to_pylist() == [0, 1, 2, 0, 0, 0, 0, 1]
    assert found[BROKEN].to_pylist() == [False] * 4 + [True] * 2 + [False] * 2


def test_the_header_of_csv_is_the_driver_s_in_every_batch() -> None:
    from dataclasses import replace

    made = replace(cells("?format=csv&records=2"), first=b"stop,wait,rider")
    payloads = [b"poison", b"stop,wait,rider\ns,5,a\nt,6,b\n", b"stop,rider,wait\ns,a,5\n"]
    for size in (1, 3):
        found = records(made, list(payloads), size)
        assert np.nan_to_num(found["wait"].to_numpy(), nan=-1).tolist() == [-1, 5.0, 6.0, -1]
        assert found[BROKEN].to_pylist() == [True, False, False, True]
        assert found["stop"].to_pylist() == [None, "s", "t", None]
    with pytest.raises(InputError, match="has no column 'wait'"):
        replace(made, first=b"stop,rider").parser()


def test_a_column_that_is_a_number_cannot_part_the_records() -> None:
    with pytest.raises(ParameterError, match="column 'wait' is read as a number and can neither part nor order"):
        cells("", "stop", "wait")
