"""Bytes out to a file that only grows, or to a pipe; a file can be cut back to where a checkpoint left it.

Cutting back is the undo of write-ahead logging (Mohan et al. 1992): what lies behind the last checkpoint was never
promised to be there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from sfumato.errors import InputError

STDOUT = Path("-")
TAIL = 1 << 12


class Place(msgspec.Struct, frozen=True):
    """How far an output has come: its length, and a hash of its last bytes to know it again.

    >>> Place().length
    0
    """

    length: int = 0
    tail: str = hashlib.sha256(b"").hexdigest()


START = Place()


class Outlet(Protocol):
    """Anything that bytes are appended to; `settle` returns once they are safe, `remove` takes all away."""

    @property
    def place(self) -> Place: ...
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

    def __init__(self, path: Path, place: Place = START) -> None:
        self._path, self._length = path, place.length
        start = max(0, place.length - TAIL)
        with _told(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            self._tail = os.pread(self._descriptor, place.length - start, start)
            self._cut(place)

    def _cut(self, place: Place) -> None:
        if self.place != place:
            os.close(self._descriptor)
            raise InputError(
                f"output '{self._path}' is not what the checkpoint left; restore it, or begin another checkpoint"
            )
        os.ftruncate(self._descriptor, place.length)
        os.lseek(self._descriptor, place.length, os.SEEK_SET)

    @property
    def place(self) -> Place:
        return Place(self._length, hashlib.sha256(self._tail).hexdigest())

    def append(self, chunk: bytes) -> None:
        with _told(self._path):
            _write(self._descriptor, chunk)
        self._length += len(chunk)
        self._tail = (self._tail + chunk[-TAIL:])[-TAIL:]

    def settle(self) -> None:
        with _told(self._path):
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


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in one sentence that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"output '{path}' cannot be written: {error.strerror}") from error


def _write(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
