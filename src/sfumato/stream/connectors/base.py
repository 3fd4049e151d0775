"""What a stream reads from and writes to: sources and sinks, files or brokers, found by the scheme of an address.

A source's position is part of the checkpoint, and it is acknowledged once the checkpoint is on the disk; a sink
recognises what it has already, so that a replay writes nothing twice (exactly-once over a replayable source and an
idempotent sink, Carbone et al. 2015).

Who adds a broker writes a `Connector` with a `MessageReader` and a `MessageWriter`; order, batches, payloads, waiting
and replays are done for them (`feed`, `sink`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from sfumato.core.address import Address, variable_of
from sfumato.errors import ParameterError
from sfumato.stream.connectors.retry import BrokerGoneError

if TYPE_CHECKING:
    from sfumato.stream.base import Published
    from sfumato.stream.connectors.file.outlet import Outlet, OutputMark
    from sfumato.stream.runtime.batch import Batch
    from sfumato.stream.runtime.hooks import Hooks

__all__ = ["Address", "BrokerGoneError", "Connector", "Message", "MessageReader", "MessageWriter", "Received"]

FORMATS = ("json", "csv")
SHARED_OPTIONS: Mapping[str, str] = {
    "format": "How a message is written: json (JSON lines, the default) or csv.",
    "records": "The most records in a message, each on its own line; 1 unless given.",
    "columns": "Of csv that is read: the columns, where messages have no header line.",
    "password-file": "File that holds the password, which only its owner may read.",
}


@dataclass(frozen=True, eq=False)
class FeedPlace:
    """Where a feed can go on: the offset of the next record, and `mark`, which gives the input's fingerprint so far.

    >>> FeedPlace(0, lambda: "pipe").mark()
    'pipe'
    """

    offset: int
    mark: Callable[[], str]


class Source(Protocol):
    """What a stream reads: batches of records, and the place behind each.

    It is `stalled` while nothing more comes before something is acknowledged. `resume` is called first, with the
    stream's id and the mark of its checkpoint, `fresh` for one that begins; `acknowledge` with a mark that a checkpoint
    on the disk holds, always by the thread that reads; `forget` if the stream never began.
    """

    @property
    def name(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def piped(self) -> bool: ...
    @property
    def stalled(self) -> bool: ...
    @property
    def place(self) -> FeedPlace: ...
    def resume(self, stream: str, known: str, hooks: Hooks, *, fresh: bool = False) -> None: ...
    def has_grown(self, known: str) -> bool: ...
    def batches(self, offset: int = 0) -> Iterator[Batch]: ...
    def acknowledge(self, mark: str) -> None: ...
    def forget(self) -> None: ...
    def close(self) -> None: ...


class RowSink(Protocol):
    """Where the rows of a stream go: how they are written, and the outlet that takes them.

    `due` are the rows that the checkpoint at `place` let leave, `left` how it is called in a sentence.
    """

    @property
    def header(self) -> bytes: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    def render(self, published: Published) -> bytes: ...
    def refuse_existing(self) -> None: ...
    def open(
        self,
        stream: str,
        place: OutputMark,
        due: bytes = b"",
        left: str = "",
        *,
        ended: bool = False,
        fresh: bool = False,
    ) -> Outlet: ...
    def further(self, stream: str, place: OutputMark, due: bytes) -> bool: ...
    def finish(self) -> None: ...


@dataclass(frozen=True)
class Received:
    """Some messages in their order, and the position behind the last one; no message, only a later position, may be.

    >>> Received([b"{}"], "7-0").position
    '7-0'
    """

    payloads: Sequence[bytes]
    position: str


class Message(NamedTuple):  # there are millions
    """Rows that leave together; `end` is the number of the stream's rows up to and with them, and so tells it apart.

    >>> Message(b'{"hours":5}', rows=1, end=1).begin
    0
    """

    payload: bytes
    rows: int
    end: int

    @property
    def begin(self) -> int:
        """How many rows of the stream stand before it."""
        return self.end - self.rows


def _silent(_: str) -> None:
    """Say nothing."""


class MessageReader(ABC):
    """Reads the messages of one topic in order; whatever may come back later is raised as `BrokerGoneError`.

    It is used by one thread. After an error it is closed and opened again, behind the last position that was read.
    `stalled` says that the broker gives nothing more before something is acknowledged; `tell` takes a sentence for the
    steward.
    """

    stalled = False
    tell: Callable[[str], object] = staticmethod(_silent)

    @abstractmethod
    def open(self, stream: str, position: str) -> None:
        """Connect for the stream of an id, and go on behind a position; behind nothing where it is empty.

        A position is what `read` gave with some messages. What was delivered before and lies behind it comes again, in
        order; what does not is never given again.
        """

    @abstractmethod
    def read(self, limit: int, wait: float) -> Received | None:
        """Return at most `limit` messages, or None if none comes for `wait` seconds."""

    @abstractmethod
    def acknowledge(self, position: str) -> None:
        """Tell the broker that all up to a position lies safe in a checkpoint."""

    def forget(self) -> None:
        """Take away what `open` left at the broker for a stream that never began; nothing where it leaves nothing."""
        return

    @abstractmethod
    def close(self) -> None:
        """Let the connection go; must not fail, and may be called twice."""


class MessageWriter(ABC):
    """Writes the rows of one stream to a topic, which belongs to that stream alone."""

    @abstractmethod
    def open(self, stream: str) -> int:
        """Connect and return how many rows of the stream lie there; refuse a topic that holds anything else."""

    @abstractmethod
    def send(self, messages: Sequence[Message]) -> None:
        """Write messages in order, all or a beginning of them; return when the broker has them safe.

        None of them lies there already. One that the broker finds there all the same is refused, not written twice.
        """

    def read_back(self, begin: int, end: int) -> Sequence[tuple[int, bytes]]:
        """Return the messages that have the rows after number `begin`, up to `end` of them, each with its own `end`.

        They are compared with what leaves again when an older checkpoint was put back; none where they cannot be read.
        """
        del begin, end
        return ()

    @abstractmethod
    def close(self) -> None:
        """Let the connection go; must not fail, and may be called twice."""


class Connector(ABC):
    """One kind of broker, by the scheme of its addresses: the entry point's name.

    `form` shows an address, `options` explain what may follow its question mark beside those of every connector, and
    `variable` names the variable of the environment with the password, if its clients have one of their own. `replays`
    says that what was acknowledged can be read again: else no stream goes on from a checkpoint that was put back.

    >>> from sfumato.stream.connectors.redis_streams import RedisStreams
    >>> RedisStreams(Address.read("redis://server/rides?records=100")).records
    100
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    form: ClassVar[str]
    words: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    variable: ClassVar[str] = ""
    replays: ClassVar[bool] = True

    def __init__(self, address: Address) -> None:
        address.refuse_unknown({**SHARED_OPTIONS, **self.options})
        self.address = address
        self.format = address.options.get("format", FORMATS[0])
        if self.format not in FORMATS:
            raise ParameterError(f"address '{address}': format is '{self.format}'; give json or csv")
        self.records = address.whole("records", 1, 100_000)
        self.columns = address.options.get("columns")
        if self.columns is not None and self.format != "csv":
            raise ParameterError(f"address '{address}': columns are named for csv; JSON names its own")

    @classmethod
    def secret(cls) -> str:
        """Return the variable of the environment that holds the password."""
        return cls.variable or variable_of(cls.name)

    @property
    def password(self) -> str | None:
        """The password, of the file that the address names or of the environment."""
        return self.address.password(self.secret())

    def __str__(self) -> str:
        return str(self.address)

    def same_topic(self, other: Connector) -> bool:
        """Return whether two addresses name one topic."""
        mine, theirs = self.address, other.address
        return (type(self), str(mine), self.topic) == (type(other), str(theirs), other.topic)

    @property
    def repeats(self) -> str | None:
        """How a message may count twice, in a sentence; None where each counts once."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a card must take for granted of the messages."""
        return ()

    @property
    @abstractmethod
    def topic(self) -> str:
        """What is read or written at the broker, by its name there; it is part of a checkpoint."""

    @abstractmethod
    def reader(self) -> MessageReader:
        """Return what reads the topic; nothing is connected yet."""

    @abstractmethod
    def writer(self) -> MessageWriter:
        """Return what writes the topic; nothing is connected yet."""
