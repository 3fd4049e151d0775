"""Declared coarsening on Spark: the values of the single machine, cell by cell, and refusals without row numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.spark import anonymize
from sfumato.errors import InputError, SchemaError
from sfumato.schema import Attribute, Coarsening, Kind, Role, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 120)),
    "cost": Attribute("cost", Role.SENSITIVE, Kind.NUMBER, coarsen=Coarsening(bands=(0, 1000, 2000, 50_000))),
    "admission": Attribute("admission", Role.OTHER, coarsen=Coarsening(period="quarter")),
    "zip": Attribute("zip", Role.OTHER, Kind.INTEGER, coarsen=Coarsening(round=50_000)),
}


@pytest.mark.long
def test_a_release_on_spark_has_the_coarse_values_of_the_single_machine(spark: SparkSession) -> None:
    rows = sf.samples.patients(300).select("age", "cost", "admission", "zip").cast(pl.String)
    models = [sf.KAnonymity(5), sf.TCloseness(0.6, "cost")]
    there = anonymize(spark.createDataFrame(rows.to_arrow()), sf.Mondrian(), Schema(COLUMNS), models)
    here = sf.Mondrian().anonymize(sf.Table(rows), Schema(COLUMNS), models)
    released = pl.DataFrame(there.frame.toArrow())
    assert sorted(map(str, released.rows())) == sorted(map(str, here.frame.rows()))
    assert there.card.released.settings["coarsen"] == here.card.released.settings["coarsen"]
    assert there.card.released.models == here.card.released.models
    assert [(column.name, column.type) for column in there.card.released.columns] == [
        (column.name, column.type) for column in here.card.released.columns
    ]


@pytest.mark.long
def test_a_cell_that_no_rule_can_read_is_refused_without_a_row_number(spark: SparkSession) -> None:
    rows = pl.DataFrame({"age": ["30"] * 5, "cost": ["1", "x", "2", "3", "4"]})
    schema = Schema({name: COLUMNS[name] for name in ("age", "cost")})
    with pytest.raises(InputError, match="column 'cost': 1 of 5 filled cells is no number") as caught:
        anonymize(spark.createDataFrame(rows.to_arrow()), sf.Mondrian(), schema, [sf.KAnonymity(2)])
    assert "row 2" not in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("person", [None, "id"])
def test_columns_that_single_people_out_are_refused_and_warned_of_as_on_one_machine(
    spark: SparkSession, person: str | None
) -> None:
    rows = pl.DataFrame(
        {
            "id": [f"p{number // 2}" for number in range(80)],
            "age": [30 + number % 3 for number in range(80)],
            "mrn": [f"m{number // 2}" if person else f"m{number}" for number in range(80)],
            "cost": [round(1.37 * number**1.5, 2) for number in range(80)],
        }
    )
    columns = {
        "id": Attribute("id", Role.IDENTIFIER),
        "age": COLUMNS["age"],
        "mrn": Attribute("mrn", Role.OTHER),
        "cost": Attribute("cost", Role.SENSITIVE),
    }
    there, here = spark.createDataFrame(rows.to_arrow()), sf.Table(rows)
    schema, models = Schema(columns, person), [sf.KAnonymity(5), sf.LDiversity(2, "cost")]
    said = []
    for anonymized in (lambda: anonymize(there, sf.Mondrian(), schema, models),
                       lambda: sf.Mondrian().anonymize(here, schema, models)):  # fmt: skip
        with pytest.raises(SchemaError, match="--accept-unique mrn") as caught:
            anonymized()
        said.append(str(caught.value))
    assert said[0] == said[1]
    accepted = schema.accepting(["mrn"])
    cards = [one.card for one in (anonymize(there, sf.Mondrian(), accepted, models),
                                  sf.Mondrian().anonymize(here, accepted, models))]  # fmt: skip
    assert cards[0].warnings[:2] == cards[1].warnings[:2]
    assert "was accepted" in cards[0].warnings[0]
    assert "coarsen = " in cards[0].warnings[1]
