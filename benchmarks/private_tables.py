"""What private tables keep: rows and loss of SafePub on Adult, query errors of PrivateMondrian; needs SFUMATO_DATA.

Prints the tables of docs/algorithms/safepub.md and docs/algorithms/private-mondrian.md; every run draws afresh.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import sfumato as sf
from sfumato.evaluate.regions import read_regions
from sfumato.evaluate.workload import WAYS, Workload
from sfumato.tabular.public_columns import public_columns

DATA = Path(os.environ["SFUMATO_DATA"])
ADULT = ("age", "education", "marital-status", "race", "sex", "workclass", "salary-class")
RUNS = 20


def adult() -> tuple[sf.Table, sf.Schema]:
    table = sf.Table(sf.read(DATA / "adult_train.csv.gz").frame.rename({"income": "salary-class"}))
    trees = {name: sf.Hierarchy.from_csv(DATA / f"adult_hierarchies/{name}.csv") for name in ADULT}
    columns = {
        name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.CATEGORY, hierarchy=tree, missing=("?",))
        for name, tree in trees.items()
    }
    return table, sf.Schema(columns, other="drop")


def certainty_penalty(table: sf.Table, schema: sf.Schema, release: sf.Release) -> float:
    """Return the mean share of a column's values that a released cell leaves open (NCP)."""
    losses = []
    for column in (public.coded() for public in public_columns(table, schema)):
        regions = read_regions(column, release.table)
        losses.append(float(((regions.sizes[regions.index] - 1) / (column.size - 1)).mean()))
    return statistics.mean(losses)


def safepub() -> None:
    table, schema = adult()
    print("| k | β | exact δ | rows sampled | rows kept | classes | NCP of kept rows |\n|---|---|---|---|---|---|---|")
    for k, beta in ((5, None), (10, 0.05), (10, None), (20, 0.1), (20, None), (50, None), (100, None)):
        chosen = sf.SafePub(epsilon=1, delta=1e-6, beta=beta)
        release = chosen.anonymize(table, schema, [sf.KAnonymity(k)])
        told, released = release.card.guarantee.parameters, release.card.released
        expected = round(table.rows * told["beta"])
        penalty = certainty_penalty(table, schema, release)
        cells = (k, f"{told['beta']:.4f}", f"{told['delta']:.2g}", expected, f"{released.rows / expected:.0%}")
        print("|", " | ".join(str(cell) for cell in (*cells, released.classes, f"{penalty:.3f}")), "|", flush=True)


def numbers(role: sf.Role, **bounds: tuple[int, int]) -> dict[str, sf.Attribute]:
    return {name: sf.Attribute(name, role, sf.Kind.INTEGER, bounds=ends) for name, ends in bounds.items()}


def private_mondrian() -> None:
    quasi, sensitive = sf.Role.QUASI, sf.Role.SENSITIVE
    census = {**numbers(quasi, age=(20, 69), sex=(1, 2), zip=(20_000, 69_000))}
    ipums = numbers(quasi, age=(15, 90), sex=(1, 2), marstat=(1, 5), educrec=(1, 9))
    extract = sf.read(DATA / "ipums_1980_extract.csv")
    cases = {
        "census-10k": (sf.Table(sf.samples.census_10k()), census | numbers(sensitive, salary=(10_009, 300_057))),
        "IPUMS, quasi-identifiers": (extract, ipums),
        "IPUMS, with income": (extract, ipums | numbers(sensitive, inctot=(-9_995, 75_000))),
    }
    print("| table | ε | mean | worst of 20 | boxes | Mondrian k=10: inclusion | overlap | expected |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (table, columns) in cases.items():
        schema = sf.Schema(columns, other="drop")
        workload = Workload.draw(table, schema, count=5000, seed=2014)
        plain = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(10)]).table
        beside = [f"{workload.mean_error(workload.answers(plain, how)):.4f}" for how in WAYS]
        for epsilon in (0.1, 1.0):
            releases = [sf.PrivateMondrian(epsilon=epsilon).anonymize(table, schema) for _ in range(RUNS)]
            errors = [workload.mean_error(workload.answers(one.table, "expected")) for one in releases]
            boxes = statistics.mean(one.card.released.classes or 0 for one in releases)
            cells = (name, epsilon, f"{statistics.mean(errors):.4f}", f"{max(errors):.4f}", f"{boxes:.0f}", *beside)
            print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


if __name__ == "__main__":
    safepub()
    print()
    private_mondrian()
