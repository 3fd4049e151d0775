"""Kinds of files that hold a table, ours and anybody's: how to tell them apart, read them and write them.

A package offers a format in the group `sfumato.formats` of its entry points. It brings endings of its own: an ending of
ours stays ours, so that installing a package changes no file that was read before. Files of our own formats are told
apart by their first bytes, as the Unix command `file` does, so a wrong ending does no harm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from sfumato import plugins
from sfumato.errors import InputError
from sfumato.schema.reading import Reading
from sfumato.table.table import Table

GZIP = ".gz"
PLAIN = "csv"  # what a file without an ending, and text that nothing else claims, is


class Format(ABC):
    r"""One kind of file: its name, the endings of its files, and how it is read and written.

    >>> import polars as pl
    >>> class Lines(Format):
    ...     "One column, one value in each line."
    ...     name, endings = "lines", (".lines",)
    ...     def read(self, data, file):
    ...         return Table(pl.DataFrame({"value": data.decode().splitlines()}))
    ...     def write(self, table, path):
    ...         path.write_text("\n".join(table.frame.to_series().cast(pl.String)))
    >>> Lines().read(b"a\nb", "values.lines").rows
    2
    """

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]
    typed: ClassVar[bool] = False  # whether columns read back with their types, or else as the same text
    runs_formulas: ClassVar[bool] = False  # whether a spreadsheet that opens a file may run its cells as formulas

    @classmethod
    def sample(cls) -> Format:
        """The instance that the conformance suite tries.

        >>> type(find_format("t.parquet").sample()).__name__
        'Parquet'
        """
        return cls()

    def claims(self, start: bytes) -> bool | None:
        """Return whether a file that begins so is of this format; None where only its ending can tell."""
        del start
        return None

    @abstractmethod
    def read(self, data: bytes, file: str) -> Table:
        """Return the table in the bytes of a file, unpacked if it was gzipped; `file` is its name for an error."""

    def read_as(self, data: bytes, file: str, reading: Reading) -> Table:
        r"""Return the table in the bytes of a file that is written so; a format that leaves nothing open reads as ever.

        >>> find_format("t.csv").read_as(b"a:b\n1:2", "t.csv", Reading(delimiter=":")).names
        ('a', 'b')
        """
        table = self.read(data, file)
        return table if table.reading != Reading() else replace(table, reading=reading)

    @abstractmethod
    def write(self, table: Table, path: Path) -> None:
        """Write the table to a file that is not there yet."""


def find_format(path: str | Path, start: bytes | None = None) -> Format:
    """Return the format of a file: by its first bytes if it is there to be read, else by its ending alone.

    >>> find_format("t.csv.gz").name, find_format("t.csv", b"PAR1").name, find_format("t.unknown", b"a,b").name
    ('csv', 'parquet', 'csv')
    >>> find_format("t.docx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sfumato.errors.InputError: file 't.docx' has an ending that no format has; use one of .csv, .tsv, .txt, .arrow...
    """
    found = [format_class() for format_class in plugins.every("formats", Format).values()]
    found.sort(key=lambda one: one.name != PLAIN)
    by_ending: dict[str, Format] = {}
    for one in found:
        for ending in one.endings:
            by_ending.setdefault(ending, one)  # ours come first, and stay
    ending = _ending(path)
    if start is None:
        if ending not in by_ending and ending:
            known = ", ".join(by_ending)
            raise InputError(f"file '{path}' has an ending that no format has; use one of {known}")
        return by_ending.get(ending, found[0])
    named = by_ending.get(ending)
    if named is not None and named.claims(start) is None:
        return named
    return next((one for one in found if one.claims(start)), found[0])


def _ending(path: str | Path) -> str:
    """Return the ending that tells the format, `.gz` after it not counting."""
    suffixes = [suffix.casefold() for suffix in Path(path).suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix != GZIP), "")
