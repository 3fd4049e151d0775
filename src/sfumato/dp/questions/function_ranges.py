"""Between which bounds the result of a function lies, from those of what it is applied to (Moore 1966).

Most functions rise or stay, so that their bounds are those of the bounds; parts of the calendar go round.
"""

from __future__ import annotations

import itertools
import math

from sfumato.dp.questions.calendar import DAY, FIRST_DAY, LAST_DAY, cyclic_part, part_bounds, shift, shiftable, truncate
from sfumato.dp.questions.expression import Call, Domain, Literal, Value
from sfumato.dp.questions.ranges import Range, hull
from sfumato.dp.questions.texts import apply, length_of

MOST_WORDS = 10_000


def range_of_call(call: Call, given: list[Range]) -> Range:  # noqa: PLR0911  # one for each family
    """Return what a function's result can be, from what its arguments can be.

    >>> from sfumato.dp.questions.expression import ColumnReference
    >>> hour = Call("EXTRACT", (ColumnReference("start", Domain.TIMESTAMP),), Domain.NUMBER, ("HOUR",))
    >>> range_of_call(hour, [Range()]).limits
    (0.0, 23.0)
    """
    match call.function:
        case "LEAST" | "GREATEST":
            return _outermost(call, given)
        case "COALESCE":
            known = next((i for i, part in enumerate(call.arguments) if _never_missing(part)), len(given))
            return hull(given[: known + 1])
        case "NULLIF":
            return given[0]
        case "CONCAT":
            return _joined(given)
    if call.domain is Domain.TEXT or call.function == "LENGTH":
        return _of_text(call, given[0])
    if call.arguments[0].domain is Domain.NUMBER:
        return _of_number(call, given[0])
    return _of_calendar(call, given)


def _never_missing(value: Value) -> bool:
    if isinstance(value, Call) and value.function in {"COALESCE", "LEAST", "GREATEST"}:
        return any(_never_missing(argument) for argument in value.arguments)
    return isinstance(value, Literal)


def _outermost(call: Call, given: list[Range]) -> Range:
    """Return the range of the least or greatest of values, where missing ones do not count."""
    around = hull(given)
    always = [part for value, part in zip(call.arguments, given, strict=True) if _never_missing(value)]
    low, high = around.low, around.high
    if call.function == "LEAST":
        high = min((limit for limit in (high, *(part.high for part in always)) if limit is not None), default=None)
    else:
        low = max((limit for limit in (low, *(part.low for part in always)) if limit is not None), default=None)
    return Range(low, high, whole=around.whole)


def _of_number(call: Call, x: Range) -> Range:
    limits = (x.low, x.high)
    if call.function == "ABS":
        ends = [abs(limit) for limit in limits if limit is not None]
        across = x.limits is None or x.limits[0] <= 0 <= x.limits[1]
        return Range(0.0 if across else min(ends), max(ends) if len(ends) == 2 else None, whole=x.whole)
    if call.function == "MOD":
        most = float(abs(int(call.options[0])) - 1)
        lowest = -most if x.low is None else max(min(x.low, 0.0), -most)
        highest = most if x.high is None else min(max(x.high, 0.0), most)
        return Range(lowest, highest, whole=True)
    if call.function == "ROUND":
        places = int(call.options[0])
        low, high = (None if limit is None else rounded(limit, places) for limit in limits)
        return Range(low, high, whole=places <= 0 or x.whole, multiple=10 ** max(-places, 0))
    whole = {"FLOOR": math.floor, "CEIL": math.ceil}[call.function]
    low, high = (None if limit is None else float(whole(limit)) for limit in limits)
    return Range(low, high, whole=True)


def rounded(number: float, places: int) -> float:
    """Return a number rounded to some places after the point, or before it where they are negative; halves go up.

    >>> rounded(2.345, 1), rounded(25.0, -1), rounded(-0.5, 0)
    (2.3, 30.0, 0.0)
    """
    if places < 0:
        return math.floor(number / 10.0**-places + 0.5) * 10.0**-places
    return math.floor(number * 10.0**places + 0.5) / 10.0**places


def _of_calendar(call: Call, given: list[Range]) -> Range:
    domain, x = call.arguments[0].domain, given[0]
    match call.function:
        case "EXTRACT":
            return _part(str(call.options[0]), x, domain)
        case "DATE_TRUNC":
            unit = str(call.options[0])
            low, high = (None if limit is None else truncate(limit, unit, domain) for limit in (x.low, x.high))
            return Range(low, high, whole=True, period=unit)
        case "SHIFT":
            return _shifted(call, x, domain)
    y = given[1]
    whole = domain is Domain.DATE
    if x.limits is None or y.limits is None:
        return Range(whole=whole)
    if call.function == "DAYS_AFTER":
        ends = [min(max(a + b, FIRST_DAY), LAST_DAY) for a, b in zip(x.limits, y.limits, strict=True)]
        return Range(ends[0], ends[1], whole=True)
    whole = whole or (x.whole and y.whole)
    return Range(x.limits[0] - y.limits[1], x.limits[1] - y.limits[0], whole=whole)


def _part(unit: str, x: Range, domain: Domain) -> Range:
    if unit == "EPOCH":
        size = DAY if domain is Domain.DATE else 1
        low, high = (None if limit is None else limit * size for limit in (x.low, x.high))
        return Range(low, high, whole=domain is Domain.DATE or x.whole)
    if x.limits is None:
        return Range(whole=True) if unit == "YEAR" else _numbers(part_bounds(unit))
    (cycle, first), (other, last) = (cyclic_part(unit, limit, domain) for limit in x.limits)
    return _numbers((first, last) if cycle == other else part_bounds(unit))


def _numbers(bounds: tuple[int, int]) -> Range:
    return Range(float(bounds[0]), float(bounds[1]), whole=True)


def _shifted(call: Call, x: Range, domain: Domain) -> Range:
    number, unit = int(call.options[0]), str(call.options[1])
    whole = domain is Domain.DATE or x.whole
    if x.limits is None:
        return Range(whole=whole)
    low, high = shiftable(number, unit, domain)
    inside = [min(max(limit, low), high) for limit in x.limits]
    ends = [shift(limit, number, unit, domain) for limit in inside]
    if ends[0] is None or ends[1] is None:  # no date can be shifted so far: the value is always missing
        return Range(float(FIRST_DAY), float(FIRST_DAY), whole=whole)
    return Range(ends[0], ends[1], whole=whole)


def _of_text(call: Call, x: Range) -> Range:
    if call.function == "LENGTH":
        lengths = [float(len(word)) for word in x.words or ()]
        longest = length_of(call.arguments[0])
        if lengths:
            return Range(min(lengths), max(lengths), whole=True)
        return Range(0.0, None if longest is None else float(longest), whole=True)
    if x.words is None:
        return Range()
    return Range(words=tuple(dict.fromkeys(apply(call.function, word, call.options) for word in x.words)))


def _joined(given: list[Range]) -> Range:
    if any(part.words is None for part in given) or math.prod(len(part.words or ()) for part in given) > MOST_WORDS:
        return Range()
    joined = ("".join(words) for words in itertools.product(*(part.words or () for part in given)))
    return Range(words=tuple(dict.fromkeys(joined)))
