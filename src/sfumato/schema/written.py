"""How a column's cells are written: decimal and thousands marks, a format of dates and times, a zone.

A cell is first written again in one plain form (a decimal point, ISO 8601), by regular expressions that every engine
has, so that a file, a server and Spark read the same values; the letters of a format are those of strptime (IEEE Std
1003.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from sfumato.schema.times import OFFSET, is_zone

DECIMALS = (".", ",")
THOUSANDS = (".", ",", " ", "'", "_")
ALIKE = {" ": "[ \u00a0\u202f]", "'": "['\u2019]", ".": "[.]", ",": ",", "_": "_"}
SHORTHANDS = {"%T": "%H:%M:%S", "%R": "%H:%M", "%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%B": "%b", "%e": "%d"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NAMED_MONTH = "[A-Z][a-z]{2,8}[.]?"
PARTS = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}",
    "b": NAMED_MONTH,
    "d": "[0-9]{1,2}",
    "H": "[0-9]{1,2}",
    "I": "(?:0?[0-9]|1[0-9]|2[0-3])",
    "p": "(?:[AaPp][Mm])",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
    "f": "[0-9]{1,9}",
    "z": OFFSET,
}
LITERAL = re.compile(r"[\w .,/:;-]*")
DIRECTIVE = re.compile(r"%-?([A-Za-z])")


class Rewriting(NamedTuple):
    r"""A guard that the whole cell must fit, and what is replaced in it, in order; `\1` is the first group.

    >>> Rewriting("[0-9]+,[0-9]+", ((",", "."),)).texts(pl.Series(["1,5", "1.5"])).to_list()
    ['1.5', None]
    """

    guard: str
    steps: tuple[tuple[str, str], ...]

    def texts(self, series: pl.Series) -> pl.Series:
        """Return the cells in plain form, null where they do not fit."""
        found = series.set(~series.str.contains(f"^(?:{self.guard})$").fill_null(value=True), None)
        for pattern, template in self.steps:
            found = found.str.replace_all(pattern, re.sub(r"\\(\d)", r"${\1}", template))
        return found


@dataclass(frozen=True)
class Written:
    """How cells are written; None is the plain form: a decimal point, no thousands mark, ISO 8601.

    >>> Written(decimal=",").numbers().texts(pl.Series(["1,5"])).to_list()
    ['1.5']
    """

    decimal: str | None = None
    thousands: str | None = None
    format: str | None = None
    zone: str | None = None

    def problem(self) -> str | None:
        """Return what is wrong with what is declared, or None.

        >>> Written(format="%d.%m").problem()
        "format must have a day, a month and a year, like '%d.%m.%Y'; found '%d.%m'"
        """
        if self.decimal not in (None, *DECIMALS):
            return f"decimal must be '.' or ','; found {self.decimal!r}"
        if self.thousands not in (None, *THOUSANDS):
            return f"thousands must be one of {', '.join(map(repr, THOUSANDS))}; found {self.thousands!r}"
        if self.thousands is not None and self.thousands == self._point:
            return f"decimal and thousands are both {self.thousands!r}; give two different marks"
        if self.zone is not None and not is_zone(self.zone):
            return f"zone must be a time zone like 'Europe/Berlin'; found {self.zone!r}"
        return None if self.format is None else _format_problem(self.format)

    @property
    def _point(self) -> str:
        return self.decimal or ("," if self.thousands == "." else ".")

    def numbers(self) -> Rewriting | None:
        """Return how a number becomes one with a decimal point; None where it already is.

        >>> Written(decimal=",", thousands=".").numbers().texts(pl.Series(["1.234,56", "1.5", "-7"])).to_list()
        ['1234.56', None, '-7']
        """
        if self.thousands is None and self._point == ".":
            return None
        point = ALIKE[self._point]
        gap = None if self.thousands is None else ALIKE[self.thousands]
        whole = "[0-9]+" if gap is None else f"(?:[0-9]{{1,3}}(?:{gap}[0-9]{{3}})+|[0-9]+)"
        guard = f"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        steps = [] if gap is None else [(gap, "")]
        return Rewriting(guard, (*steps, *([(point, ".")] if self._point != "." else [])))

    @property
    def clocked(self) -> bool:
        """Whether the format has a time of day."""
        return self.format is not None and bool(set(_parts(self.format)) & set("HI"))

    def calendar(self) -> Rewriting | None:
        """Return how a date or time becomes one of ISO 8601; None where no format is declared.

        >>> Written(format="%d.%m.%Y").calendar().texts(pl.Series(["31.12.2024", "2024-12-31"])).to_list()
        ['2024-12-31', None]
        >>> Written(format="%m/%d/%y %I:%M %p").calendar().texts(pl.Series(["9/21/15 2:53 PM"])).to_list()
        ['2015-9-21 14:53']
        """
        return None if self.format is None else _rewriting(self.format)


def _expanded(form: str) -> str:
    for shorthand, meant in SHORTHANDS.items():
        form = form.replace(shorthand, meant)
    return form.replace("%-", "%")


def _parts(form: str) -> list[str]:
    return DIRECTIVE.findall(_expanded(form))


def _format_problem(form: str) -> str | None:
    parts = _parts(form)
    odd = next((part for part in parts if part not in PARTS), None)
    if odd is not None:
        return f"format knows %{', %'.join(PARTS)}; found '%{odd}' in {form!r}"
    if len(set(parts)) != len(parts):
        return f"format names a part twice: {form!r}"
    if not LITERAL.fullmatch(DIRECTIVE.sub("", _expanded(form))):
        return f"format may have letters, digits, blanks and . , / : ; - between its parts; found {form!r}"
    if not ({"d"} <= set(parts) and set("Yy") & set(parts) and set("mb") & set(parts)):
        return f"format must have a day, a month and a year, like '%d.%m.%Y'; found {form!r}"
    if ("I" in parts) != ("p" in parts):
        return f"format needs %I and %p together; found {form!r}"
    return None


def _layout(form: str, **fixed: str) -> str:
    """Return the pattern of a whole cell: a group for each part, `fixed` parts by a pattern of their own."""
    pattern, end = "", 0
    for found in DIRECTIVE.finditer(form):
        part, alone = found[1], form[found.end() : found.end() + 1] != "%" and (found.start() > end or not end)
        digits = PARTS[part] if alone else PARTS[part].replace("{1,2}", "{2}")  # nothing else tells where a part ends
        pattern += _escape(form[end : found.start()]) + f"({fixed.get(part, digits)})"
        end = found.end()
    return f"^{pattern}{_escape(form[end:])}$"


def _escape(text: str) -> str:
    return "".join(f"[{letter}]" if letter == "." else letter for letter in text)


def _template(form: str, **fixed: str) -> str:
    """Return the text with the same parts, `fixed` ones replaced."""
    parts = DIRECTIVE.findall(form)
    return DIRECTIVE.sub(lambda found: fixed.get(found[1], f"\\{parts.index(found[1]) + 1}"), form)


def _rewriting(declared: str) -> Rewriting:
    form = _expanded(declared)
    guard = _layout(form, I="0?[1-9]|1[0-2]")[1:-1]
    steps: list[tuple[str, str]] = []
    if "%y" in form:
        place = DIRECTIVE.findall(form).index("y") + 1
        for years, century in (("[0-5][0-9]|6[0-8]", "20"), ("69|[7-9][0-9]", "19")):
            steps.append((_layout(form, y=years), _template(form, y=f"{century}\\{place}")))
        form = form.replace("%y", "%Y")
    if "%b" in form:
        for number, name in enumerate(MONTHS, 1):
            steps.append((_layout(form, b=f"{name}[a-z]*[.]?"), _template(form, b=f"{number:02d}")))
        form = form.replace("%b", "%m")
    if "%p" in form:
        hours = [("12", "[Aa]", "00"), ("12", "[Pp]", "12")]
        hours += [(f"0?{hour}", "[Pp]", str(hour + 12)) for hour in range(1, 12)]
        for hour, half, meant in hours:
            steps.append((_layout(form, I=hour, p=f"{half}[Mm]"), _template(form, I=meant, p="AM")))
    return Rewriting(guard, (*steps, (_layout(form), _iso(DIRECTIVE.findall(form)))))


def _iso(parts: list[str]) -> str:
    """Return the template of ISO 8601 from the groups of a layout."""
    at = {part: f"\\{place}" for place, part in enumerate(parts, 1)}
    text = f"{at['Y']}-{at['m']}-{at['d']}"
    hour = at.get("H") or at.get("I")
    if hour is None:
        return text
    text += f" {hour}:{at.get('M', '00')}"
    if "S" in at:
        text += f":{at['S']}" + (f".{at['f']}" if "f" in at else "")
    return text + at.get("z", "")
