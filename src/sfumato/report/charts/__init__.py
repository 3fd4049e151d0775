"""The report's charts: class sizes, loss per column, and a column before and after.

Before is always a filled area, after a line or a diamond, so the two differ in shape and not in colour
alone (Okabe & Ito 2008); every chart also says in words what it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.evaluate.utility import MOST_BARS as NAMED_BARS
from sfumato.evaluate.utility import Histogram
from sfumato.report.charts.svg import AFTER, BAR, BEFORE, BEFORE_FILL, INK, draw
from sfumato.report.page.markup import Markup, printable
from sfumato.report.page.words import brief, count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator

LONGEST_LABEL = 20
MOST_BARS = 10
MOST_SIZES = 30
BAR_HEIGHT = 21


def class_sizes(sizes: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], least: int | None) -> Markup:
    """Return how many classes have each size, with a mark at the size asked for; a wide range of sizes in steps.

    >>> "2 classes of 3 to 5 rows" in class_sizes(np.array([3, 5]), np.array([1, 1]), 3)
    True
    """
    low, high = int(sizes.min()), int(sizes.max())
    label = f"Bar chart: {count(classes.sum())} classes of {count(low)} to {count(high)} rows."
    if high - low >= MOST_SIZES:
        return _steps_of_sizes(sizes, classes, label)
    edges = np.arange(low, high + 2) - 0.5
    heights, _ = np.histogram(sizes, edges, weights=classes)

    def paint(axes: Axes) -> None:
        axes.bar(edges[:-1] + 0.5, heights, 0.82, color=BAR)
        axes.set_ylim(top=1.18 * heights.max())  # room for the words above the tallest bar
        _count_axis(axes, "classes")
        axes.set_xlabel("rows in a class")
        axes.xaxis.set_major_locator(_ticks(7, whole=True))
        if least is not None:
            _mark_least(axes, least, low)

    return draw("class-sizes", 200, label, paint)


def _mark_least(axes: Axes, least: int, low: int) -> None:
    """Draw the line that no class may lie left of."""
    axes.axvline(least - 0.5, color=INK, linewidth=1.5, linestyle=(0, (4, 2)))
    axes.annotate(
        f"asked for: {least}",
        (least - 0.5, 1),
        (5, -2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        va="top",
        weight="bold",
    )
    axes.set_xlim(left=min(low, least) - 1.5)


def _steps_of_sizes(sizes: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], label: str) -> Markup:
    """Return a bar for each step of sizes (1, 2, 5, 10, 20 …): the share of rows in it, and the number of classes."""
    edges = size_steps(int(sizes.min()), int(sizes.max()))
    rows, _ = np.histogram(sizes, edges, weights=sizes * classes)
    number, _ = np.histogram(sizes, edges, weights=classes)
    names = [_size_name(low, high - 1) for low, high in pairwise(edges)]
    shares = rows / rows.sum()

    def paint(axes: Axes) -> None:
        bars = axes.barh(range(len(names)), 100 * shares, 0.62, color=BAR)
        told = [f"{percent(share)} in {count(many)}" for share, many in zip(shares, number, strict=True)]
        axes.bar_label(bars, told, padding=4, color=INK)
        _name_axis(axes, names)
        axes.grid(visible=False)
        axes.set_xlim(0, 140)
        axes.set_xticks([0, 50, 100])
        axes.set_xlabel("per cent of rows, in how many classes")

    return draw("class-sizes", 52 + BAR_HEIGHT * len(names), label, paint)


def size_steps(low: int, high: int) -> list[int]:
    """Return the first size of each step from `low` to `high`, and one past the last.

    Steps begin at 1, 2, 5, 10, 20, 50 and so on.

    >>> size_steps(10, 430)
    [10, 20, 50, 100, 200, 500]
    >>> size_steps(7, 60)
    [7, 10, 20, 50, 100]
    """
    steps = [lead * 10**power for power in range(len(str(high)) + 1) for lead in (1, 2, 5)]
    inner = [step for step in steps if low < step <= high]
    return [low, *inner, next(step for step in steps if step > high)]


def _size_name(first: int, last: int) -> str:
    return count(first) if first == last else f"{count(first)} to {count(last)}"


def losses(values: Mapping[str, float]) -> Markup:
    """Return a horizontal bar per column: the share of its detail that is lost.

    >>> "age 12.5" in losses({"age": 0.125})
    True
    """
    names = [short_label(name) for name in values]
    shares = [100 * value for value in values.values()]

    def paint(axes: Axes) -> None:
        bars = axes.barh(range(len(names)), shares, 0.62, color=BAR)
        axes.bar_label(bars, [percent(value) for value in values.values()], padding=4, color=INK)
        _name_axis(axes, names)
        axes.grid(visible=False)
        axes.set_xlim(0, 118)
        axes.set_xticks([0, 50, 100])
        axes.set_xlabel("loss of detail, per cent")

    label = "Bar chart of loss per column: " + ", ".join(f"{n} {percent(v)}" for n, v in values.items()) + "."
    return draw("losses", 52 + BAR_HEIGHT * len(names), label, paint)


def spans(shape: Histogram, *, dates: bool) -> Markup:
    """Return a histogram of a numeric column: filled before, a stepped line after; dates are days since 1970.

    >>> flat = np.array([2.0, 2.0])
    >>> "Histogram of age" in spans(Histogram("age", ("0", "1"), flat, flat, np.arange(3.0)), dates=False)
    True
    """

    def paint(axes: Axes) -> None:
        axes.stairs(shape.before, shape.edges, fill=True, color=BEFORE_FILL, linewidth=0)
        axes.stairs(shape.before, shape.edges, color=BEFORE, linewidth=0.8)
        axes.stairs(shape.after, shape.edges, color=AFTER, linewidth=2)
        _count_axis(axes, "rows")
        axes.margins(x=0.01)
        if dates:
            _date_axis(axes)
        else:
            axes.xaxis.set_major_locator(_ticks(6, whole=False))
            farthest = float(np.abs(axes.get_xlim()).max())
            axes.xaxis.set_major_formatter(lambda value, _: brief(value, farthest))
        if any(shape.missing):
            before, after = (count(rows) for rows in shape.missing)
            axes.set_xlabel(f"without a value: {before} rows before, {after} after")

    label = f"Histogram of {shape.name} before and after, {_distance_words(shape)}"
    return draw(f"spans {shape.name}", 190, label, paint)


def parts(name: str, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64]) -> Markup:
    """Return the means of a stream's parts in the order of time: the truth filled, a line with diamonds over it.

    >>> "Means of hours" in parts("hours", np.array([1.0, 2.0]), np.array([1.5, 2.0]))
    True
    """

    def paint(axes: Axes) -> None:
        edges = np.arange(len(before) + 1) + 0.5
        low = float(min(before.min(), after.min()))
        high = float(max(before.max(), after.max()))
        floor = low - 0.25 * ((high - low) or 1.0)
        axes.stairs(before, edges, baseline=floor, fill=True, color=BEFORE_FILL, linewidth=0)
        axes.stairs(before, edges, baseline=floor, color=BEFORE, linewidth=0.8)
        axes.plot(edges[:-1] + 0.5, after, "-D", color=AFTER, linewidth=1.5, markersize=4)
        axes.set_ylim(bottom=floor)
        axes.margins(x=0.01)
        axes.grid(axis="y")
        axes.yaxis.set_major_locator(_ticks(4, whole=False))
        axes.set_ylabel(f"mean {short_label(name)}")
        axes.set_xlabel("parts of the stream, in order of time")

    gap = float(np.abs(before - after).max())
    label = f"Means of {name} in {len(before)} parts of the stream, truth and released: at most {gap:.4g} apart."
    return draw(f"parts {name}", 190, label, paint)


def categories(shape: Histogram) -> Markup:
    """Return a bar per category before, with a diamond after; the most frequent ones where there are many.

    >>> counts = np.array([3.0, 1.0])
    >>> ">flu<" in categories(Histogram("disease", ("flu", "gout"), counts, counts))
    True
    """
    named = shape.before[:NAMED_BARS]  # beyond them stands one bar for all others, which would dwarf the rest
    shown = np.sort(np.argsort(-named, kind="stable")[:MOST_BARS])
    names = [short_label(shape.labels[place]) for place in shown]
    rest = len(shape.labels) > len(shown)

    def paint(axes: Axes) -> None:
        places = range(len(names))
        axes.barh(places, shape.before[shown], 0.62, color=BEFORE_FILL, edgecolor=BEFORE, linewidth=0.8)
        axes.plot(shape.after[shown], places, "D", color=AFTER, markersize=6)
        _name_axis(axes, names)
        axes.xaxis.set_major_locator(_ticks(5, whole=True))
        axes.xaxis.set_major_formatter(lambda value, _: count(value))
        axes.set_xlabel(_rows_words(shape, len(shown) if rest else None))

    words = f" of the {len(shown)} most frequent values" if rest else ""
    label = f"Bars of {shape.name} before, diamonds after{words}, {_distance_words(shape)}"
    return draw(f"categories {shape.name}", 52 + BAR_HEIGHT * len(names), label, paint)


def _rows_words(shape: Histogram, shown: int | None) -> str:
    """Return what an axis of rows counts: all values, the most frequent ones, or a level of the hierarchy."""
    if shown is not None:
        return f"rows (the {shown} most frequent values)"
    return f"rows, by level {shape.level} of the hierarchy" if shape.level else "rows"


def _distance_words(shape: Histogram) -> str:
    return f"{percent(shape.distance)} apart."


def _ticks(most: int, *, whole: bool) -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most, integer=whole, steps=[1, 2, 2.5, 5, 10])


def _date_axis(axes: Axes, *, offset: bool = True) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=offset))  # type: ignore[no-untyped-call]


def _count_axis(axes: Axes, unit: str) -> None:
    axes.set_ylabel(unit)
    axes.grid(axis="y")
    axes.yaxis.set_major_locator(_ticks(4, whole=True))
    axes.yaxis.set_major_formatter(lambda value, _: count(value))


def _name_axis(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, color=INK)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_visible(True)
    axes.tick_params(axis="x", length=0)


def short_label(text: str) -> str:
    """Return a value's name as an axis can show it.

    >>> short_label("a very long name of a value")
    'a very long name of…'
    """
    shown = printable(text).replace("\n", " ") or "(empty)"
    return shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…"
