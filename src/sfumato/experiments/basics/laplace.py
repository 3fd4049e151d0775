"""The lecture's Laplace example as cases: its densities, its sensitivities, and what ε costs and buys.

Machado (2019), lecture slides on differential privacy, Universidade Federal do Ceará: four people own 4, 2, 7 and 1
houses, 14 in all; the proof is that of Dwork & Roth (2014).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from sfumato.dp import sensitivity
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.random import SeededSource, discrete_laplace

HOUSES = (4, 2, 7, 1)
BOUNDS = (0, 10)  # declared, not read off the rows: nobody is counted with more houses
DRAWS = 20_000
REACH = 60  # outputs at which two tables are told apart, on either side of the sum


def density(data: Data, noise: float) -> Iterator[Row]:
    """Give the density of the lecture's answer at one noise, in per cent, at ε = 1 and the local sensitivity 7.

    >>> round(next(density(Data(None), noise=-4.58))["density"], 2)
    3.71
    """
    del data
    scale = sensitivity.local(HOUSES, "sum")
    yield {"answer": sum(HOUSES) + noise, "density": 100 * math.exp(-abs(noise) / scale) / (2 * scale)}


def sensitivities(data: Data, query: str) -> Iterator[Row]:
    """Give how far a query moves without one person: on these rows, and on any rows within declared bounds.

    >>> next(sensitivities(Data(None), "sum"))["local"]
    7.0
    """
    del data
    without = [HOUSES[:place] + HOUSES[place + 1 :] for place in range(len(HOUSES))]
    answers = [sensitivity.QUERIES[query](rows) for rows in without]
    local = sensitivity.local(HOUSES, query)
    shared = {
        "answer": sensitivity.QUERIES[query](HOUSES),
        "local": local,
        "global": sensitivity.global_(query, bounds=BOUNDS),
    }
    yield {**shared, "without_first": answers[0], "without_second": answers[1], "without_third": answers[2],
           "without_fourth": answers[3]}  # fmt: skip


def leak(data: Data, epsilon: float, calibration: str) -> Iterator[Row]:
    """Give the ε that an observer can reach who compares all people with all but the one who owns most.

    Noise scaled to the local sensitivity has another scale on the neighbouring table, and the scale itself tells.

    >>> round(next(leak(Data(None), 1.0, "global"))["reached"], 2), next(leak(Data(None), 1.0, "local"))["reached"] > 1
    (0.7, True)
    """
    del data
    fewer = tuple(sorted(HOUSES)[:-1])
    scales = [_scale(rows, calibration) / epsilon for rows in (HOUSES, fewer)]
    outputs = np.linspace(sum(HOUSES) - REACH, sum(HOUSES) + REACH, 2401)
    logs = [-np.abs(outputs - sum(rows)) / b - math.log(2 * b) for rows, b in zip((HOUSES, fewer), scales, strict=True)]
    yield {"reached": float(np.abs(logs[0] - logs[1]).max()), "scale": scales[0], "scale_without": scales[1]}


def trade_off(data: Data, epsilon: float, seed: int) -> Iterator[Row]:
    """Give the error of the sum at one ε, and how often the best guess whether somebody is in the table is right.

    The guess is right with probability e^ε/(1 + e^ε) at most (Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015).

    >>> row = next(trade_off(Data(None), 1.0, 1))
    >>> 8 < row["error"] < 12, round(row["guess"], 3)
    (True, 0.731)
    """
    del data
    scale = Fraction(sensitivity.global_("sum", bounds=BOUNDS)) / Fraction(epsilon).limit_denominator(10**6)
    noise = discrete_laplace(DRAWS, scale, SeededSource(seed))
    odds = math.exp(epsilon)
    yield {"error": float(np.abs(noise).mean()), "expected": float(scale), "guess": odds / (1 + odds)}


def _scale(rows: tuple[int, ...], calibration: str) -> float:
    return sensitivity.local(rows, "sum") if calibration == "local" else sensitivity.global_("sum", bounds=BOUNDS)
