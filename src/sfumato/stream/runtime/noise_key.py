"""The secret key of a stream's noise: made once, kept beside the checkpoint for its owner alone, read where it is used.

It is durable before the first draw, so that whatever is restored or runs twice repeats itself; it also seals the chain
of checkpoints (Bellare, Canetti & Krawczyk 1996 for the function it keys). Spark's tasks are sent the file's path and
never the key, so that no plan, log or event of Spark has it. Executors therefore run as the checkpoint's owner and see
its folder; they are trusted with the records that wait in its state anyway.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.core.files import write_durably
from sfumato.errors import InputError
from sfumato.random import new_key

FILE = ".key"
OTHERS = 0o077


def make_key(folder: Path) -> None:
    """Make a fresh key for a folder whose stream has not begun; nothing was drawn with one that lies there.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> make_key(folder)
    >>> len(read_key(folder / FILE)), oct((folder / FILE).stat().st_mode & 0o777)
    (32, '0o600')
    """
    try:
        write_durably(folder / FILE, new_key())
    except OSError as error:
        raise InputError(f"key '{folder / FILE}' cannot be written: {error.strerror}") from error


def read_key(path: Path) -> bytes:
    """Return the key in a file; one that others may read is refused, and no error shows it.

    >>> read_key(Path("no-such-folder/.key"))
    Traceback (most recent call last):
    sfumato.errors.InputError: key 'no-such-folder/.key' cannot be read here (No such file or directory): the \
checkpoint's folder must be shared with every process of the stream, under the same user
    """
    try:
        open_to_others = path.stat().st_mode & OTHERS
        key = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"key '{path}' cannot be read here ({error.strerror}): the checkpoint's folder must be shared with every "
            "process of the stream, under the same user"
        ) from error
    if open_to_others:
        raise InputError(f"key '{path}' can be read by others; whoever did knows the noise: begin another checkpoint")
    return key
