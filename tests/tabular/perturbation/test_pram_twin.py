"""Twin runs of PRAM: between any two declared values of a row's cells nothing tells more than the card's ε."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import count

import polars as pl
import pytest

import sfumato as sf
from sfumato.audit.twin import Pair, TwinPath
from sfumato.promise import Cost
from sfumato.random import SeededSource

DOMAINS = {"sex": ("F", "M"), "job": ("cook", "nurse", "clerk")}
Rows = list[tuple[str, str]]
ROWS: Rows = [("F", "cook"), ("M", "nurse"), ("F", "clerk"), ("M", "cook")]
SCHEMA = sf.Schema(
    {name: sf.Attribute(name, sf.Role.QUASI, sf.Kind.CATEGORY, categories=words) for name, words in DOMAINS.items()}
)
LEANING = sf.TransitionMatrix.of(DOMAINS["job"], [["0.7", "0.2", "0.1"], ["0.1", "0.8", "0.1"], ["0.3", "0.3", "0.4"]])
METHODS = [sf.PRAM("sex,job", keep=0.8), sf.PRAM("sex", keep=0.6, matrices={"job": LEANING})]


def release(method: sf.PRAM, rows: Rows, seed: int = 1) -> sf.Release:
    table = sf.Table(pl.DataFrame(rows, schema=list(DOMAINS), orient="row"))
    return method.anonymize(table, SCHEMA, rng=SeededSource(seed))


def neighbours() -> Iterator[Pair]:
    for place in range(len(ROWS)):
        for sex in DOMAINS["sex"]:
            for job in DOMAINS["job"]:
                yield Pair(ROWS, [*ROWS[:place], (sex, job), *ROWS[place + 1 :]], f"row {place} is {sex}, {job}")


def attack(method: sf.PRAM, epsilon: float) -> sf.Finding:
    seeds = count()

    def run(rows: Rows) -> dict[str, object]:
        made = release(method, rows, next(seeds))
        return {"rows": made.table.frame, "matrices": made.card.released.settings["matrices"]}

    return TwinPath("pram", run, neighbours(), Cost(epsilon=Decimal(repr(epsilon))), times=5).attack()


@pytest.mark.parametrize("method", METHODS, ids=["uniform", "declared"])
def test_the_stated_epsilon_holds_and_a_smaller_one_falls(method: sf.PRAM) -> None:
    cells = release(method, ROWS).card.guarantee.of_cells
    assert cells is not None
    kept = attack(method, cells.epsilon)
    assert not kept.refuted, kept.evidence
    assert kept.bound == pytest.approx(cells.epsilon)  # the worst outcome of the worst pair was met
    assert attack(method, 0.7 * cells.epsilon).refuted


def test_a_matrix_from_the_rows_differs_between_neighbours() -> None:
    finding = attack(sf.PRAM("sex,job", keep=0.8, invariant=True), 1000.0)
    assert finding.refuted  # it is public, and no draw decides it: rightly no ε is stated
    assert "matrices" in finding.evidence["reason"] or "post randomised cells" in finding.evidence["reason"]
