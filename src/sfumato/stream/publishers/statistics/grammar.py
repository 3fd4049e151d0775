"""What may be asked of a window: a list of statistics in words, read against the declared columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sfumato.errors import ParameterError, suggestion
from sfumato.stream.base import PublicBounds
from sfumato.stream.noise import Interval
from sfumato.stream.publishers.counts import CategoryList

Domain = PublicBounds | tuple[str, ...]
Kind = Literal["count", "sum", "mean", "quantile", "histogram"]
NUMERAL = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
ENTRY = re.compile(
    r"(?P<kind>count|sum|mean|median|quantile|histogram)"
    rf"(?:\s+(?P<level>{NUMERAL}))?"
    r"(?:\s+of\s+(?P<column>\S(?:.*?\S)?))??"
    rf"(?:\s+at\s+(?P<at>{NUMERAL}(?:\s+{NUMERAL})*))?"
    rf"(?:\s*:\s*(?P<share>{NUMERAL}))?"
)
FORM = "count, or sum, mean, median, quantile LEVEL or histogram, with 'of COLUMN', 'at NUMBERS' and ':SHARE' behind"
FINEST = 10**6
LARGEST_SHARE = 10**6


@dataclass(frozen=True)
class Statistic:
    """One statistic of a column, or the count of records; `at` are declared edges or candidates.

    >>> Statistic("quantile", "cost", Fraction(1, 4)).words
    'quantile 0.25 of cost'
    """

    kind: Kind
    column: str = ""
    level: Fraction = Fraction(0)
    at: tuple[float, ...] = ()
    share: Fraction = Fraction(1)

    @property
    def words(self) -> str:
        """What it is called on cards, and in the context of keyed noise."""
        level = f" {float(self.level):g}" if self.kind == "quantile" else ""
        return f"{self.kind}{level}" + (f" of {self.column}" if self.column else "")


@dataclass(frozen=True)
class Domains:
    """The rule of declared columns: two public bounds for each one of numbers, the list of them for categories.

    >>> Domains().accepts({"cost": (0, 100), "zone": ("a", "b")}), Domains().accepts({"cost": (1, 0)})
    (True, False)
    """

    wanted: str = "a mapping of columns to (low, high) or to a tuple of categories"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, dict) or not value:
            return False
        named = all(isinstance(name, str) and name for name in value)
        return named and all(Interval().accepts(one) or CategoryList().accepts(one) for one in value.values())

    def bad_values(self) -> list[object]:
        return [{}, {"a": (1, 0)}, {"a": ("x",)}, {"": (0, 1)}, (0, 1), None]


def is_number(domain: Domain) -> bool:
    """Return whether a domain is that of numbers.

    >>> is_number((0, 1)), is_number(("no", "yes"))
    (True, False)
    """
    return not isinstance(domain[0], str)


def read_statistics(text: str, domains: Mapping[str, Domain]) -> tuple[Statistic, ...]:
    """Return the statistics that a text asks for, in its order; without a column they are those of all that have them.

    >>> [one.words for one in read_statistics("count, mean, median of cost:2", {"cost": (0, 9), "zone": ("a", "b")})]
    ['count', 'mean of cost', 'quantile 0.5 of cost']
    >>> read_statistics("mean of fare", {"cost": (0, 9)})
    Traceback (most recent call last):
    sfumato.errors.ParameterError: statistic 'mean of fare': there is no column 'fare'; there are 'cost'
    """
    found = [one for entry in text.split(",") for one in _read_entry(entry.strip(), domains)]
    twice = next(
        (one for place, one in enumerate(found) if one.words in {other.words for other in found[:place]}), None
    )
    if twice is not None:
        raise ParameterError(f"the statistics ask for '{twice.words}' twice; ask for it once")
    return tuple(found)


def _read_entry(entry: str, domains: Mapping[str, Domain]) -> Iterator[Statistic]:
    read = ENTRY.fullmatch(entry)
    if read is None:
        raise ParameterError(f"statistic '{entry}' is not understood; give {FORM}")
    kind, level = _kind_of(entry, read["kind"], read["level"])
    at = tuple(float(number) for number in (read["at"] or "").split())
    share = Fraction(read["share"] or 1)
    if not 0 < share <= LARGEST_SHARE:
        raise ParameterError(f"statistic '{entry}': its share is {read['share']}; give a number above 0")
    asked = Statistic(kind, "", level, at, share)
    if kind == "count":
        if read["column"] or at:
            raise ParameterError(f"statistic '{entry}': records are counted, not the values of a column; write 'count'")
        yield asked
        return
    for column in _columns_of(entry, kind, read["column"], domains):
        one = replace(asked, column=column)
        _check_places(entry, one, domains[column])
        yield one


def _kind_of(entry: str, kind: str, level: str | None) -> tuple[Kind, Fraction]:
    if kind == "median" and level is None:
        return "quantile", Fraction(1, 2)
    if (kind == "quantile") != (level is not None):
        wanted = "give its level, as in 'quantile 0.9'" if kind == "quantile" else "only a quantile has a level"
        raise ParameterError(f"statistic '{entry}': {wanted}")
    found = Fraction(level or 0)
    if kind == "quantile" and not (0 < found < 1 and found.denominator <= FINEST):
        raise ParameterError(f"statistic '{entry}': the level is {level}; give one above 0 and below 1, as in 0.9")
    return kind, found  # type: ignore[return-value]  # the pattern knows these words alone


def _columns_of(entry: str, kind: Kind, column: str | None, domains: Mapping[str, Domain]) -> list[str]:
    able = [name for name, domain in domains.items() if kind == "histogram" or is_number(domain)]
    if column is None:
        if not able:
            raise ParameterError(f"statistic '{entry}': no column holds numbers; ask for the histogram of categories")
        return able
    if column not in domains:
        raise ParameterError(f"statistic '{entry}': there is no column '{column}'{suggestion(column, domains)}")
    if column not in able:
        raise ParameterError(f"statistic '{entry}': column '{column}' holds categories; ask for their histogram")
    return [column]


def _check_places(entry: str, asked: Statistic, domain: Domain) -> None:
    """Refuse edges and candidates that are no rising numbers within the bounds."""
    if not asked.at:
        return
    if asked.kind not in {"histogram", "quantile"} or not is_number(domain):
        raise ParameterError(f"statistic '{entry}': 'at' gives the edges of a histogram of numbers, or candidates")
    low, high = (float(bound) for bound in domain)
    rising = all(first < second for first, second in zip(asked.at, asked.at[1:], strict=False))
    inside = low <= asked.at[0] and asked.at[-1] <= high
    if asked.kind == "histogram":
        inside = low < asked.at[0] and asked.at[-1] < high
    if not (rising and inside and all(map(math.isfinite, asked.at))):
        raise ParameterError(f"statistic '{entry}': give rising numbers between the bounds {low:g} and {high:g}")
    if asked.kind == "quantile" and len(asked.at) < 2:
        raise ParameterError(f"statistic '{entry}': give at least two candidates")
