"""A topic of Kafka as the input of a stream on Spark: its records, its offsets, and what makes it another topic.

Spark keeps the offsets of each micro-batch in its checkpoint before it reads them, so that one that runs again reads
the same messages (Armbrust et al. 2018). Beside that our checkpoint keeps the topic's id, which one that was deleted
and made anew has not, and where a stream that is over ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.streams.inputs import StreamInput, grown
from sfumato.engines.spark.streams.kafka.cells import PayloadCells
from sfumato.engines.spark.streams.kafka.options import reading_options
from sfumato.engines.spark.streams.spark_files import SPARK, batches_done, kept_offsets
from sfumato.errors import InputError
from sfumato.stream.connectors.base import Connector
from sfumato.stream.connectors.kafka.client import PATIENCE, SENTENCES, KafkaClient, TopicShape, load_client
from sfumato.stream.connectors.payloads import first_header
from sfumato.stream.connectors.retry import Waiting
from sfumato.stream.intake import JUDGED
from sfumato.stream.runtime.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Answer = TypeVar("Answer")
LOST = "OFFSET_OUT_OF_RANGE"
MESSAGES = 1 << 22  # of a micro-batch, at most
ONLOOKER = "sfumato-onlooker"  # a group's name that the client must have; nothing is committed under it
VALUES = ("value", "partition", "offset")


class TopicMark(msgspec.Struct, frozen=True):
    """What a checkpoint keeps of a topic: its name and id, the header line of CSV, and the ends where a stream is over.

    >>> TopicMark.read('{"topic":"rides","ident":"Ng","header":"","ends":[15]}').ends
    [15]
    """

    topic: str = ""
    ident: str = ""
    header: str = ""
    ends: list[int] = []

    @classmethod
    def read(cls, text: str) -> TopicMark:
        """Return the mark that a text tells; one that is no topic's has no name."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError:
            return cls()

    @property
    def text(self) -> str:
        """How it stands in a checkpoint."""
        return msgspec.json.encode(self).decode()


class Reach(NamedTuple):
    """The oldest offset of each partition, and the one behind its newest committed message."""

    lows: list[int]
    highs: list[int]


class TopicInput(StreamInput):
    """One topic: asked for its shape by our own client on the driver, and read by Spark.

    >>> from sfumato.stream.connectors.registry import find_connector
    >>> TopicInput(find_connector("kafka://server/rides?records=100")).question["the topic"]
    'rides'
    """

    def __init__(self, connector: Connector, waiting: Waiting | None = None, *, patient: bool = False) -> None:
        super().__init__()
        self._waiting, self._patient = waiting or Waiting(str(connector)), patient
        self.connector, self._options = connector, reading_options(connector)
        self._shape: TopicShape | None = None
        self.header = b""

    @property
    def question(self) -> Mapping[str, Any]:
        one = self.connector
        written = {"format": one.format, "records": one.records, "columns": one.columns}
        return {"the topic": one.topic, **{f"{name} of a message": value for name, value in written.items()}}

    @property
    def _shown(self) -> TopicShape:
        """The topic's shape as it was when this run began."""
        if self._shape is None:
            self._shape = self._ask(KafkaClient(self.connector).describe)
        return self._shape

    def _ask(self, step: Callable[[], Answer]) -> Answer:
        """Return what the broker answers to a question; one that answered before is waited for."""
        answer = self._waiting.open(step, patient=self._patient)
        self._waiting.reached()
        self._patient = True
        return answer

    def look(self, known: str) -> None:
        """Ask whether the topic is there and the one that a checkpoint knows; take the header of CSV from there."""
        kept = TopicMark.read(known)
        if known and kept.topic != self.connector.topic:
            raise InputError(
                f"input '{self.connector}' is not what this checkpoint was reading; give that, or another folder"
            )
        self._refuse_other(kept.ident)
        self.header = kept.header.encode()
        self.mark = self._marked(kept.header)

    def _marked(self, header: str) -> str:
        return TopicMark(self.connector.topic, self._shown.ident, header).text

    def _refuse_other(self, ident: str) -> None:
        if ident not in {"", self._shown.ident}:
            raise InputError(
                f"input '{self.connector}' was deleted and made anew since this checkpoint; begin another stream, with "
                "another checkpoint"
            )

    def refuse_replaced(self) -> None:
        before, self._shape = self._shown.ident, None
        self._refuse_other(before)

    def refuse_changed(self, kept: Checkpoint, folder: Path) -> None:
        mark = TopicMark.read(kept.mark)
        self._refuse_other(mark.ident)
        lows, highs = self.reach()
        if not kept.ended:
            self._refuse_lost(lows, self._offsets(folder) or {})
            return
        ends = [*mark.ends, *[0] * (len(highs) - len(mark.ends))]
        if any(high > end for high, end in zip(highs, ends, strict=True)):
            raise grown(folder, "topic")

    def _refuse_lost(self, lows: list[int], read: Mapping[int, int]) -> None:
        """Refuse to go on where records behind those that were read are gone."""
        if any(read.get(part, low) < low for part, low in enumerate(lows)):
            one = self.connector
            raise InputError(SENTENCES[LOST].format(address=one, topic=one.topic, secret=one.secret(), what="is read"))

    def mark_at_end(self, checkpoint: Path) -> str:
        found = self._offsets(checkpoint)
        ends = self.reach().lows if found is None else [found[part] for part in sorted(found)]
        return msgspec.structs.replace(TopicMark.read(self.mark), ends=ends).text

    def _offsets(self, checkpoint: Path) -> dict[int, int] | None:
        """Return the offset behind each partition's last record that was published; None where nothing was read."""
        done = batches_done(checkpoint)
        if done is None:
            return None
        return _numbered(kept_offsets(checkpoint / SPARK / "offsets" / str(done))[self.connector.topic])

    def reach(self) -> Reach:
        """Return from where to where the topic has records now."""
        found = self._ask(partial(_watermarks, self.connector, self._shown.partitions))
        return Reach([low for low, _ in found], [high for _, high in found])

    def streaming(self, session: SparkSession, cells: PayloadCells) -> DataFrame:
        """Return the records as a stream, from the oldest on."""
        most = str(max(1, MESSAGES // self.connector.records))
        options = {**self._options, "startingOffsets": "earliest", "maxOffsetsPerTrigger": most}
        with spark_sentences(f"'{self.connector}' cannot be read"):
            messages = session.readStream.format("kafka").options(**options).load().select(*VALUES)
            return messages.mapInArrow(cells, cells.schema)

    def first_payloads(self, session: SparkSession) -> list[bytes]:
        """Return the first messages, as many as the judged records may need, in their order."""
        count, reach = -(-JUDGED // self.connector.records), self.reach()
        ends = [min(low + count, high) for low, high in zip(*reach, strict=True)]
        if ends == reach.lows:
            return []
        with spark_sentences(f"'{self.connector}' cannot be read"):
            found = self._between(session, reach.lows, ends).orderBy("partition", "offset").limit(count)
            return [row["value"] or b"" for row in found.select("value").toLocalIterator()]

    def find_header(self, payloads: list[bytes]) -> None:
        """Take the header of CSV from the first message that has one; without any there is nothing to go by."""
        if self.connector.format == "json" or self.connector.columns is not None or self.header:
            return
        self.header = first_header(payloads)
        if not self.header:
            raise InputError(
                f"topic '{self.connector}' has no message with a header yet; name its columns with ?columns=A,B, or "
                "begin when the first message is there"
            )
        try:
            self.mark = self._marked(self.header.decode())
        except UnicodeDecodeError:
            raise InputError(f"topic '{self.connector}' has a header line that is not UTF-8; write it so") from None

    def published(self, session: SparkSession, cells: PayloadCells, checkpoint: Path) -> DataFrame | None:
        """Return the records that a run has read, once more; None where it has read none."""
        ends = self._offsets(checkpoint)
        if ends is None:
            return None
        begun = _numbered(kept_offsets(checkpoint / SPARK / "sources" / "0" / "0")[self.connector.topic])
        starts = [max(low, begun.get(part, 0)) for part, low in enumerate(self.reach().lows)]
        last = [max(start, ends.get(part, start)) for part, start in enumerate(starts)]
        return self._between(session, starts, last).mapInArrow(cells, cells.schema)

    def _between(self, session: SparkSession, starts: list[int], ends: list[int]) -> DataFrame:
        """Return the messages of all partitions between offsets."""
        limits = {"startingOffsets": self._json(starts), "endingOffsets": self._json(ends)}
        return session.read.format("kafka").options(**self._options, **limits).load().select(*VALUES)

    def _json(self, offsets: list[int]) -> str:
        return json.dumps({self.connector.topic: {str(part): offset for part, offset in enumerate(offsets)}})


def _numbered(offsets: Mapping[str, int]) -> dict[int, int]:
    return {int(part): offset for part, offset in offsets.items()}


def _watermarks(connector: Connector, partitions: int) -> list[tuple[int, int]]:
    client, kafka = KafkaClient(connector), load_client()
    with client.sentences("is read"):
        consumer = client.consumer({"group.id": ONLOOKER})
        try:
            places = [kafka.TopicPartition(connector.topic, part) for part in range(partitions)]
            return [consumer.get_watermark_offsets(place, PATIENCE) for place in places]
        finally:
            consumer.close()
