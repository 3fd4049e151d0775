"""A file that is held open: what is hashed is what is read, whatever happens to its name in the meantime.

A check by name and a read by name are two steps between which the file can be replaced (Bishop & Dilger 1996, "Checking
for race conditions in file accesses"). So both go through one open file, which keeps its content when another file
takes its name; a file that is written in place is noticed by the time of its inode's last change, which no program can
set.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.core.files import create_file
from sfumato.errors import InputError

OPEN_FILES = Path("/proc/self/fd")  # where Linux gives an open file a name of its own
CHUNK = 1 << 20
TICK_NS = 20_000_000  # the coarsest clock that stamps files: two changes within it may have the same time
Mark = tuple[int, int, int, int, int]
_HASHES: dict[Mark, str] = {}


class HeldFile:
    r"""One file, open from now on; `place` is a name that means this file and no other.

    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("age\n31\n")
    >>> held = HeldFile(folder / "a.csv")
    >>> held.is_current(), held.digest() == hashlib.sha256(b"age\n31\n").hexdigest()
    (True, True)
    >>> _ = (folder / "b.csv").write_text("age\n47\n")
    >>> _ = (folder / "b.csv").replace(folder / "a.csv")
    >>> held.is_current(), held.content()
    (False, b'age\n31\n')
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open(path)
        weakref.finalize(self, os.close, self._file)
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise InputError(f"file '{path}' cannot be read; check that it is a file and may be read")
        self._mark = self._settled_mark()
        self.place = str(OPEN_FILES / str(self._file)) if OPEN_FILES.is_dir() else self._copy()

    def is_current(self) -> bool:
        """Return whether the path still means this file, and nobody has written to it since it was opened."""
        try:
            return _mark(self.path.stat()) == self._mark
        except OSError:
            raise InputError(f"file '{self.path}' cannot be read; check that it is still there") from None

    def digest(self) -> str:
        """Return the SHA-256 of the content, remembered while the open file stays as it is."""
        if self._mark not in _HASHES:
            summed = hashlib.sha256()
            for chunk in self._chunks():
                summed.update(chunk)
            self.refuse_change()
            _HASHES[self._mark] = summed.hexdigest()
        return _HASHES[self._mark]

    def content(self) -> bytes:
        """Return all bytes of the file."""
        return b"".join(self._chunks())

    def start(self, size: int) -> bytes:
        """Return the first bytes of the file."""
        return os.pread(self._file, size, 0)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse what the block has read if somebody wrote to the file since it was opened."""
        try:
            yield
        except InputError:
            self.refuse_change()  # what went wrong may come from the writing
            raise
        self.refuse_change()

    def refuse_change(self) -> None:
        """Refuse a file that was written to since it was opened."""
        if self.place.startswith(str(OPEN_FILES)) and _mark(os.fstat(self._file)) != self._mark:
            raise InputError(f"file '{self.path}' changed while it was read; ask again when it stays as it is")

    def _chunks(self) -> Iterator[bytes]:
        place = 0
        while chunk := os.pread(self._file, CHUNK, place):
            yield chunk
            place += len(chunk)

    def _settled_mark(self) -> Mark:
        """Return the file's mark once any further change of it is sure to give another one."""
        while True:
            mark = _mark(os.fstat(self._file))
            age = time.time_ns() - max(mark[3:])
            if not 0 <= age < TICK_NS:
                return mark
            time.sleep((TICK_NS - age) / 1e9)

    def _copy(self) -> str:
        """Return the name of a private copy, where an open file has no name of its own."""
        folder = Path(tempfile.mkdtemp())  # for its owner alone
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        copy = create_file(folder / "rows")
        weakref.finalize(self, os.close, copy)
        for chunk in self._chunks():
            os.write(copy, chunk)
        if _mark(os.fstat(self._file)) != self._mark:
            raise InputError(f"file '{self.path}' changed while it was read; ask again when it stays as it is")
        self._file = copy
        return str(folder / "rows")


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise InputError(f"file '{path}' does not exist; check the name") from None
    except OSError:
        raise InputError(f"file '{path}' cannot be read; check that it is a file and may be read") from None


def _mark(status: os.stat_result) -> Mark:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
