"""Models beside k, l, α and t on Spark: kept from counts on the driver and part by part, or refused in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import sfumato as sf
from sfumato.checks.tables import random_schema, random_table
from sfumato.engines.spark import anonymize
from sfumato.engines.spark.tables import refuse_populations
from sfumato.evaluate.check import written_groups
from sfumato.models import Model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUASI = ("age", "weight", "born", "sex", "job", "grade")
KEPT: dict[str, Model] = {
    "β": sf.BetaLikeness(2, "disease"),
    "δ": sf.DeltaDisclosure(1.5, "disease"),
    "(k, e)": sf.KEAnonymity(500, 3, "income"),
    "highest risk": sf.HighestRisk(0.2),
    "estimate": sf.KMap(10, sampling=0.3),
}


@pytest.mark.parametrize("most", [5_000_000, 80])
@pytest.mark.parametrize("name", KEPT)
def test_classes_on_spark_keep_it(spark: SparkSession, name: str, most: int) -> None:
    model = KEPT[name]
    rows = spark.createDataFrame(random_table(4, 200).frame.to_arrow())
    release = anonymize(rows, sf.Mondrian(), random_schema(), [sf.KAnonymity(2), model], most_points=most)
    shown = sf.Table(pl.DataFrame(release.frame.toArrow()))
    groups = written_groups(shown, QUASI, ("disease", "income"), schema=random_schema())
    assert model.holds(model.measure(groups))
    assert release.card.released.models[1].measured == pytest.approx(model.measure(groups))


def test_an_average_is_kept_from_counts_and_refused_part_by_part(spark: SparkSession) -> None:
    rows = spark.createDataFrame(random_table(4, 200).frame.to_arrow())
    release = anonymize(rows, sf.Optimal(), random_schema(), [sf.AverageRisk(0.1)])
    assert release.card.released.models[0].measured <= 0.1
    with pytest.raises(sf.SfumatoError, match="here Spark checks them part by part; ask for --k 10"):
        anonymize(rows, sf.Mondrian(), random_schema(), [sf.AverageRisk(0.1)], most_points=80)
    with pytest.raises(sf.SfumatoError, match="here Spark checks them part by part; ask for --k 10"):
        anonymize(rows, sf.MDAV(), random_schema(), [sf.AverageRisk(0.1)])


def test_a_population_is_refused() -> None:
    town = sf.Population.of(random_table(4, 20), "town")
    with pytest.raises(sf.SfumatoError, match="k-map counts a population on one machine; leave --engine spark out"):
        refuse_populations([sf.KAnonymity(2), sf.KMap(5, town)])
