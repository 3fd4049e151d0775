"""Published rows out as CSV, JSON lines or Parquet, to a file that only grows or to a pipe.

Rows leave as soon as they may and stand in the file at once: value columns, group, size, seq and, where linked,
position. A window of which no row left has one without value and number, of size 0. Parquet has its index at the end
(Melnik et al. 2010), so its rows wait in `OUT.part` and become `OUT` when the stream ends. A file can be cut back to
where a checkpoint left it, the undo of write-ahead logging (Mohan et al. 1992): what lies behind the last checkpoint
was never promised to be there.
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
PIECE = 1 << 20
OTHERS = 0o077
CSV, TSV, JSON, PARQUET = "csv", "tsv", "json", "parquet"
ENDINGS = {".jsonl": JSON, ".ndjson": JSON, ".parquet": PARQUET, ".pq": PARQUET, ".tsv": TSV}
ROW_GROUP = 1 << 18


class OutputMark(msgspec.Struct, frozen=True):
    """How far an output has come: its length, and the hash of all that it held.

    >>> OutputMark().length
    0
    """

    length: int = 0
    digest: str = hashlib.sha256(b"").hexdigest()


START = OutputMark()


class Outlet(Protocol):
    """Anything that bytes are appended to; `settle` returns once they are safe, `remove` takes all away.

    `check` refuses bytes that are not what the output has there already, and `refuse_more` an output that has more.
    """

    @property
    def place(self) -> OutputMark: ...
    def check(self, chunk: bytes) -> None: ...
    def append(self, chunk: bytes) -> None: ...
    def refuse_more(self) -> None: ...
    def settle(self) -> None: ...
    def close(self) -> None: ...
    def remove(self) -> None: ...


class Appended:
    """A file that is only appended to, from the place where a checkpoint left it.

    What lies behind the place is cut off if it can be no more than the checkpoint's own rows, `due` bytes. If there is
    more, the checkpoint was put back from a backup: the file stays, and what is appended must be what it has already.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "out.csv"
    >>> outlet = Appended(file)
    >>> outlet.append(b"kept,")
    >>> kept = outlet.place
    >>> outlet.append(b"cut")
    >>> Appended(file, kept, due=5).append(b"again")
    >>> file.read_bytes()
    b'kept,again'
    >>> Appended(file, kept).append(b"agate")
    Traceback (most recent call last):
    sfumato.errors.InputError: output '...out.csv' has other rows from byte 8 on than this stream releases again: its \
input is another one, or the output is; restore what belongs together
    """

    def __init__(
        self, path: Path, place: OutputMark = START, due: int = 0, left: str = "the checkpoint", mode: int = 0o644
    ) -> None:
        self._path, self._length, self._hash = path, place.length, hashlib.sha256()
        with _refuse_in_one_sentence(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, mode)
            if mode & OTHERS == 0:
                os.fchmod(self._descriptor, mode)
            size = os.fstat(self._descriptor).st_size
            try:
                self._recognise(place, size, left)
            except InputError:
                os.close(self._descriptor)
                raise
            self._there = size if size > place.length + due else 0
            if not self._there:
                os.ftruncate(self._descriptor, place.length)
            os.lseek(self._descriptor, place.length, os.SEEK_SET)

    def _recognise(self, place: OutputMark, size: int, left: str) -> None:
        """Refuse an output that was cut or changed since the checkpoint."""
        if size < place.length:
            raise InputError(
                f"output '{self._path}' has {size} bytes where {left} left {place.length}: it was cut, or an older one "
                "put back; restore it, or begin another checkpoint"
            )
        while self._hashed < place.length:
            piece = os.pread(self._descriptor, min(PIECE, place.length - self._hashed), self._hashed)
            self._hash.update(piece)
            self._hashed += len(piece)
        if self._hash.hexdigest() != place.digest:
            raise InputError(
                f"the first {place.length} bytes of output '{self._path}' were changed since {left} was written; "
                "restore it, or begin another checkpoint"
            )

    _hashed = 0

    @property
    def place(self) -> OutputMark:
        return OutputMark(self._length, self._hash.hexdigest())

    @property
    def further(self) -> bool:
        """Whether the file has more than the checkpoint can have left."""
        return self._there > self._length

    def check(self, chunk: bytes) -> None:
        if not self.further:
            return
        there = os.pread(self._descriptor, len(chunk), self._length)
        if not chunk.startswith(there):
            same = next((place for place, pair in enumerate(zip(chunk, there, strict=False)) if pair[0] != pair[1]), 0)
            raise InputError(
                f"output '{self._path}' has other rows from byte {self._length + same} on than this stream releases "
                "again: its input is another one, or the output is; restore what belongs together"
            )

    def append(self, chunk: bytes) -> None:
        self.check(chunk)
        with _refuse_in_one_sentence(self._path):
            _write(self._descriptor, chunk)
        self._length += len(chunk)
        self._hash.update(chunk)

    def refuse_more(self) -> None:
        if self.further:
            raise InputError(
                f"output '{self._path}' has {self._there - self._length} bytes behind the last row of this stream; "
                "restore what belongs together"
            )

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

    def check(self, chunk: bytes) -> None:
        """Nothing is kept to compare with."""

    def append(self, chunk: bytes) -> None:
        _write(1, chunk)

    def refuse_more(self) -> None:
        """Nothing is kept to compare with."""

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

    def check(self, chunk: bytes) -> None:
        """Nothing is kept to compare with."""

    def append(self, chunk: bytes) -> None:
        """Forget the bytes."""

    def refuse_more(self) -> None:
        """Nothing is kept to compare with."""

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
        if not len(published) and not len(published.vacant):
            return b""
        return self._write_frame(self._with_vacant(published), header=False)

    def _with_vacant(self, published: Published) -> pl.DataFrame:
        """Return the rows, and a row without a value for each window that has none, in the windows' order."""
        rows, vacant = self._frame(published), published.vacant
        if not len(vacant):
            return rows
        zeros = np.zeros_like(vacant)
        markers = self._frame(Published(np.full(len(vacant), np.nan), vacant, zeros, zeros))
        blank = [pl.lit(None, dtype=rows.schema[name]).alias(name) for name in (*self._names, "seq")]
        return pl.concat([rows, markers.with_columns(blank)]).sort("group", maintain_order=True)

    @property
    def length(self) -> int:
        """How many bytes of rows lie in the file that they are appended to."""
        return self._file.stat().st_size if self.path != STDOUT and self._file.is_file() else 0

    def refuse_existing(self) -> None:
        """Refuse an output that is there already, or has no folder to be in."""
        if self.path == STDOUT:
            return
        if self.path.exists() or self._file.exists():
            raise InputError(f"output '{self.path}' exists; remove it or choose another name")
        if not self.path.parent.is_dir():
            raise InputError(f"output '{self.path}' cannot be written: there is no folder '{self.path.parent}'")

    @property
    def names(self) -> tuple[str, ...]:
        """The released columns."""
        return tuple(self._names)

    def open(self, place: OutputMark, due: int = 0, left: str = "the checkpoint", *, ended: bool = False) -> Outlet:
        """Return where the rows are appended, from `place` on; nowhere, once a Parquet file is complete.

        An output that is further than its checkpoint and whose bytes say nothing about single rows is refused.
        """
        if self.path == STDOUT:
            return Piped()
        if self._is_finished and ended:
            return Nowhere()
        outlet = None if self._is_finished else Appended(self._file, place, due, left)
        if outlet is None or (outlet.further and self._packed):
            if outlet is not None:
                outlet.close()
            raise InputError(
                f"output '{self.path}' is further than {left}, and its rows cannot be compared in this format; restore "
                "what belongs together"
            )
        return outlet

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
