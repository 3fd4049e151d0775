"""How engines say the same thing: read a cell as declared without ever failing, hash, quote.

Every cell is read by one grammar in all engines, so a file and a server with the same rows give the same answers. What
a cell does not hold as declared is missing; nothing raises (Haeberlen, Pierce & Narayan 2011, section 4).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sfumato.errors import InputError
from sfumato.schema import Kind

LONGEST = 40  # characters of a number or a date; a longer cell is neither
INTEGER = "[+-]?[0-9]+"
EXPONENT = "[eE][+-]?0*(?:[0-9]{1,2}|1[0-9]{2}|2[0-4][0-9])"  # up to 249: no double overflows or vanishes
NUMBER = rf"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:{EXPONENT})?"
YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
FOURTH = "(?:0[48]|[2468][048]|[13579][26])"  # multiples of four, 00 left out
LEAP = f"(?:[0-9]{{2}}{FOURTH}|{FOURTH}00)"
DAY28 = "(?:0?[1-9]|1[0-9]|2[0-8])"
SHORT_MONTHS = f"(?:0?[1-9]|1[0-2])-{DAY28}"
LONG_MONTHS = "(?:0?[13-9]|1[0-2])-(?:29|30)|(?:0?[13578]|1[02])-31"
DATE = f"{YEAR}-(?:{SHORT_MONTHS}|{LONG_MONTHS})|{LEAP}-0?2-29"
GRAMMARS: dict[Kind | None, str] = {Kind.INTEGER: INTEGER, Kind.NUMBER: NUMBER, Kind.DATE: DATE}
HUGE, TINY = "1e290", "1e-290"


class StorageType(StrEnum):
    """How the engine stores a column.

    >>> StorageType("text") is StorageType.TEXT
    True
    """

    TEXT = "text"
    WHOLE = "whole"
    REAL = "real"
    DAY = "day"
    MOMENT = "moment"
    OTHER = "other"


def quote_name(name: str) -> str:
    """Return an identifier in quotes.

    >>> quote_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def double(value: float) -> str:
    """Return a number as SQL reads it into the very same double (a point alone would make a decimal).

    >>> double(0.1), double(3), double(1e-9)
    ('0.1e0', '3.0e0', '1e-09')
    """
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


@dataclass(frozen=True)
class Dialect:
    """The words in which engines differ, as templates of an argument `x`, and what is said with them.

    >>> DUCKDB.matches("x", "[0-9]")
    "regexp_full_match(x, '[0-9]')"
    """

    name: str
    match: str
    integer: str
    number: str
    day: str
    whole: str
    text: str
    wide: str
    digest: str
    length: str
    holder: str
    text_type: str
    lists: bool
    double: str = "DOUBLE PRECISION"
    floor: str = "floor({x})"
    days: str = "CAST({x} - DATE '1970-01-01' AS BIGINT)"
    finite: str = "isfinite({x})"
    whole_real: str = "CASE WHEN {x} = floor({x}) AND abs({x}) < 9.2e18 THEN {whole} END"
    real_text: str = "regexp_replace({text}, '\\.0+$', '')"
    total: str = "SUM({x})"
    item: str = "[{list}][{place} + 1]"
    fence: str = ""  # after a selection that is made for every row, whatever is asked of it later

    def matches(self, x: str, pattern: str) -> str:
        """Return the test that the whole text fits a regular expression."""
        return self.match.format(x=x, pattern=pattern)

    def cell(self, x: str, stored: StorageType, kind: Kind | None) -> str:
        """Return a column's cell as its kind says: bigint, double, days or text; NULL where it holds something else."""
        if kind is Kind.INTEGER:
            return self._integer(x, stored)
        if kind is Kind.NUMBER:
            return self._number(x, stored)
        return self._date(x, stored) if kind is Kind.DATE else self.as_text(x, stored)

    def as_text(self, x: str, stored: StorageType) -> str:
        """Return a cell as a CSV file would hold it, whole decimals without their `.0`."""
        text = self.text.format(x=x)
        return self.real_text.format(x=x, text=text) if stored is StorageType.REAL else text

    def _integer(self, x: str, stored: StorageType) -> str:
        if stored is StorageType.WHOLE:
            return self.whole.format(x=x)
        if stored is StorageType.REAL:
            return self.whole_real.format(x=x, whole=self.whole.format(x=x))
        return self._parse_text(x, INTEGER, self.integer)

    def _number(self, x: str, stored: StorageType) -> str:
        value = f"CAST({x} AS {self.double})"
        if stored is StorageType.WHOLE:
            return value
        if stored is StorageType.REAL:
            return f"CASE WHEN abs({x}) < {TINY} THEN 0e0 WHEN abs({x}) <= {HUGE} THEN {value} END"
        return self._parse_text(x, NUMBER, self.number)

    def _date(self, x: str, stored: StorageType) -> str:
        days = self.days.format(x=self.day)
        if stored in {StorageType.DAY, StorageType.MOMENT}:
            day = self.day.format(x=x)
            calendar = f"{day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"  # the years that a text can hold
            return f"CASE WHEN {self.finite.format(x=x)} AND {calendar} THEN {days.format(x=x)} END"
        return self._parse_text(x, DATE, days)

    def _parse_text(self, x: str, grammar: str, value: str) -> str:
        """Return a text's value where it fits the grammar; the cases are tried in order, so no cast can fail."""
        x = self.text.format(x=x)
        long = f"{self.length.format(x=x)} > {LONGEST}"
        return f"CASE WHEN {long} THEN NULL WHEN {self.matches(x, grammar)} THEN {value.format(x=x)} END"

    def encode(self, x: str) -> str:
        """Return a value as its length and its text, so that a sequence of them can be read in one way only."""
        text = self.text.format(x=x)
        length = self.text.format(x=self.length.format(x=text))
        return f"COALESCE({length} || ':' || {text}, '-')"


DUCKDB = Dialect(
    name="duckdb",
    match="regexp_full_match({x}, '{pattern}')",
    integer="TRY_CAST({x} AS BIGINT)",
    number="TRY_CAST({x} AS DOUBLE)",
    day="TRY_CAST({x} AS DATE)",
    whole="TRY_CAST({x} AS BIGINT)",
    text="CAST({x} AS VARCHAR)",
    wide="CAST({x} AS HUGEINT)",
    digest="sha256({x})",
    length="strlen({x})",
    holder="${}",
    text_type="VARCHAR",
    lists=False,
)
POSTGRES = Dialect(
    name="postgres",
    match="{x} ~ '^(?:{pattern})$'",
    integer=(
        "CASE WHEN CAST({x} AS numeric) BETWEEN -9223372036854775808 AND 9223372036854775807 "
        "THEN CAST(CAST({x} AS numeric) AS BIGINT) END"
    ),
    number="CAST({x} AS DOUBLE PRECISION)",
    day="CAST({x} AS DATE)",
    whole="CAST({x} AS BIGINT)",
    text='CAST({x} AS TEXT) COLLATE "C"',
    wide="CAST({x} AS NUMERIC)",
    digest="sha256(convert_to({x}, 'UTF8'))",
    length="octet_length({x})",
    holder="%({})s",
    text_type="TEXT",
    lists=True,
    fence=" OFFSET 0",
)


def refuse_stored(name: str, stored: StorageType, kind: Kind | None) -> None:
    """Refuse a column whose stored type contradicts its declared one: dates as numbers, or numbers as dates.

    >>> refuse_stored("born", StorageType.DAY, Kind.INTEGER)
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'born' holds dates; declare its type as date, not integer
    """
    if stored in {StorageType.DAY, StorageType.MOMENT} and kind in {Kind.INTEGER, Kind.NUMBER}:
        raise InputError(f"column '{name}' holds dates; declare its type as date, not {kind}")
    if stored in {StorageType.WHOLE, StorageType.REAL} and kind is Kind.DATE:
        raise InputError(f"column '{name}' holds numbers; declare its type as integer or number, not date")


def readable(marks: Sequence[str], stored: StorageType, kind: Kind | None) -> list[str]:
    """Return the missing marks that a cell could be taken for a value with; the others need no test.

    >>> readable(("", "?", "-9"), StorageType.TEXT, Kind.INTEGER)
    ['-9']
    """
    if stored not in {StorageType.TEXT, StorageType.OTHER}:
        return [mark for mark in marks if mark]
    if kind not in GRAMMARS:
        return list(marks)
    return [mark for mark in marks if re.fullmatch(GRAMMARS[kind], mark)]
