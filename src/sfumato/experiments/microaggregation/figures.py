"""The slides' figures with all algorithms in them, and how low a search goes (Stoldt 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.experiments.declared import Rows
from sfumato.experiments.figure import Curve, Figure, Panel, Ranked, ReferenceLine
from sfumato.experiments.microaggregation.cases import (
    CLUSTERED,
    EVOLVED,
    MERGED,
    PLAIN,
    POLISHED,
    SCATTERED,
    SEARCHED,
)
from sfumato.experiments.microaggregation.comparison import GOALS, Losses, gain, means

SHOWN = ("MDAV", "MDAV+", "MDAV*", SCATTERED, PLAIN, MERGED, EVOLVED, SEARCHED)
IN_SLIDES = ("EIA", "SimC")
BINS = 40


def draw(rows: Rows) -> list[Figure]:
    """Return the slides' figures in their order, then the search against the goals and single columns."""
    found = means(rows["losses"])
    sets = list(dict.fromkeys(dataset for dataset, _, _ in found))
    others = [dataset for dataset in sets if dataset not in IN_SLIDES]
    return [
        _losses(found, [name for name in IN_SLIDES if name in sets], "loss-slides", "the slides' two curves"),
        _losses(found, others, "loss-others", "the sets the slides average over and do not draw"),
        _gains(found),
        _histogram(rows["runs"], found),
        _course(rows["course"], found),
        _goals(rows["goals"], found),
        _columns(rows["columns"]),
    ]


def _losses(found: Losses, datasets: Sequence[str], name: str, shows: str) -> Figure:
    panels = [Panel(dataset, "k", "loss, per cent", _by_size(found, dataset)) for dataset in datasets]
    gamma = "V-MDAV has γ = 1.1 on SimC, as its authors advise for clustered data, and γ = 0.2 elsewhere"
    caption = f"Lower is better. kAnonyMeans is the mean of its seeds; {gamma}."
    return Figure(name, f"Loss against k: {', '.join(datasets)}", shows, caption, panels)


def _by_size(found: Losses, dataset: str) -> list[Curve]:
    curves = []
    for name in SHOWN:
        taken = CLUSTERED if name == SCATTERED and dataset == "SimC" else name
        points = {k: value for (own, k, algorithm), value in found.items() if (own, algorithm) == (dataset, taken)}
        if points:
            curves.append(Curve("V-MDAV" if name == SCATTERED else name, list(points), list(points.values())))
    return curves


def _gains(found: Losses) -> Figure:
    sets = list(dict.fromkeys(dataset for dataset, _, _ in found))
    panels = []
    for title, chosen in {"all sets": sets, "without SimU and SimC": [s for s in sets if s[:3] != "Sim"]}.items():
        curves = []
        for algorithm in SHOWN:
            sizes = [
                k
                for k in dict.fromkeys(k for _, k, _ in found)
                if all((dataset, k, algorithm) in found for dataset in chosen)
            ]
            gains = [gain(found, algorithm, "MDAV+", [(dataset, k) for dataset in chosen]) for k in sizes]
            curves += [Curve(algorithm, sizes, gains)] if sizes else []
        panels.append(Panel(title, "k", "less loss than MDAV+, per cent", curves))
    caption = "Means of ratios over the sets; single sets can carry them, so the drawn sets are left out on the right."
    return Figure("gains", "Gain over MDAV+", "the slides' summary, by k", caption, panels)


def _histogram(runs: pl.DataFrame, found: Losses) -> Figure:
    edges = np.linspace(float(runs["loss"].to_numpy().min()), float(runs["loss"].to_numpy().max()), BINS + 1)
    steps = []
    for (algorithm,), own in runs.group_by("algorithm", maintain_order=True):
        counts, _ = np.histogram(own["loss"].to_numpy(), edges)
        x, y = np.repeat(edges, 2), np.concatenate([[0], np.repeat(counts, 2), [0]])
        steps.append(Curve(str(algorithm), x.tolist(), y.tolist()))
    levels = [ReferenceLine(name, found["CENSUS", 3, name], "x") for name in ("MDAV", "MDAV+", EVOLVED, SEARCHED)]
    panel = Panel("", "loss, per cent", "runs", [*steps, *levels])
    number = runs.height // len(steps)
    caption = "Lines mark what other algorithms lose on the same records; a run of more rounds lies further left."
    title = f"{number:,} runs of kAnonyMeans on CENSUS, k = 3"
    return Figure("histogram", title, "the slides' histogram", caption, [panel])


def _course(course: pl.DataFrame, found: Losses) -> Figure:
    levels = [ReferenceLine(name, found["CENSUS", 3, name]) for name in ("MDAV+", "MDAV*")]
    by_pass = [_loss_curve(course, name, "step") for name in (PLAIN, EVOLVED)]
    by_time = [_loss_curve(course, name, "seconds") for name in (PLAIN, EVOLVED, SEARCHED)]
    panels = [
        *(Panel(curve.name, "passes", "loss, per cent", [curve, *levels]) for curve in by_pass),
        Panel("all, by time", "seconds of processor time", "loss, per cent", [*by_time, *levels], log_x=True),
    ]
    caption = (
        "Median of the repetitions, with their lowest and highest loss; a pass is one κ-means with merge and split. "
        "Times were taken while other cases ran."
    )
    return Figure("time", "Loss against work, CENSUS, k = 3", "the slides' last two figures", caption, panels)


def _loss_curve(course: pl.DataFrame, algorithm: str, against: str) -> Curve:
    """Return the median, lowest and highest loss at each step, against the steps or the mean seconds."""
    losses = pl.col("loss")
    own = course.filter(pl.col("algorithm") == algorithm)
    by = own.group_by("step", maintain_order=True).agg(
        pl.col("seconds").mean(), losses.median().alias("median"), losses.min().alias("least"),
        losses.max().alias("most"),
    )  # fmt: skip
    x, middle, low, high = (by[name].to_list() for name in (against, "median", "least", "most"))
    return Curve(algorithm, x, middle, low, high)


def _goals(goals: pl.DataFrame, found: Losses) -> Figure:
    searched = "search, median and range"
    by = goals.group_by("dataset", "k", maintain_order=True).agg(
        pl.col("loss").median().alias("median"), pl.col("loss").min().alias("least"),
        pl.col("loss").max().alias("most"),
    )  # fmt: skip
    cases = [(str(dataset), int(k)) for dataset, k in by.select("dataset", "k").iter_rows()]
    labels = [f"{dataset}, k = {k}" for dataset, k in cases]

    def dots(name: str, whole: Sequence[float], *losses: Sequence[float]) -> Ranked:
        return Ranked(
            name, labels, *([100 * own / all_of for own, all_of in zip(x, whole, strict=True)] for x in losses)
        )

    mdav, polished, merged = ([found[(*case, name)] for case in cases] for name in ("MDAV", POLISHED, MERGED))
    goal, reached = [GOALS[case].loss for case in cases], [by[name].to_list() for name in ("median", "least", "most")]
    beside = [dots(searched, mdav, *reached), dots("polished only", mdav, polished), dots(MERGED, mdav, merged)]
    near = [dots(searched, goal, *reached), dots("polished only", goal, polished)]
    panels = [
        Panel("beside MDAV", "per cent of MDAV's loss", "", [*beside, ReferenceLine("MDAV", 100, "x")]),
        Panel("beside the goal", "per cent of the goal", "", [*near, ReferenceLine("goal", 100, "x")]),
    ]
    caption = "Polishing is most of the way from MDAV; the search takes the rest."
    return Figure("goals", "How low the search goes", "our goals", caption, panels)


def _columns(columns: pl.DataFrame) -> Figure:
    panels = []
    for (k,), own in columns.group_by("k", maintain_order=True):
        wide = own.pivot("algorithm", index="column", values="loss", maintain_order=True)
        names = wide["column"].to_list()
        marks = [
            Ranked(name, names, (wide[name] / wide["univariate optimum"]).to_list())
            for name in wide.columns[1:]
            if name != "univariate optimum"
        ]
        panels.append(Panel(f"k = {k}", "times the optimum's loss", "", [*marks, ReferenceLine("optimum", 1, "x")]))
    caption = "For a single column the optimum is known in linear time after sorting; polishing comes near it."
    return Figure("columns", "One column at a time, CENSUS", "", caption, panels)
