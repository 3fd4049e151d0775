"""A declared rule that makes the values of a sensitive or other column coarser before it is released.

Rounding, bands, top and bottom codes and microaggregation are the masking methods of Hundepool et al., "Statistical
Disclosure Control" (2012, chapter 3); a rule is declared, so it says nothing about the rows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, TypeGuard

from sfumato.core.calendar import CLOCK_STEPS, PERIODS
from sfumato.core.cells import range_text
from sfumato.errors import SchemaError, suggestion
from sfumato.schema.kinds import Kind

Limit = int | float | dt.date
LEAST_GROUP = 2
WANTED = "one of round, bands, microaggregate, period, or top and bottom"


@dataclass(frozen=True)
class Coarsening:
    """One rule: round to multiples, bands, groups shown as their mean, or a calendar period; top and bottom codes.

    >>> Coarsening(round=100, top=10_000).text
    'round:100,top:10000'
    >>> Coarsening(bands=(0, 500, 500))
    Traceback (most recent call last):
    sfumato.errors.SchemaError: coarsen: bands must be two or more numbers that rise; found [0, 500, 500]
    """

    round: int | float | None = None
    bands: tuple[int | float, ...] | None = None
    microaggregate: int | None = None
    top: Limit | None = None
    bottom: Limit | None = None
    period: str | None = None

    def __post_init__(self) -> None:
        wrong = self._contradiction()
        if wrong:
            raise SchemaError(f"coarsen: {wrong}")

    def _contradiction(self) -> str | None:
        rules = [key for key in ("round", "bands", "microaggregate", "period") if getattr(self, key) is not None]
        codes = [key for key in ("top", "bottom") if getattr(self, key) is not None]
        if len(rules) > 1:
            return f"{rules[0]} and {rules[1]} exclude each other; give one of them"
        if not rules and not codes:
            return f"no rule was given; give {WANTED}"
        if codes and rules and rules[0] in {"bands", "period"}:
            return f"{rules[0]} and {codes[0]} exclude each other; give one of them"
        return self._wrong_number() or self._wrong_limit()

    def _wrong_number(self) -> str | None:
        if self.round is not None and not (_is_number(self.round) and self.round > 0):
            return f"round must be a number above 0; found {self.round!r}"
        if self.microaggregate is not None and not (_is_whole(self.microaggregate) and self.microaggregate > 1):
            return f"microaggregate must be an integer of at least {LEAST_GROUP}; found {self.microaggregate!r}"
        if self.period is not None and self.period not in CLOCK_STEPS:
            return f"period must be one of {', '.join(CLOCK_STEPS)}; found {self.period!r}"
        if self.bands is None or (
            len(self.bands) > 1 and all(map(_is_number, self.bands)) and all(a < b for a, b in pairwise(self.bands))
        ):
            return None
        return f"bands must be two or more numbers that rise; found {list(self.bands)}"

    def _wrong_limit(self) -> str | None:
        for key in ("top", "bottom"):
            limit = getattr(self, key)
            if limit is not None and not _is_number(limit) and not _is_day(limit):
                return f"{key} must be a number or a date; found {limit!r}"
        if self.top is None or self.bottom is None:
            return None
        if _is_day(self.top) != _is_day(self.bottom) or self.bottom >= self.top:  # type: ignore[operator]
            return f"bottom must lie below top; found {self.bottom} and {self.top}"
        return None

    @classmethod
    def from_mapping(cls, name: str, entry: object) -> Coarsening:
        """Return the rule that a schema declares for a column.

        >>> Coarsening.from_mapping("cost", {"round": 100})
        Coarsening(round=100, bands=None, microaggregate=None, top=None, bottom=None, period=None)
        >>> Coarsening.from_mapping("cost", {"runde": 100})
        Traceback (most recent call last):
        sfumato.errors.SchemaError: column 'cost': unknown key 'runde' of coarsen; did you mean 'round'?
        """
        keys = [part.name for part in fields(cls)]
        if not isinstance(entry, Mapping):
            raise SchemaError(f"column '{name}': coarsen must be a table like {{round = 100}}; found {entry!r}")
        for key in entry:
            if key not in keys:
                raise SchemaError(f"column '{name}': unknown key '{key}' of coarsen{suggestion(key, keys)}")
        if "bands" in entry and not isinstance(entry["bands"], list):
            raise SchemaError(f"column '{name}': bands must be a list of numbers; found {entry['bands']!r}")
        given: dict[str, Any] = {key: tuple(value) if key == "bands" else value for key, value in entry.items()}
        try:
            return cls(**given)
        except SchemaError as error:
            raise SchemaError(f"column '{name}': {error}") from None

    @classmethod
    def parse(cls, name: str, text: str) -> Coarsening:
        """Return the rule written on a command line, as in `round:100,top:10000` or `bands:0,500,1000`.

        >>> Coarsening.parse("cost", "bands:0,500,1000").bands
        (0, 500, 1000)
        """
        entry: dict[str, list[Limit | str]] = {}
        found: list[Limit | str] | None = None
        for part in text.split(","):
            key, colon, value = part.partition(":")
            if colon:
                found = entry.setdefault(key.strip(), [])
            if found is None:
                raise SchemaError(f"column '{name}': coarsening '{text}' is not of the form round:100 or bands:0,500")
            found.append(_constant((value if colon else part).strip()))
        many = {key: values if key == "bands" or len(values) > 1 else values[0] for key, values in entry.items()}
        return cls.from_mapping(name, many)

    def to_mapping(self) -> dict[str, object]:
        """Return the entry that `from_mapping` reads back."""
        given = {part.name: getattr(self, part.name) for part in fields(self)}
        return {key: list(value) if key == "bands" else value for key, value in given.items() if value is not None}

    @property
    def text(self) -> str:
        """The rule as a command line has it."""
        parts = self.to_mapping().items()
        return ",".join(
            f"{key}:{','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in parts
        )

    def misfit(self, kind: Kind | None) -> str | None:
        """Return why the rule does not fit a column of a type, or None if it does.

        >>> Coarsening(period="month").misfit(Kind.INTEGER)
        'period:month coarsens dates; found integer'
        """
        if kind is None:
            return None
        if not kind.numeric:
            return f"{self.text} coarsens numbers and dates; found {kind}"
        if kind in {Kind.DATE, Kind.TIMESTAMP}:
            return self._misfit_of_days(kind)
        if self.period is not None or _is_day(self.top) or _is_day(self.bottom):
            return f"{self.text} coarsens dates; found {kind}"
        given = (self.round, self.top, self.bottom, *(self.bands or ()))
        if kind is Kind.INTEGER and any(isinstance(value, float) and not value.is_integer() for value in given):
            return f"{self.text} is not whole; found {kind}"
        return None

    def _misfit_of_days(self, kind: Kind) -> str | None:
        if self.microaggregate is not None and self.top is None and self.bottom is None:
            return None
        if kind is Kind.TIMESTAMP and self.period is None:
            return f"{self.text} does not coarsen timestamps; give a period, for example hour"
        if kind is Kind.DATE and self.period is not None and self.period not in PERIODS:
            return f"{self.text} coarsens timestamps; found {kind}"
        if self.period is None and self.microaggregate is None and not (_is_day(self.top) or _is_day(self.bottom)):
            return f"{self.text} coarsens numbers; found {kind}, so give a period, for example month"
        return None

    def edges(self, bounds: tuple[Limit, Limit] | None) -> tuple[int | float, ...]:
        """Return where bands begin, and where the last one ends: declared bounds that lie outside become edges.

        >>> Coarsening(bands=(0, 500, 1000)).edges((0, 20_000))
        (0, 500, 1000, 20000)
        """
        edges = self.bands or ()
        if bounds is None or not (_is_number(bounds[0]) and _is_number(bounds[1])):
            return edges
        low = (bounds[0],) if bounds[0] < edges[0] else ()
        return (*low, *edges, *((bounds[1],) if bounds[1] > edges[-1] else ()))

    def labels(self, kind: Kind | None, bounds: tuple[Limit, Limit] | None) -> tuple[str, ...]:
        """Return the ranges that bands are released as, in their order.

        >>> Coarsening(bands=(0, 500, 1000)).labels(Kind.INTEGER, None)
        ('[0-499]', '[500-1000]')
        >>> Coarsening(bands=(0, 0.5)).labels(Kind.NUMBER, None)
        ('[0..0.5]',)
        """
        edges = self.edges(bounds)
        if kind is not Kind.INTEGER:
            return tuple(range_text(_plain(a), _plain(b), whole=False) for a, b in pairwise(edges))
        ends = [int(edge) - 1 for edge in edges[1:-1]] + [int(edges[-1])]
        return tuple(range_text(_plain(a), str(b), whole=True) for a, b in zip(edges[:-1], ends, strict=True))


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_day(value: object) -> TypeGuard[dt.date]:
    return isinstance(value, dt.date) and not isinstance(value, dt.datetime)


def _constant(text: str) -> Limit | str:
    """Return a number or a day where the text is one."""
    for read in (int, float, dt.date.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return text
