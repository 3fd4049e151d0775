"""Published rows out as CSV, JSON lines or Parquet, to a file that only grows or to a pipe.

Rows leave as soon as they may and stand in the file at once: value columns, group, size, seq and, where linked,
position. Parquet has its index at the end (Melnik et al. 2010), so its rows wait in `OUT.part` and become `OUT` when
the stream ends. A file can be cut back to where a checkpoint left it, the undo of write-ahead logging (Mohan et al.
1992): what lies behind the last checkpoint was never promised to be there.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.stream.base import Published, Publisher

STDOUT = Path("-")
TAIL = 1 << 12
CSV, TSV, JSON, PARQUET = "csv", "tsv", "json", "parquet"
ENDINGS = {".jsonl": JSON, ".ndjson": JSON, ".parquet": PARQUET, ".pq": PARQUET, ".tsv": TSV}
ROW_GROUP = 1 << 18


class OutputMark(msgspec.Struct, frozen=True):
    """How far an output has come: its length, and a hash of its last bytes to know it again.

    >>> OutputMark().length
    0
    """

    length: int = 0
    tail: str = hashlib.sha256(b"").hexdigest()


START = OutputMark()


class Outlet(Protocol):
    """Anything that bytes are appended to; `settle` returns once they are safe, `remove` takes all away."""

    @property
    def place(self) -> OutputMark: ...
    def append(self, chunk: bytes) -> None: ...
    def settle(self) -> None: ...
    def close(self) -> None: ...
    def remove(self) -> None: ...


class Appended:
    """A file that is only appended to, from the place where a checkpoint left it; what lies behind is cut off.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "out.csv"
    >>> outlet = Appended(file)
    >>> outlet.append(b"kept,")
    >>> kept = outlet.place
    >>> outlet.append(b"cut")
    >>> Appended(file, kept).append(b"again")
    >>> file.read_bytes()
    b'kept,again'
    """

    def __init__(self, path: Path, place: OutputMark = START) -> None:
        self._path, self._length = path, place.length
        start = max(0, place.length - TAIL)
        with _refuse_in_one_sentence(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            self._tail = os.pread(self._descriptor, place.length - start, start)
            self._cut(place)

    def _cut(self, place: OutputMark) -> None:
        if self.place != place:
            os.close(self._descriptor)
            raise InputError(
                f"output '{self._path}' is not what the checkpoint left; restore it, or begin another checkpoint"
            )
        os.ftruncate(self._descriptor, place.length)
        os.lseek(self._descriptor, place.length, os.SEEK_SET)

    @property
    def place(self) -> OutputMark:
        return OutputMark(self._length, hashlib.sha256(self._tail).hexdigest())

    def append(self, chunk: bytes) -> None:
        with _refuse_in_one_sentence(self._path):
            _write(self._descriptor, chunk)
        self._length += len(chunk)
        self._tail = (self._tail + chunk[-TAIL:])[-TAIL:]

    def settle(self) -> None:
        with _refuse_in_one_sentence(self._path):
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


class Piped:
    """Standard output: what has left cannot be called back, and its place means nothing.

    >>> Piped().place.length
    0
    """

    place = START

    def append(self, chunk: bytes) -> None:
        _write(1, chunk)

    def settle(self) -> None:
        """Nothing to wait for: the reader has it."""

    def close(self) -> None:
        """Standard output is not ours to close."""

    def remove(self) -> None:
        """What has left cannot be called back."""


class Nowhere:
    """Takes bytes and keeps nothing: for a stream that puts no record aside.

    >>> Nowhere().append(b"nothing")
    """

    place = START

    def append(self, chunk: bytes) -> None:
        """Forget the bytes."""

    def settle(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to close."""

    def remove(self) -> None:
        """Nothing to remove."""


class Sink:
    r"""Where the rows of one publisher go, under the names of its columns.

    >>> import tempfile, numpy as np
    >>> from sfumato.stream import NaiveLaplace
    >>> sink = Sink(Path(tempfile.mkdtemp()) / "out.csv", NaiveLaplace(bounds=(0, 1)), ["hours"])
    >>> sink.header
    b'hours,group,size,seq,position\n'
    >>> one = np.array([0])
    >>> sink.render(Published(np.array([2.5]), one, one + 1, one, one))
    b'2.5,0,1,0,0\n'
    """

    def __init__(self, path: str | Path, publisher: Publisher, names: Sequence[str]) -> None:
        self.path, self._publisher, self._names = Path(path), publisher, list(names)
        endings = [ending.casefold() for ending in self.path.suffixes]
        self._packed = endings[-1:] == [".gz"]
        self.form = ENDINGS.get(next((ending for ending in reversed(endings) if ending != ".gz"), ""), CSV)
        self._file = self.path.with_name(self.path.name + ".part") if self.form == PARQUET else self.path
        empty = np.empty((0, len(self._names)) if len(self._names) > 1 else 0)
        self._nothing = self._frame(publisher.push_many(empty))
        if self.form == PARQUET and self._packed:
            raise InputError(f"output '{path}': Parquet is compressed already; leave .gz out")

    @property
    def header(self) -> bytes:
        """What stands before the first row."""
        return b"" if self.form == JSON else self._write_frame(self._nothing, header=True)

    def render(self, published: Published) -> bytes:
        """The rows as they are written."""
        return self._write_frame(self._frame(published), header=False) if len(published) else b""

    def refuse_existing(self) -> None:
        """Refuse an output that is there already, or has no folder to be in."""
        if self.path == STDOUT:
            return
        if self.path.exists() or self._file.exists():
            raise InputError(f"output '{self.path}' exists; remove it or choose another name")
        if not self.path.parent.is_dir():
            raise InputError(f"output '{self.path}' cannot be written: there is no folder '{self.path.parent}'")

    def open(self, place: OutputMark) -> Outlet:
        """Return where the rows are appended, cut back to `place`; nowhere, once a Parquet file is complete."""
        if self.path == STDOUT:
            return Piped()
        return Nowhere() if self._is_finished else Appended(self._file, place)

    @property
    def _is_finished(self) -> bool:
        return self.form == PARQUET and self.path.exists() and not self._file.exists()

    def finish(self) -> None:
        """Make the Parquet file of the rows that wait for it; other files are complete as they are."""
        if self.form != PARQUET or self._is_finished:
            return
        fresh = self.path.with_name(f".{self.path.name}.partial")
        try:
            pl.scan_csv(self._file, schema=self._nothing.schema).sink_parquet(fresh, row_group_size=ROW_GROUP)
            fresh.replace(self.path)
            self._file.unlink()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"output '{self.path}' cannot be made of '{self._file}': {error}") from error

    def _frame(self, published: Published) -> pl.DataFrame:
        values = self._publisher.columns(published, self._names)
        texts = {
            name: pl.Series(column, dtype=pl.String) for name, column in values.items() if isinstance(column, list)
        }
        counts = {"group": published.group, "size": published.size, "seq": published.seq}
        places = {} if published.position is None else {"position": published.position}
        return pl.DataFrame({**values, **texts, **counts, **places})

    def _write_frame(self, frame: pl.DataFrame, *, header: bool) -> bytes:
        buffer = io.BytesIO()
        if self.form == JSON:
            frame.write_ndjson(buffer)
        else:
            frame.write_csv(buffer, include_header=header, separator="\t" if self.form == TSV else ",")
        return gzip.compress(buffer.getvalue(), 6, mtime=0) if self._packed else buffer.getvalue()


@contextmanager
def _refuse_in_one_sentence(path: Path) -> Iterator[None]:
    """Say in one sentence that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"output '{path}' cannot be written: {error.strerror}") from error


def _write(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
