"""The one file from which a stream goes on after a crash, and the order in which rows leave: first it, then the rows.

A checkpoint holds the publisher's state, the rows that may have left since the checkpoint before, the input's offset
and the output's length and hash, and is replaced in one step before any of those rows leave (write-ahead order, Mohan
et al. 1992). After a crash the files are cut back to the checkpoint and its rows are written again, the same ones; over
a pipe they may come twice, with the same numbers. Checkpoints are chained (`sfumato.core.hash_chain`) and noise is
keyed: one that was put back from a backup releases again the rows that left after it, and they are compared with the
output.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sfumato.core.files import hold_folder, write_durably
from sfumato.core.hash_chain import EMPTY, Head
from sfumato.errors import InputError, reason
from sfumato.random import KeyedSource
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.base import RowSink
from sfumato.stream.connectors.file.outlet import (
    PRIVATE,
    START,
    Appended,
    Nowhere,
    Outlet,
    OutputMark,
    claimed,
    keep_private,
    refuse_there,
)
from sfumato.stream.intake import Intake
from sfumato.stream.runtime import noise_key

FILE = "checkpoint"
VERSION = 3
NOTHING_READ = Intake()


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A stream at one moment; `question` says what was asked for, and `chunk` holds the rows that leave after it.

    `before` is the head of the chain of checkpoints before this one, `intake` what became of the records so far.

    >>> start = Checkpoint.begin({"epsilon": 1.0}, b"state", b"hours,group,size,seq")
    >>> start.records, len(start.stream)
    (0, 32)
    """

    version: int = VERSION
    before: str = EMPTY.text
    stream: str
    question: dict[str, Any]
    state: bytes
    mark: str = ""
    offset: int = 0
    records: int = 0
    rows: int = 0
    groups: int = 0
    vacant: int = 0
    output: OutputMark = START
    chunk: bytes = b""
    quarantine: OutputMark = START
    quarantined: bytes = b""
    ended: bool = False
    intake: Intake = Intake()

    @classmethod
    def begin(cls, question: dict[str, Any], state: bytes, header: bytes) -> Checkpoint:
        """Return the checkpoint of a stream of which nothing has come yet, under an id of its own."""
        return cls(stream=secrets.token_hex(16), question=question, state=state, chunk=header)

    def head(self, key: bytes) -> Head:
        """Return the head of the chain with this checkpoint; without the key it tells nothing about the records held.

        >>> Checkpoint.begin({}, b"state", b"").head(bytes(32)).number
        1
        """
        return Head.read(self.before).then(key, msgspec.msgpack.encode(self))

    def refuse_other(self, question: dict[str, Any], folder: Path) -> None:
        """Refuse to go on with anything but what was asked for at first.

        >>> Checkpoint.begin({"epsilon": 1.0}, b"", b"").refuse_other({"epsilon": 2.0}, Path("kept"))
        Traceback (most recent call last):
        sfumato.errors.InputError: checkpoint 'kept' belongs to another stream: epsilon was 1.0, found 2.0; give the \
same options, or another folder
        """
        for name in dict.fromkeys([*question, *self.question]):
            before, now = self.question.get(name), question.get(name)
            if before != now:
                raise InputError(
                    f"checkpoint '{folder}' belongs to another stream: {name} was {before}, found {now}; give the same "
                    "options, or another folder"
                )


class Sealed(msgspec.Struct, frozen=True):
    """A checkpoint as it lies in its folder, with its head, by which one that was edited is known."""

    head: str
    checkpoint: Checkpoint


@dataclass(frozen=True)
class CheckpointFolder:
    """A folder with one stream's checkpoint and its key, held by one process at a time and readable by its owner only.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "kept"
    >>> with CheckpointFolder.open(folder) as store:
    ...     store.load() is None
    ...     store.make_key()
    ...     store.save(Checkpoint.begin({}, b"state", b"")).number
    ...     store.load().state
    True
    1
    b'state'
    """

    folder: Path

    @classmethod
    @contextmanager
    def open(cls, folder: str | Path) -> Iterator[CheckpointFolder]:
        """Yield the store in a folder, made if it is not there, locked until the block ends."""
        with hold_folder(folder, "checkpoint", FILE) as path:
            keep_private(path / FILE)
            yield cls(path)

    @property
    def key(self) -> bytes:
        """The secret of the stream's noise and of its chain."""
        if not (self.folder / noise_key.FILE).exists():
            raise InputError(f"checkpoint '{self.folder}' has lost its key, '{noise_key.FILE}'; restore it")
        return noise_key.read_key(self.folder / noise_key.FILE)

    def make_key(self) -> None:
        """Make the key of a stream that begins; it survives a crash from now on."""
        noise_key.make_key(self.folder)

    def load(self) -> Checkpoint | None:
        """Return the checkpoint, or None where there is none yet; one that its key did not seal is refused."""
        try:
            sealed = msgspec.msgpack.decode((self.folder / FILE).read_bytes(), type=Sealed)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            why = reason(error)
            raise InputError(f"checkpoint '{self.folder}' cannot be read: {why}; restore it from a backup") from error
        if sealed.checkpoint.version != VERSION:
            found = sealed.checkpoint.version
            raise InputError(
                f"checkpoint '{self.folder}' has version {found}, and version {VERSION} is known here; end the stream "
                "with the sfumato that began it"
            )
        if sealed.checkpoint.head(self.key).text != sealed.head:
            raise InputError(
                f"checkpoint '{self.folder}' was edited, or its key is another one's; restore both from one backup"
            )
        return sealed.checkpoint

    def save(self, checkpoint: Checkpoint) -> Head:
        """Replace the checkpoint and return its head; once this returns it survives a crash, before it the last one."""
        head = checkpoint.head(self.key)
        try:
            write_durably(self.folder / FILE, msgspec.msgpack.encode(Sealed(head.text, checkpoint)))
        except OSError as error:
            raise InputError(f"checkpoint '{self.folder}' cannot be written: {error.strerror}") from error
        return head

    def remove(self) -> None:
        """Forget the stream, of which nothing has left."""
        for name in (FILE, noise_key.FILE):
            (self.folder / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class Read:
    """How far the input was read: records, and the offset behind them.

    >>> Read().records
    0
    """

    records: int = 0
    offset: int = 0


class StreamJournal:
    """What one stream has published: rows that wait, rows that left, records put aside, and where it can go on from.

    >>> import tempfile, numpy as np
    >>> from sfumato.stream import NaiveLaplace
    >>> publisher = NaiveLaplace(bounds=(0, 1))
    >>> from sfumato.stream.connectors.file.sink import Sink
    >>> sink = Sink(Path(tempfile.mkdtemp()) / "out.csv", publisher, ["hours"])
    >>> journal = StreamJournal(publisher, sink)
    >>> journal.hold(publisher.push_many(np.array([0.5, 0.5])))
    >>> journal.close()
    >>> len(sink.path.read_bytes().splitlines()), journal.rows, journal.groups
    (3, 2, 2)
    """

    def __init__(
        self,
        publisher: Publisher,
        sink: RowSink,
        store: CheckpointFolder | None = None,
        question: dict[str, Any] | None = None,
        aside: Path | None = None,
    ) -> None:
        self._publisher, self._sink, self._store = publisher, sink, store
        asked = msgspec.msgpack.decode(msgspec.msgpack.encode(question or {}))  # as a checkpoint gives it back
        found = None if store is None else store.load()
        if found is not None and store is not None:
            found.refuse_other(asked, store.folder)
        self.fresh = found is None
        self.at = found or Checkpoint.begin(asked, publisher.state(), sink.header)
        self.head: Head | None = None
        if store is not None:
            self._draw_by_key(store, fresh=found is None)
        self.rows, self.groups, self.vacant = self.at.rows, self.at.groups, self.at.vacant
        self._waiting: list[bytes] = []
        self._bad: list[bytes] = []
        self._worker = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None
        self._kept = self.at.mark  # of the checkpoint that is on the disk
        self._output, self._aside = self._open_outlets(aside, fresh=found is None)
        try:
            self._check(self.at)
            self._emit(self.at.chunk, self.at.quarantined)
        except BaseException:
            self._let_go()
            raise

    def _draw_by_key(self, store: CheckpointFolder, *, fresh: bool) -> None:
        """Let the publisher go on with noise that the stream's key gives again, for its id and its columns."""
        if fresh:
            self._sink.refuse_existing()
            store.make_key()
        self._publisher.begin(KeyedSource(store.key, "stream", self.at.stream, *self._sink.names))
        if not fresh:
            self._publisher.restore(self.at.state)
        self.head = self.at.head(store.key)

    def _open_outlets(self, aside: Path | None, *, fresh: bool) -> tuple[Outlet, Outlet]:
        """Return where rows and bad records go; what is there already is refused, or cut back to the checkpoint."""
        if fresh:
            self._sink.refuse_existing()
            if aside is not None:
                refuse_there("quarantine", aside)
        left = "" if self._store is None else f"checkpoint '{self._store.folder}'"
        with ExitStack() as undo:  # whoever comes too late leaves nothing behind
            if fresh and self._store is not None:
                undo.callback(self._store.remove)
                self.head = self._store.save(self.at)
            left, at = self._named(left), self.at
            output = self._sink.open(at.stream, at.output, at.chunk, left, ended=at.ended, fresh=fresh)
            for step in (output.close, output.remove) if fresh else (output.close,):
                undo.callback(step)
            kept: Outlet = Nowhere()
            if aside is not None:
                with claimed(aside, "quarantine", PRIVATE, fresh=fresh) as descriptor:
                    kept = Appended(aside, at.quarantine, len(at.quarantined), left, descriptor)
            undo.pop_all()
        return output, kept

    def _named(self, left: str) -> str:
        return left if self.head is None else f"{left} (number {self.head.number})"

    def hold(self, published: Published, bad: bytes = b"") -> None:
        """Take rows that were published and bad records put aside; without a checkpoint they leave at once."""
        self.vacant += len(published.vacant)
        if len(published):
            self.rows += len(published)
            self.groups = int(published.group[-1]) + 1
        rows = self._sink.render(published)
        if self._store is None:
            self._emit(rows, bad)
        else:
            self._waiting.append(rows)
            self._bad.append(bad)

    @property
    def waiting(self) -> bool:
        """Whether rows wait for a checkpoint."""
        return any(self._waiting)

    def commit(self, read: Read, mark: str, intake: Intake = NOTHING_READ, *, ended: bool = False) -> None:
        """Begin to write the checkpoint, after which the rows leave that it holds; `mark` tells what was read.

        The disk is waited for beside the stream, one checkpoint at a time.
        """
        if self._store is None:
            return
        self.settle()
        self.at = msgspec.structs.replace(
            self.at,
            before=(self.head or EMPTY).text,
            state=self._publisher.state(),
            mark=mark,
            offset=read.offset,
            records=read.records,
            rows=self.rows,
            groups=self.groups,
            vacant=self.vacant,
            chunk=b"".join(self._waiting),
            quarantined=b"".join(self._bad),
            ended=ended,
            intake=intake,
        )
        self._waiting, self._bad = [], []
        self._writing = self._worker.submit(self._write, self._store, self.at)

    def _write(self, store: CheckpointFolder, at: Checkpoint) -> None:
        self._check(at)
        self._output.settle()
        self._aside.settle()
        self.head = store.save(msgspec.structs.replace(at, output=self._output.place, quarantine=self._aside.place))
        self._kept = at.mark
        self._emit(at.chunk, at.quarantined)

    def _check(self, at: Checkpoint) -> None:
        """Refuse rows that differ from what left after a checkpoint that was put back, before anything is kept."""
        self._output.check(at.chunk)
        self._aside.check(at.quarantined)

    @property
    def kept(self) -> str:
        """What was read of the input up to the checkpoint that is on the disk: a source can let go of that."""
        return self._kept

    def settle(self) -> None:
        """Wait until the checkpoint is written and its rows have left; once that failed, it fails for ever.

        A later checkpoint would not hold the rows of the one that failed.
        """
        if self._writing is not None:
            self._writing.result()

    def close(self, *, complete: bool = True) -> None:
        """Let the files go, once they are safe on the disk; a Parquet file appears if the stream is `complete`."""
        try:
            self.settle()
            if complete:
                self._output.refuse_more()
        finally:
            self._worker.shutdown()
            with ExitStack() as last:  # each file is let go, though another cannot be written
                last.callback(self._let_go)
                last.callback(self._aside.settle)
                last.callback(self._output.settle)
        if complete:
            self._sink.finish()

    def _let_go(self) -> None:
        for outlet in (self._output, self._aside):
            outlet.close()

    def discard(self) -> None:
        """Take everything away again, for a stream of which nothing has come yet and nothing has left."""
        for outlet in (self._output, self._aside):
            outlet.remove()  # first, so that nobody takes it for theirs
            outlet.close()
        if self._store is not None:
            self._store.remove()

    def _emit(self, rows: bytes, bad: bytes) -> None:
        if bad:
            self._aside.append(bad)
        if rows:
            self._output.append(rows)
