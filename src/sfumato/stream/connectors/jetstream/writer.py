"""Writes rows to a subject so that each lies there once, however long ago the writer was killed.

Each message says which rows it ends with, and names the message that it follows (optimistic concurrency control,
Kung & Robinson 1981): the server refuses it anywhere else. The last message of the subject therefore tells which rows
lie there, also when the server has long forgotten the ids of messages by which it drops repeats for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from sfumato.errors import InputError
from sfumato.stream.connectors.base import Message, MessageWriter
from sfumato.stream.connectors.jetstream.connection import PATIENCE, Connection
from sfumato.stream.connectors.jetstream.pulled import Pulled
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js.api import RawStreamMsg

    from sfumato.stream.connectors.jetstream import JetStream

ID, ROWS = "Nats-Msg-Id", "Sfumato-Rows"
FOLLOWS, FOLLOWS_ID = "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Msg-Id"
IN_FLIGHT = 256  # messages that are on their way at once
AT_ONCE, LONG = 4096, 600.0  # messages that are read back at once, and seconds for all of them
OTHER_PLACE = {10070, 10071}  # the server's codes for a message that does not follow the one it names
FULL = "maximum"


class Refusal(msgspec.Struct):
    """Why the server did not take a message."""

    err_code: int = 0
    description: str = ""


class Answer(msgspec.Struct):
    """What the server answered to a message: the number that it has now, or why it was not taken."""

    seq: int | None = None
    duplicate: bool = False
    error: Refusal | None = None


class Answers:
    """Messages out, and the server's answer to each, in the thread of the loop."""

    def __init__(self, client: Client) -> None:
        self._client, self._inbox = client, client.new_inbox()
        self._come: dict[str, Answer] = {}
        self._missing = 0
        self._all = asyncio.Event()

    async def begin(self) -> None:
        """Listen to where answers come."""
        await self._client.subscribe(f"{self._inbox}.*", cb=self._take)

    async def _take(self, message: Msg) -> None:
        self._come[message.subject] = msgspec.json.decode(message.data or b"{}", type=Answer)
        self._missing -= 1
        if self._missing <= 0:
            self._all.set()

    async def ask(self, subject: str, messages: Sequence[tuple[bytes, dict[str, str]]]) -> list[Answer]:
        """Send messages in order and return their answers."""
        self._come, self._missing = {}, len(messages)
        self._all.clear()
        places = [f"{self._inbox}.{number}" for number in range(len(messages))]
        for place, (content, headers) in zip(places, messages, strict=True):
            await self._client.publish(subject, content, reply=place, headers=headers)
        await asyncio.wait_for(self._all.wait(), PATIENCE)
        return [self._come[place] for place in places]


class JetStreamWriter(MessageWriter):
    """Writes one subject; a message's id is `STREAM:END`, where END counts the rows up to and with its own."""

    def __init__(self, connector: JetStream) -> None:
        self._connector, self._address, self._subject = connector, connector.address, connector.topic
        self._connection: Connection | None = None
        self._id = self._stream = ""
        self._last, self._end = 0, 0
        self._at_once = IN_FLIGHT

    def open(self, stream: str) -> int:
        """Connect, find or add the stream, and read from its last message how many rows are there."""
        self.close()
        connection = self._connection = Connection(self._connector)
        self._id, self._at_once = stream, IN_FLIGHT
        found = connection.find_stream()
        self._stream = self._add(connection) if found is None else found
        self._answers = Answers(connection.client)
        connection.call(self._answers.begin())
        self._look()
        return self._end

    def _add(self, connection: Connection) -> str:
        """Add a stream for the subject alone, which keeps everything."""
        name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in self._subject)
        connection.call(connection.streams.add_stream(name=name, subjects=[self._subject]))
        return name

    def _look(self) -> None:
        """See which message is the last one of the subject, and which rows it ends with."""
        last = self._there.call(self._last_message())
        if last is None:
            self._last = self._end = 0
            self._refuse_hidden()
            return
        whose, _, end = (last.headers or {}).get(ID, "").rpartition(":")
        if whose != self._id or not end.isdecimal():
            raise InputError(
                f"output '{self._address}' has messages of somebody else; give the stream a subject of its own"
            )
        self._last, self._end = last.seq or 0, int(end)

    def _refuse_hidden(self) -> None:
        """Refuse a subject whose last message the server does not find though it has some: that one was deleted."""
        streams = self._there.streams
        state = self._there.call(streams.stream_info(self._stream, subjects_filter=self._subject)).state
        if state.subjects:
            raise InputError(
                f"output '{self._address}' has messages, and the server does not find the last one; give the stream a "
                "subject of its own"
            )

    async def _last_message(self) -> RawStreamMsg | None:
        from nats.js.errors import NotFoundError

        with suppress(NotFoundError):
            return await self._there.streams.get_last_msg(self._stream, self._subject)
        return None

    @property
    def _there(self) -> Connection:
        if self._connection is None:
            raise BrokerGoneError("the connection was closed")
        return self._connection

    def send(self, messages: Sequence[Message]) -> None:
        """Write messages, each behind the one before; fewer at once while others write to the stream too."""
        rest = list(messages)
        while rest:
            piece = rest[: self._at_once]
            done = self._there.call(self._publish(piece), 2 * PATIENCE)
            rest = rest[done:]
            self._at_once = min(IN_FLIGHT, 2 * self._at_once)
            if done < len(piece):
                self._refuse_stranger(alone=not done)
                self._at_once = max(1, done // 2)

    def _refuse_stranger(self, *, alone: bool) -> None:
        """Go on where another subject of the stream was written meanwhile, never behind a stranger in this one."""
        before = self._last
        self._look()
        if alone or self._last != before:
            raise BrokerGoneError(f"somebody else wrote to '{self._subject}'")

    async def _publish(self, messages: Sequence[Message]) -> int:
        """Return how many messages were taken; the next one does not follow, and was refused like all behind it.

        The first names the subject's last message by its number. The others are sent before that one's number is known,
        and name their predecessor by its id, as the last message of the whole stream.
        """
        headed = [(message.payload, {ID: self._name(message), ROWS: str(message.rows)}) for message in messages]
        headed[0][1][FOLLOWS] = str(self._last)
        for (_, headers), before in zip(headed[1:], messages, strict=False):
            headers[FOLLOWS_ID] = self._name(before)
        answers = await self._answers.ask(self._subject, headed)
        done = 0
        for message, answer in zip(messages, answers, strict=True):
            taken = self._taken(answer)
            if taken is None:
                break
            self._last, self._end, done = taken, message.end, done + 1
        return done

    def _name(self, message: Message) -> str:
        return f"{self._id}:{message.end}"

    def _taken(self, answer: Answer) -> int | None:
        """Return the number that a message has now, None where it was refused since it does not follow."""
        error = answer.error
        if error is not None and error.err_code in OTHER_PLACE:
            return None
        if error is not None and FULL in error.description:
            raise InputError(f"output '{self._address}' is full ({error.description}); widen its limits")
        if error is not None or answer.seq is None:
            raise BrokerGoneError("no answer of a stream" if error is None else error.description)
        if answer.duplicate:  # it was on its way when its writer was killed, and came since we looked
            raise BrokerGoneError(f"rows of a writer that was killed came to '{self._subject}'")
        return answer.seq

    def read_back(self, begin: int, end: int) -> Sequence[tuple[int, bytes]]:
        """Return the messages that have the rows after number `begin`, up to `end` of them."""
        return self._there.call(self._read_back(begin, end), LONG)

    async def _read_back(self, begin: int, end: int) -> list[tuple[int, bytes]]:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        streams, found = self._there.streams, list[tuple[int, bytes]]()
        first = await self._find(begin)
        about = await streams.add_consumer(
            self._stream,
            ConsumerConfig(
                ack_policy=AckPolicy.NONE,
                deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=first,
                filter_subject=self._subject,
            ),
        )
        pulled = Pulled(self._there.client, f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{about.name}")
        await pulled.begin()
        while not found or found[-1][0] < min(end, self._end):
            for message in await pulled.next(AT_ONCE, PATIENCE):
                found.append((_end_of(message.headers), message.data))
        return found

    async def _find(self, begin: int) -> int:
        """Return the number of the first message with rows after number `begin`, by halving what is left."""
        streams = self._there.streams
        low, high = (await streams.stream_info(self._stream)).state.first_seq, self._last
        while low < high:
            middle = (low + high) // 2
            found = await streams.get_msg(self._stream, seq=middle, subject=self._subject, next=True)
            if _end_of(found.headers) > begin:
                high = middle
            else:
                low = (found.seq or middle) + 1
        return low

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _end_of(headers: Mapping[str, str] | None) -> int:
    return int((headers or {}).get(ID, "").rpartition(":")[2] or 0)
