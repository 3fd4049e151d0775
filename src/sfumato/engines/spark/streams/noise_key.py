"""The secret key of a stream's noise: made once, kept beside the checkpoint for its owner alone, read where it is used.

Tasks are sent the file's path and never the key, so that no plan, log or event of Spark has it (Bellare, Canetti &
Krawczyk 1996 for the function it keys). Executors therefore run as the checkpoint's owner and see its folder; they are
trusted with the records that wait in its state anyway.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from sfumato.core.files import write_durably
from sfumato.errors import InputError
from sfumato.random import new_key

FILE = ".key"
OTHERS = 0o077


def make_key(folder: Path) -> None:
    """Make the key of a folder unless it has one.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> make_key(folder)
    >>> before = read_key(folder / FILE)
    >>> make_key(folder)
    >>> len(before), oct((folder / FILE).stat().st_mode & 0o777), read_key(folder / FILE) == before
    (32, '0o600', True)
    """
    if not (folder / FILE).exists():
        write_durably(folder / FILE, new_key())


@lru_cache(maxsize=16)
def read_key(path: Path) -> bytes:
    """Return the key in a file; one that others may read is refused, and no error shows it.

    >>> read_key(Path("no-such-folder/.key"))
    Traceback (most recent call last):
    sfumato.errors.InputError: key 'no-such-folder/.key' cannot be read here (No such file or directory): the \
checkpoint's folder must be shared with every executor, under the same user
    """
    try:
        open_to_others = path.stat().st_mode & OTHERS
        key = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"key '{path}' cannot be read here ({error.strerror}): the checkpoint's folder must be shared with every "
            "executor, under the same user"
        ) from error
    if open_to_others:
        raise InputError(f"key '{path}' can be read by others; whoever did knows the noise: begin another checkpoint")
    return key
