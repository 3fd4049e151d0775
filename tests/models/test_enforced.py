"""Every search keeps the newer models: each class of each release is counted again from its texts, by plain Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.audit.release import release as audit_release
from sfumato.checks.tables import random_schema, random_table
from sfumato.models import Model
from sfumato.tabular import Anonymizer

QUASI = ("age", "weight", "born", "sex", "job", "grade")
SEARCHES: list[Anonymizer] = [
    sf.Mondrian(),
    sf.Mondrian(relaxed=True),
    sf.Datafly(suppress=0.2, local=True),
    sf.Incognito(),
    sf.Optimal(suppress=0.1),
    sf.MDAV(),
    sf.KAnonyMeans(rounds=3),
    sf.LocalRecoding(iterations=100, seconds=None),
]
LONG = pytest.param(sf.Optimal(suppress=0.2, local=True), marks=pytest.mark.long)
Classes = list[list[dict[str, object]]]


def classes_of(release: sf.Release) -> Classes:
    """Return the released rows by the texts of their quasi-identifiers."""
    found: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for row in release.table.frame.rows(named=True):
        found.setdefault(tuple(str(row[name]) for name in QUASI), []).append(row)
    return list(found.values())


def shares(rows: list[dict[str, object]], name: str) -> dict[object, float]:
    return {value: count / len(rows) for value, count in Counter(row[name] for row in rows).items()}


def every_row(classes: Classes) -> list[dict[str, object]]:
    return [row for one in classes for row in one]


def basic(classes: Classes) -> bool:
    whole = shares(every_row(classes), "disease")
    return all(q <= whole[v] * 2 + 1e-9 for one in classes for v, q in shares(one, "disease").items())


def enhanced(classes: Classes) -> bool:
    whole = shares(every_row(classes), "disease")
    gains = [((q - whole[v]) / whole[v], whole[v]) for one in classes for v, q in shares(one, "disease").items()]
    return all(gain <= min(1.0, -math.log(p)) + 1e-9 for gain, p in gains)


def ratios(classes: Classes) -> bool:
    whole = shares(every_row(classes), "disease")
    return all(abs(math.log(q / whole[v])) <= 1 + 1e-9 for one in classes for v, q in shares(one, "disease").items())


def ratios_of_all(classes: Classes) -> bool:
    whole = shares(every_row(classes), "disease")
    return ratios(classes) and all(set(shares(one, "disease")) == set(whole) for one in classes)


def reaches(classes: Classes) -> bool:
    incomes = [{int(str(row["income"])) for row in one} for one in classes]
    return all(len(numbers) >= 4 and max(numbers) - min(numbers) >= 1000 for numbers in incomes)


def low_risk(classes: Classes) -> bool:
    return min(map(len, classes)) >= 7


def low_average(classes: Classes) -> bool:
    return len(classes) / len(every_row(classes)) <= 0.15 + 1e-9


CASES: dict[str, tuple[Model, Callable[[Classes], bool]]] = {
    "basic β": (sf.BetaLikeness(1, "disease", kind="basic"), basic),
    "enhanced β": (sf.BetaLikeness(1, "disease"), enhanced),
    "δ": (sf.DeltaDisclosure(1, "disease"), ratios),
    "δ by the letter": (sf.DeltaDisclosure(1, "disease", absent="refused"), ratios_of_all),
    "(k, e)": (sf.KEAnonymity(1000, 4, "income"), reaches),
    "highest risk": (sf.HighestRisk(0.15), low_risk),
    "average risk": (sf.AverageRisk(0.15), low_average),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("anonymizer", [*SEARCHES, LONG], ids=str)
def test_every_search_keeps_it(anonymizer: Anonymizer, case: str) -> None:
    model, holds = CASES[case]
    release = anonymizer.anonymize(random_table(3, 150), random_schema(), [sf.KAnonymity(2), model])
    assert holds(classes_of(release))
    assert model.holds(release.card.released.models[1].measured)


@pytest.mark.parametrize("case", CASES)
def test_the_search_would_have_broken_it_without_being_asked(case: str) -> None:
    release = sf.Mondrian().anonymize(random_table(3, 150), random_schema(), [sf.KAnonymity(2)])
    assert not CASES[case][1](classes_of(release))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("anonymizer", SEARCHES[::2], ids=str)
def test_it_holds_for_persons(anonymizer: Anonymizer, case: str) -> None:
    model, _ = CASES[case]
    schema = random_schema(person=True)
    release = anonymizer.anonymize(random_table(3, 150), schema, [sf.KAnonymity(2), model])
    assert model.holds(release.card.released.models[1].measured)


@pytest.mark.parametrize("case", ["basic β", "δ", "(k, e)", "highest risk"])
def test_anatomy_refuses_what_it_cannot_promise(case: str) -> None:
    model, _ = CASES[case]
    with pytest.raises(sf.SfumatoError, match="cannot promise"):
        sf.Anatomy().anonymize(random_table(1, 60), random_schema(), [model])


def test_blind_mondrian_refuses_what_would_forbid_almost_every_cut() -> None:
    with pytest.raises(sf.SfumatoError, match="blind-mondrian cannot promise δ-disclosure privacy: it cuts where both"):
        sf.BlindMondrian().anonymize(random_table(1, 60), random_schema(), [sf.KAnonymity(2), CASES["δ"][0]])


@pytest.mark.parametrize("case", ["basic β", "enhanced β", "(k, e)", "highest risk", "average risk"])
def test_blind_mondrian_keeps_it(case: str) -> None:
    model, holds = CASES[case]
    release = sf.BlindMondrian().anonymize(random_table(3, 150), random_schema(), [sf.KAnonymity(2), model])
    assert holds(classes_of(release))
    if case != "enhanced β":  # a value of more than 37 % keeps the whole table in one class
        assert (release.card.released.classes or 0) > 1


def test_a_lattice_keeps_the_average_and_lets_single_classes_be_smaller() -> None:
    """Where every class had to be of 1/risk rows, as other searches have it, there would be fewer classes."""
    table, schema, model = random_table(5, 400), random_schema(), sf.AverageRisk(0.1)
    release = sf.Optimal(suppress=0.1).anonymize(table, schema, [model])
    sizes = np.array([len(one) for one in classes_of(release)])
    assert len(sizes) / sizes.sum() <= 0.1
    assert sizes.min() < model.least_units


@pytest.mark.parametrize("case", CASES)
def test_an_audit_measures_it_again_and_finds_a_changed_file(case: str, tmp_path: Path) -> None:
    model, _ = CASES[case]
    out, card = tmp_path / "out.csv", tmp_path / "out.csv.card.json"
    sf.Mondrian().anonymize(random_table(3, 150), random_schema(), [model]).save(out)
    claims = {finding.claim: finding for finding in audit_release(sf.Card.read(card), out)}
    found = next(finding for claim, finding in claims.items() if claim.startswith(model.name))
    assert found.verdict == "NOT_REFUTED"
    assert found.bound == pytest.approx(sf.Card.read(card).released.models[0].measured)
    changed = pl.read_csv(out, infer_schema=False).with_columns(disease=pl.lit("flu"), income=pl.lit("1000"))
    one = changed.with_row_index("n").with_columns(age=pl.col("n").cast(pl.String)).drop("n")
    odd = one.with_columns(disease=pl.when(pl.col("age") == "0").then(pl.lit("gout")).otherwise("disease"))
    odd.write_csv(out)
    again = next(f for f in audit_release(sf.Card.read(card), out) if f.claim.startswith(model.name))
    assert again.verdict == "REFUTED"
