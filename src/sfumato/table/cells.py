"""Published cells read back: what values a generalised text may stand for.

The forms are those of the contract: `[a-b]`, `[a..b]`, a trailing `?`, `{F, M}`, `*` and plain labels
(Samarati & Sweeney 1998 call the last step suppression); only published text is needed.
"""

from __future__ import annotations

import csv
import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato.hierarchy import SUPPRESSED

MISSING_MARKS = ("", "?")
RANGE = re.compile(r"\[(?P<body>.+)\](?P<missing>\??)")
INTEGERS = re.compile(r"(-?\d+)-(-?\d+)")
Number = int | float


@dataclass(frozen=True)
class Cell:
    """One published text: a range of numbers, a set of words, everything, or a missing value among them.

    >>> Cell.of("[30-39]?").limits, Cell.of("[30-39]?").missing
    ((30, 39), True)
    >>> sorted(Cell.of('{F, "a, b"}').words), Cell.of("*").everything
    (['F', 'a, b'], True)
    """

    limits: tuple[Number, Number] | None = None
    words: frozenset[str] = frozenset()
    missing: bool = False
    everything: bool = False

    @classmethod
    def of(cls, text: str | None, marks: Sequence[str] = MISSING_MARKS) -> Cell:
        """Return what a published text may stand for."""
        if text is None or text in marks:
            return cls(missing=True)
        if text == SUPPRESSED:
            return cls(everything=True)
        found = RANGE.fullmatch(text)
        if found is not None:
            return cls(_limits(found["body"]), frozenset({text}), missing=bool(found["missing"]))
        if text.startswith("{") and text.endswith("}"):
            members = next(csv.reader([text[1:-1]], skipinitialspace=True))
            words = frozenset(member for member in members if member not in marks)
            return cls(_hull(words), words, missing=len(words) < len(members))
        return cls(_hull([text]), frozenset({text}))


def _limits(body: str) -> tuple[Number, Number] | None:
    integers = INTEGERS.fullmatch(body)
    if integers is not None:
        return int(integers[1]), int(integers[2])
    low, _, high = body.partition("..")
    ends = _number(low), _number(high)
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _hull(words: Iterable[str]) -> tuple[Number, Number] | None:
    """Return a single number as a range of one; several are a set, not a range."""
    members = list(words)
    value = _number(members[0]) if len(members) == 1 else None
    return None if value is None else (value, value)


def _number(text: str) -> Number | None:
    for read in (int, float, _day):
        try:
            value: Number = read(text)
        except ValueError:
            continue
        return value if abs(value) < float("inf") else None
    return None


def _day(text: str) -> int:
    return dt.date.fromisoformat(text).toordinal()
