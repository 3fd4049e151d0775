"""Files that appear whole: several outputs together or not at all, and records that survive a crash.

An output is written beside its place under a temporary name, and a finished set is linked into place; a file that is
already there is replaced only where that is asked for, and never a ledger, a kept folder or an input. The order of
steps of a durable write is that of Pillai et al. (2014): write beside, flush, rename, flush the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sfumato.errors import InputError

LOCK = ".lock"
DATABASE = b"SQLite format 3\0"  # how the file of a ledger begins


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

    `force` replaces files that are there, except a ledger, what lies in the folder of a history or checkpoint, and
    the files in `inputs` (also under another name: they are compared by device and inode).

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "card.json"
    >>> with Staging() as staging:
    ...     _ = staging.place(target).write_text("{}")
    ...     target.exists()
    False
    >>> target.read_text()
    '{}'
    >>> with Staging(force=True) as staging:
    ...     _ = staging.place(target).write_text("{1}")
    >>> target.read_text()
    '{1}'
    """

    def __init__(self, *, force: bool = False, inputs: Sequence[str | Path | None] = ()) -> None:
        self._moves: list[tuple[Path, Path]] = []
        self._force, self._inputs = force, [Path(path) for path in inputs if path is not None]

    def __enter__(self) -> Self:
        return self

    def place(self, target: str | Path) -> Path:
        """Return the temporary path to write for `target`; refuse a target that exists or cannot be made."""
        path = Path(target)
        self._refuse(path)
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

    def _refuse(self, path: Path) -> None:
        if self._force and os.path.lexists(path):
            refuse_replacing(path, self._inputs)
        else:
            refuse_output(path)

    def _commit(self) -> None:
        done: list[tuple[Path, Path | None]] = []
        try:
            for temporary, target in self._moves:
                if self._force:
                    self._refuse(target)  # it may have become another file meanwhile
                done.append((target, _move(temporary, target, replace=self._force)))
        except BaseException as error:
            for moved, before in reversed(done):
                with suppress(OSError):
                    moved.unlink() if before is None else before.replace(moved)
            if isinstance(error, FileExistsError):
                raise InputError(f"output '{target}' appeared meanwhile; choose another name") from error
            if isinstance(error, OSError):
                raise InputError(f"output '{target}' cannot be written: {error.strerror or error}") from error
            raise
        for _, before in done:
            if before is not None:
                before.unlink(missing_ok=True)


def refuse_output(path: Path, *, replaceable: bool = True) -> None:
    """Refuse a place for output that exists or cannot be made; `replaceable` says whether --force would help.

    >>> refuse_output(Path("no-such-folder/out.csv"))
    Traceback (most recent call last):
    sfumato.errors.InputError: output 'no-such-folder/out.csv' cannot be written: there is no folder 'no-such-folder'
    """
    if path.exists():
        further = ", or replace it with --force" if replaceable and path.is_file() else ""
        raise InputError(f"output '{path}' exists; remove it or choose another name{further}")
    if not path.parent.is_dir():
        raise InputError(f"output '{path}' cannot be written: there is no folder '{path.parent}'")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"output '{path}' cannot be written: folder '{path.parent}' is read-only")


def refuse_replacing(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Refuse to replace what is no plain file, a ledger, a file of a history or checkpoint, or one of the inputs.

    >>> refuse_replacing(Path("."))
    Traceback (most recent call last):
    sfumato.errors.InputError: output '.' is not a file; --force replaces files only; choose another name
    """
    if path.exists() and not path.is_file():
        raise InputError(f"output '{path}' is not a file; --force replaces files only; choose another name")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(f"output '{path}' is a file that this command reads; --force never replaces an input")
    if (path.resolve().parent / LOCK).exists() or (path.parent / LOCK).exists():
        raise InputError(f"output '{path}' lies in a history or checkpoint, which --force never changes")
    if path.is_file() and _begins_with(path, DATABASE):
        raise InputError(f"output '{path}' is a database, as ledgers are, which --force never replaces")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"output '{path}' cannot be written: folder '{path.parent}' is read-only")


def _begins_with(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError as error:
        raise InputError(f"output '{path}' cannot be replaced: {error.strerror or error}") from error


def _move(temporary: Path, target: Path, *, replace: bool) -> Path | None:
    """Move a file into place; return where the file that it replaces is kept until all are moved, if there is one."""
    if not replace or not os.path.lexists(target):
        _move_without_replacing(temporary, target)
        return None
    before = target.with_name(f".replaced-{os.getpid()}-{target.name}")
    target.rename(before)
    try:
        _move_without_replacing(temporary, target)
    except BaseException:
        before.replace(target)
        raise
    return before


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
