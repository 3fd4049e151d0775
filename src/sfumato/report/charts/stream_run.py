"""Pictures of one run of a stream: what came and left over time, sizes of groups, and how long records waited.

What came is always filled and what left is a line, as truth and release are everywhere else (Okabe & Ito 2008).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.report.charts import BAR_HEIGHT, _count_axis, _date_axis, _name_axis, _ticks, short_label, size_steps
from sfumato.report.charts.svg import AFTER, BAR, BEFORE, BEFORE_FILL, INK, draw
from sfumato.report.page.markup import Markup
from sfumato.report.page.words import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]
DAY = 86_400.0
UNITS = ((DAY, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def over_time(  # what is drawn, and what it is called
    times: Sequence[float], came: Sequence[float], left: Sequence[float], unit: str, label: str, *, zero: bool = True
) -> Markup:
    """Return two stepped curves between times in seconds since 1970: what came filled, what left as a line.

    They begin at 0 unless `zero` is not wanted and all values lie close together.

    >>> "came and left" in over_time([0.0, 60.0, 120.0], [3.0, 4.0], [3.0, 5.0], "rows", "Rows that came and left.")
    True
    """
    edges = np.array(times) / DAY
    edges = np.maximum.accumulate(edges + np.arange(len(edges)) * 1e-9)  # steps of no width cannot be drawn
    before, after = np.array(came, dtype=np.float64), np.array(left, dtype=np.float64)
    low = 0.0 if zero else _floor(np.concatenate([before, after]))

    def paint(axes: Axes) -> None:
        axes.stairs(before, edges, baseline=low, fill=True, color=BEFORE_FILL, linewidth=0)
        axes.stairs(before, edges, baseline=low, color=BEFORE, linewidth=0.8)
        axes.stairs(after, edges, baseline=None, color=AFTER, linewidth=1.8)
        axes.set_ylim(bottom=low)
        _count_axis(axes, unit)
        axes.yaxis.set_major_locator(_ticks(4, whole=False))
        axes.margins(x=0.01)
        _date_axis(axes, offset=False)
        axes.set_xlabel(_span_words(times[0], times[-1]))

    return draw(f"over time {unit}", 200, label, paint)


def group_sizes(sizes: Mapping[int, int]) -> Markup:
    """Return a bar for each step of sizes (1, 2, 5, 10, 20 …): how many groups have it.

    >>> "3 groups of 2 to 10 rows" in group_sizes({2: 1, 10: 2})
    True
    """
    found = np.array(list(sizes)), np.array(list(sizes.values()))
    low, high = int(found[0].min()), int(found[0].max())
    label = f"Bar chart: {count(found[1].sum())} groups of {count(low)} to {count(high)} rows."
    if low == high or len(sizes) <= 12:
        names, numbers = [count(size) for size in sorted(sizes)], [sizes[size] for size in sorted(sizes)]
    else:
        edges = size_steps(low, high)
        names = [f"{count(first)} to {count(last - 1)}" for first, last in pairwise(edges)]
        numbers = np.histogram(found[0], edges, weights=found[1])[0].tolist()
    return _bars("group sizes", names, numbers, "groups, by their rows", label)


def waits(records: Mapping[int, int]) -> Markup:
    """Return a bar for each step of waiting, from 2^(n-1) to 2^n seconds: the records that waited so long.

    >>> "Bar chart: how long 4 records waited" in waits({2: 4})
    True
    """
    steps = range(min(records), max(records) + 1)
    names = [f"up to {duration_words(2.0**step)}" for step in steps]
    label = f"Bar chart: how long {count(sum(records.values()))} records waited."
    return _bars("waits", names, [records.get(step, 0) for step in steps], "records, by the time they waited", label)


def duration_words(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> duration_words(0.25), duration_words(1.0), duration_words(4096.0)
    ('250 ms', '1 second', '1.1 hours')
    """
    for size, name in UNITS:
        if seconds >= size:
            number = count(round(seconds / size, 1))
            return f"{number} {name}{'s' * (number != '1')}"
    return f"{max(1, round(1000 * seconds))} ms"


def _bars(name: str, names: Sequence[str], numbers: Sequence[float], words: str, label: str) -> Markup:
    shares = np.array(numbers, dtype=np.float64) / max(sum(numbers), 1)

    def paint(axes: Axes) -> None:
        bars = axes.barh(range(len(names)), 100 * shares, 0.62, color=BAR)
        told = [f"{percent(share)}, {count(number)}" for share, number in zip(shares, numbers, strict=True)]
        axes.bar_label(bars, told, padding=4, color=INK)
        _name_axis(axes, [short_label(each) for each in names])
        axes.grid(visible=False)
        axes.set_xlim(0, 150)
        axes.set_xticks([0, 50, 100])
        axes.set_xlabel(f"per cent of {words}")

    return draw(name, 52 + BAR_HEIGHT * len(names), label, paint)


def _floor(values: Numbers) -> float:
    """Return where a curve's picture begins: at 0, unless all values lie close together far from it."""
    low, high = float(values.min()), float(values.max())
    return 0.0 if 0 <= low <= 0.5 * high else low - 0.25 * ((high - low) or 1.0)


def _span_words(first: float, last: float) -> str:
    """Return two moments as short as they can be."""
    start, end = (dt.datetime.fromtimestamp(seconds, dt.UTC) for seconds in (first, last))
    if start.date() == end.date():
        return f"{start:%Y-%m-%d}, {start:%H:%M:%S} to {end:%H:%M:%S} UTC"
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
