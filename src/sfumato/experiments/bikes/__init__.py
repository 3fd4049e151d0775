"""Pedro 2022 done again: central and local privacy on bicycle rides, three experiments, and better local answers.

Pedro (2022), "Privacidade diferencial para proteger dados sobre utilização de bicicletas compartilhadas", Universidade
Estadual de Londrina.

>>> EXPERIMENT.name, [part.name for part in EXPERIMENT.parts]
('bikes', ['errors', 'hours', 'stations'])
"""

from __future__ import annotations

from sfumato.experiments.bikes.cases import (
    ANSWERS,
    EPSILONS,
    FILES,
    FIRST,
    MIDDLE,
    SECOND,
    absolute_error,
    hourly_error,
    station_error,
)
from sfumato.experiments.bikes.comparison import CENTRAL, LOCAL, compare
from sfumato.experiments.bikes.figures import draw
from sfumato.experiments.declared import Experiment, Part, grid

TITLE = "Bicycles: a trusted centre against devices that trust nobody"
SOURCE = "Pedro 2022, Universidade Estadual de Londrina (in Portuguese)"
ABOUT = """
How many women start at each station in each hour of the day? A trusted centre can add Laplace noise to the counts;
without one, every rider reports a randomised bit for each cell. The source finds the local answer useless for a small
crowd; so it is, in that form. Riders who report one of a few *views* (woman or not, hour, district, station), added up
under one model, do much better at the same ε, and hide also who is a woman.

The source's rides are not at hand: ours are others of the same system, cut to as many. Its numbers are met when cells
without a woman are left out, so table 1 does; our goals are over all declared cells, also the empty ones. The set of
views was picked on these same files; *plain views* were not.
"""
SEEDS = (1, 2, 3, 4, 5)

PARTS = (
    Part(
        "errors",
        absolute_error,
        full=grid(rides=[*FILES, FIRST], epsilon=EPSILONS, answer=list(ANSWERS), seed=SEEDS),
        quick=(
            *grid(rides=[FIRST], epsilon=[0.008, 13.814], answer=[CENTRAL, LOCAL], seed=[1]),
            *grid(rides=["New York", FIRST], epsilon=[MIDDLE], answer=list(ANSWERS), seed=[1]),
        ),
    ),
    Part(
        "hours",
        hourly_error,
        full=grid(rides=[SECOND], epsilon=EPSILONS, seed=SEEDS),
        quick=grid(rides=[SECOND], epsilon=EPSILONS, seed=[1]),
    ),
    Part(
        "stations",
        station_error,
        full=grid(rides=list(FILES), epsilon=[MIDDLE], seed=[1]),
        quick=grid(rides=["New York"], epsilon=[MIDDLE], seed=[1]),
    ),
)
EXPERIMENT = Experiment("bikes", TITLE, SOURCE, ABOUT, PARTS, compare, draw, tuple(FILES.values()))
