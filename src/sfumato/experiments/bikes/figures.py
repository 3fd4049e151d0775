"""The figures of the bicycle experiments: errors of all answers, hourly curves, the stations' heat map (Pedro 2022)."""

from __future__ import annotations

import polars as pl

from sfumato.experiments.bikes.cases import MIDDLE
from sfumato.experiments.declared import Rows
from sfumato.experiments.figure import Curve, Figure, Heat, Panel, Ranked, ReferenceLine

ZEROS = "all zeros"


def draw(rows: Rows) -> list[Figure]:
    """Return the figures: table 1 as dots, figures 3 to 5 as curves, figure 6 as shades."""
    return [_errors(rows["errors"]), _hours(rows["hours"]), _stations(rows["stations"])]


def _errors(errors: pl.DataFrame) -> Figure:
    middle = errors.filter(pl.col("epsilon") == MIDDLE)
    panels = []
    for (rides,), own in middle.group_by("rides", maintain_order=True):
        means = own.group_by("answer", maintain_order=True).agg(
            pl.col("mae").mean(), pl.col("mae").min().alias("least"), pl.col("mae").max().alias("most")
        )
        zeros = means.filter(pl.col("answer") == ZEROS)["mae"].item()
        shown = means.filter(pl.col("answer") != ZEROS)
        dots = Ranked("mean over seeds, and the range", *(shown[name].to_list() for name in shown.columns))
        title = str(rides).replace(", ", "\n")
        panels.append(
            Panel(title, "mean absolute error", "", [dots, ReferenceLine("all zeros", zeros, "x")], log_x=True)
        )
    caption = "Answers left of the dashed line tell more than the answer 0 everywhere."
    return Figure("errors", f"Women per station and hour, ε = {MIDDLE:g}", "table 1", caption, panels)


def _hours(hours: pl.DataFrame) -> Figure:
    panels = []
    for (epsilon,), own in hours.group_by("epsilon", maintain_order=True):
        means = own.group_by("answer", "hour", maintain_order=True).agg(pl.col("error").mean())
        curves = [
            Curve(str(answer), curve["hour"].to_list(), curve["error"].to_list())
            for (answer,), curve in means.group_by("answer", maintain_order=True)
        ]
        panels.append(Panel(f"ε = {epsilon:g}", "hour of day", "adjusted error, per cent", curves))
    caption = "The central error is near 0 from the middle ε on; the local one is large where few people ride."
    return Figure("hours", "Rides per hour of day", "figures 3 to 5", caption, panels)


def _stations(stations: pl.DataFrame) -> Figure:
    panels = []
    for (rides,), own in stations.group_by("rides", maintain_order=True):
        names = own["station"].unique(maintain_order=True).to_list()
        table = own["error"].to_numpy().reshape(len(names), -1)
        shades = Heat("per cent", names, [str(hour) for hour in range(table.shape[1])], table.tolist(), 100)
        panels.append(Panel(str(rides), "hour of day", "station, the busiest on top", [shades]))
    caption = "Errors gather where and when nobody rides; shades end at 100 per cent."
    return Figure("stations", f"Central error per station and hour, ε = {MIDDLE:g}", "figure 6", caption, panels)
