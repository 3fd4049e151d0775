"""How engines say the same thing: read a cell as declared without ever failing, hash, quote.

Every cell is read by one grammar in all engines, so a file and a server with the same rows give the same answers. What
a cell does not hold as declared is missing; nothing raises (Haeberlen, Pierce & Narayan 2011, section 4).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sfumato.errors import InputError
from sfumato.schema import Kind
from sfumato.schema.kinds import PLAIN
from sfumato.schema.times import DATE, OFFSET, TIMESTAMP
from sfumato.schema.written import Rewriting, Written

LONGEST = 40  # characters of a number or a date in plain form; a longer cell is neither
LONGEST_WRITTEN = 80  # characters of one with marks or in a format of its own
INTEGER = "[+-]?[0-9]+"
EXPONENT = "[eE][+-]?0*(?:[0-9]{1,2}|1[0-9]{2}|2[0-4][0-9])"  # up to 249: no double overflows or vanishes
NUMBER = rf"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:{EXPONENT})?"
GRAMMARS: dict[Kind | None, str] = {
    Kind.INTEGER: INTEGER,
    Kind.NUMBER: NUMBER,
    Kind.DATE: DATE,
    Kind.TIMESTAMP: TIMESTAMP,
}
FRACTION = ("([.][0-9]{6})[0-9]+", "\\1")  # beyond microseconds is cut off
ZONELESS = (f"(:[0-9.]+){OFFSET}$", "\\1")
IN_FULL = (  # a moment with its seconds and an offset of four digits, which every engine reads
    ("([ T][0-9]{1,2}:[0-9]{2})(Z|[+-])", "\\1:00\\2"),
    ("(:[0-9.]+[+-][0-9]{2})$", "\\1:00"),
    ("([+-][0-9]{2})([0-9]{2})$", "\\1:\\2"),
)
CALENDAR = "{x} BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
HUGE, TINY = "1e290", "1e-290"
UNCASED = (
    r"\x{2000}-\x{20FF}\x{3000}-\x{A63F}\x{AC00}-\x{D7FF}\x{1F000}-\x{1FAFF}"  # signs, east Asian letters, pictures
)
GREEK = r"\x{386}-\x{3C1}\x{3C3}-\x{3CE}"
LOWERED = rf"[\x00-\x{{12F}}\x{{131}}-\x{{17F}}{GREEK}\x{{3C2}}\x{{400}}-\x{{4BF}}\x{{4C1}}-\x{{4FF}}{UNCASED}]*"
UPPERED = (  # not the micro sign, sharp s, dotless i and long s
    rf"[\x00-\x{{B4}}\x{{B6}}-\x{{DE}}\x{{E0}}-\x{{130}}\x{{132}}-\x{{17E}}{GREEK}"
    rf"\x{{400}}-\x{{4BF}}\x{{4C1}}-\x{{4CE}}\x{{4D0}}-\x{{4FF}}{UNCASED}]*"
)


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
    ZONED = "zoned"
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
    wall: str  # the time of a text without an offset
    moment: str  # the time in UTC of a text with one
    micros: str  # since 1970, of a time
    utc: str = "({x} AT TIME ZONE 'UTC')"  # the time in UTC of a moment as it is stored
    local: str = "(({x} AT TIME ZONE 'UTC') AT TIME ZONE '{zone}')"
    replaced: str = "regexp_replace({x}, '{pattern}', '{template}', 'g')"
    group: str = "\\{}"  # how a template names a group of the pattern
    double: str = "DOUBLE PRECISION"
    floor: str = "floor({x})"
    days: str = "CAST({x} - DATE '1970-01-01' AS BIGINT)"
    finite: str = "isfinite({x})"
    whole_real: str = "CASE WHEN {x} = floor({x}) AND abs({x}) < 9.2e18 THEN {whole} END"
    real_text: str = "regexp_replace({text}, '\\.0+$', '')"
    total: str = "SUM({x})"
    item: str = "[{list}][{place} + 1]"
    literal: str = "{x}"  # a number that is written out, as a double
    small_floor: str = "floor({x})"  # of a number within ±9e15
    date: str = "(DATE '1970-01-01' + CAST({x} AS INTEGER))"  # the engine's date of days since 1970
    part: str = "EXTRACT({unit} FROM {x})"  # of a date
    quarter: str = "CAST(date_trunc('quarter', CAST({x} AS TIMESTAMP)) AS DATE)"  # the first day of that of a date
    later: str = "CAST({x} + INTERVAL '{months} months' AS DATE)"
    characters: str = "char_length({x})"
    trimmed: str = "btrim({x}, ' ')"
    plain: Mapping[str, str] = field(default_factory=dict)  # texts of which the engine's own lower and upper are ours
    fence: str = ""  # after a selection that is made for every row, whatever is asked of it later

    def matches(self, x: str, pattern: str) -> str:
        """Return the test that the whole text fits a regular expression."""
        return self.match.format(x=x, pattern=pattern.replace("'", "''"))

    def cell(self, x: str, stored: StorageType, kind: Kind | None, written: Written = PLAIN) -> str:
        """Return a column's cell as its kind says; NULL where it holds something else.

        An integer is a bigint, a number a double, a date its days and a timestamp its seconds since 1970 on the wall.
        """
        if kind not in GRAMMARS:
            return self.as_text(x, stored)
        if stored in {StorageType.TEXT, StorageType.OTHER}:
            x = self._plain(x, written.calendar() if kind in {Kind.DATE, Kind.TIMESTAMP} else written.numbers())
        if kind is Kind.INTEGER:
            return self._integer(x, stored)
        if kind is Kind.NUMBER:
            return self._number(x, stored)
        if kind is Kind.TIMESTAMP:
            return self._time(x, stored, written.zone)
        timed = stored is StorageType.ZONED or (stored in {StorageType.TEXT, StorageType.OTHER} and written.clocked)
        return self.day_of_time(self._time(x, stored, written.zone)) if timed else self._date(x, stored)

    def day_of_time(self, x: str) -> str:
        """Return the day of a time, both since 1970."""
        return f"CAST(floor(floor({x}) / 86400e0) AS BIGINT)"

    def replace(self, x: str, pattern: str, template: str) -> str:
        """Return a text in which all that fits a pattern is replaced."""
        shown = re.sub(r"\\(\d)", lambda found: self.group.format(found[1]), template)
        return self.replaced.format(x=x, pattern=pattern.replace("'", "''"), template=shown)

    def _plain(self, x: str, rule: Rewriting | None) -> str:
        """Return a text as it would be in plain form: a decimal point, ISO 8601; NULL where it does not fit."""
        if rule is None:
            return x
        text = self.text.format(x=x)
        shown = text
        for pattern, template in rule.steps:
            shown = self.replace(shown, pattern, template)
        long = f"{self.length.format(x=text)} > {LONGEST_WRITTEN}"
        return f"(CASE WHEN {long} THEN NULL WHEN {self.matches(text, rule.guard)} THEN {shown} END)"

    def _time(self, x: str, stored: StorageType, zone: str | None) -> str:
        """Return a time as seconds since 1970 on the wall of its zone."""
        if stored is StorageType.DAY:
            return f"CAST({self._date(x, stored)} AS {self.double}) * 86400e0"
        if stored is StorageType.MOMENT:
            return self._seconds(x)
        if stored is StorageType.ZONED:
            return self._seconds(self.local.format(x=self.utc.format(x=x), zone=zone or "UTC"))
        text = self.text.format(x=x)
        cut = self.replace(text, *FRACTION)
        time = self.wall.format(x=self.replace(cut, *ZONELESS))
        if zone is None:
            return self._parse_text(x, TIMESTAMP, self._seconds(time).replace("{", "{{").replace("}", "}}"))
        for pattern, template in IN_FULL:
            cut = self.replace(cut, pattern, template)
        moment = self.local.format(x=self.moment.format(x=cut), zone=zone)
        offset = self.matches(text, f".*:[0-9.]+{OFFSET}")
        both = f"CASE WHEN {offset} THEN {self._seconds(moment)} ELSE {self._seconds(time)} END"
        return self._parse_text(x, TIMESTAMP, both.replace("{", "{{").replace("}", "}}"))

    def _seconds(self, time: str) -> str:
        test = f"{self.finite.format(x=time)} AND {CALENDAR.format(x=time)}"
        return f"CASE WHEN {test} THEN CAST({self.micros.format(x=time)} AS {self.double}) / 1e6 END"

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
    wall="TRY_CAST({x} AS TIMESTAMP)",
    moment="(TRY_CAST({x} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')",
    micros="epoch_us({x})",
    plain={"lower": LOWERED, "upper": UPPERED},
    characters="length({x})",
    trimmed="trim({x}, ' ')",
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
    wall="CAST({x} AS TIMESTAMP)",
    moment="(CAST({x} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')",
    micros="CAST(EXTRACT(EPOCH FROM {x}) * 1000000 AS BIGINT)",
    fence=" OFFSET 0",
    plain=dict.fromkeys(("lower", "upper"), r"[\x01-\x7f]*"),
    literal="CAST({x} AS DOUBLE PRECISION)",
)


def double_parts(x: str, dialect: Dialect) -> str:
    """Return a text of a double that is the same in all engines: its whole part and the first bits of the rest.

    Two doubles may have one text where they are beyond ±9·10^15 or closer than 2^-52.

    >>> double_parts("x", DUCKDB).startswith("CASE WHEN x IS NULL THEN NULL WHEN abs(x) < 9e15 THEN")
    True
    """
    whole = f"CAST(floor({x}) AS BIGINT)"
    rest = f"CAST(floor(({x} - floor({x})) * {double(2.0**52)}) AS BIGINT)"
    text = f"{dialect.text.format(x=whole)} || ':' || {dialect.text.format(x=rest)}"
    return f"CASE WHEN {x} IS NULL THEN NULL WHEN abs({x}) < 9e15 THEN {text} WHEN {x} < 0 THEN '-' ELSE '+' END"


def refuse_stored(name: str, stored: StorageType, kind: Kind | None) -> None:
    """Refuse a column whose stored type contradicts its declared one: dates as numbers, or numbers as dates.

    >>> refuse_stored("born", StorageType.DAY, Kind.INTEGER)
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'born' holds dates; declare its type as date or timestamp, not integer
    """
    calendar = {StorageType.DAY, StorageType.MOMENT, StorageType.ZONED}
    if stored in calendar and kind in {Kind.INTEGER, Kind.NUMBER}:
        raise InputError(f"column '{name}' holds dates; declare its type as date or timestamp, not {kind}")
    if stored in {StorageType.WHOLE, StorageType.REAL} and kind in {Kind.DATE, Kind.TIMESTAMP}:
        raise InputError(f"column '{name}' holds numbers; declare its type as integer or number, not {kind}")


def readable(marks: Sequence[str], stored: StorageType, kind: Kind | None, written: Written = PLAIN) -> list[str]:
    """Return the missing marks that a cell could be taken for a value with; the others need no test.

    >>> readable(("", "?", "-9"), StorageType.TEXT, Kind.INTEGER)
    ['-9']
    """
    if stored not in {StorageType.TEXT, StorageType.OTHER}:
        return [mark for mark in marks if mark]
    if kind not in GRAMMARS or written != PLAIN:
        return list(marks)
    return [mark for mark in marks if re.fullmatch(GRAMMARS[kind], mark)]
