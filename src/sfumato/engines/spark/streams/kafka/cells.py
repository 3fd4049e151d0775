"""Messages as records on Spark: the parser of one machine, run on each batch of messages where they are read.

Cells so mean what they mean everywhere else, and a message that is no record is one broken record in its place. Every
record carries its partition, its offset and its number in the message: the order of the log (Kreps, Narkhede & Rao
2011), which no value decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.streams.task import BROKEN
from sfumato.errors import ParameterError
from sfumato.schema import Reading
from sfumato.stream.connectors.base import Connector
from sfumato.stream.connectors.payloads import PayloadParser
from sfumato.stream.runtime.batch import Batch, WantedColumns

if TYPE_CHECKING:
    import pyarrow as pa

ARRIVAL = ("_sfumato_partition", "_sfumato_offset", "_sfumato_index")


@dataclass(frozen=True, eq=False)
class PayloadCells:
    """What a task makes of messages: columns of cells; `first` is the header line of CSV, found by the driver.

    A number that cannot be read is infinite, and one that is missing is no number: so a task tells them apart.

    >>> cells = PayloadCells(WantedColumns(("wait",), ("stop",)), "kafka://server/rides")
    >>> cells.schema
    '`wait` double, `stop` string, _sfumato_broken boolean, _sfumato_partition int, _sfumato_offset bigint, \
_sfumato_index int'
    """

    wanted: WantedColumns
    name: str
    form: str = "json"
    most: int = 1
    header: str | None = None
    first: bytes = b""
    reading: Reading = Reading()  # noqa: RUF009  # frozen

    @classmethod
    def of(cls, connector: Connector, wanted: WantedColumns, further: Sequence[str], reading: Reading) -> PayloadCells:
        """Return the cells of a topic: what a screen wants, and `further` texts that part or order the records."""
        twice = next((name for name in further if name in wanted.numbers), None)
        if twice is not None:
            raise ParameterError(f"column '{twice}' is read as a number and can neither part nor order the records")
        texts = tuple(dict.fromkeys([*wanted.texts, *further]))
        whole = WantedColumns(wanted.numbers, texts, wanted.marks)
        return cls(whole, str(connector), connector.format, connector.records, connector.columns, reading=reading)

    @property
    def schema(self) -> str:
        """The columns of the records with their types, as Spark takes them."""
        numbers = [f"{quote_name(name)} double" for name in self.wanted.numbers]
        texts = [f"{quote_name(name)} string" for name in self.wanted.texts]
        kinds = zip(ARRIVAL, ("int", "bigint", "int"), strict=True)
        return ", ".join([*numbers, *texts, f"{BROKEN} boolean", *(f"{name} {kind}" for name, kind in kinds)])

    def parser(self) -> PayloadParser:
        """Return what reads the payloads; a header of CSV without the wanted columns is refused."""
        return PayloadParser(
            self.wanted,
            self.name,
            form=self.form,
            most=self.most,
            header=self.header,
            first=self.first,
            reading=self.reading,
        )

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the records of messages with their partition and offset."""
        parse = self.parser()
        for batch in batches:
            payloads = [payload or b"" for payload in batch.column("value").to_pylist()]
            if payloads:
                places = (batch.column(name).to_numpy() for name in ("partition", "offset"))
                yield self._records(*parse.with_counts(payloads), *places)

    def _records(
        self, batch: Batch, counts: Sequence[int], partition: np.ndarray, offset: np.ndarray
    ) -> pa.RecordBatch:
        import pyarrow as pa

        many = np.array(counts, dtype=np.int64)
        index = np.arange(batch.count) - np.repeat(np.cumsum(many) - many, many)
        numbers = [np.where(batch.failed_in(name), np.inf, batch.numbers[name]) for name in self.wanted.numbers]
        texts = [pa.array(batch.texts[name], pa.string()) for name in self.wanted.texts]
        arrival = [np.repeat(partition, many), np.repeat(offset, many), index.astype(np.int32)]
        columns = [*map(pa.array, numbers), *texts, pa.array(batch.unreadable), *map(pa.array, arrival)]
        return pa.RecordBatch.from_arrays(columns, [*self.wanted.names, BROKEN, *ARRIVAL])
