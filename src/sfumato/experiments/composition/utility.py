"""Errors of counts on a k-anonymous table, of noisy counts, and of both together.

Pereira 2014, section 4.3, figures 2 to 13, and the distributions of errors of section 5.3, figures 16 and 17.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sfumato.evaluate.calibration import Calibration
from sfumato.evaluate.workload import WAYS, Floats, Workload
from sfumato.experiments.composition.tables import anonymous, workload
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.random import SeededSource

EPSILONS = (0.1, 0.05, 0.01, 0.005, 0.001)
ONE = Calibration("one row", 1, "One person moves a count by one; true on exact rows alone.")


def anonymity(data: Data, *, table: str, k: int, range_ratio: float, queries: int, seed: int) -> Iterable[Row]:
    """Return the errors of a k-anonymous table in three ways of counting, without noise and with it.

    >>> rows = list(anonymity(Data(None), table="census-10k", k=10, range_ratio=0.6, queries=50, seed=2014))
    >>> len(rows), rows[0]["counting"], rows[0]["error"] < 0.2
    (18, 'inclusion', True)
    """
    asked, released = workload(data, table, range_ratio, queries, seed), anonymous(data, table, k, seed)
    for counting in WAYS:
        answers = asked.answers(released, counting)
        yield {"counting": counting, "epsilon": None, **_measured(asked, answers)}
        yield from ({"counting": counting, **row} for row in _noisy(asked, answers, seed))


def noise(data: Data, *, table: str, range_ratio: float, queries: int, seed: int) -> Iterable[Row]:
    """Return the errors of true counts with Laplace noise of scale 1/ε, each query charged ε of its own.

    >>> rows = list(noise(Data(None), table="census-10k", range_ratio=0.6, queries=50, seed=2014))
    >>> [row["epsilon"] for row in rows] == list(EPSILONS)
    True
    """
    asked = workload(data, table, range_ratio, queries, seed)
    return _noisy(asked, asked.truth, seed)


def distribution(
    data: Data, *, table: str, k: int, counting: str, range_ratio: float, queries: int, seed: int
) -> Iterable[Row]:
    """Return how many queries err by how many per cent, rounded down.

    >>> case = {"table": "census-10k", "k": 10, "counting": "expected", "range_ratio": 0.6, "queries": 50, "seed": 2014}
    >>> sum(row["queries counted"] for row in distribution(Data(None), **case))
    50
    """
    asked = workload(data, table, range_ratio, queries, seed)
    way = next(way for way in WAYS if way == counting)
    errors = asked.relative_errors(asked.answers(anonymous(data, table, k, seed), way))
    counts = np.bincount((100 * errors).astype(np.int64))
    return [{"per cent": place, "queries counted": int(count)} for place, count in enumerate(counts)]


def _noisy(asked: Workload, answers: Floats, seed: int) -> Iterator[dict[str, Any]]:
    for place, epsilon in enumerate(EPSILONS):
        noisy = ONE.noisy(answers, epsilon, SeededSource(1000 * seed + place))
        yield {"epsilon": epsilon, **_measured(asked, noisy)}


def _measured(asked: Workload, answers: Floats) -> dict[str, float]:
    errors = asked.relative_errors(answers)
    return {"error": float(errors.mean()), "sd": float(errors.std()), "largest": float(errors.max())}
