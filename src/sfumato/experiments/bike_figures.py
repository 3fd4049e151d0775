"""The figures of the bicycle experiments: errors of all answers, hourly error curves, the stations' heat map.

They show what figures 3 to 6 of source 002 (Pedro 2022) show; colours are those of Okabe & Ito (2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, LINE = "#1d2026", "#5b6270", "#dfe2e8"
CENTRAL, LOCAL, BEST = "#0072b2", "#d55e00", "#009e73"
STYLE: dict[Any, Any] = {  # matplotlib types the keys one by one
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "grid.color": LINE,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}
MIDDLE = 2.251


def draw_errors(errors: pl.DataFrame, path: Path) -> None:
    """Draw experiment 1 at the middle ε: a dot for the mean error of each answer, a line at that of all zeros."""
    means = (
        errors.filter(pl.col("epsilon") == MIDDLE)
        .group_by("data", "answer", maintain_order=True)
        .agg(pl.col("mae").mean(), pl.col("mae").min().alias("least"), pl.col("mae").max().alias("most"))
    )
    names = means.get_column("data").unique(maintain_order=True).to_list()
    with _figure(path, (12, 3.8), len(names)) as (_, panels):
        for axes, name in zip(panels, names, strict=True):
            _dots(axes, means.filter(pl.col("data") == name))
            axes.set_title(name.replace(", ", "\n") if ", " in name else f"{name}\nall rides")
        for axes in panels[1:]:
            axes.set_yticklabels([])
        panels[len(names) // 2].set_xlabel(f"mean absolute error over all declared cells, ε = {MIDDLE:g}, log scale")


def _dots(axes: Axes, rows: pl.DataFrame) -> None:
    shown = rows.filter(pl.col("answer") != "all zeros")
    zeros = rows.filter(pl.col("answer") == "all zeros").get_column("mae").item()
    axes.axvline(zeros, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    _say(axes, f"all zeros {zeros:.3g}", (zeros, -0.85), right=True)
    for place, (answer, mean, least, most) in enumerate(shown.select("answer", "mae", "least", "most").iter_rows()):
        colour = CENTRAL if answer.startswith("central") else BEST if answer.endswith("views") else LOCAL
        axes.plot([least, most], [place, place], color=colour, linewidth=2)
        axes.plot(mean, place, "o", color=colour, markersize=7)
        _say(axes, f"{mean:.3g}", (most, place) if mean > zeros else (least, place), right=mean > zeros)
    axes.set_xscale("log")
    axes.set_xlim(0.015, 1500)
    axes.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    axes.minorticks_off()
    axes.set_yticks(range(shown.height), shown.get_column("answer").to_list(), color=INK)
    axes.set_ylim(shown.height - 0.5, -1.3)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)


def _say(axes: Axes, words: str, place: tuple[float, float], *, right: bool) -> None:
    aside, align = (8, "left") if right else (-8, "right")
    axes.annotate(words, place, (aside, 0), textcoords="offset points", va="center", ha=align)


def draw_hours(errors: pl.DataFrame, rides: str, path: Path) -> None:
    """Draw experiment 2: a curve of the hourly error for each answer, a panel for each ε, means over the seeds."""
    epsilons = errors.get_column("epsilon").unique(maintain_order=True).to_list()
    colours = (CENTRAL, LOCAL, BEST)
    with _figure(path, (11, 3.4), len(epsilons)) as (figure, panels):
        for axes, epsilon in zip(panels, epsilons, strict=True):
            own = errors.filter(pl.col("epsilon") == epsilon)
            means = own.group_by("answer", "hour", maintain_order=True).agg(pl.col("error").mean())
            answers = means.get_column("answer").unique(maintain_order=True).to_list()
            for answer, colour, mark in zip(answers, colours, "osD", strict=True):
                curve = means.filter(pl.col("answer") == answer)
                (line,) = axes.plot(curve["hour"], curve["error"], mark, color=colour, markersize=4, label=answer)
                line.set(linestyle="-", clip_on=False)  # marks at 0 per cent are whole
            axes.set_title(f"ε = {epsilon:g}")
            axes.set_xticks(range(0, 24, 4))
            axes.set_ylim(0, max(1.0, 1.08 * means["error"].to_numpy().max()))
            axes.grid(axis="y")
        panels[0].set_ylabel("adjusted error, per cent")
        panels[len(epsilons) // 2].set_xlabel(f"hour of day; {rides}")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)


def draw_stations(errors: pl.DataFrame, path: Path) -> None:
    """Draw experiment 3: a heat map of the error in each hour at the busiest stations of each file."""
    from matplotlib.colors import PowerNorm

    names = errors.get_column("data").unique(maintain_order=True).to_list()
    with _figure(path, (12, 5.6), len(names)) as (figure, panels):
        for axes, name in zip(panels, names, strict=True):
            own = errors.filter(pl.col("data") == name)
            stations = own.get_column("station").unique(maintain_order=True).to_list()
            table = own.get_column("error").to_numpy().reshape(len(stations), -1)
            picture = axes.imshow(table, cmap="YlGnBu", norm=PowerNorm(0.5, 0, 200), aspect="auto")
            axes.set_yticks(range(len(stations)), stations, fontsize=8)
            axes.set_xticks(range(0, table.shape[1], 2))
            axes.set_xlabel("hour of day")
            axes.set_title(f"{name}, {own.get_column('rides').sum():,.0f} rides at {len(stations)} stations")
        panels[0].set_ylabel("station, the busiest on top")
        bar = figure.colorbar(picture, ax=panels, shrink=0.9, ticks=[0, 5, 25, 50, 100, 150, 200])
        bar.set_label(f"adjusted error of the central answer at ε = {MIDDLE:g}, per cent")


@contextmanager
def _figure(path: Path, size: tuple[float, float], panels: int) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure with panels side by side, saved as PNG when the block ends."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib; pip install 'sfumato[report]'") from error
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=size, layout="constrained")
        yield figure, list(figure.subplots(1, panels, squeeze=False)[0])
        figure.savefig(path, format="png", dpi=140, metadata={"Software": None})
