"""The order in which rows leave: first the checkpoint that holds them, then the rows; without one, at once.

After a crash the files are cut back to the checkpoint and its rows are written again, the same ones (the redo of
write-ahead logging, Mohan et al. 1992); over a pipe they may come twice, with the same numbers.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sfumato.errors import InputError
from sfumato.stream.base import Published, Publisher
from sfumato.stream.connectors.file.outlet import Appended, Nowhere, Outlet
from sfumato.stream.connectors.file.sink import Sink
from sfumato.stream.runtime.checkpoint import Checkpoint, Store


@dataclass(frozen=True)
class Read:
    """How far the input was read: records, and the offset behind them.

    >>> Read().records
    0
    """

    records: int = 0
    offset: int = 0


class Journal:
    """What one stream has published: rows that wait, rows that left, records put aside, and where it can go on from.

    >>> import tempfile, numpy as np
    >>> from sfumato.stream import NaiveLaplace
    >>> publisher = NaiveLaplace(bounds=(0, 1))
    >>> sink = Sink(Path(tempfile.mkdtemp()) / "out.csv", publisher, ["hours"])
    >>> journal = Journal(publisher, sink)
    >>> journal.hold(publisher.push_many(np.array([0.5, 0.5])))
    >>> journal.close()
    >>> len(sink.path.read_bytes().splitlines()), journal.rows, journal.groups
    (3, 2, 2)
    """

    def __init__(
        self,
        publisher: Publisher,
        sink: Sink,
        store: Store | None = None,
        question: dict[str, Any] | None = None,
        aside: Path | None = None,
    ) -> None:
        self._publisher, self._sink, self._store = publisher, sink, store
        asked = msgspec.msgpack.decode(msgspec.msgpack.encode(question or {}))  # as a checkpoint gives it back
        found = None if store is None else store.load()
        if found is not None and store is not None:
            found.refuse_other(asked, store.folder)
            publisher.restore(found.state)
        self.at = found or Checkpoint.begin(asked, publisher.state(), sink.header)
        self.rows, self.groups = self.at.rows, self.at.groups
        self._waiting: list[bytes] = []
        self._bad: list[bytes] = []
        self._worker = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None
        self._output, self._aside = self._opened(aside, fresh=found is None)
        self._emit(self.at.chunk, self.at.quarantined)

    def _opened(self, aside: Path | None, *, fresh: bool) -> tuple[Outlet, Outlet]:
        """Return where rows and bad records go; what is there already is refused, or cut back to the checkpoint."""
        if fresh:
            self._sink.refuse_existing()
            if aside is not None and aside.exists():
                raise InputError(f"quarantine '{aside}' exists; remove it or choose another name")
            if self._store is not None:
                self._store.save(self.at)
        return self._sink.open(self.at.output), Nowhere() if aside is None else Appended(aside, self.at.quarantine)

    def hold(self, published: Published, bad: bytes = b"") -> None:
        """Take rows that were published and bad records put aside; without a checkpoint they leave at once."""
        if len(published):
            self.rows += len(published)
            self.groups = int(published.group[-1]) + 1
        rows = self._sink.rendered(published)
        if self._store is None:
            self._emit(rows, bad)
        else:
            self._waiting.append(rows)
            self._bad.append(bad)

    @property
    def waiting(self) -> bool:
        """Whether rows wait for a checkpoint."""
        return any(self._waiting)

    def commit(self, read: Read, mark: str, *, ended: bool = False) -> None:
        """Begin to write the checkpoint, after which the rows leave that it holds; `mark` tells what was read.

        The disk is waited for beside the stream, one checkpoint at a time.
        """
        if self._store is None:
            return
        self.settle()
        self.at = msgspec.structs.replace(
            self.at,
            state=self._publisher.state(),
            mark=mark,
            offset=read.offset,
            records=read.records,
            rows=self.rows,
            groups=self.groups,
            chunk=b"".join(self._waiting),
            quarantined=b"".join(self._bad),
            ended=ended,
        )
        self._waiting, self._bad = [], []
        self._writing = self._worker.submit(self._write, self._store, self.at)

    def _write(self, store: Store, at: Checkpoint) -> None:
        self._output.settle()
        self._aside.settle()
        store.save(msgspec.structs.replace(at, output=self._output.place, quarantine=self._aside.place))
        self._emit(at.chunk, at.quarantined)

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
        finally:
            self._worker.shutdown()
            self._release()
        if complete:
            self._sink.finish()

    def _release(self) -> None:
        for outlet in (self._output, self._aside):
            outlet.settle()
            outlet.close()

    def discard(self) -> None:
        """Take everything away again, for a stream of which nothing has come yet and nothing has left."""
        for outlet in (self._output, self._aside):
            outlet.close()
            outlet.remove()
        if self._store is not None:
            self._store.remove()

    def _emit(self, rows: bytes, bad: bytes) -> None:
        if bad:
            self._aside.append(bad)
        if rows:
            self._output.append(rows)
