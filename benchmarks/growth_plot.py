"""Pictures of how costs grow: log-log, in the colours of Okabe & Ito (2008), on white for light and dark pages."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from record import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vPX"
OURS = "sfumato"
PANELS = {
    "tables": ("Mondrian", "Datafly", "Incognito", "MDAV", "MDAV+", "kAnonyMeans"),
    "questions, devices and streams": ("unary encoding", "private count", "DOCA", "adaptive", "CASTLE"),
}
AXES = {"n": "n: rows, users or records", "d": "d: columns, or values of a domain", "k": "k"}


def picture(curves: Iterable[Curve], over: str) -> str:
    """Return all curves over n, d or k as SVG text, tables on the left and the other doors on the right."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = [curve for curve in curves if curve.over == over]
    with rc_context({"svg.hashsalt": "sfumato", "font.size": 11}):
        figure = Figure(figsize=(11, 6.4), layout="constrained", facecolor="white")
        for panel, (title, names) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
            _draw(panel, shown, names)
            panel.set(title=title, xlabel=AXES[over], ylabel="seconds", xscale="log", yscale="log", facecolor="white")
            panel.grid(visible=True, which="major", color="#cccccc", linewidth=0.6)
            if over != "n":
                _plain_ticks(panel, shown, names)
            panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, fontsize=9)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _plain_ticks(panel: Axes, curves: Sequence[Curve], names: Sequence[str]) -> None:
    """Write the few places of a short axis as they are."""
    places = sorted({place for curve in curves if curve.what in names for place, _ in curve.points})
    panel.set_xticks(places, [f"{place:g}" for place in places])
    panel.minorticks_off()


def _draw(panel: Axes, curves: Sequence[Curve], names: Sequence[str]) -> None:
    """Draw ours as full lines, and a peer dashed and hollow in the colour of what it stands beside."""
    for number, name in enumerate(names):
        for curve in (curve for curve in curves if curve.what == name):
            own = curve.who == OURS
            panel.plot(
                *zip(*curve.points, strict=True),
                color=COLOURS[number],
                marker=MARKS[number],
                linestyle="-" if own else "--",
                markerfacecolor=COLOURS[number] if own else "white",
                label=f"{name if own else f'{name}, {curve.who}'}: {over_power(curve)}",
            )


def over_power(curve: Curve) -> str:
    """Return the fitted law of a curve, such as n^1.04."""
    return f"{curve.over}^{curve.exponent:.2f}"
