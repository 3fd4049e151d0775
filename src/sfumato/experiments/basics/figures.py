"""The lecture's pictures: the density of the answer, the trade-off, and what the wrong sensitivity gives away."""

from __future__ import annotations

import polars as pl

from sfumato.experiments.declared import Rows
from sfumato.experiments.figure import Curve, Figure, Mark, Panel, ReferenceLine


def draw(rows: Rows) -> list[Figure]:
    """Return the figures: the curve of the example, error and guess against ε, and the ε that is reached."""
    return [_density(rows["curve"], rows["density"]), _trade_off(rows["trade-off"]), _leak(rows["leak"])]


def _density(curve: pl.DataFrame, table: pl.DataFrame) -> Figure:
    marks: list[Mark] = [
        Curve("density", curve["answer"].to_list(), curve["density"].to_list()),
        Curve("the slide's five answers", table["answer"].to_list(), table["density"].to_list(), joined=False),
        ReferenceLine("true sum, 14", 14, "x"),
    ]
    panel = Panel("Laplace noise of scale 7 around 14", "answer", "density, per cent", marks)
    return Figure(
        "density", "The example's answer", "table of the example", "Answers near the truth are likelier.", [panel]
    )


def _trade_off(rows: pl.DataFrame) -> Figure:
    means = rows.group_by("epsilon", maintain_order=True).agg(pl.col("error", "expected", "guess").mean())
    x = means["epsilon"].to_list()
    error = Panel(
        "what the analyst pays", "ε", "mean absolute error of the sum, houses",
        [Curve("measured", x, means["error"].to_list(), joined=False), Curve("10/ε", x, means["expected"].to_list())],
        log_x=True, log_y=True,
    )  # fmt: skip
    guess: list[Mark] = [Curve("best guess", x, means["guess"].to_list()), ReferenceLine("a coin", 0.5)]
    person = Panel("what the person risks", "ε", "share of right guesses who is in the table", guess, log_x=True)
    caption = "The lecture recommends 0.01, 0.1, ln 2 and ln 3; on four rows none of them leaves a useful sum."
    return Figure("trade-off", "Privacy against utility", "slide on the trade-off", caption, [error, person])


def _leak(rows: pl.DataFrame) -> Figure:
    curves = [
        Curve(f"noise scaled to the {name} sensitivity", own["epsilon"].to_list(), own["reached"].to_list())
        for (name,), own in rows.group_by("calibration", maintain_order=True)
    ]
    promised = rows["epsilon"].unique(maintain_order=True).to_list()
    panel = Panel(
        "the person with 7 houses in, or out",
        "ε promised",
        "ε reached",
        [*curves, Curve("promised", promised, promised)],
        log_x=True,
        log_y=True,
    )
    caption = (
        "Above the line of what is promised the promise is broken: noise may not be scaled to the rows themselves."
    )
    return Figure("leak", "The slide's sensitivity does not keep its promise", "proof", caption, [panel])
