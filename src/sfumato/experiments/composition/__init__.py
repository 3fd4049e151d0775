"""Pereira 2014 done again: k-anonymity and differential privacy, alone and together, and what survives the attack.

*Proteção da Privacidade em Sistemas de Dados*, Universidade do Minho (in Portuguese).

>>> EXPERIMENT.name, [part.name for part in EXPERIMENT.parts][:3]
('composition', ['anonymity', 'noise', 'distribution'])
"""

from __future__ import annotations

from sfumato.evaluate.workload import WAYS
from sfumato.experiments.composition.attack import (
    ADDITION,
    ANONYMIZERS,
    CROWD,
    REMOVAL,
    SAFEPUB,
    attack,
    calibrations,
    changes,
    classes,
    density,
    private_mondrian,
    sampled_release,
    vanished_classes,
)
from sfumato.experiments.composition.comparison import compare
from sfumato.experiments.composition.figures import draw
from sfumato.experiments.composition.tables import (
    CENSUS,
    EXTRACT,
    IPUMS,
    IPUMS_QUASI,
    SKEWED,
    anonymity,
    distribution,
    noise,
)
from sfumato.experiments.declared import Case, Experiment, Part, grid

TITLE = "Composition: counting with noise on a k-anonymous table"
SOURCE = "Pereira 2014, Universidade do Minho (dissertation, in Portuguese)"
ABOUT = """
A table is k-anonymised by Mondrian, and counts on it get Laplace noise of scale 1/ε, as if one person moved a count by
one. The dissertation shows that this is not ε-differentially private, since a person less makes whole classes vanish,
and tries three guesses of the right scale. Every case here draws 5,000 queries as section 4.3 does: an interval on
every column at once, each of the same share of its column (the range ratio); queries whose true count is 0 are left
out, and an error is relative to the true count.

*census-10k* is drawn again for every seed: age, sex and zip code even and independent, since the rows are not public.
In paper mode salaries are even too: the printed errors of noise alone, 0.0091 at ε=0.1, are those of counts of about
10,000·0.6·0.5·0.6·0.6 = 1080 rows. The *skewed* census has the long-tailed salaries of `sf.samples.census_10k`.
*IPUMS* (age, sex, marital status, schooling, income in fifty bands; 53,461 people) stands for SAL-50k: numbers on it
can agree in kind only.

*Our best* is the same k-anonymous table read by expected counts where nothing is promised beyond k-anonymity, and
otherwise a private Mondrian table, on which all queries together cost ε. The means are over all seeds.

What answers what:

| there | here |
|---|---|
| figures 2 and 3, 8 and 9: k-anonymity alone | picture `k-anonymity`, rows `anonymity` |
| figures 4 and 5, 10 and 11: noise alone | picture `noise`, rows `noise` |
| figures 6 and 7, 12 and 13: both | picture `both`, rows `anonymity` |
| table 6: the class that vanishes | rows `vanished`, `attack` |
| tables 7 and 8: densities of Laplace noise | picture `attack`, rows `density` |
| table 11, table 14, table 15: three calibrations | picture `calibrations`, rows `calibrations` |
| tables 12, 13 and 18: what one row changes | picture `changes`, rows `changes` |
| figures 14 and 15: sizes of classes | picture `classes`, rows `classes` |
| figures 16 and 17: distributions of errors | picture `distribution`, rows `distribution` |
| nothing there: what survives the attack | picture `surviving`, rows `private-mondrian`, `sampled` |
| figures 1 and 18, tables 1 to 5, 9, 10, 16 and 17 | definitions, examples and printed rows: nothing to measure |
"""
KS, RATIOS = (5, 10, 15, 20, 25), (0.4, 0.5, 0.7, 0.8)
SEEDS, MANY = (2014, 2015, 2016), tuple(range(2014, 2024))
PAPER = (CENSUS, IPUMS)
TABLES = (CENSUS, SKEWED, IPUMS, IPUMS_QUASI)
ALL, FEW = {"queries": [5000], "seed": SEEDS}, {"queries": [1000], "seed": [2014]}
RELEASES, AT = {"queries": [5000], "seed": range(1, 11)}, {"range_ratio": [0.6]}
TRIALS = {"Mondrian": 300, "Mondrian, relaxed": 100, "MDAV": 20, "Datafly": 300, "Incognito": 300}


def _attacks(counting: str, names: dict[str, int]) -> tuple[Case, ...]:
    """Return attacks on anonymizers by name, each with as many random removals as its speed allows."""
    return tuple(
        case
        for name, trials in names.items()
        for case in grid(
            table=[CENSUS], anonymizer=[name], counting=[counting], k=[10], epsilon=[0.1], trials=[trials], seed=[2014]
        )
    )


PARTS = (
    Part(
        "anonymity",
        anonymity,
        full=(
            *grid(table=PAPER, k=KS, **AT, **ALL),
            *grid(table=PAPER, k=[10], range_ratio=RATIOS, **ALL),
            *grid(table=[SKEWED, IPUMS_QUASI], k=[10], **AT, queries=[5000], seed=[2014]),
        ),
        quick=(
            *grid(table=[CENSUS], k=[5, 10, 25], **AT, **FEW),
            *grid(table=[IPUMS], k=[10], range_ratio=[0.4, 0.6], **FEW),
            *grid(table=[CENSUS], k=[10], range_ratio=[0.8], **FEW),
        ),
    ),
    Part(
        "noise",
        noise,
        full=(*grid(table=PAPER, range_ratio=(0.6, *RATIOS), **ALL), *grid(table=[SKEWED], **AT, **ALL)),
        quick=grid(table=PAPER, range_ratio=[0.6, 0.8], **FEW),
    ),
    Part(
        "distribution",
        distribution,
        full=grid(table=[CENSUS], k=[10], counting=WAYS, **AT, queries=[5000], seed=[2014]),
        quick=grid(table=[CENSUS], k=[10], counting=WAYS, **AT, **FEW),
    ),
    Part(
        "classes",
        classes,
        full=(*grid(table=[CENSUS], k=[10], seed=MANY), *grid(table=[IPUMS], k=[10], seed=[2014])),
        quick=grid(table=PAPER, k=[10], seed=[2014]),
    ),
    Part(
        "changes",
        changes,
        full=(
            *grid(table=[CENSUS], k=[10], neighbour=[REMOVAL, ADDITION], trials=[1000], seed=MANY),
            *grid(table=[IPUMS], k=[10], neighbour=[REMOVAL, ADDITION], trials=[300], seed=[2014]),
        ),
        quick=grid(table=[CENSUS], k=[10], neighbour=[REMOVAL, ADDITION], trials=[200], seed=[2014]),
    ),
    Part(
        "vanished",
        vanished_classes,
        full=grid(table=[CENSUS], k=[10], seed=SEEDS),
        quick=grid(table=[CENSUS], k=[10], seed=[2014]),
    ),
    Part(
        "attack",
        attack,
        full=(
            *_attacks("inclusion", {name: TRIALS[name] for name in ANONYMIZERS}),
            *_attacks("overlap", {"Mondrian": 300}),
            *_attacks("expected", {"Mondrian": 300}),
        ),
        quick=(*_attacks("inclusion", {"Mondrian": 20, "Datafly": 5}), *_attacks("overlap", {"Mondrian": 20})),
    ),
    Part(
        "density",
        density,
        full=grid(epsilon=[0.1, 0.01], draws=[1_000_000], seed=[2014]),
        quick=grid(epsilon=[0.1, 0.01], draws=[1_000_000], seed=[2014]),
    ),
    Part(
        "calibrations",
        calibrations,
        full=(
            *grid(table=[CENSUS, SKEWED], k=[10], counting=["inclusion"], epsilon=[0.1], trials=[1000], **ALL),
            *grid(table=[CENSUS], k=[10], counting=["overlap"], epsilon=[0.1], trials=[1000], **ALL),
        ),
        quick=grid(table=[CENSUS], k=[10], counting=["inclusion"], epsilon=[0.1], trials=[100], **FEW),
    ),
    Part(
        "private-mondrian",
        private_mondrian,
        full=(
            *grid(table=TABLES, epsilon=[0.005, 0.01, 0.05, 0.1, 0.5, 1.0], **AT, **RELEASES),
            *grid(table=PAPER, epsilon=[0.1], range_ratio=RATIOS, queries=[5000], seed=[1, 2, 3]),
        ),
        quick=grid(table=PAPER, epsilon=[0.005, 0.01, 0.1, 1.0], **AT, queries=[1000], seed=[1, 2]),
    ),
    Part(
        "sampled",
        sampled_release,
        full=(
            *grid(
                table=TABLES, algorithm=[SAFEPUB, CROWD], k=[10], epsilon=[0.1, 0.5, 1.0, 2.0],
                **AT, queries=[5000], seed=[1, 2, 3],
            ),
            *grid(
                table=[IPUMS], algorithm=[SAFEPUB], k=[5, 20, 50, 100], epsilon=[1.0],
                **AT, queries=[5000], seed=[1, 2, 3],
            ),
        ),
        quick=grid(
            table=[IPUMS], algorithm=[SAFEPUB, CROWD], k=[10], epsilon=[0.1, 1.0], **AT, queries=[1000], seed=[1]
        ),
    ),
)  # fmt: skip
EXPERIMENT = Experiment("composition", TITLE, SOURCE, ABOUT, PARTS, compare, draw, (EXTRACT,))
