"""Stoldt 2019 done again: microaggregation by κ-means, its rivals, and how much lower a search goes.

"Datenbankanonymisierung auf Basis von k-means-Algorithmen", slides.

>>> EXPERIMENT.name, [part.name for part in EXPERIMENT.parts]
('microaggregation', ['losses', 'runs', 'course', 'columns', 'goals'])
"""

from __future__ import annotations

from sfumato.experiments.declared import Case, Experiment, Part, grid
from sfumato.experiments.microaggregation.cases import (
    DRAWN,
    EVOLVED,
    FILES,
    FIXED,
    KICKS,
    MERGED,
    PLAIN,
    POLISHED,
    SEARCHED,
    column_loss,
    course,
    loss,
    searched_loss,
)
from sfumato.experiments.microaggregation.comparison import GOALS, compare
from sfumato.experiments.microaggregation.figures import draw

TITLE = "Microaggregation: groups by κ-means, by MDAV, and by search"
SOURCE = "Stoldt 2019, slides (in German)"
ABOUT = f"""
Microaggregation puts records into groups of at least k near ones and publishes each group's mean. The loss is what is
left out: the squared error within groups as a share of all variance, in per cent, over z-scored columns. The slides
group by κ-means, merge what is too small and split what is too large (kAnonyMeans), and breed the first centres
(kAnonyMeans*).

The slides give three averages in words; their curves are pictures without numbers, and their parameters (κ, rounds,
population, stopping) are not given. Ours: κ = ⌊n/k⌋, κ-means++, one round as in the listing, or up to 20 rounds of
κ-means after merge and split; kAnonyMeans* with a population of 20, five survivors, eight mutants and 30 generations
of one round. MDAV* is our reading of Thaeter & Reischuk (2018). SimU and SimC are drawn here after their description.
MDAV's numbers are the literature's; the best published losses are remembered, not looked up.

*Best* is ours: polish MDAV's groups by small moves, then search by kicks ({KICKS:,} unless said otherwise). Searches
end after a number of kicks and not by the clock, so that losses do not hang on a machine's speed. Seconds are processor
time of one thread; cases run beside each other on all cores, which disturbs them by some tens of per cent, more where
the machine has other work. Seed 0 marks algorithms that draw nothing.
"""
SETS = ("CENSUS", "TARRAGONA", "EIA", *DRAWN, "Cloud1", "Cloud2")
SIZES = (3, 4, 5, 6, 8, 10)
SEEDS = (1, 2, 3, 4, 5)
FRESH = range(101, 104)  # served to choose nothing
COLUMNS = ("univariate optimum", "MDAV", MERGED, POLISHED)


def _losses(datasets: tuple[str, ...], sizes: tuple[int, ...], seeds: tuple[int, ...]) -> tuple[Case, ...]:
    """Return a case for each algorithm but the slow kAnonyMeans*."""
    return (
        *grid(dataset=datasets, k=sizes, algorithm=FIXED, seed=[0]),
        *grid(dataset=datasets, k=sizes, algorithm=[PLAIN, MERGED], seed=seeds),
        *grid(dataset=datasets, k=sizes, algorithm=[SEARCHED], seed=[1]),
    )


def _runs(count: int) -> tuple[Case, ...]:
    return grid(dataset=["CENSUS"], k=[3], algorithm=[PLAIN, MERGED], seed=range(1, count + 1))


def _course(repetitions: int, searches: int) -> tuple[Case, ...]:
    return (
        *grid(dataset=["CENSUS"], k=[3], algorithm=[PLAIN, EVOLVED], seed=range(1, repetitions + 1)),
        *grid(dataset=["CENSUS"], k=[3], algorithm=[SEARCHED], seed=range(1, searches + 1)),
    )


def _goals() -> tuple[Case, ...]:
    return tuple(
        {"dataset": dataset, "k": k, "kicks": goal.kicks, "seed": seed}
        for (dataset, k), goal in GOALS.items()
        for seed in FRESH
    )


PARTS = (
    Part(
        "losses",
        loss,
        full=(*_losses(SETS, SIZES, SEEDS), *grid(dataset=SETS, k=[3, 5, 10], algorithm=[EVOLVED], seed=[1])),
        quick=(
            *_losses(("CENSUS", "EIA", "SimC"), (3, 10), (1,)),
            *grid(dataset=["SimC"], k=[3, 10], algorithm=[EVOLVED], seed=[1]),
            *grid(dataset=["CENSUS"], k=[3], algorithm=[EVOLVED], seed=[1]),
        ),
    ),
    Part("runs", loss, full=_runs(1000), quick=_runs(40)),
    Part("course", course, full=_course(50, 5), quick=_course(2, 1)),
    Part(
        "columns",
        column_loss,
        full=grid(dataset=["CENSUS"], k=[3, 5, 10], algorithm=COLUMNS, seed=[1]),
        quick=grid(dataset=["CENSUS"], k=[3], algorithm=COLUMNS, seed=[1]),
    ),
    Part(
        "goals",
        searched_loss,
        full=_goals(),
        quick=grid(dataset=["EIA"], k=[3, 10], kicks=[20_000], seed=[101]),
    ),
)
EXPERIMENT = Experiment("microaggregation", TITLE, SOURCE, ABOUT, PARTS, compare, draw, tuple(FILES.values()))
