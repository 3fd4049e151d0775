"""The dissertation's figures (Pereira 2014) drawn from our rows, and the surviving combinations on the same axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from sfumato.evaluate.calibration import PUBLISHED
from sfumato.evaluate.workload import WAYS
from sfumato.experiments.composition.comparison import ADDITIONS, CENSUS, IPUMS, MOVED, REMOVALS, mean
from sfumato.experiments.declared import Rows, Scalar
from sfumato.experiments.figure import Bars, Curve, Figure, Mark, Panel, Ranked, ReferenceLine

THERE = "dissertation"
ERROR = "mean relative error"
SHOWN = ("census-10k", "census-10k, skewed salaries", "IPUMS", "IPUMS, quasi-identifiers")


def draw(rows: Rows) -> Sequence[Figure]:
    """Return the figures, in the order of the dissertation.

    >>> draw({})
    Traceback (most recent call last):
    KeyError: 'anonymity'
    """
    return [
        _anonymity(rows["anonymity"]),
        _noise(rows["noise"]),
        _both(rows["anonymity"]),
        _attack(rows["density"], rows["attack"]),
        _classes(rows["classes"]),
        _changes(rows["changes"]),
        _distribution(rows["distribution"]),
        _calibrations(rows),
        _surviving_figure(rows),
    ]


def curve(frame: pl.DataFrame, x: str, name: str, **wanted: Scalar) -> Curve:
    """Return the mean error over seeds against a column, with the range over seeds.

    >>> rows = pl.DataFrame({"k": [5, 5, 10], "error": [0.1, 0.2, 0.4], "table": ["a", "a", "a"]})
    >>> curve(rows, "k", "ours", table="a").high
    [0.2, 0.4]
    """
    found = frame.filter(*(pl.col(column).eq_missing(pl.lit(value)) for column, value in wanted.items()))
    error = pl.col("error")
    by = found.group_by(x).agg(mean=error.mean(), low=error.min(), high=error.max()).sort(x)
    return Curve(name, by[x].to_list(), by["mean"].to_list(), by["low"].to_list(), by["high"].to_list())


def _nonempty(curves: Iterable[Curve]) -> list[Mark]:
    return [one for one in curves if len(one.x)]


def _ways(frame: pl.DataFrame, x: str, **wanted: Scalar) -> list[Mark]:
    return _nonempty(curve(frame, x, way, counting=way, **wanted) for way in WAYS)


def _anonymity(frame: pl.DataFrame) -> Figure:
    there = Curve(THERE, [5, 10, 25], [0.15, 0.20, 0.35], joined=False)
    panels = []
    for table, published in ((CENSUS, [there]), (IPUMS, [])):
        by_k = _ways(frame, "k", table=table, epsilon=None, range_ratio=0.6)
        by_ratio = _ways(frame, "range_ratio", table=table, epsilon=None, k=10)
        panels += [
            Panel(f"{table}: range ratio 0.6", "k", ERROR, [*by_k, *published]),
            Panel(f"{table}: k = 10", "range ratio", ERROR, by_ratio),
        ]
    return Figure(
        "k-anonymity",
        "Counting on a k-anonymous table",
        "figures 2, 3, 8 and 9",
        "Errors grow with k and fall as queries grow. Expected counts, which nobody needs to be told more for, err far "
        "less than inclusion and overlap.",
        panels,
    )


def _noise(frame: pl.DataFrame) -> Figure:
    tables = [name for name in SHOWN if name in set(frame["table"])]
    there = Curve(THERE, [0.005, 0.01, 0.1], [0.18, 0.0936, 0.0091], joined=False)
    by_epsilon = _nonempty(curve(frame, "epsilon", name, table=name, range_ratio=0.6) for name in tables)
    by_ratio = _nonempty(curve(frame, "range_ratio", name, table=name, epsilon=0.01) for name in tables)
    return Figure(
        "noise",
        "True counts with Laplace noise of scale 1/ε",
        "figures 4, 5, 10 and 11",
        "A tenth of ε is ten times the error. Even salaries give the printed errors; skewed ones leave queries with "
        "few rows, whose relative error is large. Every query costs ε.",
        [
            Panel("range ratio 0.6", "ε", ERROR, [*by_epsilon, there], log_x=True, log_y=True),
            Panel("ε = 0.01", "range ratio", ERROR, by_ratio, log_y=True),
        ],
    )


def _both(frame: pl.DataFrame) -> Figure:
    there = Curve(THERE, [0.005], [0.2658], joined=False)
    noisy = frame.filter(pl.col("epsilon").is_not_null())
    panels = []
    for table, published in ((CENSUS, [there]), (IPUMS, [])):
        by_k = _ways(noisy, "k", table=table, range_ratio=0.6, epsilon=0.01)
        by_epsilon = _ways(noisy, "epsilon", table=table, range_ratio=0.6, k=10)
        panels += [
            Panel(f"{table}: ε = 0.01", "k", ERROR, by_k),
            Panel(f"{table}: k = 10", "ε", ERROR, [*by_epsilon, *published], log_x=True, log_y=True),
        ]
    return Figure(
        "both",
        "Noise on counts of a k-anonymous table",
        "figures 6, 7, 12 and 13",
        "The two errors add up to less than their sum, since noise may undo what boxes lose. None of this is "
        "differentially private: see the attack.",
        panels,
    )


def _attack(density: pl.DataFrame, attack: pl.DataFrame) -> Figure:
    panels = []
    for epsilon in (0.1, 0.01):
        found = density.filter(pl.col("epsilon") == epsilon).sort("noise")
        noise = found["noise"].to_list()
        drawn = Curve("our exact noise, a million draws", noise, found["share drawn"].to_list(), joined=False)
        law = Curve("density of the formula", noise, found["density"].to_list())
        panels.append(Panel(f"ε = {epsilon}", "noise", "probability", [law, drawn]))
    worst = attack.filter(pl.col("counting") == "inclusion")
    dots = Ranked("ε that the release has at least", worst["anonymizer"].to_list(), worst["least epsilon"].to_list())
    claim = ReferenceLine("ε that is claimed", 0.1, axis="x")
    panels.append(Panel("the worst box, by inclusion", "ε", "", [dots, claim]))
    return Figure(
        "attack",
        "A row less, and the answer moves by more than the noise hides",
        "tables 6, 7 and 8",
        "Left: the densities from which the dissertation takes its ratios, and integers that are drawn exactly. Right: "
        "the audit's bound for every anonymizer on census-10k with k = 10; a claim of 0.1 is refuted everywhere.",
        panels,
    )


def _classes(frame: pl.DataFrame) -> Figure:
    return Figure(
        "classes",
        "Sizes of the classes for k = 10",
        "figures 14 and 15",
        "Means over the draws of the census. Small classes are the most; IPUMS has people alike in everything, so that "
        "its largest classes cannot be cut (sizes from 60 on are counted together).",
        [_sizes(frame.filter(pl.col("table") == name), name) for name in (CENSUS, IPUMS)],
    )


def _sizes(frame: pl.DataFrame, name: str) -> Panel:
    seeds = frame["seed"].n_unique()
    capped = frame.with_columns(pl.col("rows").clip(upper_bound=60))
    by = capped.group_by("rows").agg(pl.col("classes").sum() / seeds).sort("rows")
    labels = ["60+" if size == 60 else str(size) for size in by["rows"]]
    return Panel(name, "rows of a class", "classes", [Bars("classes", labels, by["classes"].to_list())])


def _changes(frame: pl.DataFrame) -> Figure:
    panels = []
    for kind, printed, what in (
        ("removal", REMOVALS, "classes"),
        ("addition", ADDITIONS, "classes"),
        ("removal", MOVED, "rows"),
    ):
        curves = [_at_least(printed, THERE)]
        for table in (CENSUS, IPUMS):
            found = frame.filter(table=table, neighbour=kind, changed=what)
            counts = found.group_by("number").agg(pl.col("occurrences").sum())
            curves.append(_at_least(dict(counts.iter_rows()), table))
        label = f"{what} gone and new, at least"
        panels.append(Panel(kind, label, "share of neighbours", _nonempty(curves), log_x=True, log_y=True))
    return Figure(
        "changes",
        "What one row more or less changes",
        "tables 12, 13 and 18",
        "How often a neighbour changes at least so many classes, or rows in them. In the dissertation's one table a "
        "large cut was about to tip, which moved 110 classes; ours are over all draws of the census.",
        panels,
    )


def _at_least(counts: Mapping[int, int], name: str) -> Curve:
    """Return the share of trials with at least so much changed."""
    total, left = sum(counts.values()), sum(counts.values()) - counts.get(0, 0)
    places, shares = [], []
    for number in sorted(place for place in counts if place):
        places.append(number)
        shares.append(left / total)
        left -= counts[number]
    return Curve(name, places, shares)


def _distribution(frame: pl.DataFrame) -> Figure:
    panels = []
    last = int(frame["per cent"].to_numpy().max())
    for way in WAYS:
        found = dict(frame.filter(counting=way).select("per cent", "queries counted").iter_rows())
        places = range(last + 1)
        bars = Bars("queries", [str(place) for place in places], [found.get(place, 0) for place in places])
        panels.append(Panel(way, "error, per cent, rounded down", "queries", [bars]))
    return Figure(
        "distribution",
        "Errors of queries on census-10k, k = 10",
        "figures 16 and 17",
        "Expected counts, on the right, are read from the same table as inclusion and overlap.",
        panels,
    )


def _calibrations(rows: Rows) -> Figure:
    frame = rows["calibrations"].filter(pl.col("counting") == "inclusion")
    panels = []
    for table in [name for name in SHOWN if name in set(frame["table"])]:
        found = frame.filter(pl.col("table") == table)
        names = found["calibration"].unique(maintain_order=True).to_list()
        marks: list[Mark] = [Ranked(THERE, names, list(PUBLISHED.values()))]
        for where, name in (("there", "ours, sensitivity of the dissertation"), ("here", "ours, sensitivity measured")):
            errors = [mean(found, "error", calibration=one, **{"sensitivity measured": where}) or 0 for one in names]
            marks.append(Ranked(name, names, errors))
        proven = mean(rows["private-mondrian"], "error", table=table, epsilon=0.1, range_ratio=0.6)
        marks += [] if proven is None else [ReferenceLine("private Mondrian", proven, axis="x")]
        panels.append(Panel(table, ERROR, "", marks, log_x=True))
    return Figure(
        "calibrations",
        "Three guesses of the sensitivity, k = 10, ε = 0.1",
        "tables 11, 14 and 15",
        "None of the guesses is a proof. A private table has one, errs less than any of them, and answers all queries "
        "for one ε.",
        panels,
    )


def _surviving_figure(rows: Rows) -> Figure:
    panels = [_beside(rows, table) for table in SHOWN if table in set(rows["private-mondrian"]["table"])]
    panels += list(_by_ratio(rows))
    return Figure(
        "surviving",
        "What survives the attack, on the same queries",
        "nothing there: the combinations the dissertation looked for",
        "Private Mondrian promises ε for all queries together; SafePub and crowd blending promise k-anonymity too "
        "(k = 10, δ = 10⁻⁶), and pay with a small sample. The broken combination spends ε on each query and keeps no "
        "promise. Where columns are even and independent a few boxes are enough; where incomes are skewed, only a "
        "larger ε helps. SafePub picks a scheme for its detail, which more ε makes finer, not for this error.",
        panels,
    )


def _beside(rows: Rows, table: str) -> Panel:
    wanted: dict[str, Scalar] = {"table": table, "range_ratio": 0.6}
    broken = rows["anonymity"].filter(pl.col("epsilon").is_not_null())
    marks = _nonempty(
        [
            curve(rows["private-mondrian"], "epsilon", "private Mondrian", **wanted),
            *(
                curve(rows["sampled"], "epsilon", name, k=10, algorithm=name, **wanted)
                for name in ("SafePub", "crowd blending")
            ),
            curve(broken, "epsilon", "k = 10 and noise: broken", k=10, counting="inclusion", **wanted),
        ]
    )
    return Panel(table, "ε", ERROR, marks, log_x=True, log_y=True)


def _by_ratio(rows: Rows) -> Iterator[Panel]:
    for table in (CENSUS, IPUMS):
        private = curve(rows["private-mondrian"], "range_ratio", "private Mondrian", table=table, epsilon=0.1)
        wanted: dict[str, Scalar] = {"table": table, "k": 10, "counting": "inclusion", "epsilon": 0.1}
        broken = curve(rows["anonymity"], "range_ratio", "k = 10 and noise: broken", **wanted)
        if len(private.x) > 1:
            yield Panel(f"{table}: ε = 0.1", "range ratio", ERROR, [private, broken], log_y=True)
