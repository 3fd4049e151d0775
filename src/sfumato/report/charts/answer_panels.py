"""One aggregate's groups drawn: rows of diamonds with intervals, or columns side by side; bins as touching bars.

Position along a common scale is what the eye compares best, and intervals are drawn as lines so that the uncertainty is
seen first (Cleveland & McGill 1984). Every mark says its group and its numbers in its tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sfumato.report.charts import short_label
from sfumato.report.charts.answer_groups import MOST_COLUMNS, Mark
from sfumato.report.charts.axis import LETTER, Axis
from sfumato.report.page.markup import Markup, element, join, printable

WIDTH = 400
MARGIN = 14
ROW = 20
NARROW = 8  # pixels of a column
PLOT = 180  # the height of columns
TEXT = "font-size: 12px; fill: var(--ink)"
BOLD = f"{TEXT}; font-weight: 600"
MOST_LETTERS = 52  # of a title
SOFT = "font-size: 11px; fill: var(--soft)"
GRID = "stroke: var(--line); stroke-width: 1"
ZERO = "stroke: var(--soft); stroke-width: 1"
INTERVAL = "stroke: var(--bar); stroke-width: 2.5; stroke-linecap: round"
WHISKER = "stroke: var(--ink); stroke-width: 1.2"
DIAMOND = "fill: var(--after)"
RING = "fill: none; stroke: var(--before); stroke-width: 1.6"
BAR = "fill: var(--before-fill); stroke: var(--before); stroke-width: 0.8"


@dataclass(frozen=True)
class Panel:
    """Shapes and the height that they take.

    >>> Panel(Markup("<g></g>"), 20.0).height
    20.0
    """

    shapes: Markup
    height: float


def write_line(text: str, x: float, y: float, style: str = TEXT, anchor: str = "start") -> Markup:
    """Return a label, cut where it is long; the whole is in its tooltip.

    >>> "a very long name of…" in write_line("a very long name of a value", 0, 0)
    True
    """
    return _text(text, short_label(text), x, y, style, anchor)


def write_title(text: str) -> Markup:
    """Return the words above a panel, cut where they are wider than the picture.

    >>> "…" in write_title("a" * 100), "…" in write_title("a" * 50)
    (True, False)
    """
    whole = printable(text).replace("\n", " ")
    shown = whole if len(whole) <= MOST_LETTERS else whole[: MOST_LETTERS - 1] + "…"
    return _text(text, shown, MARGIN, 16, BOLD, "start")


def _text(text: str, shown: str, x: float, y: float, style: str, anchor: str) -> Markup:
    whole = [element("title", text)] if shown != text else []
    return element("text", *whole, shown, x=_px(x), y=_px(y), text_anchor=anchor, style=style)


def rows_panel(marks: Sequence[Mark], *, times: bool) -> Panel:
    """Return the groups below each other, each with its name, a line for its interval and a diamond for its value.

    >>> rows_panel([Mark("F", "", 3.0, 1.0, 5.0)], times=False).height
    50.0
    """
    widest = max((len(short_label(text)) for mark in marks for text in (mark.name, mark.heading)), default=0)
    left = min(MARGIN + LETTER * 1.1 * widest + 10, 0.45 * WIDTH)
    reach = [number for mark in marks for number in mark.reach]
    axis = Axis.over(reach, left, WIDTH - MARGIN, times=times, zero=len(marks) > 1)
    shapes, y, heading = [], 0.0, ""
    for mark in marks:
        if mark.heading != heading:
            heading = mark.heading
            shapes.append(write_line(heading, MARGIN, y + 14, BOLD))
            y += ROW
        shapes.append(write_line(mark.name, left - 8, y + 14, TEXT, "end"))
        shapes.append(_row(mark, axis, y + ROW / 2))
        y += ROW
    ticks = [_line(axis.at(at), 0, axis.at(at), y, ZERO if at == 0 else GRID) for at, _ in axis.ticks()]
    labels = [_tick(label, _inside(axis.at(at), label), y + 16, "middle") for at, label in axis.ticks()]
    return Panel(join([*ticks, *shapes, *labels]), y + 30)


def columns_panel(marks: Sequence[Mark], *, times: bool) -> Panel:
    """Return the groups side by side: bins as touching bars between their edges, others as diamonds; with intervals.

    >>> bins = [Mark("0 to 10", "", 3.0, 1.0, 5.0, edges=(0.0, 10.0)), Mark("10 to 20", "", 4.0, 2.0, 6.0)]
    >>> "<rect" in columns_panel(bins[:1], times=False).shapes
    True
    """
    shown = marks[:MOST_COLUMNS]
    upright = Axis.over((number for mark in shown for number in mark.reach), PLOT, 8, times=times)
    ticks = upright.ticks(upright=True)
    left = MARGIN + LETTER * max(len(label) for _, label in ticks) + 6
    spans = [mark.edges or (float(place), place + 1.0) for place, mark in enumerate(shown)]
    across = Axis(min(low for low, _ in spans), max(high for _, high in spans), left, WIDTH - MARGIN)
    lines = [_line(left, upright.at(at), WIDTH - MARGIN, upright.at(at), ZERO if at == 0 else GRID) for at, _ in ticks]
    labels = [_tick(label, left - 6, upright.at(at) + 4, "end") for at, label in ticks]
    bars = [_column(mark, span, across, upright) for mark, span in zip(shown, spans, strict=True)]
    return Panel(join([*lines, *labels, *bars, *_names_below(shown, spans, across)]), PLOT + 26.0)


def _row(mark: Mark, axis: Axis, y: float) -> Markup:
    parts = [element("title", mark.told)]
    if mark.low is not None and mark.high is not None:
        parts.append(_line(axis.at(mark.low), y, axis.at(mark.high), y, INTERVAL))
    parts.append(_diamond(axis.at(mark.value), y))
    if mark.truth is not None:
        parts.append(_ring(axis.at(mark.truth), y))
    return element("g", *parts)


def _column(mark: Mark, span: tuple[float, float], across: Axis, upright: Axis) -> Markup:
    left, right = across.at(span[0]), across.at(span[1])
    middle, value = (left + right) / 2, upright.at(mark.value)
    parts = [element("title", mark.told)]
    if mark.edges is not None:
        zero = upright.at(max(upright.low, 0.0))
        top, height = min(zero, value), abs(zero - value)
        box = {"x": _px(left), "y": _px(top), "width": _px(right - left), "height": _px(height)}
        parts.append(element("rect", **box, style=BAR))
    if mark.low is not None and mark.high is not None:
        style = INTERVAL if mark.edges is None and right - left > NARROW else WHISKER
        parts.append(_line(middle, upright.at(mark.low), middle, upright.at(mark.high), style))
    if mark.edges is None:
        parts.append(_diamond(middle, value, min(4.0, max(2.0, (right - left) / 2))))
    if mark.truth is not None:
        parts.append(_ring(middle, upright.at(mark.truth)))
    return element("g", *parts)


def _names_below(marks: Sequence[Mark], spans: Sequence[tuple[float, float]], across: Axis) -> list[Markup]:
    """Write as many edges of bins, or names of groups, as do not touch."""
    if marks[0].edges is None:
        named = [((low + high) / 2, mark.name) for mark, (low, high) in zip(marks, spans, strict=True)]
    else:
        ends = [(low, mark.name.partition(" to ")[0]) for mark, (low, _) in zip(marks, spans, strict=True)]
        named = [*ends, (spans[-1][1], marks[-1].name.partition(" to ")[2])]
    step = next(step for step in range(1, len(named) + 1) if _fits([*named[::step]], across))
    return [_tick(name, _inside(across.at(at), name), PLOT + 18, "middle") for at, name in named[::step]]


def _fits(named: Sequence[tuple[float, str]], across: Axis) -> bool:
    """Return whether labels stand clear of each other."""
    ends = [
        (_inside(across.at(at), name) - _half(name), _inside(across.at(at), name) + _half(name)) for at, name in named
    ]
    return all(before + 8 <= after for (_, before), (after, _) in pairwise(ends))


def _inside(x: float, name: str) -> float:
    return max(_half(name) + 2, min(x, WIDTH - 2 - _half(name)))


def _half(name: str) -> float:
    return LETTER * len(short_label(name)) / 2


def _tick(text: str, x: float, y: float, anchor: str) -> Markup:
    return write_line(text, x, y, SOFT, anchor)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    return element("line", x1=_px(x1), y1=_px(y1), x2=_px(x2), y2=_px(y2), style=style)


def _diamond(x: float, y: float, half: float = 4.5) -> Markup:
    path = f"M{_px(x - half)} {_px(y)}L{_px(x)} {_px(y - half)}L{_px(x + half)} {_px(y)}L{_px(x)} {_px(y + half)}Z"
    return element("path", d=path, style=DIAMOND)


def _ring(x: float, y: float) -> Markup:
    return element("circle", cx=_px(x), cy=_px(y), r="4.5", style=RING)


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
