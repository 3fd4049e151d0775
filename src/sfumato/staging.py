"""Several output files that appear together, complete, or not at all.

Each is written beside its place under a temporary name; a finished set is linked into place without
ever replacing a file that is already there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sfumato.errors import InputError


class Staging:
    """Collects output files and moves them into place when the block ends without an error.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "card.json"
    >>> with Staging() as staging:
    ...     _ = staging.place(target).write_text("{}")
    ...     target.exists()
    False
    >>> target.read_text()
    '{}'
    """

    def __init__(self) -> None:
        self._moves: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        return self

    def place(self, target: str | Path) -> Path:
        """Return the temporary path to write for `target`; refuse a target that exists or cannot be made."""
        path = Path(target)
        if path.exists():
            raise InputError(f"output '{path}' exists; remove it or choose another name")
        if any(path.resolve() == taken.resolve() for _, taken in self._moves):
            raise InputError(f"output '{path}' is named twice; choose another name for one of the two")
        if not path.parent.is_dir():
            raise InputError(f"output '{path}' cannot be written: there is no folder '{path.parent}'")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"output '{path}' cannot be written: folder '{path.parent}' is read-only")
        temporary = path.with_name(f".{os.getpid()}.partial-{path.name}")
        self._moves.append((temporary, path))
        return temporary

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            for temporary, _ in self._moves:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"output cannot be written: {error.strerror or error}") from error

    def _commit(self) -> None:
        done: list[Path] = []
        try:
            for temporary, target in self._moves:
                _move_without_replacing(temporary, target)
                done.append(target)
        except BaseException as error:
            for moved in done:
                with suppress(OSError):
                    moved.unlink()
            if isinstance(error, FileExistsError):
                raise InputError(f"output '{target}' appeared meanwhile; choose another name") from error
            if isinstance(error, OSError):
                raise InputError(f"output '{target}' cannot be written: {error.strerror or error}") from error
            raise


def _move_without_replacing(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        target.open("xb").close()
        try:
            temporary.replace(target)
        except BaseException:
            target.unlink()
            raise
