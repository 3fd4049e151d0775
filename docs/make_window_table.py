"""Write the errors of windows that slide: panes added up against noise drawn anew, quantiles chosen against read.

Each statistic has all of ε = 1 for itself. Real data lie in `SFUMATO_DATA`, else they are left out and the page stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sfumato.random import SeededSource
from sfumato.stream import ClockStatistics
from sfumato.stream.base import Numbers

PAGE = Path(__file__).parent / "algorithms" / "window-statistics.md"
BLOCK = re.compile(r"(<!-- windows -->\n).*?(<!-- /windows -->\n)", re.DOTALL)
POWER = "household_power_20061216_20061230.csv"
SEEDS, PANES = 30, (1, 6, 24)
LEVELS = (0.5,), (0.25, 0.5, 0.9)


class Feed(NamedTuple):
    """Readings in panes of one size, and their public bounds."""

    name: str
    panes: Numbers
    bounds: tuple[float, float]


def feeds() -> Iterator[Feed]:
    """Yield the feeds there are."""
    draw = np.random.default_rng(24)
    yield Feed("gamma(2, 1) in [0, 12], 500 a pane", np.clip(draw.gamma(2.0, 1.0, (300, 500)), 0, 12), (0.0, 12.0))
    file = Path(os.environ.get("SFUMATO_DATA", "data")) / POWER
    if file.exists():
        power = pl.read_csv(file, null_values="?")["Global_active_power"].drop_nulls().to_numpy()
        hours = len(power) // 60
        yield Feed(
            "household power in kW, [0, 12], an hour a pane", power[: hours * 60].reshape(hours, 60), (0.0, 12.0)
        )


def windows_of(feed: Feed, panes: int) -> list[Numbers]:
    """Return the records of every window that has all its panes."""
    return [feed.panes[end - panes : end].ravel() for end in range(panes, len(feed.panes) + 1)]


def released(feed: Feed, panes: int, seed: int, asked: str, **options: Any) -> Numbers:
    """Return the values of every whole window, noise of its panes added up."""
    publisher = ClockStatistics({"x": feed.bounds}, asked, panes, rng=SeededSource(seed), **options)
    rows = []
    for pane in feed.panes:
        publisher.push_many(pane)
        rows.append(publisher.tick().values[:, 0])
    return np.array(rows[panes - 1 :])


def drawn_anew(feed: Feed, panes: int, seed: int, asked: str) -> Numbers:
    """Return the values of every whole window, each with noise of its own at ε over the windows of a record."""
    publisher = ClockStatistics({"x": feed.bounds}, asked, 1, 1.0 / panes, rng=SeededSource(seed))
    rows = []
    for window in windows_of(feed, panes):
        publisher.push_many(window)
        rows.append(publisher.tick().values[:, 0])
    return np.array(rows)


def rank_errors(feed: Feed, panes: int, levels: tuple[float, ...], found: Numbers) -> Numbers:
    """Return by which share of its records each released quantile misses its level."""
    missed = []
    for window, row in zip(windows_of(feed, panes), found, strict=True):
        for level, value in zip(levels, row, strict=True):
            below, upto = (window < value).mean(), (window <= value).mean()
            missed.append(max(0.0, below - level, level - upto))
    return np.array(missed)


def cell(each: list[float], digits: int, *, share: bool = False) -> str:
    """Return mean and standard deviation over seeds."""
    scale, unit = (100, " %") if share else (1, "")
    return f"{scale * np.mean(each):.{digits}f} ± {scale * np.std(each, ddof=1):.{digits}f}{unit}"


def additive(feed: Feed, panes: int) -> list[str]:
    """Return the errors of counts and means, both ways."""
    cells = []
    for asked in ("count", "mean"):
        truth = np.array([len(one) if asked == "count" else one.mean() for one in windows_of(feed, panes)])
        for way in (released, drawn_anew):
            errors = [
                float(np.sqrt(np.mean((way(feed, panes, seed, asked)[:, -1] - truth) ** 2))) for seed in range(SEEDS)
            ]
            cells.append(cell(errors, 1 if asked == "count" else 4))
    return cells


def quantiles(feed: Feed, panes: int) -> list[str]:
    """Return the errors in rank of the median alone and of three quantiles together, both ways."""
    cells = []
    for levels in LEVELS:
        asked = ", ".join(f"quantile {level}" for level in levels)
        for way in ("choice", "histogram"):
            found = [released(feed, panes, seed, asked, quantiles=way) for seed in range(SEEDS)]
            cells.append(cell([float(rank_errors(feed, panes, levels, one).mean()) for one in found], 2, share=True))
    return cells


def table() -> str:
    """Return the rows of the table."""
    lines = [
        "| feed | panes | count, summed | anew | mean, summed | anew | median, chosen | read | three, chosen | read |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for feed in feeds():
        found = ([str(panes), *additive(feed, panes), *quantiles(feed, panes)] for panes in PANES)
        lines += [f"| {feed.name} | {' | '.join(cells)} |" for cells in found]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into its page."""
    if PAGE.exists():
        PAGE.write_text(BLOCK.sub(lambda found: found[1] + table() + found[2], PAGE.read_text()))
    else:
        print(table())


if __name__ == "__main__":
    main()
