"""The grammar of published cells: the one place that writes them and reads them back.

| text | stands for |
|---|---|
| `31`, `F`, `2025-01-31` | a single value, plainly |
| `[20-29]` | a range of integers, both ends in it |
| `[1.5..2.5]`, `[2025-01-01..2025-01-31]`, `[low..high]` | a range of anything else |
| `{F, M}` | a set; a member with `,{}[]"`, a `*` at its end or a blank at either stands in double quotes |
| `*` | anything: the value is suppressed |
| `[20-29]?`, `{"", F}` | a missing value may be among them; `30.5?` is a number or day with one |
| the column's missing mark | a missing value alone |
| `021**` | every code as long as this that begins so |
| `2025-W05`, `2025-01`, `2025-Q1`, `2025`, `2020s` | all days of a week, month, quarter, year or decade |
| `2025-01-31 14:30:00` | a time of the wall clock; `2025-01-31 14h` is all times of an hour, `2025-01-31` of a day |
| `"{x}"` | the value `{x}` itself |

A value that would be read as something else is written in double quotes, and its own quotes are doubled; every other
value is written as it is. The forms are those of Samarati & Sweeney (1998) and of the calendar in ISO 8601.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.core.calendar import EPOCH, MICROSECOND, day_of, days_of, time_of, times_of
from sfumato.errors import InputError, suggestion

if TYPE_CHECKING:
    import polars as pl

SUPPRESSED = "*"
MISSING_MARKS = ("", "?")  # what a missing value looks like where no schema says it
LIMITS = ("min", "max", "missing")  # the columns `x_min`, `x_max` and `x_missing` of `ranges="columns"`
SYNTAX = frozenset(',{}[]"')
INTEGER = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
RANGE = re.compile(r"\[(?P<body>.+)\](?P<missing>\??)", re.DOTALL)
INTEGERS = re.compile(rf"({INTEGER.pattern})-({INTEGER.pattern})")
QUOTED = re.compile(r'"(?:[^"]|"")*"')
ENDS = re.compile(rf"({QUOTED.pattern}|[^\"].*?)\.\.({QUOTED.pattern}|[^\"].*)", re.DOTALL)
MEMBER = re.compile(rf'(?:({QUOTED.pattern})|([^",]+))(?:, *|\Z)')
MASKED = re.compile(r"(?P<prefix>[^*]+)\*+", re.DOTALL)
Number = int | float


@dataclass(frozen=True)
class Cell:
    """What one published cell may stand for; everything is text as it was before it was written.

    `words` are single values, `ends` the ends of a range, `masks` codes of which only the beginning is shown.

    >>> read('{F, "a, b"}').words, read("[30-39]?").ends, read("[30-39]?").missing, read("*").everything
    (('F', 'a, b'), ('30', '39'), True, True)
    """

    words: tuple[str, ...] = ()
    ends: tuple[str, str] | None = None
    masks: tuple[str, ...] = ()
    missing: bool = False
    everything: bool = False

    @classmethod
    def between(cls, low: str, high: str, *, missing: bool = False) -> Cell:
        """Return a range; equal ends are a single value.

        >>> Cell.between("3", "3").words
        ('3',)
        """
        return cls(words=(low,)) if low == high and not missing else cls(ends=(low, high), missing=missing)

    @property
    def named(self) -> bool:
        """Whether the cell names values at all; a missing value alone and `*` do not."""
        return bool(self.words or self.masks or self.ends)

    @property
    def limits(self) -> tuple[Number, Number] | None:
        """The ends of a range, or a single value twice, as numbers (days by their ordinal); None for words.

        >>> read("[-5--3]").limits, read("2.5").limits, read("{1, 3}").limits
        ((-5, -3), (2.5, 2.5), None)
        """
        single = len(self.words) == 1 and not self.masks
        ends = self.ends or ((self.words[0], self.words[0]) if single else None)
        if ends is None:
            return None
        low, high = number(ends[0]), number(ends[1])
        return None if low is None or high is None else (low, high)

    def on_calendar(self) -> Cell:
        """Return a month, quarter, year or decade as the range of its days; any other cell as it is.

        >>> read("2024-02").on_calendar().ends
        ('2024-02-01', '2024-02-29')
        """
        days = days_of(self.words[0]) if len(self.words) == 1 else None
        return self if days is None else replace(self, words=(), ends=(days[0].isoformat(), days[1].isoformat()))

    def on_clock(self) -> Cell:
        """Return an hour, a day or a longer period as the range of its times, also at the ends of a range.

        >>> read("2024-02-29 14h").on_clock().ends
        ('2024-02-29 14:00:00', '2024-02-29 14:59:59.999999')
        """
        ends = self.ends or ((self.words[0], self.words[0]) if len(self.words) == 1 and not self.masks else None)
        spans = None if ends is None else (times_of(ends[0]), times_of(ends[1]))
        if spans is None or spans[0] is None or spans[1] is None:
            return self
        low, high = spans[0][0].isoformat(sep=" "), spans[1][1].isoformat(sep=" ")
        if low == high and self.ends is None:
            return replace(self, words=(low,))
        return replace(self, words=(), ends=(low, high))


def read(text: str | None, marks: Container[str] = MISSING_MARKS, known: Container[str] | None = None) -> Cell:
    """Return what a published text stands for; `marks` are the column's marks for a missing value.

    `known` tells the words of an ordered column, so that an end with two dots in it is found without quotes too.

    >>> read('"[1-2]"').words, read("021**").masks, read("30.5?") == Cell(words=("30.5",), missing=True)
    (('[1-2]',), ('021**',), True)
    """
    if text is None or (text in marks and text != SUPPRESSED):
        return Cell(missing=True)
    if text == SUPPRESSED:
        return Cell(everything=True)
    if QUOTED.fullmatch(text):
        word = _unquote(text)
        return Cell(missing=True) if word in marks else Cell(words=(word,))
    return (
        _read_range(text, known)
        or _read_set(text, marks)
        or _read_single(text)
        or Cell(words=() if MASKED.fullmatch(text) else (text,), masks=(text,) if MASKED.fullmatch(text) else ())
    )


def write(cell: Cell, *, whole: bool = False, mark: str = "") -> str:
    """Return a cell as text; `whole` says that the column holds integers, `mark` stands for a missing value.

    >>> write(Cell(words=("F", "M"))), write(Cell.between("1", "2"), whole=True), write(Cell(words=("*",)))
    ('{F, M}', '[1-2]', '"*"')
    """
    if cell.everything:
        return SUPPRESSED
    if cell.ends is not None:
        return range_text(*cell.ends, whole=whole, missing=cell.missing)
    if not cell.masks:
        return set_text([*([mark] if cell.missing else []), *cell.words])
    shown = [*([_member(mark)] if cell.missing else []), *map(_member, cell.words), *cell.masks]
    return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"


def literal(value: str) -> str:
    """Return a single value as text: in double quotes where it would be read as something else.

    >>> literal("F"), literal("a, b"), literal("{x}"), literal("A*")
    ('F', 'a, b', '"{x}"', '"A*"')
    """
    return value if read(value, marks=()) == Cell(words=(value,)) else _quote(value)


def range_text(low: str, high: str, *, whole: bool, missing: bool = False) -> str:
    """Return a range as text, a single value plainly.

    >>> range_text("20", "29", whole=True), range_text("1.5", "2.5", whole=False, missing=True)
    ('[20-29]', '[1.5..2.5]?')
    """
    if low == high and not missing:
        return literal(low)
    return f"[{_end(low)}{joint(whole=whole)}{_end(high)}]{'?' * missing}"


def joint(*, whole: bool) -> str:
    """Return what stands between the ends of a range: a hyphen between integers, two dots between all else.

    >>> joint(whole=True), joint(whole=False)
    ('-', '..')
    """
    return "-" if whole else ".."


def set_text(words: Sequence[str]) -> str:
    """Return a set as text, a single word plainly.

    >>> set_text(["F", "a, b"]), set_text(["F"])
    ('{F, "a, b"}', 'F')
    """
    return literal(words[0]) if len(words) == 1 else f"{{{', '.join(map(_member, words))}}}"


def point_text(value: str, *, missing: bool) -> str:
    """Return a value that stands for a class, a missing one among them or not.

    >>> point_text("30.5", missing=True), point_text("low", missing=True), point_text("low", missing=False)
    ('30.5?', '[low..low]?', 'low')
    """
    if not missing:
        return literal(value)
    return f"{value}?" if number(value) is not None else range_text(value, value, whole=False, missing=True)


def masked_text(code: str, length: int) -> str:
    """Return a code of which only the first characters are shown.

    >>> masked_text("02139", 3)
    '021**'
    """
    return code[:length] + "*" * (len(code) - length)


def is_under_mask(mask: str, word: str) -> bool:
    """Return whether a masked code may stand for a word.

    >>> is_under_mask("021**", "02139"), is_under_mask("021**", "0213")
    (True, False)
    """
    return len(word) == len(mask) and word.startswith(mask.rstrip("*"))


def number(text: str) -> Number | None:
    """Return a finite number, a day by its ordinal, a time by its microseconds since 1970; None for any other text.

    >>> number("31"), number("1e3"), number("1970-01-01"), number("flu"), number("1e999")
    (31, 1000.0, 719163, None, None)
    >>> number("1970-01-01 00:00:01")
    1000000
    """
    if INTEGER.fullmatch(text):
        return int(text)
    if DECIMAL.fullmatch(text):
        value = float(text)
        return value if abs(value) < float("inf") else None
    day, time = day_of(text), time_of(text)
    if time is not None:
        return (time - EPOCH) // MICROSECOND
    return None if day is None else day.toordinal()


def limit_columns(columns: Sequence[str], name: str) -> list[str]:
    """Return the column, or the two or three that `ranges="columns"` made of it; none where neither is there.

    >>> limit_columns(["age_min", "age_max"], "age"), limit_columns(["age"], "age"), limit_columns(["sex"], "age")
    (['age_min', 'age_max'], ['age'], [])
    """
    if name in columns:
        return [name]
    parts = [f"{name}_{part}" for part in LIMITS]
    return [part for part in parts if part in columns] if {*parts[:2]} <= {*columns} else []


def column_text(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return a published column as text; limits published as two columns become ranges.

    >>> import polars as pl
    >>> column_text(pl.DataFrame({"age_min": [20, 31], "age_max": [25, 31]}), "age").to_list()
    ['[20-25]', '31']
    """
    import polars as pl

    parts = limit_columns(frame.columns, name)
    if not parts:
        raise InputError(f"a published table has no column '{name}'{suggestion(name, frame.columns)}")
    if parts == [name]:
        return frame.get_column(name).cast(pl.String).fill_null("")
    distinct = frame.select(parts).unique(maintain_order=True)
    texts = distinct.cast(pl.String).rows()
    whole = all(INTEGER.fullmatch(end) for row in texts for end in row[:2] if end is not None)
    shown = [
        "" if row[0] is None or row[1] is None else range_text(*row[:2], whole=whole, missing=row[2:] == ("true",))
        for row in texts
    ]
    numbered = distinct.with_columns(pl.Series(name, shown, dtype=pl.String))
    joined = frame.select(parts).join(numbered, on=parts, how="left", nulls_equal=True, maintain_order="left")
    return joined.get_column(name)


def _read_range(text: str, known: Container[str] | None) -> Cell | None:
    found = RANGE.fullmatch(text)
    if found is None:
        return None
    body, missing = found["body"], bool(found["missing"])
    integers = INTEGERS.fullmatch(body)
    if integers is not None:
        return Cell.between(integers[1], integers[2], missing=missing)
    ends = ENDS.fullmatch(body)
    if ends is None:
        return None
    low, high = _unquote(ends[1]), _unquote(ends[2])
    if known is not None and f"{_end(low)}..{_end(high)}" != body:  # not as we would write it
        for dots in re.finditer(r"(?=\.\.)", body):
            if body[: dots.start()] in known and body[dots.start() + 2 :] in known:
                low, high = body[: dots.start()], body[dots.start() + 2 :]
    return Cell.between(low, high, missing=missing)


def _read_set(text: str, marks: Container[str]) -> Cell | None:
    if len(text) < 3 or text[0] != "{" or text[-1] != "}":
        return None
    body, words, masks, missing, place = text[1:-1], [], [], False, 0
    while place < len(body):
        found = MEMBER.match(body, place)
        if found is None:
            return None
        member = _unquote(found[1] or found[2])
        if member in marks:
            missing = True
        elif found[1] is None and MASKED.fullmatch(member):
            masks.append(member)
        else:
            words.append(member)
        place = found.end()
    return Cell(words=tuple(words), masks=tuple(masks), missing=missing)


def _read_single(text: str) -> Cell | None:
    """Return a number, a day, a time or a period with a missing value among them."""
    value = text[:-1]
    if text[-1:] != "?" or (number(value) is None and times_of(value) is None):
        return None
    return Cell(words=(value,), missing=True)


def _unquote(text: str) -> str:
    return text[1:-1].replace('""', '"') if QUOTED.fullmatch(text) else text


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _member(word: str) -> str:
    """Return a set's member, in double quotes where it would be read wrongly."""
    plain = word and word == word.strip() and not SYNTAX.intersection(word) and word[-1] != "*"
    return word if plain else _quote(word)


def _end(word: str) -> str:
    """Return a range's end, in double quotes where it would be read wrongly."""
    plain = word and word[0] != '"' and word[-1] != "." and ".." not in word
    return word if plain else _quote(word)
