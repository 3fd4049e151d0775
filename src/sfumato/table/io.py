"""Tables in from files and out to files, in any installed format; `-` is a pipe.

What the formats are, and how a file's is found, is the matter of `table.formats`.
"""

from __future__ import annotations

import hashlib
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.schema.reading import Reading
from sfumato.table.database import Database, is_address, read_table, without_password
from sfumato.table.formats import find_format
from sfumato.table.formats.delimited import write_slices
from sfumato.table.formats.encodings import MARKS
from sfumato.table.formats.formulas import Formulas, neutralise_table
from sfumato.table.formats.unpacking import unpack_gzip
from sfumato.table.table import Table

GZIPPED = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
START = 1024  # bytes by which formats are told apart


def read(path: str | Path, *, empty: bool = False, reading: Reading | None = None) -> Table:
    r"""Return the table in a file: CSV, Excel, Parquet, JSON lines, Arrow or a format you installed, also .gz.

    CSV cells stay text until a schema says what they are, except whole columns of integers that read back as they
    were written; so `02139` stays `02139`. A text file with a header and no rows is refused, as a slip, unless
    `empty` says that no rows are an answer too: for a private release, whose reader must not learn that there are none.

    `reading` says how the file is written; what it leaves open is guessed, and `Table.guesses` says it. A table of
    PostgreSQL is named `postgresql://user@host/database#table`; its columns keep their types.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_text("zip;age\n02139;31\n")
    >>> read(file).frame.row(0)
    ('02139', 31)
    >>> read(file).guesses, read(file, reading=Reading(delimiter=",")).names
    (("delimiter ';' (guessed from the header)",), ('zip;age',))
    """
    if is_address(path):
        return _with_rows(read_table(str(path)), path, empty=empty)
    return decode(*_bytes(path), path, empty=empty, reading=reading)


def read_hashed(
    path: str | Path, *, empty: bool = False, reading: Reading | None = None, hashed: Iterable[str] = ()
) -> tuple[Table, str]:
    r"""Return what `read` does, and the SHA-256 of the very bytes it was read from: the file is looked at once.

    A table in a database has no bytes: its hash is that of the columns named by `hashed`, in the same snapshot.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = file.write_bytes(b"age\n31\n")
    >>> read_hashed(file)[1] == hashlib.sha256(b"age\n31\n").hexdigest()
    True
    """
    if is_address(path):
        database = Database(str(path))
        with database.transaction() as connection:
            table = database.read(connection)
            return _with_rows(table, path, empty=empty), database.fingerprint(connection, hashed or table.names)
    data, name = _bytes(path)
    return decode(data, name, path, empty=empty, reading=reading), hashlib.sha256(data).hexdigest()


def _with_rows(table: Table, place: str | Path, *, empty: bool) -> Table:
    if not (table.rows or empty):
        raise InputError(f"the table of '{Database(str(place)).words}' has no rows; give rows")
    return table


def decode(data: bytes, name: str, path: str | Path, *, empty: bool = False, reading: Reading | None = None) -> Table:
    r"""Return the table in the bytes of a file; `name` stands in errors, and the ending of `path` may tell the format.

    >>> decode(b"zip;age\n02139;31\n", "people.csv", "people.csv").rows
    1
    """
    if data[:2] == GZIPPED:
        data = unpack_gzip(data, name)
    if not data or data in MARKS or data.removeprefix(BYTE_ORDER_MARK).isspace():
        raise InputError(f"file '{name}' is empty; give a header line and rows")
    try:
        found = find_format(path, data[:START])
        table = found.read_as(data, name, reading or Reading())
    except SfumatoError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a stranger's reader may raise anything
        raise InputError(f"file '{name}' cannot be read as a table: {_first_line(error)}") from error
    if not (table.rows or found.typed or empty):
        raise InputError(f"file '{name}' has a header and no rows; give rows")
    return table


def write(
    frame: pl.DataFrame, path: str | Path, delimiter: str = ",", *, formulas: Formulas = "neutralise"
) -> Mapping[str, int]:
    r"""Write `frame` in the format its file name asks for; `-` writes CSV to standard output.

    In text files a `'` is put before cells that a spreadsheet would run as formulas, unless `formulas` is `keep`.
    What is returned is how many such cells each column has.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "out.csv"
    >>> write(pl.DataFrame({"age": ["[30-39]", "=1+1"]}), file)
    {'age': 1}
    >>> file.read_text(), read(file).frame["age"][1]
    ("age\n[30-39]\n'=1+1\n", '=1+1')
    """
    return write_held(Table(frame, delimiter=delimiter), path, formulas=formulas)


def write_held(table: Table, path: str | Path, *, formulas: Formulas = "neutralise") -> Mapping[str, int]:
    """Do what `write` does for a table as it is held, with its own delimiter."""
    found = find_format("t.csv" if str(path) == "-" else path)
    safe, changed = neutralise_table(table) if found.runs_formulas else (table, {})
    if formulas == "neutralise":
        table = safe
    if str(path) == "-":
        write_slices(table, sys.stdout.buffer, table.delimiter)
        sys.stdout.buffer.flush()
        return changed
    try:
        found.write(table, Path(path))
    except (SfumatoError, OSError):
        raise
    except Exception as error:
        raise InputError(f"the table cannot be written as {found.name}: {_first_line(error)}") from error
    return changed


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _bytes(path: str | Path) -> tuple[bytes, str]:
    if str(path) == "-":
        if hasattr(signal, "siginterrupt"):
            signal.siginterrupt(signal.SIGINT, True)  # noqa: FBT003  # or polars lets the read go on after Ctrl-C
        return sys.stdin.buffer.read(), "standard input"
    try:
        return Path(path).read_bytes(), str(path)
    except FileNotFoundError:
        raise InputError(f"file '{without_password(path)}' does not exist; check the name") from None
    except OSError as error:
        raise InputError(f"file '{path}' cannot be read: {error.strerror}") from error
