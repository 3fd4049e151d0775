"""What an input is known by when a stream goes on: the first and the last bytes that were read of it, and its inode.

A file that is followed may be rotated: moved away, or copied and cut. Then the file that was read lies beside its name,
and is found there by its inode or its content, or the stream is refused.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sfumato.errors import InputError

if TYPE_CHECKING:
    from hashlib import _Hash

STDIN, PIPE = Path("-"), "pipe"
HEAD, TAIL = 1 << 16, 1 << 12


@dataclass(frozen=True)
class Mark:
    """A fingerprint in its parts: of a `part` or the `whole` of a file, up to its byte `end`; an inode, if it counts.

    >>> Mark.read("part:4:ab:17")
    Mark(kind='part', end=4, digest='ab', inode=17)
    """

    kind: str
    end: int = 0
    digest: str = ""
    inode: int | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the parts of a fingerprint."""
        kind, *more = text.split(":")
        if len(more) not in {2, 3}:
            return cls(kind)
        return cls(kind, int(more[0]), more[1], int(more[2]) if len(more) == 3 else None)

    def fits(self, path: Path) -> bool:
        """Return whether the file at `path` has this content, and grew at most."""
        size = path.stat().st_size
        if size != self.end if self.kind == "whole" else size < self.end:
            return False
        return _digest(path, self.end) == self.digest


class Trace:
    r"""What was read of a file so far: its length, the hash of its first bytes, and its last bytes.

    >>> trace = Trace()
    >>> trace.take(b"a\n")
    >>> trace.take(b"1\n")
    >>> trace.copy().mark == Trace.of_start(b"a\n1\n").mark
    True
    """

    def __init__(self, inode: int | None = None) -> None:
        self.end, self._inode = 0, inode
        self._head: _Hash = hashlib.sha256()
        self._tail = b""

    @classmethod
    def of_start(cls, start: bytes, inode: int | None = None) -> Trace:
        """Return the trace of a file of which only the beginning was read."""
        trace = cls(inode)
        trace.take(start)
        return trace

    @classmethod
    def of_file(cls, descriptor: int, end: int, inode: int | None = None) -> Trace:
        """Return the trace of an open file that was read up to its byte `end`."""
        trace = cls(inode)
        trace._head.update(os.pread(descriptor, min(HEAD, end), 0))
        trace._tail, trace.end = os.pread(descriptor, min(TAIL, end), max(0, end - TAIL)), end
        return trace

    def take(self, data: bytes) -> None:
        """Take what was read next."""
        if self.end < HEAD:
            self._head.update(data[: HEAD - self.end])
        self._tail = data[-TAIL:] if len(data) >= TAIL else (self._tail + data)[-TAIL:]
        self.end += len(data)

    def copy(self) -> Trace:
        """Return the trace as it is now."""
        trace = Trace(self._inode)
        trace.end, trace._head, trace._tail = self.end, self._head.copy(), self._tail
        return trace

    @property
    def mark(self) -> str:
        """The fingerprint of what was read."""
        digest = self._head.copy()
        digest.update(self._tail)
        told = f"part:{self.end}:{digest.hexdigest()}"
        return told if self._inode is None else f"{told}:{self._inode}"


def mark(path: Path, offset: int, *, grows: bool) -> str:
    """Return a fingerprint by which an input is known again: of what was read up to `offset`, or of a whole file.

    A text file may grow afterwards; a pipe has no fingerprint.

    >>> mark(Path("-"), 0, grows=True)
    'pipe'
    """
    try:
        if path == STDIN or not stat.S_ISREG(path.stat().st_mode):
            return PIPE
        end = offset if grows else path.stat().st_size
        return f"{'part' if grows else 'whole'}:{end}:{_digest(path, end)}"
    except OSError as error:
        raise InputError(f"file '{path}' cannot be read any more: {error.strerror}; put it back") from error


def is_known(path: Path, fingerprint: str) -> bool:
    r"""Return whether the input at `path` is the one that has this fingerprint, grown at most.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> before = mark(file, 4, grows=True)
    >>> _ = file.write_text("a\n1\n2\n")
    >>> is_known(file, before), is_known(Path("-"), before)
    (True, False)
    """
    known, piped = Mark.read(fingerprint), path == STDIN or not path.is_file()
    if piped or known.kind == PIPE:
        return piped and known.kind == PIPE
    return known.inode in {None, path.stat().st_ino} and known.fits(path)


def has_grown(path: Path, fingerprint: str) -> bool:
    """Return whether an input has more in it than what the fingerprint was taken of.

    >>> has_grown(Path("-"), "pipe")
    False
    """
    known = Mark.read(fingerprint)
    return known.kind == "part" and path.is_file() and path.stat().st_size > known.end


def find_followed(path: Path, fingerprint: str) -> Path:
    r"""Return where the file lies now that was followed under `path`: there, or beside it where it was rotated once.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> read = Trace.of_start(b"a\n1\n", file.stat().st_ino).mark
    >>> _ = file.rename(file.with_name("log.csv.1"))
    >>> find_followed(file, read).name
    'log.csv.1'
    """
    try:
        return path if path.is_file() and is_known(path, fingerprint) else _find_rotated(path, Mark.read(fingerprint))
    except OSError as error:  # rotated at this very moment
        raise InputError(f"input '{path}' cannot be read: {error.strerror}; start again") from error


def _find_rotated(path: Path, known: Mark) -> Path:
    beside = sorted(_rotated(path), key=lambda file: file.stat().st_mtime_ns)
    cut = path.is_file() and path.stat().st_ino == known.inode  # then what was read is a copy
    found = [file for file in beside if (cut or file.stat().st_ino == known.inode) and known.fits(file)]
    if known.inode is None or not found:
        raise InputError(
            f"input '{path}' is not what this checkpoint was reading, and that is not beside it; give that, or another "
            "folder"
        )
    newest = beside[-1]
    if found[-1] != newest or any(file.stat().st_mtime_ns == newest.stat().st_mtime_ns for file in beside[:-1]):
        raise InputError(
            f"input '{path}' was rotated more than once since this checkpoint, which was reading '{found[-1]}'; begin "
            "another stream, with another checkpoint"
        )
    return newest


def _rotated(path: Path) -> Iterator[Path]:
    """Yield the files beside a name that a rotation can have made of it."""
    for file in path.parent.iterdir():
        if file.name.startswith(path.name) and file.name != path.name and file.is_file() and not file.is_symlink():
            yield file


def _digest(path: Path, end: int) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(min(HEAD, end)))
        file.seek(max(0, end - TAIL))
        digest.update(file.read(min(TAIL, end)))
    return digest.hexdigest()
