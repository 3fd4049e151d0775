"""Rows of a CSV file that are broken, named by their line: too few or too many fields, and quotes that do not close.

A quote that is never closed takes all the rows after it into one cell (RFC 4180, section 2, leaves such a file without
a meaning); here it is refused, by the line in which it opens.
"""

from __future__ import annotations

import csv
import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.table.formats.dialect import Dialect

NEVER = "unexpected end of data"  # as Python's csv has it
Places = npt.NDArray[np.int64]


class Quotes(NamedTuple):
    """Where the quotes of a file stand, and its bytes as numbers."""

    places: Places
    codes: npt.NDArray[np.uint8]
    dialect: Dialect

    @classmethod
    def of(cls, data: bytes, dialect: Dialect) -> Quotes:
        codes = np.frombuffer(data, dtype=np.uint8)
        return cls(np.flatnonzero(codes == ord(dialect.quote)), codes, dialect)

    def are_plain(self) -> bool:
        """Return whether every quote opens a cell, closes one, or is doubled inside one."""
        if len(self.places) % 2:
            return False
        edges = np.zeros(256, dtype=np.bool_)
        edges[[ord(letter) for letter in (self.dialect.delimiter, self.dialect.quote, "\n", "\r")]] = True
        opening, closing = self.places[::2], self.places[1::2]
        before = self.codes[np.maximum(opening - 1, 0)]
        after = self.codes[np.minimum(closing + 1, len(self.codes) - 1)]
        starts = edges[before] | (opening == 0)
        ends = edges[after] | (closing == len(self.codes) - 1)
        return bool(starts.all() and ends.all())


def refuse_open_quotes(data: bytes, dialect: Dialect, name: str) -> None:
    r"""Refuse a file in which a quote opens a cell and does not close it where the cell ends.

    >>> refuse_open_quotes(b'a,b\n1,"oops\n2,x\n3,"y"\n', Dialect(",", '"'), "t.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sfumato.errors.InputError: file 't.csv' line 2: a quote opens here and is closed in line 4, before other letters...
    """
    if not dialect.quote or dialect.quote.encode() not in data or Quotes.of(data, dialect).are_plain():
        return
    reader = _reader(data, dialect, strict=True)
    line = 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        opened = line + _lines_before_the_quote(data, dialect, line)
        closed = f"is closed in line {reader.line_num}, before other letters"
        told = "is never closed" if str(error) == NEVER else closed
        raise InputError(
            f"file '{name}' line {opened}: a quote opens here and {told}; close or double it, or say that cells are "
            "not quoted (quote none)"
        ) from None


def refuse_ragged(data: bytes, dialect: Dialect, width: int, name: str) -> None:
    r"""Refuse the first line that has too few or too many fields.

    >>> refuse_ragged(b"a,b\n1\n", Dialect(",", '"'), 2, "t.csv")
    Traceback (most recent call last):
    sfumato.errors.InputError: file 't.csv' line 2: found 1 field; the header has 2, so complete or quote the line
    """
    reader = _reader(data, dialect, strict=False)
    line = 1
    for row in reader:
        if len(row) != width:
            found = f"{len(row)} field{'' if len(row) == 1 else 's'}"
            raise InputError(
                f"file '{name}' line {line}: found {found}; the header has {width}, so complete or quote the line"
            )
        line = reader.line_num + 1


def swallowed_lines(data: bytes, dialect: Dialect, width: int) -> str | None:
    r"""Return a sentence about the first quoted cell that holds a line which could be a row of its own.

    >>> swallowed_lines(b'a,b\n1,"x\n2,y\n3,z"\n', Dialect(",", '"'), 2)
    'line 3 stands inside a quoted cell though it has as many fields as a row (check the quotes before it)'
    """
    if not dialect.quote or width < 2 or dialect.quote.encode() not in data:
        return None
    quotes = Quotes.of(data, dialect)
    ends = np.flatnonzero(quotes.codes == ord("\n"))
    opened = np.searchsorted(quotes.places, ends)
    if not (opened % 2).any():
        return None
    cuts = np.searchsorted(np.flatnonzero(quotes.codes == ord(dialect.delimiter)), ends)
    inside = (opened[1:] % 2 == 1) & (opened[1:] == opened[:-1]) & (np.diff(cuts) == width - 1)
    if not inside.any():
        return None
    line = int(np.argmax(inside)) + 2
    return f"line {line} stands inside a quoted cell though it has as many fields as a row (check the quotes before it)"


def _reader(data: bytes, dialect: Dialect, *, strict: bool) -> Any:
    csv.field_size_limit(max(csv.field_size_limit(), len(data)))  # a long text is no error
    return dialect.rows(data.decode(), strict=strict)


def _lines_before_the_quote(data: bytes, dialect: Dialect, line: int) -> int:
    """Return how many lines after the start of a record, which begins in `line`, the quote opens that breaks it."""
    start = 0
    for _ in range(line - 1):
        start = data.index(b"\n", start) + 1
    quote, cut = re.escape(dialect.quote.encode()), re.escape(dialect.delimiter.encode())
    whole = re.compile(b"%b(?:[^%b]|%b%b)*%b(?=%b|[\r\n]|$)|(?!%b)[^%b\r\n]*" % (*[quote] * 5, cut, quote, cut))
    place = start
    while place < len(data) and (cell := whole.match(data, place)):
        place = cell.end() + 1
    return data.count(b"\n", start, place)
