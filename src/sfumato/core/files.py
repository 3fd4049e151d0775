"""Files that appear whole: several outputs together or not at all, and records that survive a crash.

An output is written beside its place under a temporary name, and a finished set is linked into place without ever
replacing a file that is already there. The order of steps of a durable write is that of Pillai et al. (2014): write
beside, flush, rename, flush the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sfumato.errors import InputError

LOCK = ".lock"


def sha256_of(path: Path) -> str:
    """Return the hash of a file's bytes, by which a card or a piece of evidence names it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "empty"
    >>> file.touch()
    >>> sha256_of(file)[:8]
    'e3b0c442'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        refuse_output(path)
        if any(path.resolve() == taken.resolve() for _, taken in self._moves):
            raise InputError(f"output '{path}' is named twice; choose another name for one of the two")
        temporary = path.with_name(f".partial-{os.getpid()}-{path.name}")  # with the ending, which tells a format
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


def refuse_output(path: Path) -> None:
    """Refuse a place for output that exists or cannot be made.

    >>> refuse_output(Path("no-such-folder/out.csv"))
    Traceback (most recent call last):
    sfumato.errors.InputError: output 'no-such-folder/out.csv' cannot be written: there is no folder 'no-such-folder'
    """
    if path.exists():
        raise InputError(f"output '{path}' exists; remove it or choose another name")
    if not path.parent.is_dir():
        raise InputError(f"output '{path}' cannot be written: there is no folder '{path.parent}'")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"output '{path}' cannot be written: folder '{path.parent}' is read-only")


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


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that after a crash it is either as before or complete; only its owner may read it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "index.json"
    >>> write_durably(file, b"{}")
    >>> file.read_bytes(), oct(file.stat().st_mode & 0o777)
    (b'{}', '0o600')
    """
    beside = path.with_name(f".{path.name}.partial")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def hold(lock: int, name: str) -> None:
    """Lock an open file for this process alone, or say that another has it; it is free again when the file is closed.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     hold(file.fileno(), "history 'series'")
    """
    import fcntl  # only where something is recorded; not every system has it

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{name} is in use by another process; wait until it is done") from None


@contextmanager
def hold_folder(folder: str | Path, what: str, known: str) -> Iterator[Path]:
    """Yield a folder of records, made if it is not there, readable by its owner only and locked until the block ends.

    `what` is the word for it in errors; a folder that holds other files than `known` without it is refused.

    >>> import tempfile
    >>> with hold_folder(Path(tempfile.mkdtemp()) / "kept", "checkpoint", "checkpoint") as path:
    ...     [file.name for file in path.iterdir()]
    ['.lock']
    """
    path = Path(folder)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        _refuse_strange(path, what, known)
        path.chmod(0o700)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"{what} '{path}' cannot be opened: {error.strerror}") from error
    try:
        hold(lock, f"{what} '{path}'")
        yield path
    finally:
        os.close(lock)


def _refuse_strange(path: Path, what: str, known: str) -> None:
    strange = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    if strange and known not in strange:
        lacks = "" if known == what else f" and no {known}"
        raise InputError(f"folder '{path}' is not a {what}: it has '{strange[0]}'{lacks}; choose another")
