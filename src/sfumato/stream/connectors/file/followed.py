"""A file that is read while it grows, through every rotation: moved away, moved over, made anew, or copied and cut.

The file that was open is read to its end before the next one, as `tail -F` of GNU coreutils does. A new file is opened
when it is first seen, so that it may be moved away or removed before its turn comes.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from pathlib import Path

from sfumato.errors import InputError
from sfumato.stream.connectors.file import inlet

TAIL = 1 << 10


class Followed:
    r"""The bytes of a file as it grows: None while nothing comes, no bytes at the end of a file that was rotated.

    `turn` goes on with the next file. `begun` is where the file lies now that is read first, if not under its name.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("a\n1\n")
    >>> log = Followed(file)
    >>> log.read()
    b'a\n1\n'
    >>> _ = file.rename(file.with_name("log.csv.1")), file.write_text("a\n2\n")
    >>> log.read(), log.turn(), log.read()
    (b'', True, b'a\n2\n')
    >>> log.close()
    """

    def __init__(self, path: Path, begun: Path | None = None) -> None:
        self.name, self._path = str(path), path
        self._file = inlet.open_input(begun or path)
        self._later: deque[int] = deque()
        self._place, self._tail, self._cut = 0, b"", False

    @property
    def inode(self) -> int:
        """The inode of the file that is read now."""
        return os.fstat(self._file).st_ino

    def read(self) -> bytes | None:
        over = self._look()  # before the read: what is written to a file comes before the next one has any bytes
        self._cut = not over and self._was_cut()
        if self._cut:
            return b""
        try:
            piece = os.read(self._file, inlet.PIECE)
        except OSError as error:
            raise InputError(f"file '{self.name}' cannot be read: {error.strerror}") from error
        if piece:
            self._place += len(piece)
            self._tail = (self._tail + piece[-TAIL:])[-TAIL:]
            return piece
        if over:
            return b""
        time.sleep(inlet.PATIENCE)
        return None

    def seek(self, place: int) -> int:
        """Go on from a place of the file that is read now; return its descriptor."""
        os.lseek(self._file, place, os.SEEK_SET)
        self._place, self._tail = place, os.pread(self._file, min(TAIL, place), max(0, place - TAIL))
        return self._file

    def turn(self) -> bool:
        """Go on with the next file, or with one that was cut from its beginning; return whether there is one."""
        if not self._cut and not self._later:
            return False
        if not self._cut:
            os.close(self._file)
            self._file = self._later.popleft()
        self.seek(0)
        self._cut = False
        return True

    def close(self) -> None:
        """Let the files go."""
        for descriptor in (self._file, *self._later):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = -1
        self._later.clear()

    def _look(self) -> bool:
        """Open the file that has the name now, if it is another one; return whether the one that is read is finished.

        It is once a later one has bytes: whoever writes has gone over to that.
        """
        newest = self._later[-1] if self._later else self._file
        try:
            there = self._path.stat()
            if not os.path.samestat(there, os.fstat(newest)):
                self._later.append(self._open())
        except FileNotFoundError:
            pass  # moved away, and the next one is not there yet
        except OSError as error:
            raise InputError(f"file '{self.name}' cannot be read: {error.strerror}") from error
        return len(self._later) > 1 or (len(self._later) == 1 and os.fstat(self._later[0]).st_size > 0)

    def _open(self) -> int:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InputError(f"file '{self.name}' was replaced by what is no file; put the file back")
        return descriptor

    def _was_cut(self) -> bool:
        """Return whether the file is shorter than what was read of it, or has other bytes there."""
        before = os.pread(self._file, len(self._tail), self._place - len(self._tail))
        return before != self._tail
