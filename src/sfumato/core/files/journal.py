"""The journal of a folder into which files are moved: whoever comes next tidies up after a run that was killed.

A journal is held by the process that moves files. One that nobody holds was left by a killed run: files that it had
moved are taken back unless the last one, which is moved when all others are on the disk, is there; its temporary files
go. Whether a file was moved is seen by its device and inode, so nothing else can be taken for it. Only journals of
this user count.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import stat
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Self

from sfumato.core.files.durable import create_file, flush_folder, lock_now

PREFIX = ".sfumato-"
JOURNAL = re.compile(re.escape(PREFIX) + r"([0-9a-f]{16})\.journal")
TEMPORARY = re.compile(re.escape(PREFIX) + r"([0-9a-f]{16})-")
LARGEST = 1_000_000  # bytes
ENDING = re.compile(r"(\.[^./]{1,16}){1,2}$")


@dataclass(frozen=True)
class Move:
    """A file to be moved: its temporary name, its final one, which file it is, and where what it replaces is kept."""

    temporary: str
    target: str
    device: int
    inode: int
    replaced: str | None = None

    def done(self, folder: Path) -> bool:
        """Whether the file lies under its final name."""
        with suppress(OSError):
            found = os.lstat(folder / self.target)
            return (found.st_dev, found.st_ino) == (self.device, self.inode)
        return False

    def undo(self, folder: Path) -> None:
        """Take the file away from its final name, and put back what it replaced."""
        if self.done(folder):
            _remove(folder / self.target)
        if self.replaced is not None and not os.path.lexists(folder / self.target):
            with suppress(FileNotFoundError):
                (folder / self.replaced).rename(folder / self.target)


class Journal:
    """A folder's record of one run's files, held until it is closed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Journal(folder) as journal:
    ...     journal.temporary("a.csv.gz").name.endswith("-0.csv.gz"), len(list(folder.iterdir()))
    (True, 1)
    >>> list(folder.iterdir())
    []
    """

    def __init__(self, folder: Path) -> None:
        tidy(folder)
        self.folder = folder
        self._given = 0
        self.token, self.path, self._descriptor = _held(folder)

    def temporary(self, name: str) -> Path:
        """Return a new temporary path with the ending of a final name, since an ending tells a format."""
        found = ENDING.search(name)
        made = f"{PREFIX}{self.token}-{self._given}{found.group() if found else ''}"
        self._given += 1
        return self.folder / made

    def record(self, moves: list[Move]) -> None:
        """Write down what will be moved, on the disk before the first file is."""
        os.pwrite(self._descriptor, json.dumps([astuple(move) for move in moves]).encode(), 0)
        os.fsync(self._descriptor)
        flush_folder(self.folder)

    def close(self) -> None:
        """Remove the temporary files and the journal."""
        _sweep(self.folder, self.token)
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _held(folder: Path) -> tuple[str, Path, int]:
    """Return a new journal's token, path and descriptor, locked; another's tidying may take one away unlocked."""
    while True:
        token = secrets.token_hex(8)
        path = folder / f"{PREFIX}{token}.journal"
        descriptor = create_file(path)
        if lock_now(descriptor) and os.fstat(descriptor).st_nlink:
            return token, path, descriptor
        os.close(descriptor)


def tidy(folder: Path) -> None:
    """Take back what killed runs of this user left in a folder, or finish tidying where they were done."""
    for entry in os.scandir(folder):
        found = JOURNAL.fullmatch(entry.name)
        if found:
            with suppress(OSError):
                _tidy_after(folder, found.group(1), Path(entry.path))
    _sweep_strays(folder)


def _sweep_strays(folder: Path) -> None:
    """Remove this user's temporary files without a journal: a power cut can keep their names and lose that of it."""
    for entry in os.scandir(folder):
        found = TEMPORARY.match(entry.name)
        if found and not os.path.lexists(folder / f"{PREFIX}{found.group(1)}.journal"):
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                    _remove(Path(entry.path))


def _tidy_after(folder: Path, token: str, path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        about = os.fstat(descriptor)
        ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
        if not ours or not lock_now(descriptor):
            return
        moves = _recorded(os.read(descriptor, LARGEST), token)
        if moves and not moves[-1].done(folder):
            for move in moves:
                move.undo(folder)
        _sweep(folder, token)
    finally:
        os.close(descriptor)


def _recorded(content: bytes, token: str) -> list[Move]:
    """Return the moves of a journal; without a whole record none was made."""
    try:
        moves = [Move(*row) for row in json.loads(content)]
        names = [name for move in moves for name in (move.temporary, move.target, move.replaced or move.temporary)]
        plain = all(name == Path(name).name not in {"", ".", ".."} for name in names)
    except (ValueError, TypeError, RecursionError):
        return []
    kept = all((move.replaced or move.temporary).startswith(f"{PREFIX}{token}-") for move in moves)
    return moves if plain and kept else []


def _remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _sweep(folder: Path, token: str) -> None:
    """Remove a run's temporary files, and its journal last."""
    for entry in os.scandir(folder):
        if entry.name.startswith(f"{PREFIX}{token}-"):
            with suppress(OSError):
                _remove(Path(entry.path))
    with suppress(OSError):
        (folder / f"{PREFIX}{token}.journal").unlink()
