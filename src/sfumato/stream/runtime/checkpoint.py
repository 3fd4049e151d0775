"""The one file from which a stream goes on after a crash, with the noise that has left and no record lost.

It holds the publisher's state, the rows that may have left since the checkpoint before, the input's offset and the
output's length, and is replaced in one step before any of those rows leave (write-ahead order, Mohan et al. 1992).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sfumato.core.files import hold, write_durably
from sfumato.errors import InputError
from sfumato.stream.connectors.file.outlet import START, Place

FILE, LOCK = "checkpoint", ".lock"


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A stream at one moment; `question` says what was asked for, and `chunk` holds the rows that leave after it.

    >>> start = Checkpoint.begin({"epsilon": 1.0}, b"state", b"hours,group,size,seq")
    >>> start.records, len(start.stream)
    (0, 32)
    """

    version: int = 1
    stream: str
    question: dict[str, Any]
    state: bytes
    mark: str = ""
    offset: int = 0
    records: int = 0
    rows: int = 0
    groups: int = 0
    output: Place = START
    chunk: bytes = b""
    quarantine: Place = START
    quarantined: bytes = b""
    ended: bool = False

    @classmethod
    def begin(cls, question: dict[str, Any], state: bytes, header: bytes) -> Checkpoint:
        """Return the checkpoint of a stream of which nothing has come yet, under an id of its own."""
        return cls(stream=secrets.token_hex(16), question=question, state=state, chunk=header)

    def refuse_other(self, question: dict[str, Any], folder: Path) -> None:
        """Refuse to go on with anything but what was asked for at first.

        >>> Checkpoint.begin({"epsilon": 1.0}, b"", b"").refuse_other({"epsilon": 2.0}, Path("kept"))
        Traceback (most recent call last):
        sfumato.errors.InputError: checkpoint 'kept' belongs to another stream: epsilon was 1.0, found 2.0; give the \
same options, or another folder
        """
        for name in dict.fromkeys([*question, *self.question]):
            before, now = self.question.get(name), question.get(name)
            if before != now:
                raise InputError(
                    f"checkpoint '{folder}' belongs to another stream: {name} was {before}, found {now}; give the same "
                    "options, or another folder"
                )


@dataclass(frozen=True)
class Store:
    """A folder with one stream's checkpoint, held by one process at a time and readable by its owner only.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "kept"
    >>> with Store.open(folder) as store:
    ...     store.load() is None
    ...     store.save(Checkpoint.begin({}, b"state", b""))
    ...     store.load().state
    True
    b'state'
    """

    folder: Path

    @classmethod
    @contextmanager
    def open(cls, folder: str | Path) -> Iterator[Store]:
        """Yield the store in a folder, made if it is not there, locked until the block ends."""
        path = Path(folder)
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            _refuse_strange(path)
            path.chmod(0o700)
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(f"checkpoint '{path}' cannot be opened: {error.strerror}") from error
        try:
            hold(lock, f"checkpoint '{path}'")
            yield cls(path)
        finally:
            os.close(lock)

    def load(self) -> Checkpoint | None:
        """Return the checkpoint, or None where there is none yet."""
        try:
            return msgspec.msgpack.decode((self.folder / FILE).read_bytes(), type=Checkpoint)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise InputError(f"checkpoint '{self.folder}' cannot be read: {error}; restore it from a backup") from error

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint; once this returns it survives a crash, before it the one before does."""
        try:
            write_durably(self.folder / FILE, msgspec.msgpack.encode(checkpoint))
        except OSError as error:
            raise InputError(f"checkpoint '{self.folder}' cannot be written: {error.strerror}") from error

    def remove(self) -> None:
        """Forget the stream, of which nothing has left."""
        (self.folder / FILE).unlink(missing_ok=True)


def _refuse_strange(path: Path) -> None:
    strange = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    if strange and FILE not in strange:
        raise InputError(f"folder '{path}' is not a checkpoint: it has '{strange[0]}'; choose another")
