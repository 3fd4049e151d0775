"""The attack of one row on noisy counts over an anonymised table, and the densities that it rests on.

Pereira 2014, chapter 3, tables 7 and 8, with the worst box that is found by `audit.composition`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from sfumato.audit.composition import composition
from sfumato.evaluate.workload import WAYS
from sfumato.experiments.composition.tables import known
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.models.k_anonymity import KAnonymity
from sfumato.random import SeededSource, discrete_laplace
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.lattice.datafly import Datafly
from sfumato.tabular.lattice.incognito import Incognito
from sfumato.tabular.microaggregation.algorithms.mdav import MDAV
from sfumato.tabular.mondrian import Mondrian

ANONYMIZERS: dict[str, PartitionAnonymizer] = {
    "Mondrian": Mondrian(),
    "Mondrian, relaxed": Mondrian(relaxed=True),
    "MDAV": MDAV(),
    "Datafly": Datafly(),
    "Incognito": Incognito(),
}
NOISES = range(-14, 15)


def attacked(  # noqa: PLR0913  # a case's parameters
    data: Data, *, table: str, anonymizer: str, counting: str, k: int, epsilon: float, trials: int, seed: int
) -> Iterable[Row]:
    """Return the worst box that was found, that of a class of exactly k, and how many removals change classes.

    >>> case = {"table": "census-10k", "anonymizer": "Mondrian", "counting": "inclusion", "k": 10, "epsilon": 0.1}
    >>> row = next(iter(attacked(Data(None), **case, trials=2, seed=2014)))
    >>> row["verdict"], row["vanished before"], row["vanished after"]
    ('REFUTED', 10.0, 0.0)
    """
    people = known(data, table, seed)
    way = next(way for way in WAYS if way == counting)
    finding = composition(
        people.table, people.schema, [KAnonymity(k)], ANONYMIZERS[anonymizer],
        epsilon=epsilon, query=way, trials=trials, seed=seed,
    )  # fmt: skip
    worst, vanished = (finding.evidence[name] or {} for name in ("worst", "class of k"))
    removals = finding.evidence["removals"]
    yield {
        "verdict": finding.verdict,
        "before": worst.get("before"),
        "after": worst.get("after"),
        "density ratio": worst.get("density ratio"),
        "least epsilon": finding.bound,
        "vanished before": vanished.get("before"),
        "vanished after": vanished.get("after"),
        "vanished ratio": vanished.get("density ratio"),
        "share changed": removals["share changed"],
        "most classes": removals["most classes"],
        "most rows": removals["most rows"],
    }


def density(data: Data, *, epsilon: float, draws: int, seed: int) -> Iterable[Row]:
    """Return the density of Laplace noise of scale 1/ε, and how often our exact integer noise gives each number.

    >>> rows = {row["noise"]: row for row in density(Data(None), epsilon=0.1, draws=100_000, seed=1)}
    >>> round(rows[10]["density"], 4), abs(rows[10]["share drawn"] - rows[10]["density"]) < 0.003
    (0.0184, True)
    """
    del data  # a formula and a source of noise need none
    drawn = discrete_laplace(draws, 1 / Fraction(str(epsilon)), SeededSource(seed))
    return [
        {
            "noise": noise,
            "density": epsilon / 2 * math.exp(-epsilon * abs(noise)),
            "share drawn": float((drawn == noise).mean()),
        }
        for noise in NOISES
    ]
