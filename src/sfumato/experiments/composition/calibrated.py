"""Errors of noise that is calibrated to a guess of how far one row moves a count on a k-anonymous table.

Pereira 2014, chapter 5, tables 11, 14 and 15: with the sensitivities that are printed there, and with ours.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.evaluate.calibration import PUBLISHED, Calibration, errors_beside, experimental, hybrid, theoretical
from sfumato.evaluate.workload import WAYS, Counting, Workload
from sfumato.experiments.composition.neighbours import REMOVAL, changed, classes
from sfumato.experiments.composition.tables import anonymous, known, workload
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.random import SeededSource
from sfumato.schema import Role
from sfumato.table import Table

RELAXED = 0.9  # the share of trials that the dissertation's relaxed hybrid sensitivity covers


def calibrations(  # noqa: PLR0913  # a case's parameters
    data: Data, *, table: str, k: int, counting: str, epsilon: float, queries: int, trials: int, seed: int
) -> Iterable[Row]:
    """Return the error of each calibration: those with the printed sensitivity, and those measured on our table.

    >>> case = {"table": "census-10k", "k": 10, "counting": "inclusion", "epsilon": 0.1, "queries": 50, "trials": 20}
    >>> rows = list(calibrations(Data(None), **case, seed=2014))
    >>> [row["sensitivity"] for row in rows if row["calibration"] == "theoretical"]
    [54, 54]
    """
    asked, released = workload(data, table, 0.6, queries, seed), anonymous(data, table, k, seed)
    way = next(way for way in WAYS if way == counting)
    printed = [Calibration(_name(sensitivity), sensitivity, "") for sensitivity in PUBLISHED]
    ours = [
        *(theoretical(k, len(known(data, table, seed).schema.names(Role.QUASI)), half=half) for half in (False, True)),
        *_hybrids(data, table, k, trials, seed),
        *_experimentals(asked, released, way),
    ]
    for measured, chosen in (("there", printed), ("here", ours)):
        source = SeededSource(seed)
        rows = errors_beside(chosen, asked, released, how=way, epsilon=epsilon, source=source)
        for row in rows:
            kept = {name: row[name] for name in ("calibration", "sensitivity", "error")}
            yield {"sensitivity measured": measured, **kept}


def _name(sensitivity: int) -> str:
    """Return which calibration the dissertation has a sensitivity for."""
    names = ("theoretical", "theoretical, halved", "hybrid", "hybrid, relaxed",
             "experimental, largest error", "experimental, mean + 2 sd")  # fmt: skip
    return dict(zip(PUBLISHED, names, strict=True))[sensitivity]


def _hybrids(data: Data, table: str, k: int, trials: int, seed: int) -> list[Calibration]:
    """Return largest class times most classes changed, and the rows changed in all but a tenth of the trials."""
    largest = max(int(str(row["rows"])) for row in classes(data, table=table, k=k, seed=seed))
    found = np.array(list(changed(known(data, table, seed), k, REMOVAL, trials, seed)))
    relaxed = max(1, int(np.quantile(found[:, 1], RELAXED, method="higher")))
    return [hybrid(largest, max(1, int(found[:, 0].max()))), Calibration("hybrid, relaxed", relaxed, "Nine in ten.")]


def _experimentals(asked: Workload, released: Table, way: Counting) -> list[Calibration]:
    return [experimental(asked, released, way, relaxed=relaxed) for relaxed in (False, True)]
