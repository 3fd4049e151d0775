"""Declared figures as a page that can be zoomed and asked, in one file that needs no network (drawn by plotly)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtraError
from sfumato.experiments.figure import COLOURS, Bars, Curve, Figure, Heat, Mark, Panel, Ranked, ReferenceLine, labels

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Canvas

ACROSS, HIGH = 3, 340
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "star", "x")
DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot", "solid", "dash")
LEVELS = ("dash", "dot", "dashdot", "solid")
PATTERNS = ("", "/", ".", "x", "\\", "+", "|", "-")


def script() -> str:
    """Return the library that draws in the reader's browser, to be put into a page once.

    >>> "Plotly" in script()
    True
    """
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("interactive figures need plotly; pip install 'sfumato[experiments]'") from error
    return str(get_plotlyjs())


def drawing(figure: Figure) -> str:
    """Return the piece of a page that shows a figure; the page holds `script` before it.

    >>> toy = Figure("loss", "Loss", "", "", [Panel("", "k", "loss", [Curve("MDAV", [3, 5], [5.7, 9.1])])])
    >>> "https://" in drawing(toy)
    False
    """
    from plotly.subplots import make_subplots

    across = 2 if len(figure.panels) == 4 else min(ACROSS, len(figure.panels))
    down = -(-len(figure.panels) // across)
    canvas = make_subplots(down, across, subplot_titles=[_lines(panel.title) for panel in figure.panels])
    shown: set[str] = set()
    for place, panel in enumerate(figure.panels):
        where = {"row": place // across + 1, "col": place % across + 1}
        for mark in panel.marks:
            _add(mark, canvas, figure, {**where, "fresh": _legend(mark) not in shown})
            shown.add(_legend(mark))
        _label(canvas, panel, where)
        if place % across and labels(panel) and labels(panel) == labels(figure.panels[place - 1]):
            canvas.update_yaxes(showticklabels=False, **where)
    most = max(
        (len(mark.labels if isinstance(mark, Ranked) else mark.rows)
         for panel in figure.panels for mark in panel.marks if isinstance(mark, Ranked | Heat)), default=0,
    )  # fmt: skip
    canvas.update_layout(
        template="simple_white", height=max(HIGH, 120 + 22 * most) * down + 60,
        margin={"l": 60, "r": 20, "t": 50, "b": 100},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}, hovermode="closest",
    )  # fmt: skip
    return str(
        canvas.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False}, div_id=figure.name)
    )


def _legend(mark: Mark) -> str:
    """Return what a mark is called in the legend; a level says where it lies."""
    return f"{mark.name}: {mark.at:g}" if isinstance(mark, ReferenceLine) else mark.name


def _lines(title: str) -> str:
    return title.replace("\n", "<br>")


def _label(canvas: Canvas, panel: Panel, where: dict[str, int]) -> None:
    canvas.update_xaxes(
        title_text=panel.x,
        exponentformat="power" if panel.log_x else None,
        type="log" if panel.log_x else None,
        **where,
    )
    canvas.update_yaxes(
        title_text=panel.y,
        exponentformat="power" if panel.log_y else None,
        type="log" if panel.log_y else None,
        **where,
    )
    if any(isinstance(mark, Ranked | Heat) for mark in panel.marks):
        canvas.update_yaxes(autorange="reversed", type="category", **where)


def _add(mark: Mark, canvas: Canvas, figure: Figure, where: dict[str, Any]) -> None:
    """Draw a mark by its kind; a name's place among the figure's names is its colour, a level's its dash."""
    names = figure.names()
    match mark:
        case Curve():
            _curve(mark, canvas, names.index(mark.name) % len(COLOURS), where)
        case Bars():
            _bars(mark, canvas, names.index(mark.name) % len(COLOURS), where)
        case Ranked():
            _ranked_dots(mark, canvas, names.index(mark.name) % len(COLOURS), where)
        case Heat():
            _heat(mark, canvas, where)
        case ReferenceLine():
            _level(mark, canvas, LEVELS[figure.levels().index(mark.name) % len(LEVELS)], where)


def _common(mark: Curve | Bars | Ranked, where: dict[str, Any]) -> dict[str, Any]:
    """Return what a trace says of its name and place; a name is in the legend once."""
    return {
        "name": mark.name,
        "legendgroup": mark.name,
        "showlegend": where["fresh"],
        "row": where["row"],
        "col": where["col"],
    }


def _curve(mark: Curve, canvas: Canvas, place: int, where: dict[str, Any]) -> None:
    reach = None
    if mark.low is not None and mark.high is not None:
        up = [high - y for high, y in zip(mark.high, mark.y, strict=True)]
        down = [y - low for low, y in zip(mark.low, mark.y, strict=True)]
        reach = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1}
    canvas.add_scatter(
        x=list(mark.x), y=list(mark.y), error_y=reach, mode=_mode(mark),
        line={"color": COLOURS[place], "dash": DASHES[place]}, marker={"symbol": MARKERS[place], "size": 6},
        **_common(mark, where),
    )  # fmt: skip


def _mode(mark: Curve) -> str:
    """Return whether points, lines or both are drawn: of many joined points the line alone."""
    if not mark.joined:
        return "markers"
    return "lines" if len(mark.x) > 60 else "lines+markers"


def _bars(mark: Bars, canvas: Canvas, place: int, where: dict[str, Any]) -> None:
    shape = {"color": COLOURS[place], "pattern": {"shape": PATTERNS[place]}}
    canvas.add_bar(x=list(mark.labels), y=list(mark.values), marker=shape, **_common(mark, where))


def _ranked_dots(mark: Ranked, canvas: Canvas, place: int, where: dict[str, Any]) -> None:
    reach = None
    if mark.low is not None and mark.high is not None:
        up = [high - value for high, value in zip(mark.high, mark.values, strict=True)]
        down = [value - low for low, value in zip(mark.low, mark.values, strict=True)]
        reach = {"type": "data", "symmetric": False, "array": up, "arrayminus": down}
    canvas.add_scatter(
        x=list(mark.values), y=list(mark.labels), error_x=reach, mode="markers",
        marker={"color": COLOURS[place], "symbol": MARKERS[place], "size": 8}, **_common(mark, where),
    )  # fmt: skip


def _heat(mark: Heat, canvas: Canvas, where: dict[str, Any]) -> None:
    canvas.add_heatmap(
        z=[list(line) for line in mark.values], x=list(mark.columns), y=list(mark.rows), zmin=0, zmax=mark.most,
        colorscale="YlGnBu", name=mark.name, row=where["row"], col=where["col"],
    )  # fmt: skip


def _level(mark: ReferenceLine, canvas: Canvas, dash: str, where: dict[str, Any]) -> None:
    look = {"color": "#5b6270", "dash": dash, "width": 1}
    line = canvas.add_hline if mark.axis == "y" else canvas.add_vline
    place = {"row": where["row"], "col": where["col"]}
    line(mark.at, line=look, **place)
    nowhere = {"x": [None], "y": [None]}  # a line without points is only its name in the legend
    canvas.add_scatter(**nowhere, mode="lines", line=look, name=_legend(mark), showlegend=where["fresh"], **place)
