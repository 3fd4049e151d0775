"""Which paths may be written: refused are files in the way, inputs, and one file under two names.

Two names are compared by device and inode as well as by letter, so that a link is no way around.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.errors import InputError

LOCK = ".lock"
DATABASE = b"SQLite format 3\0"  # how the file of a ledger begins


def state_folder() -> Path:
    """Return the folder where a user's programs keep what they must remember (XDG base directories).

    >>> state_folder().name
    'sfumato'
    """
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path(os.path.expanduser("~")) / ".local" / "state") / "sfumato"  # noqa: PTH111


def refuse_output(path: Path, *, replaceable: bool = True) -> None:
    """Refuse a place for output that exists or cannot be made; `replaceable` says whether --force would help.

    >>> refuse_output(Path("no-such-folder/out.csv"))
    Traceback (most recent call last):
    sfumato.errors.InputError: output 'no-such-folder/out.csv' cannot be written: there is no folder 'no-such-folder'
    """
    if path.is_symlink() and not path.exists():
        raise InputError(f"output '{path}' is a link to nothing; remove it or choose another name")
    if path.exists():
        further = ", or replace it with --force" if replaceable and path.is_file() else ""
        raise InputError(f"output '{path}' exists; remove it or choose another name{further}")
    if not path.parent.is_dir():
        raise InputError(f"output '{path}' cannot be written: there is no folder '{path.parent}'")
    _refuse_read_only(path)


def refuse_replacing(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Refuse to replace what is no plain file, a ledger, a file of a history or checkpoint, or one of the inputs.

    >>> refuse_replacing(Path("."))
    Traceback (most recent call last):
    sfumato.errors.InputError: output '.' is not a file; --force replaces files only; choose another name
    """
    if path.exists() and not path.is_file():
        raise InputError(f"output '{path}' is not a file; --force replaces files only; choose another name")
    if any(same_file(path, given) for given in inputs):
        raise InputError(f"output '{path}' is a file that this command reads; --force never replaces an input")
    if (path.resolve().parent / LOCK).exists() or (path.parent / LOCK).exists():
        raise InputError(f"output '{path}' lies in a history or checkpoint, which --force never changes")
    if path.is_file() and _begins_with(path, DATABASE):
        raise InputError(f"output '{path}' is a database, as ledgers are, which --force never replaces")
    _refuse_read_only(path)


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths are one file: by name, or, where both are there, by device and inode.

    >>> same_file(Path("a/../out.csv"), Path("out.csv")), same_file(Path("."), Path("out.csv"))
    (True, False)
    """
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, RuntimeError, ValueError):  # not there, a loop of links, or no name: opening it says so
        return False


def refuse_same_files(named: Mapping[str, Path | str | None]) -> None:
    """Refuse one file in two roles; a role is named as in a sentence, and - is standard input or output.

    >>> refuse_same_files({"the output": Path("out.csv"), "the card": Path("./out.csv")})
    Traceback (most recent call last):
    sfumato.errors.InputError: 'out.csv' is both the output and the card; name two files
    """
    seen: list[tuple[str, Path]] = []
    for role, given in named.items():
        if given is None or str(given) == "-":
            continue
        path = Path(given)
        for earlier, other in seen:
            if same_file(path, other):
                raise InputError(f"'{path}' is both {earlier} and {role}; name two files")
        seen.append((role, path))


def refuse_inside(what: str, folder: Path | None, named: Mapping[str, Path | None]) -> None:
    """Refuse files that lie in a folder that a command keeps for itself; `what` is the folder's word in the error.

    >>> refuse_inside("checkpoint", Path("kept"), {"the output": Path("kept/out.csv")})
    Traceback (most recent call last):
    sfumato.errors.InputError: 'kept/out.csv', the output, lies in checkpoint 'kept', which holds nothing else; choose \
another folder
    """
    for role, path in named.items():
        if folder is None or path is None or str(path) == "-":
            continue
        if any(same_file(folder, above) for above in (*path.parents, *path.absolute().parents)):
            raise InputError(
                f"'{path}', {role}, lies in {what} '{folder}', which holds nothing else; choose another folder"
            )


def _refuse_read_only(path: Path) -> None:
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"output '{path}' cannot be written: folder '{path.parent}' is read-only")


def _begins_with(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError as error:
        raise InputError(f"output '{path}' cannot be replaced: {error.strerror or error}") from error
