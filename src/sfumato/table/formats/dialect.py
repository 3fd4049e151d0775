"""The dialect of a CSV file, delimiter and quote: as declared, else guessed from its first lines and said.

The delimiter is the one that stands in the header and cuts the first lines into equally many fields (van den Burg,
Nazabal & Sutton 2019, "Wrangling messy CSV files by detecting row and type patterns").
"""

from __future__ import annotations

import csv
import io
import re
from itertools import islice
from typing import Any, NamedTuple

from sfumato.schema.reading import Reading

DELIMITERS = ",;\t|"
QUOTE = '"'
OTHER_QUOTE = "'"
LINES = 20  # that a guess looks at


class Dialect(NamedTuple):
    """How cells are parted and quoted, and what of it was guessed; an empty quote is none.

    >>> Dialect(";", '"').guesses
    ()
    """

    delimiter: str
    quote: str
    guesses: tuple[str, ...] = ()

    def rows(self, text: str, *, strict: bool = False) -> Any:
        r"""Return Python's reader of the rows of a text.

        >>> list(Dialect(";", "").rows('a;"b\n'))
        [['a', '"b']]
        """
        lines = io.StringIO(text, newline="")
        if not self.quote:
            return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE, strict=strict)
        return csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, strict=strict)


def find_dialect(start: str, reading: Reading) -> Dialect:
    r"""Return the dialect of a file that begins so; what is declared is not guessed.

    >>> find_dialect("name;cost\nAnn;2,5\n", Reading())
    Dialect(delimiter=';', quote='"', guesses=("delimiter ';' (guessed from the header)",))
    >>> find_dialect("name;cost\n", Reading(delimiter=";")).guesses
    ()
    """
    first = start.partition("\n")[0]
    quote = QUOTE if reading.quote is None else reading.quote
    guesses: list[str] = []
    if reading.quote is None and _singly_quoted(first, reading.delimiter):
        quote = OTHER_QUOTE
        guesses.append(f"quote {quote} (guessed from the header)")
    if reading.delimiter is not None:
        return Dialect(reading.delimiter, quote, tuple(guesses))
    bare = re.sub(f"{quote}[^{quote}]*({quote}|$)", "", first) if quote else first
    rivals = [one for one in DELIMITERS if one in bare]
    found = _best(rivals, bare, start, quote)
    if found != DELIMITERS[0] or len(rivals) > 1:
        guesses.append(f"delimiter {delimiter_name(found)} (guessed from the header)")
    return Dialect(found, quote, tuple(guesses))


def delimiter_name(delimiter: str) -> str:
    r"""Return how a delimiter is called in a sentence.

    >>> delimiter_name("\t"), delimiter_name(";")
    ('tab', "';'")
    """
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


def _singly_quoted(header: str, delimiter: str | None) -> bool:
    """Return whether every name of the header stands between single quotes."""
    for one in DELIMITERS if delimiter is None else delimiter:
        names = [name.strip() for name in header.split(one)]
        if len(names) > 1 and all(len(name) > 1 and name[0] == name[-1] == OTHER_QUOTE for name in names):
            return True
    return False


def _best(rivals: list[str], header: str, start: str, quote: str) -> str:
    """Return the delimiter that cuts the first lines alike; of several, the one the header has most of."""
    if not rivals:
        return DELIMITERS[0]
    if len(rivals) == 1:
        return rivals[0]
    alike = [one for one in rivals if _cuts_alike(start, Dialect(one, quote))]
    return max(alike or rivals, key=header.count)


def _cuts_alike(start: str, dialect: Dialect) -> bool:
    """Return whether the first lines all have as many fields as the header; the last may be cut off."""
    try:
        widths = [len(row) for row in islice(dialect.rows(start), LINES + 1)]
    except csv.Error:
        return False
    return len(set(widths[:-1] if len(widths) > LINES else widths)) == 1
