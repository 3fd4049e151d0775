"""Machado 2019 done again: the Laplace example of a lecture, its sensitivities, and the price of ε.

Lecture slides on differential privacy, Universidade Federal do Ceará.

>>> EXPERIMENT.name, EXPERIMENT.files
('basics', ())
"""

from __future__ import annotations

import math

from sfumato.dp.sensitivity import QUERIES
from sfumato.experiments.basics.comparison import TABLE, compare
from sfumato.experiments.basics.figures import draw
from sfumato.experiments.basics.laplace import density, leak, sensitivities, trade_off
from sfumato.experiments.declared import Experiment, Part, grid

TITLE = "Basics: noise, sensitivity and the price of privacy"
SOURCE = "Machado 2019, Universidade Federal do Ceará (lecture slides, in Portuguese)"
ABOUT = """
Four people own 4, 2, 7 and 1 houses. Their sum, 14, is published with Laplace noise. The slides compute the noise from
these very rows (a *local* sensitivity of 7), which the proof they give does not allow: the scale differs between
neighbouring tables, and an observer can tell. Ours takes bounds that are declared before anybody looks at the rows.
"""
EPSILONS = (0.01, 0.03, 0.1, 0.3, math.log(2), 1.0, math.log(3), 3.0, 10.0)
CURVE = tuple(float(noise) for noise in range(-30, 31))
LEAKS = grid(epsilon=EPSILONS, calibration=["local", "global"])

PARTS = (
    Part("density", density, full=grid(noise=list(TABLE)), quick=grid(noise=list(TABLE))),
    Part("curve", density, full=grid(noise=CURVE), quick=grid(noise=CURVE)),
    Part("sensitivity", sensitivities, full=grid(query=list(QUERIES)), quick=grid(query=list(QUERIES))),
    Part("leak", leak, full=LEAKS, quick=LEAKS),
    Part(
        "trade-off",
        trade_off,
        full=grid(epsilon=EPSILONS, seed=[1, 2, 3, 4, 5]),
        quick=grid(epsilon=EPSILONS, seed=[1]),
    ),
)
EXPERIMENT = Experiment("basics", TITLE, SOURCE, ABOUT, PARTS, compare, draw)
