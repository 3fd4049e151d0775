"""Declared figures as PNG files (drawn by matplotlib; Hunter 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtraError
from sfumato.experiments.figure import COLOURS, Bars, Curve, Figure, Heat, Mark, Panel, Ranked, ReferenceLine, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

INK, SOFT, LINE = "#1d2026", "#5b6270", "#dfe2e8"
MARKERS, DASHES = "osD^vP*X", ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), "-", "--")
LEVELS = ((0, (4, 2)), (0, (1, 1)), (0, (6, 2, 1, 2)), "-")
ACROSS, HIGH, WIDE = 3, 3.5, 4.3  # panels in a row, inches of a panel
STYLE: dict[Any, Any] = {  # matplotlib types the keys one by one
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "grid.color": LINE,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}


def picture(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, its panels in rows of three, four of them in two rows of two.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "loss.png"
    >>> picture(Figure("loss", "Loss", "", "", [Panel("", "k", "loss", [Curve("MDAV", [3, 5], [5.7, 9.1])])]), file)
    >>> file.read_bytes()[1:4]
    b'PNG'
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib; pip install 'sfumato[experiments]'") from error
    across = 2 if len(figure.panels) == 4 else min(ACROSS, len(figure.panels))
    down = -(-len(figure.panels) // across)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        canvas = Canvas(
            figsize=(
                max(6.5, WIDE * across) + 2.5 * any(map(labels, figure.panels)),
                _height(figure.panels) * down + 0.7,
            ),
            layout="constrained",
        )
        places = list(canvas.subplots(down, across, squeeze=False).flat)
        for place, (axes, panel) in enumerate(zip(places, figure.panels, strict=False)):
            _panel(axes, panel, figure)
            if place % across and labels(panel) and labels(panel) == labels(figure.panels[place - 1]):
                axes.set_yticklabels([])
        for axes in places[len(figure.panels) :]:
            axes.set_visible(False)
        canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        shown = _handles(list(canvas.axes))
        if len(shown) > 1:
            across = _legend_columns(list(shown), canvas.get_figwidth())
            canvas.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=across, frameon=False)
        canvas.savefig(path, format="png", dpi=110, metadata={"Software": None})


def _height(panels: Sequence[Panel]) -> float:
    """Return the inches of a row of panels: as many as the longest list of labels needs."""
    lines = [len(mark.labels) for panel in panels for mark in panel.marks if isinstance(mark, Ranked)]
    cells = [len(mark.rows) for panel in panels for mark in panel.marks if isinstance(mark, Heat)]
    return max([HIGH, *(0.28 * count + 1 for count in lines), *(0.2 * count + 1 for count in cells)])


def _legend_columns(names: Sequence[str], inches: float) -> int:
    """Return how many columns of a legend find room, four at most."""
    widest = 0.6 + 0.08 * max(map(len, names))
    return max(1, min(4, len(names), int(inches / widest)))


def _handles(all_axes: Sequence[Axes]) -> dict[str, Any]:
    """Return one handle for each name that any panel shows."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    return found


def _panel(axes: Axes, panel: Panel, figure: Figure) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.grid(axis="both" if panel.log_x and panel.log_y else "y")
    for mark in panel.marks:
        _draw(mark, axes, figure)
    if panel.log_x:
        axes.set_xscale("log")
        _decades(axes.xaxis)
    if panel.log_y:
        axes.set_yscale("log")
        _decades(axes.yaxis)


def _decades(axis: Axis) -> None:
    """Label a logarithmic axis in plain text: its decades, and 2 and 5 where it has hardly more than one decade."""
    from matplotlib.ticker import FuncFormatter

    low, high = sorted(axis.get_view_interval())

    def between(value: float, _: int) -> str:
        return plain_power(value) if high < 15 * low and f"{value:.3e}"[:5] in {"1.500", "2.000", "5.000"} else ""

    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_power(value)))
    axis.set_minor_formatter(FuncFormatter(between))


def plain_power(value: float) -> str:
    """Return a tick's value as a reader writes it.

    >>> plain_power(0.1), plain_power(10_000.0), plain_power(1e8), plain_power(1.5e-5)
    ('0.1', '10,000', '10⁸', '1.5·10⁻⁵')
    """
    if 1e-3 <= value < 1e6 or value <= 0:
        return f"{value:,.10g}"
    digits, _, power = f"{value:.4e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if float(digits) == 1 else f"{float(digits):g}·10{raised}"


def _draw(mark: Mark, axes: Axes, figure: Figure) -> None:
    """Draw a mark by its kind; a name's place among the figure's names is its colour, a level's its dash."""
    names = figure.names()
    match mark:
        case Curve():
            _curve(mark, axes, names.index(mark.name) % len(COLOURS))
        case Bars():
            _bars(mark, axes, names.index(mark.name) % len(COLOURS), 0.8 / len(names))
        case Ranked():
            _ranked_dots(mark, axes, names.index(mark.name) % len(COLOURS))
        case Heat():
            _heat(mark, axes)
        case ReferenceLine():
            _level(mark, axes, figure.levels().index(mark.name) % len(LEVELS))


def _curve(mark: Curve, axes: Axes, place: int) -> None:
    many = len(mark.x) > 60
    axes.plot(
        mark.x,
        mark.y,
        color=COLOURS[place],
        marker="" if many and mark.joined else MARKERS[place],
        markersize=3 if many else 4.5,
        linestyle=DASHES[place] if mark.joined else "none",
        linewidth=1.5,
        label=mark.name,
    )
    if mark.low is not None and mark.high is not None:
        axes.fill_between(mark.x, mark.low, mark.high, color=COLOURS[place], alpha=0.18, linewidth=0)


def _bars(mark: Bars, axes: Axes, place: int, wide: float) -> None:
    at = [spot - 0.4 + wide * (place + 0.5) for spot in range(len(mark.labels))]
    hatch = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")[place]
    axes.bar(at, mark.values, wide, color=COLOURS[place], hatch=hatch, edgecolor="white", label=mark.name)
    step = max(1, len(mark.labels) // 10)
    axes.set_xticks(range(0, len(mark.labels), step), list(mark.labels)[::step])


def _ranked_dots(mark: Ranked, axes: Axes, place: int) -> None:
    lines = range(len(mark.labels))
    if mark.low is not None and mark.high is not None:
        axes.hlines(lines, mark.low, mark.high, color=COLOURS[place], linewidth=2)
    axes.plot(mark.values, lines, MARKERS[place], color=COLOURS[place], label=mark.name)
    axes.set_yticks(lines, mark.labels)
    axes.set_ylim(len(mark.labels) - 0.5, -0.5)
    axes.grid(axis="x")


def _heat(mark: Heat, axes: Axes) -> None:
    shades = axes.imshow(mark.values, cmap="YlGnBu", vmin=0, vmax=mark.most, aspect="auto")
    axes.set_yticks(range(len(mark.rows)), mark.rows, fontsize=7)
    step = max(1, len(mark.columns) // 12)
    axes.set_xticks(range(0, len(mark.columns), step), list(mark.columns)[::step])
    axes.grid(visible=False)
    axes.figure.colorbar(shades, ax=axes, label=mark.name, shrink=0.9)


def _level(mark: ReferenceLine, axes: Axes, place: int) -> None:
    line = axes.axhline if mark.axis == "y" else axes.axvline
    line(mark.at, color=SOFT, linewidth=1.2, linestyle=LEVELS[place], label=mark.name)
