"""Files that a steward sends: bounded, for their owner alone, under a plain name in a folder that they cannot leave.

A file appears under its name when all of it has come (OWASP, "File upload cheat sheet").
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.files import create_file, flush_folder
from sfumato.errors import InputError
from sfumato.random import SecureSource
from sfumato.serve import acts
from sfumato.serve.home import Home
from sfumato.serve.names import file_name, inside


@dataclass
class Arrival:
    """A body that is written to the disk as it comes; `close` takes away what nobody has taken over.

    >>> import tempfile
    >>> arrival = Arrival.begin(Path(tempfile.mkdtemp()))
    >>> arrival.write(b"hour")
    >>> arrival.size
    4
    >>> arrival.close()
    """

    path: Path
    descriptor: int
    size: int = 0

    @classmethod
    def begin(cls, folder: Path) -> Arrival:
        """Return a new place for a body in a folder."""
        path = folder / f"upload-{SecureSource().words(4).tobytes().hex()}"
        return cls(path, create_file(path))

    def write(self, part: bytes) -> None:
        """Write what has come."""
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]
        self.size += len(part)

    def close(self) -> None:
        """Let it go."""
        os.close(self.descriptor)
        with suppress(FileNotFoundError):
            self.path.unlink()


def keep_file(home: Home, name: str, arrival: Arrival, by: str) -> int:
    """Give an upload its name and return its size; a file that is there is not replaced."""
    place = inside(home.files, file_name(name))
    os.fsync(arrival.descriptor)
    try:
        os.link(arrival.path, place)
    except FileExistsError:
        raise InputError(f"there is a file '{name}' already; remove it first, or choose another name") from None
    flush_folder(home.files)
    with home.database.writing() as book:
        acts.record(book, by, "uploaded a file", {"file": name, "bytes": arrival.size})
    return arrival.size


def remove_file(home: Home, name: str, by: str) -> bool:
    """Take away an uploaded file; return whether it was there."""
    place = inside(home.files, file_name(name))
    if not place.is_file():
        return False
    with home.database.writing() as book:
        acts.record(book, by, "removed a file", {"file": name})
        place.unlink(missing_ok=True)
    return True


def listed_files(home: Home) -> list[tuple[str, int]]:
    """Return the uploaded files and their sizes."""
    return sorted((entry.name, entry.stat().st_size) for entry in home.files.iterdir() if entry.is_file())
