"""The days that a calendar label stands for: a month, a quarter, a year or a decade.

Labels are those of the calendar hierarchies (`2025-01`, `2025-Q1`, `2025`, `2020s`), after the ISO 8601 forms.
"""

from __future__ import annotations

import datetime as dt
import re

LABEL = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{2})|-Q(?P<quarter>[1-4])|(?P<decade>s))?")


def days_of(label: str) -> tuple[dt.date, dt.date] | None:
    """Return the first and the last day of a calendar label, or None if it is not one.

    >>> days_of("2025-Q1")
    (datetime.date(2025, 1, 1), datetime.date(2025, 3, 31))
    >>> days_of("2020s")[1].isoformat(), days_of("2024-02")[1].isoformat(), days_of("spring")
    ('2029-12-31', '2024-02-29', None)
    """
    found = LABEL.fullmatch(label)
    if found is None:
        return None
    year, month, months = int(found["year"]), 1, 12
    if found["month"]:
        month, months = int(found["month"]), 1
    elif found["quarter"]:
        month, months = 3 * int(found["quarter"]) - 2, 3
    elif found["decade"]:
        months = 120
    try:
        first = dt.date(year, month, 1)
        after = month - 1 + months
        return first, dt.date(year + after // 12, after % 12 + 1, 1) - dt.timedelta(days=1)
    except ValueError:
        return None
