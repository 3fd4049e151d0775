"""The report's charts: class sizes, loss per column, and a column before and after.

Before is always a filled area, after a line or a diamond, so the two differ in shape and not in colour
alone (Okabe & Ito 2008); every chart also says in words what it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.report.markup import Markup, printable
from sfumato.report.svg import AFTER, BEFORE, BEFORE_FILL, INK, SOFT, drawn
from sfumato.report.words import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = npt.NDArray[np.float64]
LONGEST_LABEL = 20
MOST_BARS = 12
BAR_HEIGHT = 21


def class_sizes(sizes: npt.NDArray[np.int64], least: int | None) -> Markup:
    """Return a bar chart of how many classes have each size, with a mark at the size that was asked for.

    >>> "2 classes of 3 to 5 rows" in class_sizes(np.array([3, 5]), 3)
    True
    """
    low, high = int(sizes.min()), int(sizes.max())
    width = max(1, -(-(high - low + 1) // 30))
    edges = np.arange(low, high + width + 1, width) - 0.5
    heights, _ = np.histogram(sizes, edges)

    def paint(axes: Axes) -> None:
        axes.bar(edges[:-1] + width / 2, heights, width * 0.82, color=BEFORE)
        _count_axis(axes, "classes")
        axes.set_xlabel("rows in a class")
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=7)
        if least is not None:
            axes.axvline(least - 0.5, color=AFTER, linewidth=1.8, linestyle=(0, (4, 2)))
            axes.annotate(
                f"asked for: {least}",
                (least - 0.5, 1),
                (5, -2),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                color=AFTER,
                weight="bold",
            )
            axes.set_xlim(left=min(low, least) - 0.5 - width)

    label = f"Bar chart: {count(len(sizes))} classes of {count(low)} to {count(high)} rows, {np.median(sizes):g} in the middle."
    return drawn("class-sizes", 220, label, paint)


def losses(values: Mapping[str, float]) -> Markup:
    """Return a horizontal bar per column: the share of its detail that is lost.

    >>> "age 12.5" in losses({"age": 0.125})
    True
    """
    names = [_label(name) for name in values]
    shares = [100 * value for value in values.values()]

    def paint(axes: Axes) -> None:
        bars = axes.barh(range(len(names)), shares, 0.62, color=BEFORE)
        axes.bar_label(bars, [percent(value) for value in values.values()], padding=4, color=INK)
        _name_axis(axes, names)
        axes.set_xlim(0, 118)
        axes.set_xticks([0, 25, 50, 75, 100])
        axes.set_xlabel("loss of detail, per cent")

    label = "Bar chart of loss per column: " + ", ".join(f"{n} {percent(v)}" for n, v in values.items()) + "."
    return drawn("losses", 52 + BAR_HEIGHT * len(names), label, paint)


def spans(name: str, edges: Numbers, before: Numbers, after: Numbers, *, dates: bool) -> Markup:
    """Return a histogram of a numeric column: filled before, a stepped line after; dates are days since 1970.

    >>> flat = np.array([2.0, 2.0])
    >>> "Histogram of age" in spans("age", np.array([0.0, 1.0, 2.0]), flat, flat, dates=False)
    True
    """

    def paint(axes: Axes) -> None:
        axes.stairs(before, edges, fill=True, color=BEFORE_FILL, linewidth=0)
        axes.stairs(before, edges, color=BEFORE, linewidth=0.8, label="before")
        axes.stairs(after, edges, color=AFTER, linewidth=2, label="after")
        _count_axis(axes, "rows")
        axes.margins(x=0.01)
        if dates:
            from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

            locator = AutoDateLocator(minticks=3, maxticks=6)
            axes.xaxis.set_major_locator(locator)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        else:
            axes.xaxis.get_major_locator().set_params(nbins=6)

    return drawn(f"spans {name}", 190, f"Histogram of {name} before and after, in {len(before)} steps.", paint)


def categories(name: str, labels: Sequence[str], before: Numbers, after: Numbers) -> Markup:
    """Return a bar per category before, with a diamond after; the most frequent ones where there are many.

    >>> "flu" in categories("disease", ["flu", "gout"], np.array([3.0, 1.0]), np.array([3.0, 1.0]))
    True
    """
    shown = np.arange(len(labels))
    if len(labels) > MOST_BARS:
        shown = np.argsort(-before, kind="stable")[:MOST_BARS]
    names = [_label(labels[index]) for index in shown]
    rest = len(labels) - len(shown)

    def paint(axes: Axes) -> None:
        places = range(len(names))
        axes.barh(places, before[shown], 0.62, color=BEFORE_FILL, edgecolor=BEFORE, linewidth=0.8)
        axes.plot(after[shown], places, "D", color=AFTER, markersize=6)
        _name_axis(axes, names)
        axes.xaxis.get_major_locator().set_params(nbins=5, integer=True)
        axes.set_xlabel("rows")

    words = f", the {len(shown)} most frequent of {count(len(labels))}" if rest else ""
    label = f"Bars of {name} before, diamonds after{words}."
    return drawn(f"categories {name}", 52 + BAR_HEIGHT * len(names), label, paint)


def _count_axis(axes: Axes, unit: str) -> None:
    axes.set_ylabel(unit)
    axes.grid(axis="y")
    axes.yaxis.get_major_locator().set_params(nbins=4, integer=True)
    axes.yaxis.set_major_formatter(lambda value, _: count(value))


def _name_axis(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, color=INK)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_visible(True)
    axes.tick_params(axis="x", length=0)


def _label(text: str) -> str:
    shown = printable(text).replace("\n", " ") or "(empty)"
    return shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…"
