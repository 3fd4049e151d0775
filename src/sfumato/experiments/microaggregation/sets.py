"""The seven record sets of source 003: five real ones from files and two drawn here.

CENSUS, TARRAGONA and EIA are the sets of the CASC project (Brand, Domingo-Ferrer & Mateo-Sanz 2002). SimU and SimC are
described in the literature, their rows are not at hand: ours are drawn after the description, from a seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.experiments.data import Data
from sfumato.tabular.microaggregation.loss import Records, standardize

FILES = {
    "CENSUS": "census.csv",
    "TARRAGONA": "tarragona.csv",
    "EIA": "eia.csv",
    "Cloud1": "cloud1.csv",
    "Cloud2": "cloud2.csv",
}
NOT_USED = ("UTILNAME", "STATE", "YEAR", "MONTH")  # the literature leaves them out of EIA
ROWS, COLUMNS, SIDE, SPREAD = 1000, 10, 10_000.0, 500.0
DRAWN_FROM = 1


def columns(data: Data, dataset: str) -> list[str]:
    """Return the names of a real set's columns that are grouped.

    >>> len(columns(Data(None), "EIA"))
    11
    """
    return [name for name in data.frame(FILES[dataset]).columns if name not in NOT_USED]


def records(data: Data, dataset: str) -> Records:
    """Return a set's records, z-scored.

    >>> records(Data(None), "SimC").shape, records(Data(None), "TARRAGONA").shape
    ((1000, 10), (834, 13))
    """
    if dataset in DRAWN:
        return standardize(DRAWN[dataset](np.random.default_rng(DRAWN_FROM)))
    wanted = columns(data, dataset)
    return standardize(data.frame(FILES[dataset]).select(wanted).to_numpy().astype(np.float64))


def _uniform(draw: np.random.Generator) -> Records:
    return draw.uniform(-SIDE, SIDE, (ROWS, COLUMNS))


def _clustered(draw: np.random.Generator) -> Records:
    """Return natural groups of three to five records around uniform centres."""
    groups: list[Records] = []
    while sum(map(len, groups)) < ROWS:
        centre = draw.uniform(-SIDE, SIDE, COLUMNS)
        groups.append(centre + draw.normal(0, SPREAD, (int(draw.integers(3, 6)), COLUMNS)))
    return np.clip(np.concatenate(groups)[:ROWS], -SIDE, SIDE)


DRAWN: dict[str, Callable[[np.random.Generator], Records]] = {"SimU": _uniform, "SimC": _clustered}
