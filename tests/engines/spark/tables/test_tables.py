"""Tables on Spark: what the single machine releases, in an order that tells nothing, saved all or not at all."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.checks.tables import random_schema, random_table
from sfumato.cli.main import run
from sfumato.engines.spark import SparkRelease, anonymize, check, spark_report
from sfumato.engines.spark import tables as door
from sfumato.engines.spark.expressions import up_to
from sfumato.engines.spark.tables.counting import ROWS
from sfumato.engines.spark.tables.distributed_check import merge_cards
from sfumato.engines.spark.tables.microaggregation import anonymize_in_blocks
from sfumato.engines.spark.tables.whole_table import WholeTable
from sfumato.errors import BrokenPromiseError, InputError, ParameterError, SfumatoError, UnsatisfiableError
from sfumato.evaluate import check as check_here
from sfumato.models import Groups
from sfumato.report import table_report
from sfumato.table.distinct import Numbering
from sfumato.tabular import Anonymizer, PartitionAnonymizer
from sfumato.tabular.base import Partition
from sfumato.tabular.card import make_card
from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus
from sfumato.tabular.microaggregation.loss import information_loss, standardize
from sfumato.tabular.microaggregation.search.polish import polish
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUASI = ("age", "weight", "born", "sex", "job", "grade")


def on_spark(spark: SparkSession, frame: pl.DataFrame, parts: int = 2) -> DataFrame:
    return spark.createDataFrame(frame.to_arrow()).repartition(parts)


def collected(release: SparkRelease) -> pl.DataFrame:
    return pl.DataFrame(release.frame.toArrow())


def rows_of(frame: pl.DataFrame) -> list[str]:
    return sorted(map(str, frame.rows()))


@pytest.mark.parametrize(
    "algorithm, sentence",
    [
        (sf.Anatomy(), "anatomy needs every row on one machine"),
        (sf.Mondrian(relaxed=True), "relaxed Mondrian"),
        (sf.Datafly(keep_order=True), "no order to keep"),
    ],
)
def test_what_needs_rows_is_refused(algorithm: Anonymizer, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        anonymize(None, algorithm, sf.Schema.from_roles(quasi=["a"]), [sf.KAnonymity(2)])  # type: ignore[arg-type]


@dataclass(frozen=True)
class OneClass(PartitionAnonymizer):
    """A stranger's algorithm: everybody in one class, so equal rows are together."""

    ranges: str = "text"
    keep_order: bool = False

    algorithm: ClassVar = "one-class"
    reads_counts: ClassVar = True

    def partition(self, problem: Problem) -> Partition:
        rows = np.arange(problem.table.rows)
        return Partition(Numbering(rows, np.ones_like(rows)), np.zeros_like(rows), 1)


def test_a_class_that_says_it_reads_counts_works_here(spark: SparkSession) -> None:
    frame = pl.DataFrame({"age": [20, 20, 31, 47], "disease": ["flu", "cold", "flu", "flu"]})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["disease"])
    release = anonymize(on_spark(spark, frame), OneClass(), schema, [sf.KAnonymity(4)])
    assert rows_of(collected(release)) == sorted(str(("[20-47]", name)) for name in frame["disease"])
    assert release.card.algorithm == "one-class"


WAYS = [(True, 1_000_000), (True, 1), (False, 0)]  # whether equal rows are counted first, and how many come here


def go(monkeypatch: pytest.MonkeyPatch, way: tuple[bool, int]) -> None:
    """Take one of the ways through the door, whatever the rows suggest."""
    few, most = way
    monkeypatch.setattr(door, "_few_kinds", lambda *_: few)
    monkeypatch.setattr(door, "MOST_KINDS", most)


@pytest.mark.parametrize("way", WAYS, ids=["counted here", "counted there", "rows"])
def test_missing_values_odd_names_and_other_columns(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, way: tuple[bool, int]
) -> None:
    go(monkeypatch, way)
    draw = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "home.zip": draw.choice(["02139", "10115", "", "99999"], 400).tolist(),
            "a`ge": pl.Series([None if age > 60 else int(age) for age in draw.integers(20, 70, 400)]),
            "rate": draw.choice(["1.5", "2.5", "x", "7"], 400, p=[0.3, 0.3, 0.0, 0.4]).tolist(),
            "since": [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in draw.integers(0, 90, 400)],
            "name": [f"p{number}" for number in range(400)],
            "well": draw.choice([True, False], 400).tolist(),
            "count": draw.integers(0, 5, 400),
        }
    )
    schema = sf.Schema.from_roles(
        quasi=["home.zip", "a`ge", "rate", "since"], sensitive=["count"], identifier=["name"], other="keep"
    )
    models = [sf.KAnonymity(5), sf.LDiversity(2, "count")]
    expected = sf.Mondrian().anonymize(sf.Table.from_frame(frame), schema, models)
    release = anonymize(on_spark(spark, frame), sf.Mondrian(), schema, models)
    assert release.frame.columns == expected.frame.columns
    assert rows_of(collected(release)) == rows_of(expected.frame)
    assert release.card.released.columns == expected.card.released.columns
    assert release.card.warnings == expected.card.warnings


@pytest.mark.long
def test_order_and_files_are_a_function_of_what_is_released(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.engines.spark.tables.release.FILE_ROWS", 50)
    frame = random_table(4, 200).frame
    made = []
    orders = (frame, frame.sample(200, shuffle=True, seed=1), frame.reverse())
    for way, given, parts in zip(WAYS, orders, (1, 3, 5), strict=True):
        go(monkeypatch, way)
        release = anonymize(on_spark(spark, given, parts), sf.Mondrian(), random_schema(), [sf.KAnonymity(5)])
        files = release.frame.rdd.glom().collect()
        made.append([[tuple(row) for row in file] for file in files])
    assert len(made[0]) == 4
    assert made[0] == made[1] == made[2]


def test_a_refusal_leaves_nothing_in_the_memory_of_the_cluster(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = on_spark(spark, pl.DataFrame({"age": [1, 2, 3]}))
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    for way in WAYS:
        go(monkeypatch, way)
        with pytest.raises(UnsatisfiableError):
            anonymize(frame, sf.Mondrian(), sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(9)])
        assert set(spark.sparkContext._jsc.getPersistentRDDs()) == before


def test_rows_left_out_on_one_machine_are_left_out_on_spark(spark: SparkSession) -> None:
    frame = pl.DataFrame({"age": [21, 22, 21, 22, 90], "job": ["a", "b", "c", "d", "e"]})
    schema, algorithm = sf.Schema.from_roles(quasi=["age"], other="keep"), sf.Optimal(suppress=0.2)
    expected = algorithm.anonymize(sf.Table(frame), schema, [sf.KAnonymity(2)])
    release = anonymize(on_spark(spark, frame), algorithm, schema, [sf.KAnonymity(2)])
    assert rows_of(collected(release)) == rows_of(expected.frame)
    assert release.card.warnings == expected.card.warnings
    assert release.steward["rows_suppressed"] == 1


def test_refusals_speak_without_row_numbers(spark: SparkSession) -> None:
    frame = on_spark(spark, pl.DataFrame({"age": ["1", "2", "x"]}))
    schema = sf.Schema.from_roles(quasi=["age"])
    with pytest.raises(InputError, match=r"^column 'age': 'x' is not an integer"):
        anonymize(frame, sf.Mondrian(), schema, [sf.KAnonymity(2)])
    with pytest.raises(UnsatisfiableError, match="at most k=2 is possible"):
        anonymize(frame.where("age < 'x'"), sf.Mondrian(), schema, [sf.KAnonymity(9)])
    with pytest.raises(SfumatoError, match="there is no column 'aeg'; did you mean 'age'"):
        anonymize(frame, sf.Mondrian(), sf.Schema.from_roles(quasi=["aeg"]), [sf.KAnonymity(2)])
    with pytest.raises(InputError, match="the table has no rows"):
        anonymize(frame.where("age = 'z'"), sf.Mondrian(), schema, [sf.KAnonymity(2)])
    with pytest.raises(ParameterError, match="3 distinct rows are more than the 2 that the driver takes"):
        anonymize(frame, sf.Datafly(), schema, [sf.KAnonymity(2)], most_points=2)


def test_a_release_is_saved_with_its_card_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    frame = on_spark(spark, random_table(1, 60).frame)
    release = anonymize(frame, sf.Mondrian(), random_schema(), [sf.KAnonymity(5)])
    final = release.save(tmp_path / "out")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "out",
        "out.card.json",
        "out.statement.html",
        "out.statement.txt",
    ]
    files = sorted((tmp_path / "out").iterdir())
    listed = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    assert final.released.sha256 == hashlib.sha256(listed.encode()).hexdigest()
    assert sf.Card.from_json((tmp_path / "out.card.json").read_text()) == final
    assert check_here(sf.Table(pl.read_parquet(tmp_path / "out" / "*.parquet")), QUASI).k >= 5
    other = msgspec.structs.replace(release.card, released=msgspec.structs.replace(release.card.released, rows=61))
    with pytest.raises(BrokenPromiseError, match="61 rows were checked and 60 written"):
        replace(release, card=other).save(tmp_path / "wrong")
    assert len(list(tmp_path.iterdir())) == 4


def test_the_command_line_goes_from_folder_to_folder(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del spark  # the command takes the session that runs
    (tmp_path / "in").mkdir()
    people = sf.samples.patients(300)
    people[:150].write_csv(tmp_path / "in" / "a.csv")
    people[150:].write_csv(tmp_path / "in" / "b.csv")
    people.write_csv(tmp_path / "in.csv")
    options = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--other", "drop", "--k", "5", "--l", "2"]
    anonymized = ["anonymize", str(tmp_path / "in"), "-o", str(tmp_path / "out"), *options, "--engine", "spark"]
    report = ["--report", str(tmp_path / "steward.html")]
    assert run([*anonymized, *report]) == 0
    page = (tmp_path / "steward.html").read_text(encoding="utf-8")
    assert "Exactly: " in page
    assert run(["anonymize", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), *options]) == 0
    released = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert rows_of(released) == rows_of(sf.read(tmp_path / "out.csv").frame.cast(released.schema))
    capsys.readouterr()
    measured = ["check", str(tmp_path / "out"), "--quasi", "age,sex,zip", "--sensitive", "disease", "--json"]
    assert run([*measured, "--engine", "spark", "--require", "k=5"]) == 0
    here = capsys.readouterr().out
    assert run([*measured[:1], str(tmp_path / "out.csv"), *measured[2:]]) == 0
    assert here[:200] == capsys.readouterr().out[:200]
    for wrong in (["--ledger", "l"], ["--algorithm", "safepub", "--epsilon", "1"]):
        assert run([*anonymized, *wrong]) == 2
    for twice in ("--report", "--card"):
        again = ["anonymize", str(tmp_path / "in"), "-o", str(tmp_path / "new"), *options, "--engine", "spark"]
        assert run([*again, twice, str(tmp_path / "new")]) == 2
        assert "name two files" in capsys.readouterr().err
    assert run(["anonymize", "in", "-o", "out", *options, "--master", "local[2]"]) == 2
    assert "add --engine spark" in capsys.readouterr().err


def test_a_report_that_cannot_be_drawn_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("sfumato.engines.spark.spark_session", lambda _: pytest.fail("Spark was started"))
    asked = ["anonymize", str(tmp_path), "-o", str(tmp_path / "out"), "--quasi", "age", "--k", "2", "--engine", "spark"]
    assert run([*asked, "--report", str(tmp_path / "r.html")]) == 2
    assert "reports need matplotlib" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def told(page: str, names: tuple[str, ...]) -> list[str]:
    """Return what stands in the cells beside some names on a page."""
    cells = re.sub(r"<small>.*?</small>", "", page)
    return [" ".join(re.findall(rf">{name}</th><td>(.*?)</td>(?:<td>(.*?)</td>)?", cells)[0]) for name in names]


def test_a_person_who_wrote_one_value_in_two_ways_counts_once(spark: SparkSession) -> None:
    from pyspark.sql import functions

    frame = pl.DataFrame({"who": [1, 1, 2, 3], "age": [20, 20, 30, 40], "ill": ["flu", " flu", "gout", None]})
    schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"], person="who")
    models = [sf.KAnonymity(2), sf.TCloseness(0.9, "ill")]
    here = Problem.of(sf.Table(frame), schema, models).groups(np.zeros(4, dtype=np.int64)).sensitive["ill"]
    counts = on_spark(spark, frame).withColumn(ROWS, functions.lit(1))
    there = WholeTable.of(counts, frame.columns, schema, models, 4)
    assert there.sensitive["ill"].units.tolist() == here.counts.tolist()
    assert there.sensitive["ill"].reference.tolist() == here.reference.tolist()
    by_part = there.units_by(counts.withColumn("part", functions.lit(0)), "part", "ill")
    assert sorted(by_part.drop("part").rows(), key=str) == [("flu", 1), ("gout", 1), (None, 1)]


@pytest.mark.long
@pytest.mark.parametrize("person", [False, True], ids=["rows", "persons"])
def test_the_report_counts_classes_and_risks_as_on_one_machine(spark: SparkSession, person: bool) -> None:
    frame, schema = random_table(6, 300).frame, random_schema(person=person)
    release = anonymize(on_spark(spark, frame), sf.Mondrian(), schema, [sf.KAnonymity(5)])
    there = spark_report(on_spark(spark, frame), schema, release)
    alone = sf.Mondrian().anonymize(sf.Table(frame), schema, [sf.KAnonymity(5)])
    names = ("Number of classes", "Median", "Largest", "Discernibility", "Prosecutor, worst case", "Marketer")
    assert told(there, names) == told(table_report(sf.Table(frame), schema, alone), names)


def test_a_table_is_measured_as_on_one_machine(spark: SparkSession) -> None:
    frame = random_table(6, 300).frame.with_columns((pl.col("age") // 20).cast(pl.String))
    here = check_here(sf.Table(frame), ["age", "sex"], ["disease", "income"], schema=random_schema()).as_json()
    there = check(on_spark(spark, frame), ["age", "sex"], ["disease", "income"], schema=random_schema()).as_json()
    assert there.pop("risk") == here.pop("risk")
    for name, measures in there.pop("sensitive").items():  # type: ignore[attr-defined]
        assert measures == pytest.approx(here["sensitive"][name])  # type: ignore[index]
    assert there == {name: value for name, value in here.items() if name != "sensitive"}


def test_cuts_on_the_cluster_agree_with_codes(spark: SparkSession) -> None:
    table, schema = random_table(2, 300), random_schema()
    problem = Problem.of(table, schema, [sf.KAnonymity(2)])
    frame = on_spark(spark, table.frame.with_row_index("row").cast({"row": pl.Int64}))
    expected, asked = {}, []
    for column in problem.quasi:
        for code in (0, column.size // 2):
            name = f"{column.name}{code}"
            asked.append(up_to(frame, column.attribute, column.value(code)).alias(name))
            expected[name] = (column.codes <= code).tolist()
    found = pl.DataFrame(frame.select("row", *asked).toArrow()).sort("row")
    assert {name: found[name].to_list() for name in expected} == expected


@pytest.mark.long
def test_parts_keep_every_model_and_cost_little(spark: SparkSession) -> None:
    frame = on_spark(spark, random_table(3, 1500).frame)
    models = [sf.KAnonymity(5), sf.LDiversity(2, "disease"), sf.TCloseness(0.35, "income")]
    whole = anonymize(frame, sf.Mondrian(), random_schema(), models)
    parts = anonymize(frame, sf.Mondrian(), random_schema(), models, most_points=800)
    assert parts.steward["parts"] == 4
    assert parts.steward["certainty_lost"] < 1.1 * whole.steward["certainty_lost"]
    found = check_here(sf.Table(collected(parts)), QUASI, ["disease", "income"], schema=random_schema())
    released = parts.card.released
    assert (found.rows, found.classes, found.k) == (1500, released.classes, released.measures["smallest_class"])
    assert found.sensitive["disease"].l_distinct == released.models[1].measured >= 2
    assert found.sensitive["income"].t == pytest.approx(released.models[2].measured)
    assert found.sensitive["income"].t <= 0.35


def test_microaggregation_in_blocks_loses_no_more_than_on_one_machine(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks: Callable[..., SparkRelease] = anonymize_in_blocks
    monkeypatch.setattr(door, "anonymize_in_blocks", lambda *given: blocks(*given, block=1000))
    draw = np.random.default_rng(5)
    frame = pl.DataFrame({f"x{place}": draw.normal(place, 1 + place, 4000) for place in range(3)})
    schema = sf.Schema.from_roles(quasi=frame.columns)
    release = anonymize(on_spark(spark, frame), sf.MDAVPlus(), schema, [sf.KAnonymity(5)])
    alone = sf.MDAVPlus().anonymize(sf.Table(frame), schema, [sf.KAnonymity(5)])
    shown = collected(release)
    assert release.steward["blocks"] == 4
    assert shown.group_by(shown.columns).len()["len"].min() == release.card.released.measures["smallest_class"] >= 5
    for name in frame.columns:
        assert shown[name].mean() == pytest.approx(frame[name].mean())
    assert release.steward["information_loss"] < alone.steward["information_loss"]
    points = standardize(frame.to_numpy())
    polished = information_loss(points, polish(points, 5, mdav_plus(points, 5)))
    assert release.steward["information_loss"] < 1.03 * polished
    assert release.card.released.columns == alone.card.released.columns


def test_cards_of_classes_judged_apart_make_the_card_of_all() -> None:
    models = (sf.KAnonymity(2), sf.LDiversity(2, "disease"), sf.AlphaK(0.9, 2, "disease"))
    problem = Problem.of(random_table(1, 200), random_schema(), models)
    classes = np.random.default_rng(1).integers(0, 20, 200)

    def card(problem: Problem, groups: Groups) -> sf.Card:
        return make_card(problem, groups, ["disease"], algorithm="mondrian", settings={}, seeded=False)

    parts = []
    for half in (0, 1):
        here = classes % 2 == half
        part = replace(problem.only(here), references={"disease": problem.whole.sensitive["disease"].reference})
        parts.append(card(part, part.groups(classes[here] // 2)))
    assert merge_cards(parts, models) == card(problem, problem.groups(classes))
