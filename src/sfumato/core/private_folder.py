"""A folder that only we can have filled: where files lie that are run, so that nobody else may plant one.

Compiled kernels are code. They are loaded only from a folder that belongs to this user, that nobody else may write to,
and whose way from the root nobody else can redirect.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import InputError

PLACE = "SFUMATO_CACHE"
OWNED = os.name == "posix"  # elsewhere files have no such owners and modes, and the home folder is private by itself
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_place(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where compiled kernels are kept: $SFUMATO_CACHE, else in $XDG_CACHE_HOME, else in the user's home.

    The home is that of the password database; $HOME is asked only where the database does not know the user. A relative
    place would depend on the working folder, which may be anybody's: it is refused.

    >>> cache_place({"XDG_CACHE_HOME": "/var/cache"}).as_posix()
    '/var/cache/sfumato/kernels'
    >>> cache_place({"SFUMATO_CACHE": "here"})
    Traceback (most recent call last):
    sfumato.errors.InputError: SFUMATO_CACHE is 'here', which is no absolute path
    """
    named = environment.get(PLACE)
    if named:
        if not Path(named).is_absolute():
            raise InputError(f"{PLACE} is '{named}', which is no absolute path")
        return Path(named)
    wide = Path(environment.get("XDG_CACHE_HOME", ""))
    if not wide.is_absolute():  # as the XDG specification has it, a relative one counts as unset
        wide = _home(environment) / ".cache"
    return wide / "sfumato" / "kernels"


def _home(environment: Mapping[str, str]) -> Path:
    try:
        import pwd  # not every system has it

        home = pwd.getpwuid(os.geteuid()).pw_dir
    except (ImportError, KeyError):  # or a user whom the database does not know
        home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    if not Path(home).is_absolute():
        raise InputError("this user has no home folder")
    return Path(home)


def private_folder(path: Path) -> Path:
    """Return the folder without links in its path, made if it is not there; refuse one that others could fill.

    >>> import tempfile
    >>> made = private_folder(Path(tempfile.mkdtemp()) / "kernels")
    >>> oct(made.stat().st_mode & 0o777)
    '0o700'
    >>> made.chmod(0o777)
    >>> private_folder(made)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sfumato.errors.InputError: folder '...' can be written by other users
    """
    try:
        real = path.resolve()
        if OWNED and not real.is_dir():
            _refuse_ways(_nearest(real))
        real.mkdir(mode=0o700, parents=True, exist_ok=True)
        if OWNED:
            _refuse_owner(real)
            _refuse_ways(real)
    except OSError as error:
        raise InputError(f"folder '{path}' cannot be made: {error.strerror or error}") from error
    except RuntimeError as error:  # links that lead in a circle
        raise InputError(f"folder '{path}' cannot be found: its links lead in a circle") from error
    return real


def _nearest(path: Path) -> Path:
    """Return the nearest part of a path that exists: nothing is made inside what others may change."""
    return path if path.is_dir() or path == path.parent else _nearest(path.parent)


def _refuse_owner(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise InputError(f"folder '{folder}' belongs to another user")
    if found.st_mode & OTHERS_WRITE:
        raise InputError(f"folder '{folder}' can be written by other users")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise InputError(f"folder '{folder}' cannot be written")


def _refuse_ways(folder: Path) -> None:
    """Refuse a folder that somebody else could move away: through it or a folder above it."""
    for above in (folder, *folder.parents):
        found = above.stat()
        if found.st_uid not in {0, os.geteuid()}:
            raise InputError(f"folder '{above}' on the way to it belongs to another user")
        if found.st_mode & OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
            raise InputError(f"folder '{above}' on the way to it can be written by other users")
