"""Days and times as numbers: days since 1970, and microseconds since 1970 by the clock on the wall of a column's zone.

A time with an offset is a moment, and is taken to the wall clock of the declared zone (or stays on its own); a time
without one already is wall time. Formats and offsets are those of RFC 3339 and ISO 8601, zones those of the IANA
database (RFC 6557).
"""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import ZoneInfo

import polars as pl

EPOCH = dt.date(1970, 1, 1)
MIDNIGHT = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # wall time has no zone
MICROSECOND = dt.timedelta(microseconds=1)
LAST = dt.time(23, 59, 59, 999999)
DAY = 86_400_000_000  # microseconds
YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
FOURTH = "(?:0[48]|[2468][048]|[13579][26])"  # multiples of four, 00 left out
LEAP = f"(?:[0-9]{{2}}{FOURTH}|{FOURTH}00)"
DAY28 = "(?:0?[1-9]|1[0-9]|2[0-8])"
SHORT_MONTHS = f"(?:0?[1-9]|1[0-2])-{DAY28}"
LONG_MONTHS = "(?:0?[13-9]|1[0-2])-(?:29|30)|(?:0?[13578]|1[02])-31"
DATE = f"{YEAR}-(?:{SHORT_MONTHS}|{LONG_MONTHS})|{LEAP}-0?2-29"
CLOCK = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
OFFSET = "(?:Z|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)"
TIMESTAMP = f"(?:{DATE})(?:[ T]{CLOCK}{OFFSET}?)?"
Moment = int | float | dt.date


def bound_number(limit: Moment) -> int | float:
    """Return a bound as the number that cells are compared with: days for a date, microseconds for a time.

    >>> bound_number(dt.date(1970, 1, 3)), bound_number(dt.datetime(1970, 1, 1, 0, 0, 1)), bound_number(7)
    (2, 1000000, 7)
    """
    if isinstance(limit, dt.datetime):
        return (limit - MIDNIGHT) // MICROSECOND
    return (limit - EPOCH).days if isinstance(limit, dt.date) else limit


def wall_time(number: float) -> dt.datetime:
    """Return the wall time that lies so many microseconds after the start of 1970.

    >>> wall_time(1_000_000).isoformat(sep=" ")
    '1970-01-01 00:00:01'
    """
    return MIDNIGHT + dt.timedelta(microseconds=int(number))


def time_text(number: float) -> str:
    """Return a number of microseconds as it is written in a release.

    >>> time_text(1_500_000)
    '1970-01-01 00:00:01.500000'
    """
    return wall_time(number).isoformat(sep=" ")


def read_time(text: str, zone: str | None = None) -> dt.datetime | None:
    """Return the wall time that a text holds, in `zone` where the text has an offset; None for any other text.

    >>> read_time("2024-06-30T22:30:00Z", "Europe/Berlin"), read_time("2024-06-30"), read_time("2024-06-31")
    (datetime.datetime(2024, 7, 1, 0, 30), datetime.datetime(2024, 6, 30, 0, 0), None)
    """
    found = times_in(pl.Series([text]), zone)[0]
    return None if found is None else wall_time(found)


def on_wall(moment: dt.datetime, zone: str | None) -> dt.datetime:
    """Return a moment by the clock of `zone`, or of its own zone where none is declared; wall times stay.

    >>> on_wall(dt.datetime(2024, 6, 30, 22, 30, tzinfo=dt.timezone.utc), "Europe/Berlin").isoformat()
    '2024-07-01T00:30:00'
    """
    if moment.tzinfo is None:
        return moment
    return (moment if zone is None else moment.astimezone(ZoneInfo(zone))).replace(tzinfo=None)


def is_zone(name: str) -> bool:
    """Return whether the IANA database has a zone of this name.

    >>> is_zone("Europe/Berlin"), is_zone("Berlin"), is_zone("../etc")
    (True, False, False)
    """
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return False
    return True


def days_in(series: pl.Series, zone: str | None = None) -> pl.Series:
    """Return the day in every cell as days since 1970, null where there is none; a moment has the day of its zone.

    >>> days_in(pl.Series(["1970-01-03", "1970-01-03 10:00"])).to_list()
    [2, None]
    """
    if series.dtype == pl.Datetime:
        return on_walls(series, zone).cast(pl.Date).cast(pl.Int32).cast(pl.Int64)
    if series.dtype != pl.Date:
        series = _fitting(series.cast(pl.String), DATE).str.to_date("%Y-%m-%d", strict=False)
    return series.cast(pl.Int32).cast(pl.Int64)


def times_in(series: pl.Series, zone: str | None = None) -> pl.Series:
    """Return the wall time in every cell as microseconds since 1970, null where there is none; a day is its midnight.

    >>> times_in(pl.Series(["1970-01-01 00:00:01", "1970-01-01T01:00:01+01:00", "noon"]), "UTC").to_list()
    [1000000, 1000000, None]
    """
    if series.dtype == pl.Datetime:
        return on_walls(series, zone).cast(pl.Int64)
    if series.dtype == pl.Date:
        return series.cast(pl.Datetime("us")).cast(pl.Int64)
    texts = _fitting(series.cast(pl.String), TIMESTAMP)
    offset = texts.str.extract(rf":[0-9.]+({OFFSET})$")
    plain = texts.str.replace(rf"(:[0-9.]+){OFFSET}$", "$1").str.replace("T", " ", literal=True)
    timed = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d"):
        if timed.null_count() > texts.null_count():
            timed = timed.zip_with(timed.is_not_null(), plain.str.to_datetime(form, strict=False, time_unit="us"))
    if zone is not None and offset.null_count() < len(offset):
        moments = (timed - _ahead(offset)).dt.replace_time_zone("UTC")
        timed = timed.zip_with(offset.is_null(), on_walls(moments, zone))
    return timed.cast(pl.Int64)


def on_walls(moments: pl.Series, zone: str | None) -> pl.Series:
    """Return moments by the clock of `zone`, or of their own zone, without a zone; wall times stay.

    >>> on_walls(pl.Series(["2024-06-30T22:30Z"]).str.to_datetime("%Y-%m-%dT%H:%M%#z"), "Europe/Berlin").to_list()
    [datetime.datetime(2024, 7, 1, 0, 30)]
    """
    if getattr(moments.dtype, "time_zone", None) is not None:
        moments = (moments if zone is None else moments.dt.convert_time_zone(zone)).dt.replace_time_zone(None)
    return moments.cast(pl.Datetime("us"))


def _ahead(offset: pl.Series) -> pl.Series:
    """Return how far clocks with these offsets are ahead of UTC."""
    digits = offset.fill_null("Z").str.replace_all("[^0-9]", "").str.pad_end(4, "0")
    minutes = digits.str.slice(0, 2).cast(pl.Int64) * 60 + digits.str.slice(2, 2).cast(pl.Int64)
    sign = 1 - 2 * offset.str.starts_with("-").fill_null(value=False).cast(pl.Int64)
    return (sign * minutes * 60_000_000).cast(pl.Duration("us"))


def _fitting(texts: pl.Series, grammar: str) -> pl.Series:
    """Return the texts that fit a grammar, and null for the others."""
    return texts.set(~texts.str.contains(f"^(?:{grammar})$").fill_null(value=True), None)


def has_clock(text: str) -> bool:
    """Return whether a text is a day with a time of day.

    >>> has_clock("2015-09-21 14:53:16"), has_clock("2015-09-21")
    (True, False)
    """
    return ":" in text and re.fullmatch(TIMESTAMP, text) is not None
