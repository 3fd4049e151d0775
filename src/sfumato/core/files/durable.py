"""Records that survive a crash, folders of records that one process holds, and files for their owner alone.

The order of steps of a durable write is that of Pillai et al. (2014): write beside, flush, rename, flush the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.files.paths import LOCK
from sfumato.errors import InputError

LONGEST_NAME = 240  # bytes; file systems take 255, and a temporary name is longer than the final one
OWNER, EVERYBODY = 0o600, 0o666  # everybody: as far as the umask lets them


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


def write_durably(path: Path, content: bytes, *, public: bool = False) -> None:
    """Write a file so that after a crash it is either as before or complete; only its owner may read it.

    A `public` file is for whomever the umask allows.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "index.json"
    >>> write_durably(file, b"{}")
    >>> file.read_bytes(), oct(file.stat().st_mode & 0o777)
    (b'{}', '0o600')
    """
    beside = path.with_name(_beside(path.name))
    beside.unlink(missing_ok=True)
    try:
        with os.fdopen(create_file(beside, EVERYBODY if public else OWNER), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def _beside(name: str) -> str:
    whole = f".{name}.partial"
    return whole if len(whole.encode()) <= LONGEST_NAME else f".{hashlib.sha256(name.encode()).hexdigest()}.partial"


def create_file(path: Path, mode: int = OWNER) -> int:
    """Return the descriptor of a new file, to read and write; one that is there, or a link, is an error.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "copy"
    >>> os.close(create_file(file))
    >>> oct(file.stat().st_mode & 0o777)
    '0o600'
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


def open_lock(path: Path) -> int:
    """Return the descriptor of a file that is there only to be locked, made if it is not there."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER)


def append_durably(path: Path, line: bytes) -> None:
    r"""Add a line to a file for its owner alone, in one write, flushed to the disk.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "list"
    >>> append_durably(file, b"first\n")
    >>> append_durably(file, b"second\n")
    >>> file.read_bytes()
    b'first\nsecond\n'
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    flush_folder(path.parent)


def flush_file(path: Path) -> None:
    """Flush a file that was written by somebody else's code to the disk."""
    _flush(path, os.O_RDONLY)


def flush_tree(folder: Path) -> None:
    """Flush all files in a folder, and the names in it, to the disk."""
    for path in folder.rglob("*"):
        _flush(path, os.O_RDONLY)
    flush_folder(folder)


def move_folder(source: Path, target: Path) -> None:
    """Give a finished folder its final name, once all that is in it is on the disk; the name is then, too."""
    flush_tree(source)
    source.rename(target)
    flush_folder(target.parent)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    _flush(folder, os.O_RDONLY)


def _flush(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_now(descriptor: int) -> bool:
    """Return whether an open file could be locked for this process; it is free again when the file is closed.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     lock_now(file.fileno())
    True
    """
    import fcntl  # only where something is recorded; not every system has it

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def hold(lock: int, name: str) -> None:
    """Lock an open file for this process alone, or say that another has it.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     hold(file.fileno(), "history 'series'")
    """
    if not lock_now(lock):
        raise InputError(f"{name} is in use by another process; wait until it is done")


@contextmanager
def hold_folder(folder: str | Path, what: str, known: str) -> Iterator[Path]:
    """Yield a folder of records, made if it is not there, readable by its owner only and locked until the block ends.

    `what` is the word for it in errors; a folder that holds other files than `known` without it is refused.

    >>> import tempfile
    >>> with hold_folder(Path(tempfile.mkdtemp()) / "kept", "checkpoint", "checkpoint") as path:
    ...     [file.name for file in path.iterdir()]
    ['.lock']
    """
    path, made = Path(folder), False
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            made = True
        with suppress(PermissionError):  # a folder above that nobody may list
            flush_folder(path.parent)  # a key is kept in it, which must outlive what it helps to publish
        _refuse_strange(path, what, known)
        path.chmod(0o700)
        lock = open_lock(path / LOCK)
    except OSError as error:
        raise InputError(f"{what} '{path}' cannot be opened: {error.strerror}") from error
    try:
        hold(lock, f"{what} '{path}'")
        _refuse_removed(lock, path, what)
        try:
            yield path
        except BaseException:
            if made:
                _remove_empty(path)
            raise
    finally:
        os.close(lock)


def _refuse_removed(lock: int, path: Path, what: str) -> None:
    """Refuse a lock whose file was taken away before it was held: another process may hold the next one."""
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(lock), (path / LOCK).stat()):
            return
    raise InputError(f"{what} '{path}' is in use by another process; wait until it is done")


def _remove_empty(path: Path) -> None:
    """Take away a folder that was made for what was then refused; the lock is still held."""
    if [entry.name for entry in path.iterdir()] == [LOCK]:
        (path / LOCK).unlink()
        with suppress(OSError):  # somebody put something there meanwhile
            path.rmdir()


def _refuse_strange(path: Path, what: str, known: str) -> None:
    strange = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    if strange and known not in strange:
        lacks = "" if known == what else f" and no {known}"
        raise InputError(f"folder '{path}' is not a {what}: it has '{strange[0]}'{lacks}; choose another")
