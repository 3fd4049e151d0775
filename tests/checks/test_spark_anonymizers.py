"""The suite that every anonymizer passes, with the Spark engine: same body, same rows, same card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
import polars as pl
import pytest

import sfumato as sf
from sfumato.checks import anonymizer_checks
from sfumato.checks.anonymizers import MODEL_SETS
from sfumato.checks.base import parameter_checks
from sfumato.engines.spark import anonymize
from sfumato.models import Model
from sfumato.random import Source
from sfumato.release import Card
from sfumato.tabular import Anonymizer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine = Callable[[Anonymizer, sf.Table, sf.Schema, Sequence[Model], Source | None], sf.Release]
EXACT: list[Anonymizer] = [
    sf.Mondrian(),
    sf.Mondrian(ranges="columns"),
    sf.BlindMondrian(),
    sf.Datafly(suppress=0.1),
    sf.Incognito(metric="discernibility"),
    sf.Optimal(suppress=0.1, local=True),
]


def without_engine(card: Card) -> Card:
    """Return the card without what the engines rightly say differently."""
    settings = {name: value for name, value in card.released.settings.items() if name != "engine"}
    warnings = sorted(warning for warning in card.warnings if "seed" not in warning)  # in any order
    released = msgspec.structs.replace(card.released, settings=settings, order="")
    return msgspec.structs.replace(card, released=released, warnings=warnings)


def rows_of(frame: pl.DataFrame) -> list[str]:
    return sorted(map(str, frame.rows()))


@pytest.fixture
def engine(spark: SparkSession) -> Engine:
    """Return a Spark engine whose every release is compared with the single machine's; a release is made once."""
    made: dict[str, sf.Release] = {}

    def run(
        anonymizer: Anonymizer, table: sf.Table, schema: sf.Schema, models: Sequence[Model], source: Source | None
    ) -> sf.Release:
        key = repr((anonymizer, models, schema.person, table.frame.hash_rows().to_list()))
        if key not in made:
            expected = anonymizer.anonymize(table, schema, models, rng=source)
            release = anonymize(spark.createDataFrame(table.frame.to_arrow()), anonymizer, schema, models)
            frame = pl.DataFrame(release.frame.toArrow())
            assert frame.schema == expected.table.frame.schema
            assert rows_of(frame) == rows_of(expected.table.frame)
            assert without_engine(release.card) == without_engine(expected.card)
            made[key] = sf.Release(sf.Table(frame), release.card, steward=release.steward)
        return made[key]

    return run


def suite(anonymizer: Anonymizer, engine: Engine, sizes: Sequence[tuple[int, int]]) -> None:
    own = {check.name for check in parameter_checks(anonymizer)}
    for check in anonymizer_checks(anonymizer, engine, sizes):
        if check.name not in own:  # parameters know no engine
            check.run()


@pytest.mark.long
@pytest.mark.parametrize("anonymizer", EXACT, ids=repr)
def test_an_exact_algorithm_gives_the_same_release_on_spark(engine: Engine, anonymizer: Anonymizer) -> None:
    from sfumato.checks.tables import random_schema, random_table

    models = next(models for models in reversed(MODEL_SETS[:5]) if all(map(anonymizer.accepts, models)))
    engine(anonymizer, random_table(3, 150), random_schema(), models, None)


@pytest.mark.long
@pytest.mark.parametrize("anonymizer", EXACT, ids=repr)
def test_every_exact_algorithm_conforms_on_spark(engine: Engine, anonymizer: Anonymizer) -> None:
    suite(anonymizer, engine, [(1, 40), (2, 7), (3, 150)])
