"""Files that appear whole: the one way to write, for releases, records and whatever stems from raw rows.

An output is written beside its place under a temporary name. A finished set is flushed and linked into place, the file
that was placed first as the last one, so that data are never seen without their card. A file that is already there is
replaced only where that is asked for, and never a ledger, a kept folder or an input.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from sfumato.core.files.durable import (
    append_durably,
    create_file,
    flush_file,
    flush_folder,
    flush_tree,
    hold,
    hold_folder,
    lock_now,
    move_folder,
    open_lock,
    sha256_of,
    write_durably,
)
from sfumato.core.files.journal import PREFIX, Journal, Move
from sfumato.core.files.paths import (
    LOCK,
    refuse_inside,
    refuse_output,
    refuse_replacing,
    refuse_same_files,
    same_file,
    state_folder,
)
from sfumato.errors import InputError

__all__ = [
    "LOCK",
    "Staging",
    "append_durably",
    "create_file",
    "fill",
    "flush_file",
    "flush_folder",
    "flush_tree",
    "hold",
    "hold_folder",
    "lock_now",
    "move_folder",
    "open_lock",
    "refuse_inside",
    "refuse_output",
    "refuse_replacing",
    "refuse_same_files",
    "same_file",
    "sha256_of",
    "state_folder",
    "write_durably",
]


@dataclass(frozen=True)
class Placed:
    """An output: its temporary path, its final one, and the journal of its folder."""

    temporary: Path
    target: Path
    journal: Journal


class Staging:
    """Collects output files and moves them into place when the block ends without an error.

    `force` replaces files that are there, except a ledger, what lies in the folder of a history or checkpoint, and
    the files in `inputs` (also under another name: they are compared by device and inode).

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "card.json"
    >>> with Staging() as staging:
    ...     fill(staging.place(target), "{}")
    ...     target.exists()
    False
    >>> target.read_text()
    '{}'
    >>> with Staging(force=True) as staging:
    ...     fill(staging.place(target), "{1}")
    >>> target.read_text()
    '{1}'
    """

    def __init__(self, *, force: bool = False, inputs: Sequence[str | Path | None] = ()) -> None:
        self._placed: list[Placed] = []
        self._reserved: list[Path] = []
        self._journals: dict[Path, Journal] = {}
        self._force, self._inputs = force, [Path(path) for path in inputs if path is not None]

    def __enter__(self) -> Self:
        return self

    def place(self, target: str | Path, *, secret: bool = False) -> Path:
        """Return the temporary path to write for `target`; refuse a target that exists or cannot be made.

        A `secret` file is for its owner alone from its first byte: whatever stems from raw rows.
        """
        path = Path(target)
        try:
            self._refuse(path)
            self.reserve(path)
            journal = self._journal(path.parent)
            temporary = journal.temporary(path.name)
            if secret:
                os.close(create_file(temporary))
        except OSError as error:
            raise InputError(f"output '{path}' cannot be written: {error.strerror or error}") from error
        self._placed.append(Placed(temporary, path, journal))
        return temporary

    def place_folder(self, target: str | Path) -> Path:
        """Return the path of a folder to make and fill for `target`; it appears as the files of the set do.

        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "rows"
        >>> with Staging() as staging:
        ...     folder = staging.place_folder(target)
        ...     folder.mkdir()
        ...     (folder / "part.csv").touch()
        >>> [path.name for path in target.iterdir()]
        ['part.csv']
        """
        path = Path(target)
        try:
            refuse_output(path, replaceable=False)
            self.reserve(path)
            journal = self._journal(path.parent)
            beside = journal.temporary("")
            beside.mkdir(mode=0o700)
        except OSError as error:
            raise InputError(f"output '{path}' cannot be written: {error.strerror or error}") from error
        self._placed.append(Placed(beside / "rows", path, journal))
        return beside / "rows"

    def reserve(self, target: str | Path) -> None:
        """Refuse a path that another output of this set has; the caller writes it by itself, after the others."""
        path = Path(target)
        if any(same_file(path, taken) for taken in self._reserved):
            raise InputError(f"output '{path}' is named twice; choose another name for one of the two")
        self._reserved.append(path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for journal in self._journals.values():
                with suppress(OSError):
                    journal.close()
        if isinstance(error, OSError):
            raise InputError(f"output cannot be written: {error.strerror or error}") from error

    def _journal(self, folder: Path) -> Journal:
        if folder not in self._journals:
            self._journals[folder] = Journal(folder)
        return self._journals[folder]

    def _refuse(self, path: Path) -> None:
        if self._force and os.path.lexists(path):
            refuse_replacing(path, self._inputs)
        else:
            refuse_output(path)

    def _commit(self) -> None:
        moves = self._record()
        target: Path | None = None
        try:
            self._clear(moves)
            for number, (placed, _) in enumerate(moves):
                target = placed.target
                if number == len(moves) - 1:
                    self._flush_folders()  # the first of the set appears when all others are on the disk
                _move_without_replacing(placed.temporary, target)
            self._flush_folders()
        except BaseException as error:
            for placed, move in reversed(moves):
                with suppress(OSError):
                    move.undo(placed.target.parent)
            if isinstance(error, FileExistsError):
                raise InputError(f"output '{target}' appeared meanwhile; choose another name") from error
            if isinstance(error, OSError):
                place = target or error.filename
                raise InputError(f"output '{place}' cannot be written: {error.strerror or error}") from error
            raise

    def _clear(self, moves: list[tuple[Placed, Move]]) -> None:
        """Keep what will be replaced under the names in the journal, the data first: never without their card."""
        if not self._force:
            return
        for placed, move in reversed(moves):
            self._refuse(placed.target)  # it may have become another file meanwhile
            if move.replaced is not None and os.path.lexists(placed.target):
                placed.target.rename(placed.target.with_name(move.replaced))
        self._flush_folders()  # or a power cut could keep a new file and lose the old one

    def _record(self) -> list[tuple[Placed, Move]]:
        """Return what will be moved, in that order, once all of it is on the disk and in the journals."""
        moves: list[tuple[Placed, Move]] = []
        for placed in reversed(self._placed):
            try:
                flush_tree(placed.temporary) if placed.temporary.is_dir() else flush_file(placed.temporary)
                about = placed.temporary.stat()
            except OSError as error:
                raise InputError(f"output '{placed.target}' cannot be written: {error.strerror or error}") from error
            replaced = placed.journal.temporary("").name if self._force else None
            name = placed.temporary.relative_to(placed.target.parent).parts[0]
            moves.append((placed, Move(name, placed.target.name, about.st_dev, about.st_ino, replaced)))
        for journal in self._journals.values():
            journal.record([move for placed, move in moves if placed.journal is journal])
        return moves

    def _flush_folders(self) -> None:
        for folder in self._journals:
            flush_folder(folder)


def fill(place: Path, content: str | bytes) -> None:
    """Write a text into a place that a `Staging` has given; any other path is refused.

    >>> fill(Path("out.csv"), "")
    Traceback (most recent call last):
    ValueError: 'out.csv' was not given by a Staging
    """
    if not place.name.startswith(PREFIX):
        raise ValueError(f"'{place}' was not given by a Staging")
    place.write_bytes(content.encode() if isinstance(content, str) else content)


def _move_without_replacing(temporary: Path, target: Path) -> None:
    if temporary.is_dir():
        if os.path.lexists(target):
            raise FileExistsError(target)
        temporary.rename(target)
        return
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.close(create_file(target))
        try:
            temporary.replace(target)
        except BaseException:
            target.unlink()
            raise
