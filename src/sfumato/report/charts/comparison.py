"""The map of risk and loss: every candidate a point, its name on a rail beside it, the best ones joined.

The risk-utility map of Duncan, Keller-McNulty & Stokes 2001. Names stand in the order of the points' heights, so that
the lines between them and the points seldom cross; filled diamonds and bold names mark the front, not colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.evaluate.candidates import Candidate, front
from sfumato.evaluate.candidates.candidate import place
from sfumato.report.charts.svg import AFTER, BAR, INK, SOFT, draw
from sfumato.report.page.markup import Markup, printable
from sfumato.report.page.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 400
LEAST_HEIGHT = 260
NAME_HEIGHT = 15
MOST_NAMES = 40
LONGEST_NAME = 24
RAIL = 1.08  # where the names begin, in widths of the picture's inside
MARGIN = 0.04
TICKS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
MOST_TICKS = 5
LEADER = {"arrowstyle": "-", "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)}


def risk_loss_map(candidates: Sequence[Candidate]) -> Markup:
    """Return loss against the highest risk of all candidates that have both, the best ones marked.

    >>> some = [Candidate("a", "", loss=0.1, highest_risk=0.5), Candidate("b", "", loss=0.4, highest_risk=0.1)]
    >>> "Map of 2 candidates" in risk_loss_map(some), ">a</text>" in risk_loss_map(some)
    (True, True)
    """
    best = {candidate.name for candidate in front(candidates)}
    shown = _shown(candidates, best)
    spots = {candidate.name: spot for candidate in shown if (spot := place(candidate)) is not None}
    order = sorted(spots, key=lambda name: (spots[name][1], -spots[name][0]))

    def paint(axes: Axes) -> None:
        _scale(axes, [spot[0] for spot in spots.values()], [spot[1] for spot in spots.values()])
        steps = sorted(spots[name] for name in order if name in best)
        axes.step(*zip(*steps, strict=True), where="post", color=AFTER, linewidth=1.2, linestyle=(0, (4, 2)), zorder=2)
        heights = rail_heights([_height(axes, spots[name][1]) for name in order], NAME_HEIGHT / height)
        for name, rail in zip(order, heights, strict=True):
            _point(axes, name, spots[name], rail, marked=name in best)

    height = max(LEAST_HEIGHT, 70 + NAME_HEIGHT * len(order))
    marked = ", ".join(name for name in order if name in best)
    label = f"Map of {len(order)} candidates by highest risk and loss. No other one is better in both: {marked}."
    return draw("risk and loss", height, label, paint, width=WIDTH)


def _shown(candidates: Sequence[Candidate], best: set[str]) -> list[Candidate]:
    """Return the candidates that have room: those of the front first, then the others in their order."""
    placed = [candidate for candidate in candidates if place(candidate) is not None]
    ordered = sorted(placed, key=lambda candidate: candidate.name not in best)
    return ordered[:MOST_NAMES]


def _scale(axes: Axes, risks: Sequence[float], losses: Sequence[float]) -> None:
    """Set the axes: risk by factors, since k is chosen so, and loss from nothing."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    axes.set_xscale("log")
    low, high = min(risks), max(risks)
    axes.set_xlim(low / 1.35, min(1.0, high) * 1.35)
    axes.xaxis.set_major_locator(FixedLocator(risk_ticks(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: percent(value).replace(".0%", "%"))
    top = max(*losses, 0.01)
    axes.set_ylim(-MARGIN * top, top * (1 + 2 * MARGIN))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    axes.grid(axis="y")
    axes.set_xlabel("highest risk of being found")
    axes.set_ylabel("loss of detail")


def risk_ticks(low: float, high: float) -> list[float]:
    """Return round risks between two, so few that their words do not touch.

    >>> risk_ticks(0.02, 0.2), risk_ticks(0.0006, 0.2), risk_ticks(0.3, 0.4)
    ([0.02, 0.05, 0.1, 0.2], [0.001, 0.01, 0.1], [0.3])
    """
    within = [tick for tick in TICKS if low * 0.999 <= tick <= high * 1.001]
    return (within if len(within) <= MOST_TICKS else [tick for tick in within if tick in TICKS[::3]]) or [low]


def _height(axes: Axes, loss: float) -> float:
    """Return how high a loss lies, as a share of the picture's inside."""
    low, high = axes.get_ylim()
    return (loss - low) / (high - low)


def rail_heights(wanted: Sequence[float], gap: float) -> list[float]:
    """Return heights near the wanted ones, ascending, so far apart that names do not touch.

    Names that would touch form a block around the middle of what they want; blocks that touch are joined.

    >>> rail_heights([0.25, 0.25, 0.75], 0.125)
    [0.1875, 0.3125, 0.75]
    """
    blocks: list[tuple[float, int]] = []  # the sum of what a block's names want, and how many they are
    for height in wanted:
        block = height, 1
        while blocks and _first(block, gap) - gap < _first(blocks[-1], gap) + gap * (blocks[-1][1] - 1):
            other = blocks.pop()
            block = other[0] + block[0], other[1] + block[1]
        blocks.append(block)
    return [_first(block, gap) + gap * number for block in blocks for number in range(block[1])]


def _first(block: tuple[float, int], gap: float) -> float:
    """Return the height of a block's first name: the block lies around its mean, and inside the picture."""
    total, size = block
    length = gap * (size - 1)
    return max(0.0, min(total / size - length / 2, 1 - length))


def _point(axes: Axes, name: str, spot: tuple[float, float], rail: float, *, marked: bool) -> None:
    """Draw one candidate: its point, its name on the rail, and a thin line between."""
    shown = printable(name).replace("\n", " ")
    words = shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"
    axes.annotate(
        words,
        spot,
        (RAIL, rail),
        xycoords="data",
        textcoords="axes fraction",
        va="center",
        fontsize=11,
        weight="bold" if marked else "normal",
        color=INK if marked else SOFT,
        arrowprops=LEADER | ({"color": BAR, "linewidth": 0.8} if marked else {"color": SOFT, "linewidth": 0.4}),
        annotation_clip=False,
    )
    style = {"color": AFTER, "marker": "D"} if marked else {"markerfacecolor": "none", "color": BAR, "marker": "o"}
    axes.plot(*spot, linestyle="none", markersize=6, zorder=3, **style)  # type: ignore[arg-type]
