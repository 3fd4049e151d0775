from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.composition import composition
from sfumato.audit.composition.answers import Claim, Numbers, Shown
from sfumato.audit.composition.neighbours import Change, Classes, Neighbourhood, change, tabulate_changes
from sfumato.cli.main import run
from sfumato.errors import ParameterError, SchemaError
from sfumato.evaluate.workload import Queries
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import Partition, PartitionAnonymizer
from sfumato.tabular.problem import Problem

QUASI = ["age", "sex", "zip"]
SCHEMA = sf.Schema.from_roles(quasi=QUASI, sensitive=["salary"])
K10 = [sf.KAnonymity(10)]


def census(rows: int = 2000) -> sf.Table:
    return sf.Table.from_frame(sf.samples.census_10k(rows))


@dataclass(frozen=True)
class PublicCells(PartitionAnonymizer):
    """Classes by halves of the ages' order, whatever the rows are: nothing that one row could change."""

    ranges: str = "text"
    keep_order: bool = False
    algorithm: ClassVar = "public cells"

    def partition(self, problem: Problem) -> Partition:
        rows = problem.table.rows
        labels = (problem.quasi[0].codes > problem.quasi[0].size // 2).astype(np.int64)
        return Partition(Numbering(np.arange(rows), np.ones(rows, dtype=np.int64)), labels, 2)


def labelled(labels: list[int]) -> Classes:
    """Return classes of rows as the comparison sees them."""
    known = np.array(labels, dtype=np.int64)
    each = Numbering(np.arange(len(known)), np.ones(len(known), dtype=np.int64))
    problem = Problem.of(
        sf.Table(pl.DataFrame({"age": [1, 2]})), sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)]
    )
    return Classes(problem, Partition(each, known, int(known.max()) + 1), known)


def slow_change(before: list[int], after: list[int]) -> tuple[int, int, int]:
    """Compare classes as sets of the rows that both hold."""
    shared = [row for row in range(len(before)) if before[row] >= 0 and after[row] >= 0]
    sets = [
        {frozenset(row for row in shared if labels[row] == number) for number in {labels[row] for row in shared}}
        for labels in (before, after)
    ]
    gone, new = sets[0] - sets[1], sets[1] - sets[0]
    return len(gone), len(new), sum(len(group) for group in gone)


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=2, max_size=30))
def test_changes_are_those_of_sets_of_rows(pairs: list[tuple[int, int]]) -> None:
    before, after = (
        [max(pairs[0][0], 0), *(old for old, _ in pairs[1:])],
        [max(pairs[0][1], 0), *(new for _, new in pairs[1:])],
    )
    found = change(labelled(before), labelled(after))
    assert (len(found.gone), len(found.new), found.rows) == slow_change(before, after)


def test_a_class_that_only_lost_a_row_is_not_gone() -> None:
    assert change(labelled([0, 0, 0, 1, 1]), labelled([-1, 1, 1, 0, 0])).count == 0


def test_the_table_of_changes_counts_like_the_dissertation() -> None:
    some = Change(np.array([1, 2]), np.array([4]), 25)
    none = Change(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 0)
    table = tabulate_changes([none, some, none, none])
    assert table["share changed"] == 0.25
    assert table["most classes"] == 3
    assert table["most rows"] == 25
    assert table["classes changed"] == {"0": 3, "3": 1}


def test_the_vanished_class_of_k_is_found_by_itself() -> None:
    finding = composition(census(), SCHEMA, K10, epsilon=0.1, trials=0)
    vanished = finding.evidence["class of k"]
    assert finding.refuted
    assert (vanished["before"], vanished["after"]) == (10, 0)
    assert vanished["density ratio"] == pytest.approx(math.e)
    assert vanished["least epsilon"] == pytest.approx(1)
    assert vanished["box"] in vanished["classes gone"]
    assert finding.bound is not None
    assert finding.bound >= 1


def test_a_finding_is_true_of_the_releases_themselves() -> None:
    table = census()
    finding = composition(table, SCHEMA, K10, epsilon=0.1, trials=0)
    worst = finding.evidence["worst"]
    numbered = table.frame.with_row_index("row", offset=1)
    both = numbered.filter(~pl.col("row").is_in(worst["rows dropped from both"]))
    counts = []
    for rows in (both, both.filter(pl.col("row") != worst["row"])):
        release = sf.Mondrian(ranges="columns").anonymize(sf.Table(rows.drop("row")), SCHEMA, K10).table.frame
        inside = pl.lit(value=True)
        for name, text in worst["box"].items():
            low, _, high = text.strip("[]").partition("-")
            inside &= (pl.col(f"{name}_min") >= int(low)) & (pl.col(f"{name}_max") <= int(high or low))
        counts.append(release.filter(inside).height)
    assert counts == [worst["before"], worst["after"]]


@pytest.mark.parametrize("query", ["inclusion", "overlap", "expected"])
def test_every_way_to_count_falls(query: str) -> None:
    assert composition(census(), SCHEMA, K10, epsilon=0.1, query=query, trials=20).refuted  # type: ignore[arg-type]


@pytest.mark.parametrize("answer, query", [("sum", "inclusion"), ("mean", "inclusion"), ("sum", "overlap")])
def test_sums_and_means_fall_too(answer: str, query: str) -> None:
    finding = composition(census(), SCHEMA, K10, epsilon=0.1, query=query, answer=answer, trials=20)  # type: ignore[arg-type]
    assert finding.refuted
    assert finding.evidence["sensitivity"] > 1000


@pytest.mark.parametrize("anonymizer", [sf.MDAV(), sf.Datafly(), sf.Incognito(), sf.Mondrian(relaxed=True)])
def test_other_anonymizers_fall(anonymizer: PartitionAnonymizer) -> None:
    finding = composition(census(), SCHEMA, K10, anonymizer, epsilon=0.1, trials=2)
    assert finding.refuted
    assert finding.evidence["algorithm"] == anonymizer.algorithm


def test_a_class_larger_than_k_is_thinned_first() -> None:
    finding = composition(census(), SCHEMA, K10, sf.Datafly(), epsilon=0.1, trials=0)
    vanished = finding.evidence["class of k"]
    assert len(vanished["rows dropped from both"]) >= 1
    assert vanished["before"] == 10


def test_classes_that_do_not_look_at_the_rows_stand() -> None:
    finding = composition(census(200), SCHEMA, K10, PublicCells(), epsilon=0.1, trials=20)
    assert not finding.refuted
    assert finding.evidence["worst"] is None
    assert finding.evidence["removals"]["share changed"] == 0


def test_counts_on_anatomy_are_put_to_trials() -> None:
    finding = composition(census(60), SCHEMA, [sf.LDiversity(2, "salary")], sf.Anatomy(), epsilon=0.5, trials=100)
    assert not finding.refuted
    assert finding.evidence["trials"] == 500
    with pytest.raises(ParameterError, match="anatomy is audited on counts"):
        composition(census(60), SCHEMA, K10, sf.Anatomy(), epsilon=0.5)


def test_a_finding_is_the_same_from_its_evidence() -> None:
    first = composition(census(500), SCHEMA, K10, epsilon=0.1, trials=10, seed=3)
    assert composition(census(500), SCHEMA, K10, **first.evidence["claim"]) == first


def test_a_table_of_k_rows_cannot_lose_one() -> None:
    finding = composition(census(10), SCHEMA, K10, epsilon=0.1, trials=3)
    assert not finding.refuted
    assert finding.evidence["removals"]["trials"] == 0


def test_words_and_missing_values_are_described() -> None:
    people = sf.Table.from_frame(
        sf.samples.patients(300).with_columns(
            pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("age")).alias("age")
        )
    )
    schema = sf.Schema.from_roles(quasi=["age", "zip", "sex"], sensitive=["disease"], other="drop")
    finding = composition(people, schema, [sf.KAnonymity(5)], epsilon=0.1, trials=30)
    assert finding.refuted
    assert set(finding.evidence["worst"]["box"]) == {"age", "zip", "sex"}


def test_means_need_a_number() -> None:
    people = sf.Table.from_frame(sf.samples.patients(100))
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop")
    with pytest.raises(SchemaError, match="sensitive column of numbers"):
        composition(people, schema, [sf.KAnonymity(5)], epsilon=0.1, answer="mean", trials=0)


def test_the_mean_of_nobody_is_the_middle_of_the_bounds() -> None:
    around = Neighbourhood.of(census(100), SCHEMA, K10, additions=1, seed=0)
    classes = around.classes(sf.Mondrian(), around.whole)
    assert classes is not None
    numbers = Numbers.of(around.coded.table, around.coded.schema, 10)
    shown = Shown.of(sf.Mondrian(), classes, numbers)
    nowhere = Queries(np.full((1, 3), -5.0), np.full((1, 3), -4.0))
    means = shown.answers(nowhere, Claim(0.1, answer="mean"), numbers)
    assert means.tolist() == [(numbers.low + numbers.high) / 2]


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"epsilon": 1.0, "query": "x"}, {"epsilon": 1.0, "trials": -1}])
def test_parameters_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        composition(census(50), SCHEMA, K10, **wrong)  # type: ignore[arg-type]


def test_the_command_refutes_and_keeps_the_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, evidence = tmp_path / "census.csv", tmp_path / "evidence.json"
    sf.samples.census_10k(1000).write_csv(source)
    asked = ["audit", "composition", str(source), "--quasi", "age,sex,zip", "--sensitive", "salary", "--k", "10"]
    assert run([*asked, "--epsilon", "0.1", "--trials", "5", "-o", str(evidence)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("REFUTED: counts (inclusion)")
    assert "private" not in said
    kept = json.loads(evidence.read_text())
    assert kept["audit"] == "composition"
    assert kept["parameters"]["trials"] == 5
    assert kept["findings"][0]["evidence"]["additions"]["trials"] == 5
    assert run([*asked, "--epsilon", "0"]) == 2
