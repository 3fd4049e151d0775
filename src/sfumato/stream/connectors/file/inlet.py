"""Bytes as they come: from a file, from a file that grows, or from a pipe, plain or compressed, and never all at once.

Nothing blocks for longer than a moment, so that whoever reads can look at the clock, write a checkpoint or stop
(the self-pipe problem, Stevens & Rago 2013, section 10, does not arise).
"""

from __future__ import annotations

import codecs
import hashlib
import os
import select
import stat
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sfumato.errors import InputError

STDIN, STANDARD_INPUT = Path("-"), 0
PIECE = 1 << 20
PATIENCE = 0.2
HEAD, TAIL = 1 << 16, 1 << 12
GZIP = b"\x1f\x8b"


class Inlet(Protocol):
    """Anything that gives pieces of bytes: None when nothing came for a moment, no bytes at the end."""

    def read(self) -> bytes | None: ...


class Raw:
    r"""The bytes of a file from `start` on, of a growing file (`follow`), or of standard input (`-`).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> inlet = Raw(file, start=2)
    >>> inlet.read(), inlet.read()
    (b'1\n', b'')
    """

    def __init__(self, path: Path, *, start: int = 0, follow: bool = False) -> None:
        self.name = "standard input" if path == STDIN else str(path)
        self._path, self._follow, self._place = path, follow, start
        self._descriptor = STANDARD_INPUT if path == STDIN else _open_input(path)
        self._ready = select.poll()
        self._ready.register(self._descriptor, select.POLLIN)
        if start:
            os.lseek(self._descriptor, start, os.SEEK_SET)
        with suppress(ImportError, OSError, AttributeError):
            import fcntl

            fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, PIECE)  # fewer, larger pieces; not every system can

    def read(self) -> bytes | None:
        if not self._ready.poll(1000 * PATIENCE):
            return None
        try:
            piece = os.read(self._descriptor, PIECE)
        except OSError as error:
            raise InputError(f"file '{self.name}' cannot be read: {error.strerror}") from error
        self._place += len(piece)
        if piece or not self._follow:
            return piece
        if self._path.stat().st_size < self._place:
            raise InputError(f"file '{self.name}' was cut while it was followed; start again from what is in it now")
        time.sleep(PATIENCE)
        return None

    def close(self) -> None:
        """Let the file go; standard input is not ours to close."""
        if self._path != STDIN and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Begun:
    """An inlet whose first piece was looked at and is given again.

    >>> class Empty:
    ...     def read(self) -> bytes | None:
    ...         return b""
    >>> inlet = Begun(b"PAR1", Empty())
    >>> inlet.read(), inlet.read()
    (b'PAR1', b'')
    """

    def __init__(self, first: bytes, rest: Inlet) -> None:
        self._first, self._rest = first, rest

    def read(self) -> bytes | None:
        if self._first:
            first, self._first = self._first, b""
            return first
        return self._rest.read()


class Spent:
    """An inlet with nothing in it.

    >>> NOTHING.read()
    b''
    """

    def read(self) -> bytes | None:
        return b""


NOTHING = Spent()


class Unzipped:
    """The content of gzip members, one after another, from the byte `skip` of it on.

    >>> import gzip
    >>> class Empty:
    ...     def read(self) -> bytes | None:
    ...         return b""
    >>> Unzipped(Begun(gzip.compress(b"abc"), Empty()), "a.gz", skip=1).read()
    b'bc'
    """

    def __init__(self, packed: Inlet, name: str, *, skip: int = 0) -> None:
        self._packed, self._name, self._skip = packed, name, skip
        self._member, self._waiting, self._begun = zlib.decompressobj(wbits=31), b"", False

    def read(self) -> bytes | None:
        while True:
            piece = self._waiting or self._packed.read()
            if piece is None:
                return None
            if not piece:
                return self._end()
            content = self._unpack(piece)
            dropped = min(self._skip, len(content))
            self._skip -= dropped
            if len(content) > dropped:
                return content[dropped:]

    def _unpack(self, piece: bytes) -> bytes:
        self._begun = True
        try:
            content = self._member.decompress(piece, PIECE)
        except zlib.error as error:
            raise InputError(f"file '{self._name}' is a damaged gzip file: {error}") from error
        self._waiting = self._member.unconsumed_tail
        if self._member.eof:
            self._waiting = self._member.unused_data.lstrip(b"\0")
            self._member, self._begun = zlib.decompressobj(wbits=31), bool(self._waiting)
        return content

    def _end(self) -> bytes:
        if self._begun:
            raise InputError(f"file '{self._name}' is a damaged gzip file: it ends in the middle")
        return b""


class Recoded:
    """The text of an inlet in UTF-8, from the byte `skip` of that on.

    >>> Recoded(Begun("Zürich".encode("latin-1"), Begun(b"", NOTHING)), "latin-1", "a.csv", skip=1).read().decode()
    'ürich'
    """

    def __init__(self, inlet: Inlet, encoding: str, name: str, *, skip: int = 0) -> None:
        self._inlet, self._encoding, self._name, self._skip = inlet, encoding, name, skip
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read(self) -> bytes | None:
        while True:
            piece = self._inlet.read()
            if piece is None:
                return None
            content = self._decode(piece)
            dropped = min(self._skip, len(content))
            self._skip -= dropped
            if len(content) > dropped or not piece:
                return content[dropped:]

    def _decode(self, piece: bytes) -> bytes:
        try:
            return self._decoder.decode(piece, final=not piece).encode()
        except UnicodeError as error:
            raise InputError(f"file '{self._name}' is not {self._encoding}; give the encoding it has") from error


def mark(path: Path, offset: int, *, grows: bool) -> str:
    """Return a fingerprint by which an input is known again: of what was read up to `offset`, or of a whole file.

    A text file may grow afterwards; a pipe has no fingerprint.

    >>> mark(Path("-"), 0, grows=True)
    'pipe'
    """
    if path == STDIN or not stat.S_ISREG(path.stat().st_mode):
        return "pipe"
    size = path.stat().st_size
    return _fingerprint(path, offset, "part") if grows else _fingerprint(path, size, "whole")


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
    kind, _, rest = fingerprint.partition(":")
    if kind == "pipe" or mark(path, 0, grows=True) == "pipe":
        return fingerprint == mark(path, 0, grows=True)
    end, size = int(rest.partition(":")[0]), path.stat().st_size
    whole = kind == "whole"
    return (size == end if whole else size >= end) and _fingerprint(path, end, kind) == fingerprint


def has_grown(path: Path, fingerprint: str) -> bool:
    """Return whether an input has more in it than what the fingerprint was taken of.

    >>> has_grown(Path("-"), "pipe")
    False
    """
    kind, _, rest = fingerprint.partition(":")
    return kind == "part" and path.stat().st_size > int(rest.partition(":")[0])


def _fingerprint(path: Path, end: int, kind: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256(file.read(min(HEAD, end)))
        file.seek(max(0, end - TAIL))
        digest.update(file.read(min(TAIL, end)))
    return f"{kind}:{end}:{digest.hexdigest()}"


def _open_input(path: Path) -> int:
    try:
        if path.is_dir():
            raise InputError(f"file '{path}' is a folder; give a file")
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise InputError(f"file '{path}' does not exist; check the name") from None
    except OSError as error:
        raise InputError(f"file '{path}' cannot be read: {error.strerror}") from error
