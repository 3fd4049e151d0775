"""How a file is written: delimiter, quote, encoding, sheet, and the marks of its numbers, dates and missing values.

Whatever is left open is guessed from the file and said; what is pinned in a schema is not guessed again (van den Burg,
Nazabal & Sutton 2019, "Wrangling messy CSV files by detecting row and type patterns", on how guesses go wrong).
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from sfumato.errors import SchemaError, suggestion
from sfumato.schema.written import Written

NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "none": ""}


@dataclass(frozen=True, kw_only=True)
class Reading:
    r"""What is known about how a file is written; None is left to a guess.

    `decimal`, `thousands`, `date_format`, `zone` and `missing` hold for every column that says nothing else itself.
    A delimiter may be named (`tab`), and `quote = "none"` says that a quote is a letter like any other.

    >>> Reading.from_mapping({"delimiter": ";", "decimal": ","}).decimal
    ','
    >>> Reading(delimiter="tab").delimiter
    '\t'
    >>> Reading(delimiter=";;")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: reading: delimiter must be one ASCII character, or tab; found ';;'
    """

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    zone: str | None = None
    missing: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for key in ("delimiter", "quote"):
            value = getattr(self, key)
            object.__setattr__(self, key, NAMES.get(value, value))
        wrong = self._contradiction()
        if wrong:
            raise SchemaError(f"reading: {wrong}")

    def _contradiction(self) -> str | None:
        if self.delimiter is not None and not _is_mark(self.delimiter):
            return f"delimiter must be one ASCII character, or tab; found {self.delimiter!r}"
        if self.quote and (not _is_mark(self.quote) or self.quote == self.delimiter):
            return f"quote must be one ASCII character other than the delimiter, or none; found {self.quote!r}"
        if self.encoding is not None and not _is_encoding(self.encoding):
            return f"encoding must be one like utf-8, utf-16, latin-1 or windows-1252; found {self.encoding!r}"
        return Written(self.decimal, self.thousands, self.date_format, self.zone).problem()

    def or_else(self, other: Reading) -> Reading:
        """Return what is pinned here and, where nothing is, what is pinned in `other`.

        >>> Reading(delimiter=";").or_else(Reading(delimiter=",", encoding="latin-1")).to_mapping()
        {'delimiter': ';', 'encoding': 'latin-1'}
        """
        open_keys = [one.name for one in fields(self) if getattr(self, one.name) is None]
        return replace(self, **{key: getattr(other, key) for key in open_keys})

    @property
    def layout(self) -> Reading:
        """What tells where a cell begins and ends, without what its text means.

        >>> Reading(delimiter=";", decimal=",").layout.to_mapping()
        {'delimiter': ';'}
        """
        return Reading(delimiter=self.delimiter, quote=self.quote, encoding=self.encoding, sheet=self.sheet)

    @classmethod
    def from_mapping(cls, entry: Mapping[str, object]) -> Reading:
        """Return what the `[reading]` table of a schema file declares.

        >>> Reading.from_mapping({"delimeter": ";"})
        Traceback (most recent call last):
        sfumato.errors.SchemaError: reading: unknown key 'delimeter'; did you mean 'delimiter'?
        """
        known = [one.name for one in fields(cls)]
        values: dict[str, str] = {}
        for key, value in entry.items():
            if key not in known:
                raise SchemaError(f"reading: unknown key '{key}'{suggestion(key, known)}")
            if key != "missing":
                if not isinstance(value, str):
                    raise SchemaError(f"reading: {key} must be a text; found {value!r}")
                values[key] = value
        return cls(missing=_marks(entry.get("missing")), **values)

    def to_mapping(self) -> dict[str, object]:
        """Return the table that `from_mapping` reads back: what is pinned, and nothing else.

        >>> Reading(missing=("NA",)).to_mapping()
        {'missing': ['NA']}
        """
        pinned = {one.name: getattr(self, one.name) for one in fields(self)}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in pinned.items()}
        if self.quote == "":
            plain["quote"] = "none"
        return {key: value for key, value in plain.items() if value is not None}


def _is_mark(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"


def _is_encoding(name: str) -> bool:
    try:
        return codecs.lookup(name) is not None and bool("a".encode(name))
    except (LookupError, UnicodeError, ValueError):
        return False


def _marks(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(mark, str | int | float) for mark in value):
        return tuple(str(mark) for mark in value)
    raise SchemaError(f"reading: missing must be a list of texts; found {value!r}")
