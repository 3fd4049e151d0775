"""DOCA's figures, and ours beside them: table 1 as dots, the histograms of figure 2, and what each parameter does.

Leal, Vidal & Machado (2018); every value is the mean over the orders, with the range it was seen in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from sfumato.experiments.declared import Rows
from sfumato.experiments.doca.cases import LINKED, PAPER_SENSITIVITY, PUBLISHERS
from sfumato.experiments.doca.comparison import CALLED, DOCA, NAIVE, NAMES, mean, overlap
from sfumato.experiments.figure import Curve, Figure, Mark, Panel, Ranked, ReferenceLine

ERROR, DISTANCE, WHOLE = "EQM", "W₂² within windows", "W₂² over the whole stream"
SHARED, ORDERS, SOURCE = "intersection of histograms", "mean over the orders", "in the source"


def draw(rows: Rows) -> Sequence[Figure]:
    """Return the figures of the page."""
    return [
        _table(rows["table1"].filter(sensitivity=PAPER_SENSITIVITY)),
        _histograms(rows["figure2"]),
        _clusters(rows["beta"], rows["m"]),
        _delay(rows["delay"]),
        _epsilon(rows["epsilon"]),
        _guesses(rows["guesses"]),
        _fineness(rows["fineness"]),
        _streams(rows["streams"]),
    ]


def _ranked_dots(frame: pl.DataFrame, column: str, name: str) -> Ranked:
    """Return a dot for each publisher that has the measure: the mean of its rows, and their range."""
    parts = [frame.filter(publisher=publisher).get_column(column).drop_nulls() for publisher in PUBLISHERS]
    means, low, high = (
        [float(getattr(part, how)()) if len(part) else math.nan for part in parts] for how in ("mean", "min", "max")
    )
    return Ranked(name, [CALLED[publisher] for publisher in PUBLISHERS], means, low, high)


def _curve(frame: pl.DataFrame, axis: str, column: str, name: str) -> Curve:
    """Return the mean of a column over an axis, and its range."""
    by = frame.group_by(axis, maintain_order=True).agg(
        mean=pl.col(column).mean(), low=pl.col(column).min(), high=pl.col(column).max()
    )
    x, y, low, high = (by.get_column(each).to_list() for each in (axis, "mean", "low", "high"))
    return Curve(name, x, y, low, high)


def _curves(frame: pl.DataFrame, axis: str, column: str, publishers: Sequence[str]) -> list[Curve]:
    there = set(frame.get_column("publisher"))
    return [
        _curve(frame.filter(publisher=publisher), axis, column, CALLED[publisher])
        for publisher in publishers
        if publisher in there
    ]


def _table(frame: pl.DataFrame) -> Figure:
    levels = (ReferenceLine(SOURCE, DOCA, "x"), ReferenceLine(SOURCE, NAIVE, "x"))
    panels = (
        Panel("Squared error", ERROR, "", (_ranked_dots(frame, "error", ORDERS), *levels), log_x=True),
        Panel("Distance of windows of 1000", DISTANCE, "", (_ranked_dots(frame, "distance", ORDERS),), log_x=True),
        Panel("Overlap", SHARED, "", (_ranked_dots(frame, "intersection", ORDERS),)),
    )
    caption = (
        "Left: error of each record, for the four releases that are tied to records. Middle and right: how near the "
        "released distribution is. DOCA alone promises nothing."
    )
    return Figure("table-1", "All readings, the source's parameters", "table 1 of the source", caption, panels)


def _histograms(frame: pl.DataFrame) -> Figure:
    there = [name for name in PUBLISHERS if name in set(frame.get_column("publisher"))]
    panels = []
    for name in there:
        part = frame.filter(publisher=name)
        middles = ((part.get_column("low") + part.get_column("high")) / 2).to_list()
        curves = [Curve(which, middles, (100 * part.get_column(which)).to_list()) for which in ("original", "released")]
        panels.append(
            Panel(f"{CALLED[name]}: {overlap(frame, name):.1f} %", "hours of use", "per cent of readings", curves)
        )
    caption = (
        "100 bins over the range of the true readings, first random order; titles say the intersection. Window mean "
        "and linked response release few different values: theirs are means, not draws."
    )
    return Figure("figure-2", "True and released readings", "figure 2 of the source", caption, panels)


def _levels(frame: pl.DataFrame) -> tuple[ReferenceLine, ReferenceLine]:
    """Return the variance of the readings, and the least error that an ε-private release has at ε = 1."""
    variance = mean(frame, "variance")
    return ReferenceLine("variance", variance), ReferenceLine(
        "least EQM that ε = 1 allows", variance / math.cosh(0.5) ** 2
    )


def _clusters(beta: pl.DataFrame, m: pl.DataFrame) -> Figure:
    panels = []
    for axis, frame, what in (("beta", beta, "β, clusters held"), ("m", m, "m, groups behind τ")):
        marks = (_curve(frame, axis, "error", CALLED["doca"]), *_levels(frame))
        panels.append(Panel(f"Error and {what[0]}", what, ERROR, marks, log_x=True, log_y=True))
    shared = _curve(beta, "beta", "intersection", CALLED["doca"])
    panels.append(Panel("Overlap and β", "β, clusters held", SHARED, (shared,), log_x=True))
    caption = (
        "Few large clusters have less noise and lose more of the values; the source took β = 50 and m = 100. Below the "
        "lower line no ε-private release of independent readings comes."
    )
    return Figure("clusters", "DOCA's own parameters", "the parameters that the source left open", caption, panels)


def _delay(frame: pl.DataFrame) -> Figure:
    what = "records that may wait"
    errors: list[Mark] = [*_curves(frame, "delay", "error", LINKED), *_levels(frame)]
    panels = (
        Panel("Distribution", what, WHOLE, _curves(frame, "delay", "whole", PUBLISHERS), log_x=True, log_y=True),
        Panel("Overlap", what, SHARED, _curves(frame, "delay", "intersection", PUBLISHERS), log_x=True),
        Panel("Squared error", what, ERROR, errors, log_x=True, log_y=True),
    )
    caption = (
        "For windows, the delay is their length; bins and blocks stay as they are. With long delays DOCA's error falls "
        "below what any release with ε = 1 can have: it is bought with the promise."
    )
    return Figure("delay", "What waiting is worth", "the delay, which the source fixed at 1000", caption, panels)


def _epsilon(frame: pl.DataFrame) -> Figure:
    panels = (
        Panel("Distribution", "ε", DISTANCE, _curves(frame, "epsilon", "distance", PUBLISHERS), log_x=True, log_y=True),
        Panel("Overlap", "ε", SHARED, _curves(frame, "epsilon", "intersection", PUBLISHERS), log_x=True),
        Panel("Squared error", "ε", ERROR, _curves(frame, "epsilon", "error", LINKED), log_x=True, log_y=True),
    )
    caption = "DOCA's ε is a parameter of its noise and bounds nothing."
    return Figure("epsilon", "What ε costs", "the parameter ε, which the source fixed at 1", caption, panels)


def _guesses(frame: pl.DataFrame) -> Figure:
    asked = sorted(set(frame.get_column("epsilon")))
    limit = [_limit(frame, epsilon) for epsilon in asked]
    left = [*_curves(frame, "epsilon", "left", LINKED), Curve("limit of every ε-private release", asked, limit)]
    shown = [*_curves(frame, "epsilon", "shown", LINKED), Curve("limit of every ε-private release", asked, asked)]
    panels = (
        Panel("What a guess leaves", "ε claimed", "share of the variance", left, log_x=True),
        Panel("The ε that this shows", "ε claimed", "ε at least", shown, log_x=True),
    )
    caption = (
        "Readings drawn with replacement, each guessed from its published value and the size of its group. No "
        "ε-private release lies below the limit on the left, or above it on the right: DOCA does, at every small ε."
    )
    return Figure("guesses", "How well a reading can be guessed", "the promise of the source", caption, panels)


def _limit(frame: pl.DataFrame, epsilon: float) -> float:
    return float(frame.filter(epsilon=epsilon).get_column("allowed")[0])


def _fineness(frame: pl.DataFrame) -> Figure:
    wanted = (
        ("adaptive", "bins", "bins", "distance", DISTANCE),
        ("adaptive", "bins", "bins", "intersection", SHARED),
        ("rank", "block", "records in a block", "distance", DISTANCE),
    )
    panels = []
    for publisher, axis, what, column, called in wanted:
        parts = {order: frame.filter(publisher=publisher, order=order) for order in ("random", "arrival")}
        curves = [_curve(part, axis, column, f"{order} order") for order, part in parts.items()]
        panels.append(Panel(CALLED[publisher], what, called, curves, log_x=True, log_y=column == "distance"))
    caption = "Fine bins follow the shape and carry more noise; 160 bins and blocks of 50 are what the publishers take."
    return Figure("fineness", "Bins of histograms, blocks of ranks", "", caption, panels)


def _streams(frame: pl.DataFrame) -> Figure:
    shares = frame.with_columns(
        error=pl.col("error") / pl.col("variance"), distance=pl.col("distance") / pl.col("variance")
    )
    panels = []
    for column, called in (
        ("error", f"{ERROR} / variance"),
        ("distance", f"{DISTANCE} / variance"),
        ("intersection", SHARED),
    ):
        for stream, title in NAMES.items():
            part = shares.filter(stream=stream)
            marks = [
                _ranked_dots(part.filter(order=order), column, f"{order} order") for order in ("random", "arrival")
            ]
            panels.append(Panel(title.capitalize(), called, "", marks, log_x=column != "intersection"))
    caption = (
        "The same publishers with the same parameters on three streams, in random order and as they came. Neighbours "
        "in time are alike, which linked response uses and which moves an adaptive histogram's bins."
    )
    return Figure("streams", "Three streams, two orders", "other data than the source's", caption, panels)
