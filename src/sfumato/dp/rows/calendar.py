"""Parts, periods, shifts and differences of dates and times as SQL that no row can fail.

A date is its days and a time its seconds since 1970. Clocks and weekdays are arithmetic on these; for months an engine
asks its own calendar, and all agree from year 1 to 9999 (tests compare every day). What would leave this calendar is
missing, so no engine is asked for a day that it does not know (Haeberlen, Pierce & Narayan 2011). A time keeps its
microseconds as long as a double holds them, from 1685 to 2255; before and after it keeps whole seconds exactly.
"""

from __future__ import annotations

from sfumato.dp.questions.calendar import CLOCK, CYCLES, DAY, FIRST_DAY, LAST_DAY, shiftable
from sfumato.dp.questions.expression import Call, Domain
from sfumato.dp.rows.dialect import Dialect, double

WEEKDAYS = {"DOW": (FIRST_DAY - 1, 0), "ISODOW": (FIRST_DAY, 1)}  # from which day on, and the number of the first


def calendar_sql(call: Call, xs: list[str], dialect: Dialect) -> str:
    """Return the SQL of a function of dates or times, from that of its arguments.

    >>> from sfumato.dp.questions.expression import ColumnReference
    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> start = ColumnReference("start", Domain.TIMESTAMP)
    >>> calendar_sql(Call("DATE_TRUNC", (start,), Domain.TIMESTAMP, ("HOUR",)), ["c0"], DUCKDB)
    '(floor(floor(c0) / 3600.0e0) * 3600.0e0)'
    """
    dated = call.arguments[0].domain is Domain.DATE
    match call.function:
        case "EXTRACT":
            return _part(str(call.options[0]), xs[0], dialect, dated=dated)
        case "DATE_TRUNC":
            return _period(str(call.options[0]), xs[0], dialect, dated=dated)
        case "DIFFERENCE":
            between = f"({xs[0]} - {xs[1]})"
            return f"CAST({between} AS {dialect.double})" if dated else _ticks(between, dialect)
        case "DAYS_AFTER":
            moved = f"({xs[0]} + CAST({xs[1]} AS BIGINT))"
            return f"CASE WHEN {moved} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN {moved} END"
    return _shift(call, xs[0], dialect, dated=dated)


def _whole(x: str, dialect: Dialect) -> str:
    return dialect.small_floor.format(x=x)


def _units(x: str, seconds: int, dialect: Dialect) -> str:
    """Return how many units of some seconds have passed since 1970; whole seconds make the quotient exact enough."""
    passed = _whole(x, dialect)
    return passed if seconds == 1 else _whole(f"{passed} / {double(seconds)}", dialect)


def _days(x: str, dialect: Dialect, *, dated: bool) -> str:
    return x if dated else f"CAST({_units(x, DAY, dialect)} AS BIGINT)"


def _part(unit: str, x: str, dialect: Dialect, *, dated: bool) -> str:
    if unit == "EPOCH":
        return f"(CAST({x} AS {dialect.double}) * 86400e0)" if dated else x
    if unit in CLOCK:
        passed, cycle = _units(x, CLOCK[unit], dialect), double(CYCLES[unit])
        return f"({passed} - {_whole(f'{passed} / {cycle}', dialect)} * {cycle})"
    days = _days(x, dialect, dated=dated)
    if unit in WEEKDAYS:
        start, first = WEEKDAYS[unit]
        return f"CAST(mod({days} - ({start}), 7) + {first} AS {dialect.double})"
    return f"CAST({dialect.part.format(unit=unit, x=dialect.date.format(x=days))} AS {dialect.double})"


def _period(unit: str, x: str, dialect: Dialect, *, dated: bool) -> str:
    seconds = {**CLOCK, "DAY": DAY}
    if unit in seconds:
        return f"({_units(x, seconds[unit], dialect)} * {double(seconds[unit])})"
    begin = _first_day(unit, _days(x, dialect, dated=dated), dialect)
    return begin if dated else f"({begin} * 86400e0)"


def _first_day(unit: str, days: str, dialect: Dialect) -> str:
    """Return the first day of a week, month, quarter or year: that many days back, which is faster than to truncate."""
    date = dialect.date.format(x=days)
    if unit == "QUARTER":
        return dialect.days.format(x=dialect.quarter.format(x=date))
    if unit == "WEEK":
        return f"({days} - mod({days} - ({FIRST_DAY}), 7))"
    passed = dialect.part.format(unit={"MONTH": "DAY", "YEAR": "DOY"}[unit], x=date)
    return f"({days} - CAST({passed} AS BIGINT) + 1)"


def _shift(call: Call, x: str, dialect: Dialect, *, dated: bool) -> str:
    number, unit = int(call.options[0]), str(call.options[1])
    low, high = shiftable(number, unit, call.arguments[0].domain)
    if unit == "month":
        before = _days(x, dialect, dated=dated)
        date = dialect.later.format(x=dialect.date.format(x=before), months=number)
        after = dialect.days.format(x=date)
        moved = after if dated else _ticks(f"({x} + ({after} - {before}) * 86400e0)", dialect)
    else:
        moved = f"({x} + {number})" if dated else _ticks(f"({x} + {double(number)})", dialect)
    if not dated:
        return f"CASE WHEN {x} BETWEEN {double(low)} AND {double(high)} THEN {moved} END"
    return f"CASE WHEN {x} BETWEEN {low} AND {high} THEN {moved} END"


def _ticks(x: str, dialect: Dialect) -> str:
    """Return seconds as their nearest microsecond, which makes one double of equal times."""
    return f"({_whole(f'{x} * 1e6 + 0.5e0', dialect)} / 1e6)"
