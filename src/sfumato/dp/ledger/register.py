"""Which ledgers there are: a list in the user's state folder, and the folders of the ledger and of its rows.

A second ledger over the same rows would give the same people a second budget, and no filter would count both (Rogers,
Roth, Ullman & Vadhan 2016 assume one). The list holds paths and fingerprints and is readable by its owner only.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

MAGIC = b"SQLite format 3\x00"
APPLICATION_AT = 68  # in the header of a SQLite file
APPLICATION = b"sfum"
LISTED = "ledgers"
LOCK = ".lock"


def known_elsewhere(facts: Mapping[str, Any], ledger: Path) -> Path | None:
    """Return another ledger that knows the rows that `facts` speak of, None if none is found.

    >>> known_elsewhere({"data": None}, Path("rides.ledger")) is None
    True
    """
    fingerprint = facts.get("fingerprint")
    if not fingerprint:
        return None
    for other in _candidates(facts, ledger):
        if other != ledger and fingerprint in _fingerprints(other):
            return other
    return None


@contextmanager
def one_at_a_time(ledger: Path) -> Iterator[None]:
    """Let nobody else of this user look for ledgers and make one meanwhile; the second of two then finds the first.

    Where the user's state folder cannot be written, the folder of the ledger is locked.

    >>> import tempfile
    >>> with one_at_a_time(Path(tempfile.mkdtemp()) / "rides.ledger"):
    ...     pass
    """
    import fcntl  # only where a ledger is made; not every system has it

    lock = _open_lock(ledger.parent)
    try:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _open_lock(folder: Path) -> int | None:
    """Return an open file to lock, None where there is none (then the ledger cannot be made either)."""
    place = state_folder()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        with suppress(OSError):
            return os.open(folder, os.O_RDONLY)
    return None


def remember(ledger: Path, facts: Mapping[str, Any]) -> bool:
    """Add a ledger to the list; return whether that was possible (a user may have no folder to write to).

    >>> remember(Path("rides.ledger"), {})
    False
    """
    if not facts.get("fingerprint"):
        return False
    place = state_folder()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = json.dumps({"ledger": str(ledger)}) + "\n"
        descriptor = os.open(place / LISTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line)
    except OSError:
        return False
    return True


def state_folder() -> Path:
    """Return the folder where a user's programs keep what they must remember (XDG base directories).

    >>> state_folder().name
    'sfumato'
    """
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path(os.path.expanduser("~")) / ".local" / "state") / "sfumato"  # noqa: PTH111


def _candidates(facts: Mapping[str, Any], ledger: Path) -> Iterator[Path]:
    """Yield the ledgers of the list and of the two folders, each of them once."""
    seen: set[Path] = set()
    data = facts.get("data")
    folders = [ledger.parent]
    if isinstance(data, str) and "://" not in data:
        folders.append(Path(data).parent)
    found = [*_listed(), *(file for folder in folders for file in _files(folder))]
    for path in found:
        if path not in seen and _is_ledger(path):
            seen.add(path)
            yield path


def _listed() -> list[Path]:
    """Return the paths of the list; a line that cannot be read is passed over."""
    try:
        lines = (state_folder() / LISTED).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            found.append(Path(json.loads(line)["ledger"]))
    return found


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return []


def _is_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            header = file.read(APPLICATION_AT + 4)
    except OSError:
        return False
    return header.startswith(MAGIC) and header[APPLICATION_AT:] == APPLICATION


def _fingerprints(path: Path) -> set[str]:
    """Return the fingerprints of all versions that a ledger declares; none where it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)) as connection:
            rows = connection.execute("SELECT facts FROM version").fetchall()
    except sqlite3.Error:
        return set()
    found: set[str] = set()
    for (facts,) in rows:
        with suppress(ValueError):
            mark = json.loads(facts).get("fingerprint")
            if isinstance(mark, str):
                found.add(mark)
    return found
