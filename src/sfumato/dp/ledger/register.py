"""Which ledgers there are: a list in the user's state folder, and the folders of the ledger and of its rows.

A second ledger over the same rows would give the same people a second budget, and no filter would count both (Rogers,
Roth, Ullman & Vadhan 2016 assume one). The list holds paths, each with a hash of its own, and is readable by its owner
only. A ledger or a line of the list that is damaged is no proof that there is none, so it is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfumato.core.files import flush_folder, open_lock, state_folder, write_durably
from sfumato.core.files.journal import PREFIX
from sfumato.dp.ledger.sqlite import FORMAT, SqliteStore
from sfumato.dp.ledger.wholeness import refuse_damaged
from sfumato.errors import InputError

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
    known = fingerprints_in(facts)
    if not known:
        return None
    for other in _candidates(facts, ledger):
        if other != ledger and known & _fingerprints(other):
            return other
    return None


def fingerprints_in(facts: Mapping[str, Any]) -> set[str]:
    """Return the fingerprints of all tables that facts speak of.

    >>> sorted(fingerprints_in({"fingerprint": "a", "beside": {"riders": {"fingerprint": "b"}}}))
    ['a', 'b']
    """
    tables = [facts, *facts.get("beside", {}).values()]
    return {mark for table in tables if isinstance(mark := table.get("fingerprint"), str) and mark}


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
        return open_lock(place / LOCK)
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
        flush_folder(place.parent)
        line = json.dumps({"ledger": str(ledger), "check": _mark(str(ledger))}) + "\n"
        listed = place / LISTED
        write_durably(listed, (listed.read_bytes() if listed.exists() else b"") + line.encode())
    except OSError:
        return False
    return True


def _candidates(facts: Mapping[str, Any], ledger: Path) -> Iterator[Path]:
    """Yield the ledgers of the list and of the two folders, each of them once."""
    seen: set[Path] = set()
    folders = [ledger.parent]
    for table in (facts, *facts.get("beside", {}).values()):
        data = table.get("data")
        if isinstance(data, str) and "://" not in data:
            folders.append(Path(data).parent)
    found = [*_listed(), *(file for folder in folders for file in _files(folder))]
    for path in found:
        if path not in seen and _is_ledger(path):
            seen.add(path)
            yield path


def _listed() -> list[Path]:
    """Return the paths of the list; a line that is damaged is refused: it may name the ledger that is looked for."""
    place = state_folder() / LISTED
    try:
        lines = place.read_bytes().split(b"\n")
    except OSError:
        return []
    found = [(number, _read_line(line)) for number, line in enumerate(lines, start=1) if line]
    for number, path in found:
        if path is None:
            raise InputError(
                f"the list of ledgers '{place}' is damaged in line {number}; correct the path in it, or remove the line"
            )
    return [path for _, path in found if path is not None]


def _read_line(line: bytes) -> Path | None:
    """Return the path in a line; older lines have no hash of it."""
    try:
        said = json.loads(line)
        path = said.pop("ledger")
        whole = isinstance(path, str) and said in ({}, {"check": _mark(path)}) and "\0" not in path
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Path(path) if whole else None


def _mark(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _files(folder: Path) -> list[Path]:
    try:
        files = [entry for entry in folder.iterdir() if entry.is_file()]
        return sorted(file for file in files if not file.name.startswith(PREFIX))  # a creation that was killed
    except OSError:
        return []


def _is_ledger(path: Path) -> bool:
    """Whether a file begins as ledgers do; one byte may be damaged, and opening it will tell."""
    try:
        with path.open("rb") as file:
            header = file.read(APPLICATION_AT + 4)
    except OSError:
        return False
    found, right = header[: len(MAGIC)] + header[APPLICATION_AT:], MAGIC + APPLICATION
    return len(found) == len(right) and sum(one != other for one, other in zip(found, right, strict=True)) <= 1


def _fingerprints(path: Path) -> set[str]:
    """Return the fingerprints of all versions that a ledger declares; refuse one that cannot be read."""
    store = SqliteStore(path.absolute())
    try:
        chained = store.format() == FORMAT
        with store.reading() as book:
            if chained:
                refuse_damaged(book, store.name)
            marks = [fingerprints_in(json.loads(facts)) for _, _, facts in book.versions()]
    except (InputError, ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"ledger '{path}' is damaged or cannot be read, so that nobody can tell whether it knows these rows; "
            "restore it, move it away, or say that this one is about other people (--other-people)"
        ) from error
    return set().union(*marks)
