"""Names that come from outside and become parts of paths: a short alphabet, so that no name leaves its folder.

The alphabet allows what it lists and nothing else (OWASP, "File upload cheat sheet"): no separator, no dot in front, no
NUL, no letter beyond ASCII.
"""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.errors import InputError

PLAIN = r"[a-z][a-z0-9_]{0,62}"
FILE = r"[a-z][a-z0-9_]{0,62}\.(csv|csv\.gz|parquet)"
ACCOUNT = r"[a-z][a-z0-9._-]{0,62}"
OF_TOKEN = r"[0-9a-f]{16}"  # noqa: S105  # a pattern
RESERVED = {"nobody", "home", "analyst"}  # names that mean somebody else in the log or in a ledger


def data_set_name(text: str) -> str:
    """Return the name of a data set, which is also its table's, or refuse what is none.

    >>> data_set_name("rides_2026")
    'rides_2026'
    >>> data_set_name("../rides")
    Traceback (most recent call last):
    sfumato.errors.InputError: the name of the data set is not usable; give up to 63 of a-z, 0-9 and _, a letter first
    """
    if not re.fullmatch(PLAIN, text):
        raise InputError("the name of the data set is not usable; give up to 63 of a-z, 0-9 and _, a letter first")
    return text


def file_name(text: str) -> str:
    r"""Return the name of an uploaded file, or refuse what is none.

    >>> file_name("rides.csv.gz")
    'rides.csv.gz'
    >>> file_name("rides.csv\0")
    Traceback (most recent call last):
    sfumato.errors.InputError: the file's name is not usable; give a-z, 0-9 and _, then .csv, .csv.gz or .parquet
    """
    if not re.fullmatch(FILE, text):
        raise InputError("the file's name is not usable; give a-z, 0-9 and _, then .csv, .csv.gz or .parquet")
    return text


def account_name(text: str) -> str:
    """Return the name of an account, or refuse what is none.

    >>> account_name("ana"), account_name("bo.smith-2")
    ('ana', 'bo.smith-2')
    """
    if not re.fullmatch(ACCOUNT, text) or text in RESERVED:
        raise InputError(
            "the name of the account is not usable; give up to 63 of a-z, 0-9, '.', '_' and '-', a letter first, and "
            "not nobody, home or analyst"
        )
    return text


def inside(folder: Path, name: str) -> Path:
    """Return a place in a folder; one that a link or a name would lead out of it is refused.

    >>> inside(Path("/srv/files"), "rides.csv").name
    'rides.csv'
    >>> inside(Path("/srv/files"), "../rides.csv")
    Traceback (most recent call last):
    sfumato.errors.InputError: the place lies outside its folder; give a plain name
    """
    place = folder / name
    if place.parent != folder or place.is_symlink():
        raise InputError("the place lies outside its folder; give a plain name")
    return place
