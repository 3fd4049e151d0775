"""Which ledgers there are: a list in the user's state folder, the folders of the ledger and of its rows, a database.

A second ledger over the same rows would give the same people a second budget, and no filter would count both (Rogers,
Roth, Ullman & Vadhan 2016 assume one). The list holds paths and addresses, each with a hash of its own, and is readable
by its owner only. A ledger or a line of the list that is damaged is no proof that there is none, so it is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from sfumato.core.address import is_address
from sfumato.core.files import flush_folder, open_lock, state_folder, write_durably
from sfumato.dp.ledger.places import store_of
from sfumato.dp.ledger.sqlite import ledgers_in
from sfumato.dp.ledger.store import HomedStore
from sfumato.errors import InputError

LISTED = "ledgers"
LOCK = ".lock"


def known_elsewhere(facts: Mapping[str, Any], store: HomedStore) -> str | None:
    """Return the name of another ledger that knows the rows that `facts` speak of, None if none is found.

    >>> known_elsewhere({"data": None}, store_of("rides.ledger")) is None
    True
    """
    known = fingerprints_in(facts)
    if not known:
        return None
    for other in _candidates(facts, store):
        if not store.is_same(other) and known & _fingerprints(other):
            return other.name
    return None


def fingerprints_in(facts: Mapping[str, Any]) -> set[str]:
    """Return the fingerprints of all tables that facts speak of.

    >>> sorted(fingerprints_in({"fingerprint": "a", "beside": {"riders": {"fingerprint": "b"}}}))
    ['a', 'b']
    """
    tables = [facts, *facts.get("beside", {}).values()]
    return {mark for table in tables if isinstance(mark := table.get("fingerprint"), str) and mark}


@contextmanager
def one_at_a_time(store: HomedStore) -> Iterator[None]:
    """Let nobody else of this user look for ledgers and make one meanwhile; the second of two then finds the first.

    Where the user's state folder cannot be written, the ledger's folder is locked; a store may know of other users.

    >>> import tempfile
    >>> with one_at_a_time(store_of(f"{tempfile.mkdtemp()}/rides.ledger")):
    ...     pass
    """
    import fcntl  # only where a ledger is made; not every system has it

    lock = _open_lock(Path.cwd() if is_address(store.place) else Path(store.place).parent)
    try:
        if lock is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        with store.alone():
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


def remember(store: HomedStore, facts: Mapping[str, Any]) -> bool:
    """Add a ledger to the list; return whether that was possible (a user may have no folder to write to).

    >>> remember(store_of("rides.ledger"), {})
    False
    """
    if not facts.get("fingerprint"):
        return False
    place = state_folder()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        flush_folder(place.parent)
        line = json.dumps({"ledger": store.place, "check": _mark(store.place)}) + "\n"
        listed = place / LISTED
        write_durably(listed, (listed.read_bytes() if listed.exists() else b"") + line.encode())
    except OSError:
        return False
    return True


def _candidates(facts: Mapping[str, Any], store: HomedStore) -> Iterator[HomedStore]:
    """Yield the ledgers of the list, those beside the ledger and those in the folders of its rows, each once."""
    seen: set[str] = set()
    tables = [facts, *facts.get("beside", {}).values()]
    places = [table["data"] for table in tables if isinstance(table.get("data"), str) and not is_address(table["data"])]
    folders = [ledgers_in(Path(place).parent) for place in places]
    for other in chain(_listed(), store.neighbours(), *folders):
        if other.place not in seen:
            seen.add(other.place)
            if _is_there(other):
                yield other


def _is_there(store: HomedStore) -> bool:
    """Whether there is a ledger; a server that does not answer is no proof that there is none."""
    try:
        return store.is_there()
    except InputError as error:
        raise type(error)(
            f"{error}; this ledger is in the list '{state_folder() / LISTED}', and nobody can tell whether it knows "
            "these rows: start its server, remove its line, or say that this one is about other people "
            "(--other-people)"
        ) from error


def _listed() -> list[HomedStore]:
    """Return the ledgers of the list; a line that is damaged is refused: it may name the ledger that is looked for."""
    place = state_folder() / LISTED
    try:
        lines = place.read_bytes().split(b"\n")
    except OSError:
        return []
    found = [(number, _read_line(line)) for number, line in enumerate(lines, start=1) if line]
    for number, store in found:
        if store is None:
            raise InputError(
                f"the list of ledgers '{place}' is damaged in line {number}; correct the path in it, or remove the line"
            )
    return [store for _, store in found if store is not None]


def _read_line(line: bytes) -> HomedStore | None:
    """Return the ledger in a line; older lines have no hash of it."""
    try:
        said = json.loads(line)
        path = said.pop("ledger")
        whole = isinstance(path, str) and said in ({}, {"check": _mark(path)}) and "\0" not in path
        return store_of(path) if whole else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _mark(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _fingerprints(store: HomedStore) -> set[str]:
    """Return the fingerprints of all versions that a ledger declares; refuse one that cannot be read."""
    try:
        marks = [fingerprints_in(json.loads(facts)) for facts in store.glance()]
    except (InputError, ValueError, AttributeError, TypeError) as error:
        raise InputError(
            f"ledger '{store.name}' is damaged or cannot be read, so that nobody can tell whether it knows these rows; "
            "restore it, move it away, or say that this one is about other people (--other-people)"
        ) from error
    return set().union(*marks)
