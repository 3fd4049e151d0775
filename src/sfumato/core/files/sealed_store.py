"""Files that can be made again at any time: each with a checksum, and never more than a bounded size in all.

A damaged file is thrown away before anything in it is used. A file is written beside its place and renamed, so two
processes may write the same one. Nothing is flushed to the disk: what a power cut damages is noticed and made again.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SEALED = b"sfumato kernel 1\n"
DIGEST = 32
MOST_BYTES = 256 << 20
OLDEST = 90 * 86_400.0  # seconds since an entry was last used
USED_AGAIN = 86_400.0  # how often at most a use is noted
ENDING = ".kernel"
HALF = ".half-kernel-"
HALF_OLDEST = 3_600.0


@dataclass(frozen=True)
class SealedStore:
    """The files of one folder, each read only if it is as it was written; other files there are left alone.

    >>> import tempfile
    >>> store = SealedStore(Path(tempfile.mkdtemp()))
    >>> store.write("entry", b"content")
    >>> store.read("entry")
    b'content'
    >>> file = store.path("entry")
    >>> _ = file.write_bytes(file.read_bytes()[:-1])
    >>> store.read("entry"), file.exists()
    (None, False)
    """

    folder: Path

    def path(self, name: str) -> Path:
        """Return where the file of this name lies."""
        return self.folder / f"{name}{ENDING}"

    def read(self, name: str) -> bytes | None:
        """Return what was written under the name, or nothing if it is not there, damaged or cannot be read."""
        path = self.path(name)
        try:
            held = path.read_bytes()
            if time.time() - path.stat().st_mtime > USED_AGAIN:
                os.utime(path)
        except OSError:
            return None
        start = len(SEALED) + DIGEST
        content = held[start:]
        if held[: len(SEALED)] == SEALED and held[len(SEALED) : start] == hashlib.sha256(content).digest():
            return content
        self.drop(name)
        return None

    def write(self, name: str, content: bytes) -> None:
        """Keep the content under the name; an error of the disk leaves nothing behind and is raised."""
        half = self.folder / f"{HALF}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(SEALED + hashlib.sha256(content).digest())
                file.write(content)
            half.replace(self.path(name))
        except BaseException:
            with suppress(OSError):
                half.unlink()
            raise

    def drop(self, name: str) -> None:
        """Throw a file away."""
        with suppress(OSError):
            self.path(name).unlink()

    def tidy(self, most: int = MOST_BYTES, now: float | None = None) -> None:
        """Throw away what killed processes left, what was not used for long, and the least used above `most` bytes."""
        moment = time.time() if now is None else now
        total = 0
        for used, size, path in sorted(self._found(), reverse=True):
            total += size
            if total > most or moment - used > (HALF_OLDEST if path.name.startswith(HALF) else OLDEST):
                with suppress(OSError):
                    path.unlink()

    def _found(self) -> list[tuple[float, int, Path]]:
        found = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(ENDING) or entry.name.startswith(HALF):
                    with suppress(OSError):
                        stat = entry.stat(follow_symlinks=False)
                        found.append((stat.st_mtime, stat.st_size, Path(entry.path)))
        return found
