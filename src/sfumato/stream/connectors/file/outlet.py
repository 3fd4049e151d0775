"""Where bytes are appended to: a file that only grows, a pipe, or nowhere.

A file can be cut back to where a checkpoint left it, the undo of write-ahead logging (Mohan et al. 1992): what lies
behind the last checkpoint was never promised to be there. One process at a time appends to a file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from sfumato.core.files import hold
from sfumato.errors import InputError

PIECE = 1 << 20
OTHERS, PRIVATE, PUBLIC = 0o077, 0o600, 0o644


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
        self,
        path: Path,
        place: OutputMark = START,
        due: int = 0,
        left: str = "the checkpoint",
        descriptor: int | None = None,
    ) -> None:
        self._path, self._length, self._hash = path, place.length, hashlib.sha256()
        with _refuse_in_one_sentence(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PUBLIC) if descriptor is None else descriptor
            try:
                size = os.fstat(self._descriptor).st_size
                self._recognise(place, size, left)
                self._there = size if size > place.length + due else 0
                if not self._there:
                    os.ftruncate(self._descriptor, place.length)
                os.lseek(self._descriptor, place.length, os.SEEK_SET)
            except BaseException:
                os.close(self._descriptor)
                raise

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


def refuse_there(what: str, path: Path, *, shown: Path | None = None) -> None:
    """Refuse a file that is there already, also as a link that leads nowhere.

    >>> refuse_there("quarantine", Path("."))
    Traceback (most recent call last):
    sfumato.errors.InputError: quarantine '.' exists; remove it or choose another name
    """
    if os.path.lexists(path):
        raise InputError(f"{what} '{shown or path}' exists; remove it or choose another name")


def keep_private(path: Path) -> None:
    """Let nobody but its owner read a file that is there from before.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "bad.jsonl"
    >>> file.touch(0o644)
    >>> keep_private(file)
    >>> oct(file.stat().st_mode & 0o777)
    '0o600'
    """
    with _refuse_in_one_sentence(path), suppress(FileNotFoundError):
        path.chmod(PRIVATE)


def claim_file(path: Path, what: str, mode: int = PUBLIC, *, fresh: bool = False) -> int:
    """Return an open file that no other process claims; a `fresh` one must not be there yet, not even as a link.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "out.csv"
    >>> os.close(claim_file(file, "output", fresh=True))
    >>> claim_file(file, "output", fresh=True)
    Traceback (most recent call last):
    sfumato.errors.InputError: output '...out.csv' exists; remove it or choose another name
    """
    with _refuse_in_one_sentence(path):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | (os.O_EXCL if fresh else 0), mode)
        except FileExistsError:
            raise InputError(f"{what} '{path}' exists; remove it or choose another name") from None
    try:
        hold(descriptor, f"{what} '{path}'")
        if mode & OTHERS == 0:
            os.fchmod(descriptor, mode)  # it may be there from before, and readable
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def claimed(path: Path, what: str, mode: int = PUBLIC, *, fresh: bool = False) -> Iterator[int]:
    """Yield a file that was claimed; a `fresh` one is taken away again if the block fails.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "out.csv"
    >>> with claimed(file, "output", fresh=True) as descriptor:
    ...     outlet = Appended(file, descriptor=descriptor)
    """
    descriptor = claim_file(path, what, mode, fresh=fresh)
    try:
        yield descriptor
    except BaseException:
        if fresh:
            path.unlink(missing_ok=True)
        raise


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
