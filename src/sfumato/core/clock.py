"""The day on which something leaves, in Greenwich: the only time that a card states.

`SOURCE_DATE_EPOCH` sets it, so that a release can be made again to the last byte (reproducible-builds.org 2015).
"""

from __future__ import annotations

import datetime as dt
import os

from sfumato.errors import ParameterError

SET_BY = "SOURCE_DATE_EPOCH"


def today() -> str:
    """Return the day of today as text, or the day of `SOURCE_DATE_EPOCH` (seconds since 1970) where that is set.

    >>> import os
    >>> os.environ["SOURCE_DATE_EPOCH"] = "86400"
    >>> today()
    '1970-01-02'
    >>> del os.environ["SOURCE_DATE_EPOCH"]
    """
    given = os.environ.get(SET_BY)
    if given is None:
        return dt.datetime.now(dt.UTC).date().isoformat()
    try:
        return dt.datetime.fromtimestamp(int(given), dt.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise ParameterError(f"{SET_BY} is '{given}'; give seconds since 1970, or unset it") from None
