"""The three experiments of source 002 as cases: absolute errors, hourly errors, errors of the busiest stations.

Pedro (2022), "Privacidade diferencial para proteger dados sobre utilização de bicicletas compartilhadas", Universidade
Estadual de Londrina. Noise comes from seeds: these are measurements, not releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from sfumato.core.arrays import Reals
from sfumato.experiments.bikes.answers import ANSWERS, hourly
from sfumato.experiments.bikes.rides import HOURS, rides_of
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.local.protocol_choice import choose
from sfumato.local.protocols.unary import SymmetricUnary
from sfumato.random import SeededSource, discrete_laplace

EPSILONS = (0.008, 2.251, 13.814)
MIDDLE = 2.251
BUSIEST = 24
FIRST = "Jersey City, first 41,000 rides"  # as many as the source's first experiment has
SECOND = "Jersey City, first 100,000 rides"  # as many as its second


def absolute_error(data: Data, rides: str, epsilon: float, answer: str, seed: int) -> Iterator[Row]:
    """Give the mean absolute error of an answer over all declared cells, and over those that are not empty.

    >>> row = next(absolute_error(Data(None), "New York", 2.251, "all zeros", 1))
    >>> row["mae"] < row["mae_nonempty"]
    True
    """
    known = rides_of(data, rides)
    true = known.women()
    error = np.abs(ANSWERS[answer](known, epsilon, SeededSource(seed)) - true)
    yield {"mae": float(error.mean()), "mae_nonempty": float(error[true > 0].mean())}


def hourly_error(data: Data, rides: str, epsilon: float, seed: int) -> Iterator[Row]:
    """Give the adjusted percentage error of the rides per hour of day, central and local.

    >>> next(hourly_error(Data(None), "New York", 13.814, 1))["answer"]
    'central'
    """
    known, hours, source = rides_of(data, rides), tuple(range(HOURS)), SeededSource(seed)
    true = known.everybody().sum(axis=0)
    paper, best = SymmetricUnary(hours, epsilon), choose(hours, epsilon, known.number)
    noise = discrete_laplace(HOURS, 1 / Fraction(str(epsilon)), source)
    answers = {
        "central": np.maximum(true + noise, 0.0),
        "local, symmetric unary, clamped": hourly(known, paper, source, consistent="rounded"),
        "local, lowest variance, Norm-Sub": hourly(known, best, source, consistent=True),
    }
    for name, counts in answers.items():
        errors = adjusted_error(true, counts)
        for hour in hours:
            yield {"answer": name, "hour": hour, "error": float(errors[hour])}


def station_error(data: Data, rides: str, epsilon: float, seed: int) -> Iterator[Row]:
    """Give the same error of the central answer for every hour of the busiest stations.

    >>> next(station_error(Data(None), "New York", 2.251, 1))["rank"]
    1
    """
    known = rides_of(data, rides)
    true = known.everybody()
    noise = discrete_laplace(true.size, 1 / Fraction(str(epsilon)), SeededSource(seed)).reshape(true.shape)
    errors = adjusted_error(true, np.maximum(true + noise, 0.0))
    for rank, station in enumerate(np.argsort(-true.sum(axis=1), kind="stable")[:BUSIEST], start=1):
        for hour in range(HOURS):
            found = {"rides_there": float(true[station, hour]), "error": float(errors[station, hour])}
            yield {"rank": rank, "station": known.stations[station], "hour": hour, **found}


def adjusted_error(true: Reals, answer: Reals) -> Reals:
    """Return 100·|y − ŷ| / ((|y| + |ŷ|)/2) per cent for each count: 0 to 200, and 0 where both are 0.

    >>> adjusted_error(np.array([0.0, 0.0, 100.0]), np.array([0.0, 3.0, 50.0])).round(1).tolist()
    [0.0, 200.0, 66.7]
    """
    middle = (np.abs(true) + np.abs(answer)) / 2
    return 100 * np.divide(np.abs(true - answer), middle, out=np.zeros(true.shape), where=middle > 0)
