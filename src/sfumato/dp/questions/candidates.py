"""The values that a quantile may have, where whoever asks has given them: public numbers, days or times.

They are chosen among by the exponential mechanism, by their ranks alone (Smith 2011), so that they need not be even,
and may lie beyond declared bounds.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable

from sfumato.dp.questions.clock import bound_position, seconds_of, time_words
from sfumato.errors import InputError, ParameterError
from sfumato.schema import Kind
from sfumato.schema.times import read_time

Candidate = float | str
MOST = 1000
FARTHEST = 1e15


def read_candidates(column: str, values: Iterable[object]) -> tuple[Candidate, ...]:
    """Return candidates in rising order, each once: numbers, or days and times as texts.

    >>> read_candidates("fare", ["10", 5, 5.0])
    (5.0, 10.0)
    """
    listed = [] if isinstance(values, str) else [_plain(column, value) for value in values]
    kinds = {type(value) for value in listed}
    if not 1 <= len(listed) <= MOST or len(kinds) > 1:
        raise ParameterError(f"the candidates of '{column}' are {len(listed)} values; give 1 to {MOST} of one type")
    return tuple(sorted(set(listed)))


def _plain(column: str, value: object) -> Candidate:
    """Return a number as such, and a day or a time as a text."""
    if isinstance(value, dt.datetime):
        return time_words(seconds_of(value.replace(tzinfo=None)))
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str) and read_time(value) is not None:
        return value
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if abs(number) <= FARTHEST:
        return number + 0.0
    raise ParameterError(f"a candidate of '{column}' is {str(value)[:40]!r}; give numbers within ±1e15, or dates")


def positions_of(column: str, candidates: Iterable[Candidate], kind: Kind | None) -> tuple[float, ...]:
    """Return candidates as cells are compared: numbers, days or seconds since 1970, in rising order.

    >>> positions_of("day", ["1970-01-03"], Kind.DATE)
    (2.0,)
    """
    found = [_position(value, kind) for value in candidates]
    if kind is None or not kind.numeric or None in found:
        raise InputError(
            f"the candidates of '{column}' are no values of type {kind or 'text'}; give such as the column holds"
        )
    return tuple(sorted({value for value in found if value is not None}))


def _position(value: Candidate, kind: Kind | None) -> float | None:
    if kind in {Kind.INTEGER, Kind.NUMBER}:
        return value if isinstance(value, float) else None
    if isinstance(value, float):
        return None
    try:
        if kind is Kind.DATE:
            return bound_position(dt.date.fromisoformat(value))
        time = read_time(value)
        return None if time is None else seconds_of(time)
    except ValueError:
        return None
