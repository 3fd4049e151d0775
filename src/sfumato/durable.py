"""Files that survive a crash: as before or complete, never half, and readable by their owner alone.

The order of steps is that of Pillai et al. (2014): write beside, flush, rename, flush the folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.errors import InputError


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
