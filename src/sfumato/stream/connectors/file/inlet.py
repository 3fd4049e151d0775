"""Bytes as they come: from a file, from a file that grows, or from a pipe, plain or compressed, and never all at once.

Nothing blocks for longer than a moment, so that whoever reads can look at the clock, write a checkpoint or stop
(the self-pipe problem, Stevens & Rago 2013, section 10, does not arise).
"""

from __future__ import annotations

import codecs
import os
import select
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sfumato.errors import InputError

STDIN, STANDARD_INPUT = Path("-"), 0
PIECE = 1 << 20
PATIENCE = 0.2
GZIP = b"\x1f\x8b"


class Inlet(Protocol):
    """Anything that gives pieces of bytes: None when nothing came for a moment, no bytes at the end."""

    def read(self) -> bytes | None: ...


class Raw:
    r"""The bytes of a file from `start` on, of a pipe, or of standard input (`-`).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "in.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> inlet = Raw(file, start=2)
    >>> inlet.read(), inlet.read()
    (b'1\n', b'')
    """

    inode: int | None = None  # a file that is at rest is known by its content alone

    def __init__(self, path: Path, *, start: int = 0) -> None:
        self.name = "standard input" if path == STDIN else str(path)
        self._path = path
        self._descriptor = STANDARD_INPUT if path == STDIN else open_input(path)
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
            return os.read(self._descriptor, PIECE)
        except BlockingIOError:
            return None
        except OSError as error:
            raise InputError(f"file '{self.name}' cannot be read: {error.strerror}") from error

    def seek(self, place: int) -> int:
        """Go on from a place of the file; return its descriptor."""
        os.lseek(self._descriptor, place, os.SEEK_SET)
        return self._descriptor

    def turn(self) -> bool:
        """Return False: no file comes after this one."""
        return False

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
        piece = self._waiting or self._packed.read()
        if piece is None:
            return None
        if not piece:
            return self._end()
        content = self._unpack(piece)
        dropped = min(self._skip, len(content))
        self._skip -= dropped
        return content[dropped:] or None  # whoever reads may want to stop while much is skipped

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
        piece = self._inlet.read()
        if piece is None:
            return None
        content = self._decode(piece)
        dropped = min(self._skip, len(content))
        self._skip -= dropped
        return content[dropped:] or (None if piece else b"")

    def _decode(self, piece: bytes) -> bytes:
        try:
            return self._decoder.decode(piece, final=not piece).encode()
        except UnicodeError as error:
            raise InputError(f"file '{self._name}' is not {self._encoding}; give the encoding it has") from error


def open_input(path: Path) -> int:
    """Return an open input; a pipe is not waited for here, so that a signal finds somebody who listens."""
    try:
        if path.is_dir():
            raise InputError(f"file '{path}' is a folder; give a file")
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InputError(f"file '{path}' does not exist; check the name") from None
    except OSError as error:
        raise InputError(f"file '{path}' cannot be read: {error.strerror}") from error
