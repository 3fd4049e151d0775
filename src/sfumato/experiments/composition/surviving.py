"""The combinations that survive the attack, on the dissertation's queries: each has a proof.

Private Mondrian is ε-differentially private; SafePub (Li, Qardaji & Su 2012; Bild, Kuhn & Prasser 2018) is k-anonymous
too; a sampled histogram on a public grid without cells below k blends with a crowd (Gehrke, Hay, Lui & Pass 2012).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.evaluate.regions import read_regions
from sfumato.evaluate.workload import Workload
from sfumato.experiments.composition.tables import CENSUS, IPUMS, base, bounds, known, with_levels, workload
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.models.k_anonymity import KAnonymity
from sfumato.random import SeededSource
from sfumato.release import Release
from sfumato.tabular.private.mondrian import PrivateMondrian
from sfumato.tabular.private.safepub import SafePub

ROWS = 2014  # the seed of the rows and of the queries; a case's seed draws the release
SAFEPUB, CROWD = "SafePub", "crowd blending"
GRIDS = {  # levels fixed before anybody looks at rows, for crowd blending
    CENSUS: {"age": 3, "sex": 0, "zip": 3, "salary": 2},
    IPUMS: {"age": 3, "sex": 0, "marstat": 0, "educrec": 1, "salary": 2},
}


def private_mondrian(
    data: Data, *, table: str, epsilon: float, range_ratio: float, queries: int, seed: int
) -> Iterable[Row]:
    """Return the error of one private table, read by expected counts; all queries together cost ε.

    >>> case = {"table": "census-10k", "epsilon": 0.1, "range_ratio": 0.6, "queries": 100, "seed": 1}
    >>> next(iter(private_mondrian(Data(None), **case)))["error"] < 0.1
    True
    """
    people, asked = known(data, table, ROWS), workload(data, table, range_ratio, queries, ROWS)
    release = PrivateMondrian(epsilon=epsilon).anonymize(
        people.table, people.schema, rng=SeededSource(seed), audit=False
    )
    errors = asked.relative_errors(asked.answers(release.table, "expected"))
    yield {"error": float(errors.mean()), "boxes": release.card.released.classes}


def sampled(  # noqa: PLR0913  # a case's parameters
    data: Data, *, table: str, algorithm: str, k: int, epsilon: float, range_ratio: float, queries: int, seed: int
) -> Iterable[Row]:
    """Return the error of sampled rows without small classes, counts divided by the sampling rate, and what is kept.

    >>> case = {"table": "IPUMS, quasi-identifiers", "k": 10, "epsilon": 1.0, "range_ratio": 0.6, "queries": 100}
    >>> row = next(iter(sampled(Data(None), algorithm="SafePub", **case, seed=1)))
    >>> row["delta"] < 1e-6, 0 < row["rows kept"] < row["rows sampled"]
    (True, True)
    """
    people, asked = known(data, table, ROWS), workload(data, table, range_ratio, queries, ROWS)
    grid = GRIDS[base(table)]
    fixed = {name: grid[name] for name in people.schema.columns} if algorithm == CROWD else None
    release = SafePub(epsilon=epsilon, scheme=fixed).anonymize(
        people.table, with_levels(table), [KAnonymity(k)], rng=SeededSource(seed), audit=False
    )
    told = release.card.guarantee.parameters
    counts = asked.answers(release.table, "expected") if release.table.rows else np.zeros(asked.count)
    yield {
        "error": asked.mean_error(counts / told["beta"]),
        "beta": told["beta"],
        "delta": told["delta"],
        "rows sampled": round(people.table.rows * told["beta"]),
        "rows kept": release.table.rows,
        "classes": release.card.released.classes,
        "certainty penalty": _certainty_penalty(asked, table, release),
    }


def _certainty_penalty(asked: Workload, table: str, release: Release) -> float | None:
    """Return the mean share of a column's values that a released cell leaves open; None where nothing was released."""
    if release.table.rows == 0:
        return None
    losses = []
    for column, (low, high) in zip(asked.columns, bounds(table).values(), strict=True):
        regions = read_regions(column, release.table)
        losses.append(float(((regions.sizes[regions.index] - 1) / (high - low)).mean()))
    return float(np.mean(losses))
