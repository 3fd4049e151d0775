"""How a file is written: delimiter, quote, encoding, sheet, and the marks of its numbers, dates and missing values.

Whatever is left open is guessed from the file and said; what is pinned in a schema is not guessed again (van den Burg,
Nazabal & Sutton 2019, "Wrangling messy CSV files by detecting row and type patterns", on how guesses go wrong).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from sfumato.errors import SchemaError, suggestion


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is known about how a file is written; None is left to a guess.

    `decimal`, `thousands`, `date_format`, `zone` and `missing` hold for every column that says nothing else itself.

    >>> Reading.from_mapping({"delimiter": ";", "decimal": ","}).decimal
    ','
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
        return {key: value for key, value in plain.items() if value is not None}


def _marks(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(mark, str | int | float) for mark in value):
        return tuple(str(mark) for mark in value)
    raise SchemaError(f"reading: missing must be a list of texts; found {value!r}")
