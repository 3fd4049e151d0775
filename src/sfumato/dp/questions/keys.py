"""Keys to group by that are more than the name of a column: bins of numbers, of dates and of timestamps."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import SupportsIndex

from sfumato.dp.questions.clock import seconds_of
from sfumato.errors import ParameterError
from sfumato.schema import Kind
from sfumato.schema.times import bound_number

FARTHEST = 1e15  # edges of bins lie within ± this
Bins = int | Sequence[float] | Sequence[dt.date]


@dataclass(frozen=True)
class HistogramKey:
    """A numeric column cut into bins: a number of equal ones between its declared bounds, or at the edges given.

    Edges are numbers: days since 1970 of dates, seconds since 1970 of timestamps.

    >>> HistogramKey("age", 10).text
    'age/10'
    """

    column: str
    parts: int | tuple[float, ...]
    edges: Kind | None = None  # what the edges were given as, where they were dates or timestamps

    def __post_init__(self) -> None:
        parts = self.parts
        if isinstance(parts, int) and not isinstance(parts, bool) and 1 <= parts <= 100_000:
            return
        rising = isinstance(parts, tuple) and len(parts) > 1 and all(a < b for a, b in pairwise(parts))
        if isinstance(parts, tuple) and rising and parts[0] >= -FARTHEST and parts[-1] <= FARTHEST:
            return
        raise _no_bins(self.column, parts)

    @property
    def text(self) -> str:
        """The canonical text."""
        return f"{self.column}/{self.parts}"


def bins_of(column: str, bins: Bins) -> HistogramKey:
    """Return the key of so many equal bins, or of bins between edges.

    >>> bins_of("age", [0, 18, 65]).parts
    (0.0, 18.0, 65.0)
    """
    try:
        parts = bins if isinstance(bins, bool) else _parts(bins)
    except (TypeError, ValueError, OverflowError):
        raise _no_bins(column, bins) from None
    return HistogramKey(column, parts, None if isinstance(bins, SupportsIndex) else _edge_kind(bins))


def _parts(bins: int | Sequence[float] | Sequence[dt.date]) -> int | tuple[float, ...]:
    return operator.index(bins) if isinstance(bins, SupportsIndex) else tuple(_edge(edge) for edge in bins)


def _edge(edge: float | dt.date) -> float:
    return seconds_of(edge) if isinstance(edge, dt.datetime) else float(bound_number(edge))


def _edge_kind(edges: Sequence[float] | Sequence[dt.date]) -> Kind | None:
    times = [isinstance(edge, dt.datetime) for edge in edges if isinstance(edge, dt.date)]
    if not times:
        return None
    if len(set(times)) > 1 or len(times) < len(edges):
        raise ParameterError("the edges of the bins are of several types; give all as numbers, dates or timestamps")
    return Kind.TIMESTAMP if times[0] else Kind.DATE


def _no_bins(column: str, bins: object) -> ParameterError:
    wanted = f"give a number of bins up to 100000, or rising edges within ±{FARTHEST:.0e}"
    return ParameterError(f"the bins of '{column}' are {bins!r}; {wanted}")
