"""Redis streams: read by a consumer group, written with entry ids of our own, so that a replay is refused.

An entry's id must grow (Redis, "Streams"): `N-0` is the entry with the stream's rows up to number N, so whoever writes
it a second time is told so. Entries that were delivered and not acknowledged come again in their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from sfumato.errors import InputError, MissingExtraError, ParameterError
from sfumato.stream.connectors.base import Address, Connector, Message, MessageReader, MessageWriter, Received
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.connectors.secure import refuse_distrust

PORT, PATIENCE = 6379, 5.0
GROUP, CONSUMER, START = "sfumato-", "sfumato", "0-0"
THERE = "equal or smaller"  # an id that the topic has already: what was sent before came late
PASSING = frozenset(
    {"LOADING", "OOM", "READONLY", "EXECABORT", "MISCONF", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS"}
    | {"NOGROUP", "UNBLOCKED", "BUSY"}
)  # what a server says that may answer later
TOGETHER = 10_000  # entries in one command, which others wait for
# Entries by scripts: the client would take longer to read a reply of thousands of parts than all else together.
READ = """
local found = redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
local ids, lengths, payloads = {}, {}, {}
for place, entry in ipairs(found and found[1][2] or {}) do
  local fields, payload = entry[2] or {}, ''
  if ARGV[4] == '' and #fields == 2 then payload = fields[2] end
  for field = 1, #fields, 2 do
    if ARGV[4] ~= '' and fields[field] == ARGV[4] then payload = fields[field + 1] end
  end
  ids[place], lengths[place], payloads[place] = entry[1], #payload, payload
end
local info, about = redis.call('XINFO', 'STREAM', KEYS[1]), {}
for place = 1, #info, 2 do about[info[place]] = info[place + 1] end
local first = about['first-entry'] and about['first-entry'][1] or ''
local counts = (about['entries-added'] or -1) .. ' ' .. about['length'] .. ' ' .. first
return {table.concat(ids, ' '), table.concat(lengths, ' '), table.concat(payloads), counts}
"""
ACKNOWLEDGE = """
for id in string.gmatch(ARGV[2], '%S+') do redis.call('XACK', KEYS[1], ARGV[1], id) end
"""
WRITE = """
for place = 2, #ARGV, 2 do redis.call('XADD', KEYS[1], ARGV[place], 'stream', ARGV[1], 'rows', ARGV[place + 1]) end
"""


class RedisStreams(Connector):
    """Streams of a Redis server.

    >>> RedisStreams(Address.read("redis://server/2/rides")).topic
    'rides'
    """

    name: ClassVar[str] = "redis"
    aliases: ClassVar[tuple[str, ...]] = ("rediss",)
    form: ClassVar[str] = "redis://[USER@]HOST[:PORT][/DATABASE]/STREAM"
    words: ClassVar[str] = "A Redis stream; rediss:// is TLS. Rows leave as entries whose ids count them."
    options: ClassVar[Mapping[str, str]] = {
        "field": "The field of an entry that holds the message; the only one it has unless given.",
        "ca": "File with the certificates that the server's is checked with (rediss).",
        "cert": "File with our own certificate (rediss).",
        "key": "File with the key of our own certificate (rediss).",
    }

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        place = address.place
        if not address.host or len(place) not in {1, 2} or (len(place) == 2 and not place[0].isdecimal()):
            raise ParameterError(f"address '{address}' names no Redis stream; give {self.form}")
        self.database = int(place[0]) if len(place) == 2 else 0

    @property
    def topic(self) -> str:
        return self.address.place[-1]

    def reader(self) -> MessageReader:
        return GroupReader(self)

    def writer(self) -> MessageWriter:
        return EntryWriter(self)


class Server:
    """A connection that tries nothing again by itself: whoever asks knows what is safe to repeat.

    Replies are as they come. What the server refuses is said in one sentence; a connection that is lost may come back.
    """

    def __init__(self, connector: RedisStreams) -> None:
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError as error:
            raise MissingExtraError("Redis needs its client; pip install 'sfumato[redis]'") from error
        address = connector.address
        secure: dict[str, Any] = {"ssl": address.scheme == "rediss"}
        if secure["ssl"]:
            files = {"ssl_ca_certs": "ca", "ssl_certfile": "cert", "ssl_keyfile": "key"}
            secure |= {name: address.file(option) for name, option in files.items()}
        self._connector = connector
        self._client = Redis(
            address.host,
            address.port or PORT,
            connector.database,
            username=address.user,
            password=connector.password,
            socket_timeout=PATIENCE,
            socket_connect_timeout=PATIENCE,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            **secure,
        )
        self._client.response_callbacks.clear()

    def ask(self, *command: bytes | str | int) -> Any:
        """Return the reply to one command."""
        with _told(self._connector):
            return self._client.execute_command(*command)  # type: ignore[no-untyped-call]

    def run(self, script: str, key: str, *values: bytes | str | int) -> Any:
        """Return what a script gives that runs on the server, where many entries are one command and one reply."""
        return self.ask("EVAL", script, 1, key, *values)

    def close(self) -> None:
        """Let the connection go."""
        with suppress(Exception):
            self._client.close()


@contextmanager
def _told(connector: RedisStreams) -> Iterator[None]:
    from redis import exceptions

    name = connector.address
    try:
        yield
    except exceptions.AuthenticationError as error:
        raise InputError(f"broker '{name}' refuses the login; check the user and {connector.secret()}") from error
    except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
        refuse_distrust(name, error)
        raise BrokerGoneError(_words(error)) from error
    except exceptions.ResponseError as error:
        words = _words(error)
        code = getattr(error, "status_code", None) or words.partition(" ")[0]
        if not PASSING.isdisjoint([code, *words.split()]) or THERE in words:  # a script's error may hold another one
            raise BrokerGoneError(words) from error
        if code == "NOPERM":
            raise InputError(f"broker '{name}' does not let this user do that; check its rights") from error
        if code == "WRONGTYPE":
            raise InputError(f"broker '{name}': '{connector.topic}' is no stream; check the name") from error
        raise InputError(f"broker '{name}' refuses: {words}") from error


def _words(error: Exception) -> str:
    """Return the server's words alone, without the commands that they are about."""
    text = str(error).rpartition("caused error: ")[2].strip()
    return text.splitlines()[0].removesuffix(".") if text else type(error).__name__


class GroupReader(MessageReader):
    """Reads entries by a consumer group of the stream's own, which is set to the checkpoint's position when it opens.

    So what was delivered and does not lie in the checkpoint is delivered again, also where an older one was put back.
    A position is the id of an entry, and how many entries were added up to it, if the server counts them (from 7.0 on).
    """

    def __init__(self, connector: RedisStreams) -> None:
        self._connector, self._server = connector, Server(connector)
        self._key, self._group = connector.topic, ""
        self._delivered: deque[tuple[tuple[int, int], bytes]] = deque()
        self._field, self._last = connector.address.options.get("field", ""), START
        self._before: int | None = None  # how many entries were added up to the last one that was read

    def open(self, stream: str, position: str) -> None:
        self._group = GROUP + stream
        if not self._server.ask("EXISTS", self._key):
            raise InputError(f"broker '{self._connector.address}' has no stream '{self._key}'; check the name")
        groups = self._server.ask("XINFO", "GROUPS", self._key)
        step = "SETID" if any(self._group.encode() in about for about in groups) else "CREATE"
        last, _, before = position.partition("@")
        self._last = last or START
        self._before = int(before) if before else None if position else self._removed()
        self._server.ask("XGROUP", step, self._key, self._group, self._last)
        self._delivered.clear()
        if position:
            self._acknowledge_before(self._last)

    def _removed(self) -> int | None:
        """Return how many entries were added and are gone; None where the server does not count them."""
        about = self._server.ask("XINFO", "STREAM", self._key)
        told = dict(zip(about[::2], about[1::2], strict=True))
        return told[b"entries-added"] - told[b"length"] if b"entries-added" in told else None

    def _acknowledge_before(self, position: str) -> None:
        """Acknowledge what lies behind us and was not acknowledged before the connection or we went down."""
        while found := self._server.ask("XPENDING", self._key, self._group, "-", position, TOGETHER):
            self._server.ask("XACK", self._key, self._group, *(entry[0] for entry in found))

    def read(self, limit: int, wait: float) -> Received | None:
        given = self._group, CONSUMER, min(limit, TOGETHER), self._field
        ids, lengths, payloads, counts = self._server.run(READ, self._key, *given)
        self._refuse_lost(counts.decode())
        if not ids:
            milliseconds = max(1, round(1000 * wait))
            self._server.ask("XREAD", "COUNT", 1, "BLOCK", milliseconds, "STREAMS", self._key, self._last)
            return None
        self._last = ids.rpartition(b" ")[2].decode()
        self._delivered.append((_number(self._last), ids))
        ends = list(accumulate(map(int, lengths.split())))
        self._before = None if self._before is None else self._before + len(ends)
        return Received([payloads[start:end] for start, end in pairwise([0, *ends])], self._position)

    @property
    def _position(self) -> str:
        return self._last if self._before is None else f"{self._last}@{self._before}"

    def _refuse_lost(self, counts: str) -> None:
        """Refuse a stream that lost entries before they were read: more are gone than came up to our position.

        That is seen when no entry up to our position is left. Trimming takes the oldest, so before that it took none.
        """
        added, length, first = counts.split(" ")
        if self._before is None or int(added) < 0 or (first and _number(first) <= _number(self._last)):
            return
        gone = int(added) - int(length)
        if gone > self._before:
            raise InputError(
                f"stream '{self._key}' of broker '{self._connector.address}' lost {gone - self._before} entries before "
                "they were read: they were trimmed or deleted; keep more of them, and begin another checkpoint"
            )
        if gone < self._before:
            raise InputError(
                f"stream '{self._key}' of broker '{self._connector.address}' is not the one that this checkpoint was "
                "reading: it was made anew; restore it, or begin another checkpoint"
            )

    def acknowledge(self, position: str) -> None:
        until = _number(position.partition("@")[0] or START)
        while self._delivered and self._delivered[0][0] <= until:
            self._server.run(ACKNOWLEDGE, self._key, self._group, self._delivered[0][1])
            self._delivered.popleft()

    def forget(self) -> None:
        self._server.ask("XGROUP", "DESTROY", self._key, self._group)

    def close(self) -> None:
        self._server.close()


def _number(entry: str) -> tuple[int, int]:
    first, _, second = entry.partition("-")
    return int(first), int(second)


class EntryWriter(MessageWriter):
    """Adds entries with the fields `stream` and `rows`, under ids that count the rows."""

    def __init__(self, connector: RedisStreams) -> None:
        self._connector, self._server = connector, Server(connector)
        self._key, self._stream = connector.topic, b""

    def open(self, stream: str) -> int:
        self._stream = stream.encode()
        if not self._server.ask("EXISTS", self._key):
            return 0
        newest = self._server.ask("XREVRANGE", self._key, "+", "-", "COUNT", 1)
        if newest and newest[0][1][:2] != [b"stream", self._stream]:
            raise InputError(
                f"output '{self._connector.address}' has entries that are not of this stream; choose another topic"
            )
        about = self._server.ask("XINFO", "STREAM", self._key)  # it knows the last id, also of entries trimmed away
        return _number(dict(zip(about[::2], about[1::2], strict=True))[b"last-generated-id"].decode())[0]

    def send(self, messages: Sequence[Message]) -> None:
        entries = [part for message in messages for part in (f"{message.end}-0", message.payload)]
        self._server.run(WRITE, self._key, self._stream, *entries)

    def read_back(self, begin: int, end: int) -> Sequence[tuple[int, bytes]]:
        found = self._server.ask("XRANGE", self._key, f"({begin}", "+", "COUNT", end - begin)
        return [(_number(entry.decode())[0], fields[3]) for entry, fields in found if fields]

    def close(self) -> None:
        self._server.close()
