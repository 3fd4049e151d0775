"""What one row changes in a k-anonymous table, the attack that follows, and what survives it.

Pereira 2014: the vanishing class of chapter 3, table 6, and the densities of tables 7 and 8; classes and neighbours of
section 5.2, figures 14 and 15, tables 12, 13 and 18; the calibrations of chapter 5, tables 11, 14 and 15, with the
sensitivities that are printed there, and with ours. The worst box is found by `audit.composition`. What survives has a
proof: private Mondrian is ε-differentially private; SafePub (Li, Qardaji & Su 2012; Bild, Kuhn & Prasser 2018) is
k-anonymous too; a sampled histogram on a public grid without cells below k blends with a crowd (Gehrke, Hay, Lui & Pass
2012).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from sfumato.audit.composition import composition
from sfumato.audit.composition.neighbours import Change, Classes, Neighbourhood, change
from sfumato.errors import UnsatisfiableError
from sfumato.evaluate.calibration import PUBLISHED, Calibration, errors_beside, experimental, hybrid, theoretical
from sfumato.evaluate.regions import read_regions
from sfumato.evaluate.workload import WAYS, Counting, Workload
from sfumato.experiments.composition.tables import (
    CENSUS,
    IPUMS,
    KnownTable,
    anonymous,
    base_table,
    bounds,
    known_table,
    with_levels,
    workload,
)
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.models.k_anonymity import KAnonymity
from sfumato.random import SeededSource, discrete_laplace
from sfumato.release import Release
from sfumato.schema import Role
from sfumato.table import Table
from sfumato.tabular.base import PartitionAnonymizer
from sfumato.tabular.lattice.datafly import Datafly
from sfumato.tabular.lattice.incognito import Incognito
from sfumato.tabular.microaggregation.algorithms.mdav import MDAV
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.private.mondrian import PrivateMondrian
from sfumato.tabular.private.safepub import SafePub

REMOVAL, ADDITION = "removal", "addition"
MONDRIAN = Mondrian()
ANONYMIZERS: dict[str, PartitionAnonymizer] = {
    "Mondrian": Mondrian(),
    "Mondrian, relaxed": Mondrian(relaxed=True),
    "MDAV": MDAV(),
    "Datafly": Datafly(),
    "Incognito": Incognito(),
}
NOISES = range(-14, 15)
RELAXED = 0.9  # the share of trials that the dissertation's relaxed hybrid sensitivity covers
ROWS = 2014  # the seed of the rows and of the queries; a case's seed draws the release
SAFEPUB, CROWD = "SafePub", "crowd blending"
GRIDS = {  # levels fixed before anybody looks at rows, for crowd blending
    CENSUS: {"age": 3, "sex": 0, "zip": 3, "salary": 2},
    IPUMS: {"age": 3, "sex": 0, "marstat": 0, "educrec": 1, "salary": 2},
}


def classes(data: Data, *, table: str, k: int, seed: int) -> Iterable[Row]:
    """Return how many classes have how many rows.

    >>> sum(row["classes"] * row["rows"] for row in classes(Data(None), table="census-10k", k=10, seed=2014))
    10000
    """
    _, base = _anonymise(known_table(data, table, seed), k, additions=1, seed=seed)
    sizes = Counter(base.sizes.tolist())
    return [{"rows": size, "classes": sizes[size]} for size in sorted(sizes)]


def changes(data: Data, *, table: str, k: int, neighbour: str, trials: int, seed: int) -> Iterable[Row]:
    """Return how often how many classes, and rows of classes, are gone or new when a row goes or comes.

    >>> rows = list(changes(Data(None), table="census-10k", k=10, neighbour="removal", trials=5, seed=2014))
    >>> sum(row["occurrences"] for row in rows if row["changed"] == "classes")
    5
    """
    found = list(changes_by_trial(known_table(data, table, seed), k, neighbour, trials, seed))
    for name, numbers in zip(("classes", "rows"), zip(*found, strict=True), strict=True):
        for number, occurrences in sorted(Counter(numbers).items()):
            yield {"changed": name, "number": number, "occurrences": occurrences}


def changes_by_trial(people: KnownTable, k: int, neighbour: str, trials: int, seed: int) -> Iterator[tuple[int, int]]:
    """Return, for each random neighbour, the classes gone and new together and the rows that all of them hold.

    >>> from sfumato.experiments.composition.tables import CENSUS
    >>> len(list(changes_by_trial(known_table(Data(None), CENSUS, 2014), 10, REMOVAL, 3, 1)))
    3
    """
    around, base = _anonymise(people, k, additions=trials, seed=seed)
    removed = np.random.default_rng(seed).permutation(around.rows)[:trials].tolist()
    for place in range(trials):
        kept = around.without(removed[place]) if neighbour == REMOVAL else around.with_one(place)
        after = around.classes(MONDRIAN, kept)
        if after is not None:
            found = change(base, after)
            yield found.count, int(base.sizes[found.gone].sum() + after.sizes[found.new].sum())


def vanished_classes(data: Data, *, table: str, k: int, seed: int) -> Iterable[Row]:
    """Return the classes gone and new when a class of exactly k loses a row: the case that changes fewest classes.

    >>> rows = list(vanished_classes(Data(None), table="census-10k", k=10, seed=2014))
    >>> min(row["rows"] for row in rows if row["release"] == "with the row")
    10
    """
    people = known_table(data, table, seed)
    around, base = _anonymise(people, k, additions=1, seed=seed)
    fewest: tuple[Change, Classes] | None = None
    for number in np.flatnonzero(base.sizes == k).tolist():
        after = around.classes(MONDRIAN, around.without(int(np.flatnonzero(base.labels == number)[0])))
        if after is None:
            continue
        found = change(base, after)
        if fewest is None or found.count < fewest[0].count:
            fewest = found, after
    if fewest is None:
        return []
    found, after = fewest
    sides = [("with the row", base, found.gone), ("without it", after, found.new)]
    return [
        {"release": side, "box": _box(people, owner, int(number)), "rows": int(owner.sizes[number])}
        for side, owner, numbers in sides
        for number in numbers
    ]


def _anonymise(people: KnownTable, k: int, *, additions: int, seed: int) -> tuple[Neighbourhood, Classes]:
    around = Neighbourhood.of(people.table, people.schema, [KAnonymity(k)], additions=additions, seed=seed)
    base = around.classes(MONDRIAN, around.whole)
    if base is None:
        raise UnsatisfiableError(f"the table has {people.table.rows} rows, fewer than k={k}; ask for less")
    return around, base


def _box(people: KnownTable, owner: Classes, number: int) -> str:
    """Return a class's ranges as the dissertation writes them."""
    rows = np.flatnonzero(owner.labels[: people.table.rows] == number)
    values = [people.table.column(name).gather(rows).to_numpy() for name in people.schema.names(Role.QUASI)]
    return ", ".join(f"[{column.min()}:{column.max()}]" for column in values)


def attack(  # noqa: PLR0913  # a case's parameters
    data: Data, *, table: str, anonymizer: str, counting: str, k: int, epsilon: float, trials: int, seed: int
) -> Iterable[Row]:
    """Return the worst box that was found, that of a class of exactly k, and how many removals change classes.

    >>> case = {"table": "census-10k", "anonymizer": "Mondrian", "counting": "inclusion", "k": 10, "epsilon": 0.1}
    >>> row = next(iter(attack(Data(None), **case, trials=2, seed=2014)))
    >>> row["verdict"], row["vanished before"], row["vanished after"]
    ('REFUTED', 10.0, 0.0)
    """
    people = known_table(data, table, seed)
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
        *(
            theoretical(k, len(known_table(data, table, seed).schema.names(Role.QUASI)), half=half)
            for half in (False, True)
        ),
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
    found = np.array(list(changes_by_trial(known_table(data, table, seed), k, REMOVAL, trials, seed)))
    relaxed = max(1, int(np.quantile(found[:, 1], RELAXED, method="higher")))
    return [hybrid(largest, max(1, int(found[:, 0].max()))), Calibration("hybrid, relaxed", relaxed, "Nine in ten.")]


def _experimentals(asked: Workload, released: Table, way: Counting) -> list[Calibration]:
    return [experimental(asked, released, way, relaxed=relaxed) for relaxed in (False, True)]


def private_mondrian(
    data: Data, *, table: str, epsilon: float, range_ratio: float, queries: int, seed: int
) -> Iterable[Row]:
    """Return the error of one private table, read by expected counts; all queries together cost ε.

    >>> case = {"table": "census-10k", "epsilon": 0.1, "range_ratio": 0.6, "queries": 100, "seed": 1}
    >>> next(iter(private_mondrian(Data(None), **case)))["error"] < 0.1
    True
    """
    people, asked = known_table(data, table, ROWS), workload(data, table, range_ratio, queries, ROWS)
    release = PrivateMondrian(epsilon=epsilon).anonymize(
        people.table, people.schema, rng=SeededSource(seed), audit=False
    )
    errors = asked.relative_errors(asked.answers(release.table, "expected"))
    yield {"error": float(errors.mean()), "boxes": release.card.released.classes}


def sampled_release(  # noqa: PLR0913  # a case's parameters
    data: Data, *, table: str, algorithm: str, k: int, epsilon: float, range_ratio: float, queries: int, seed: int
) -> Iterable[Row]:
    """Return the error of sampled rows without small classes, counts divided by the sampling rate, and what is kept.

    >>> case = {"table": "IPUMS, quasi-identifiers", "k": 10, "epsilon": 1.0, "range_ratio": 0.6, "queries": 100}
    >>> row = next(iter(sampled_release(Data(None), algorithm="SafePub", **case, seed=1)))
    >>> row["delta"] < 1e-6, 0 < row["rows kept"] < row["rows sampled"]
    (True, True)
    """
    people, asked = known_table(data, table, ROWS), workload(data, table, range_ratio, queries, ROWS)
    grid = GRIDS[base_table(table)]
    fixed = {name: grid[name] for name in people.schema.columns} if algorithm == CROWD else None
    release = SafePub(epsilon=epsilon, scheme=fixed).anonymize(
        people.table, with_levels(table), [KAnonymity(k)], rng=SeededSource(seed), audit=False
    )
    parameters = release.card.guarantee.parameters
    counts = asked.answers(release.table, "expected") if release.table.rows else np.zeros(asked.count)
    yield {
        "error": asked.mean_error(counts / parameters["beta"]),
        "beta": parameters["beta"],
        "delta": parameters["delta"],
        "rows sampled": round(people.table.rows * parameters["beta"]),
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
