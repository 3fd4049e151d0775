"""The table door on Spark: count distinct rows there, find classes here with the same code, and join them back.

One aggregation, one join; classes are those of the single machine, since Mondrian (LeFevre, DeWitt & Ramakrishnan
2006), Datafly, Incognito and the optimal search read nothing but counts of distinct rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from sfumato.engines.spark.folders import plain_columns, quote_name, truths_again
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.tables.coarsening import coarsen_rows
from sfumato.engines.spark.tables.counting import (
    ROWS,
    CountedRows,
    collect_counts,
    collect_frame,
    count_rows,
    keys_of,
    no_row_numbers,
    refuse_many,
    settled_schema,
)
from sfumato.engines.spark.tables.intake import take_in_rows
from sfumato.engines.spark.tables.microaggregation import anonymize_in_blocks
from sfumato.engines.spark.tables.partitioned_mondrian import anonymize_in_parts
from sfumato.engines.spark.tables.release import (
    CLASS,
    ReleasedLabels,
    SparkRelease,
    average_lost,
    card_on_spark,
    certainty_lost,
    kept_names,
    recode_rows,
)
from sfumato.engines.spark.tables.uniqueness import warn_or_refuse_unique, warn_repeated, with_warnings
from sfumato.engines.spark.tables.whole_table import WholeTable
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.release import Card
from sfumato.schema import Role, Schema
from sfumato.tabular import Mondrian
from sfumato.tabular.base import Anonymizer, PartitionAnonymizer, released_names
from sfumato.tabular.changes import IDENTIFYING, WITHOUT_ROLE, dropped_columns
from sfumato.tabular.level_rules import refuse_unkept
from sfumato.tabular.microaggregation.base import Microaggregator
from sfumato.tabular.problem import Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_POINTS = 5_000_000  # distinct rows that the driver takes: about 1 GiB
MOST_KINDS = 2_000_000  # rows counted over all that is released that the driver takes
HEAD = 20_000  # rows that tell how many agree


def anonymize(
    frame: DataFrame,
    algorithm: Anonymizer,
    schema: Schema,
    models: Sequence[Model],
    *,
    most_points: int = MOST_POINTS,
) -> SparkRelease:
    """Return an anonymous release of a Spark DataFrame, its classes those of the single machine.

    More than `most_points` distinct rows do not come to the driver: Mondrian then works part by part. Microaggregation
    works block by block.

    >>> import sfumato as sf
    >>> anonymize(None, sf.Mondrian(relaxed=True), sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: relaxed Mondrian parts equal rows, which Spark counts as one; use strict Mondrian
    """
    chosen = without_rows(algorithm)
    refuse_unkept(chosen, schema)
    refuse_populations(models)
    rows, report = take_in_rows(plain_columns(frame), schema)
    rows, settled = coarsen_rows(rows, settled_schema(rows, schema, models))
    with spark_sentences("the rows cannot be counted"):
        unique, repeated = warn_or_refuse_unique(rows, settled), warn_repeated(rows, settled)
    release = _release(rows, chosen, settled, models, most_points)
    warnings = [*unique, *(report.warnings if report is not None else [])]
    kept = truths_again(release.frame, frame, settled)
    card = with_warnings(_as_declared(release.card, schema), warnings, repeated)
    return replace(release, frame=kept, card=card, intake=report)


def _as_declared(card: Card, schema: Schema) -> Card:
    """Return the card with the columns that were left out by the steward's schema: work on counts drops others too."""
    others = [change for change in card.changes if change not in {IDENTIFYING, WITHOUT_ROLE}]
    return msgspec.structs.replace(card, changes=[*dropped_columns(schema), *others])


def _release(
    rows: DataFrame, algorithm: PartitionAnonymizer, schema: Schema, models: Sequence[Model], most_points: int
) -> SparkRelease:
    """Return the release of coarse rows, in the way that fits the algorithm and their number."""
    if isinstance(algorithm, Microaggregator):
        return _release_in_blocks(rows, algorithm, schema, models)
    names = list(dict.fromkeys([*keys_of(schema, models), *kept_names(schema)]))
    source = count_rows(rows, names).persist() if _few_kinds(rows, names, most_points) else rows
    try:
        return _release_from_counts(rows, source, algorithm, schema, models, most_points)
    except BaseException:
        if source is not rows:
            source.unpersist()
        raise


def _release_from_counts(
    rows: DataFrame,
    source: DataFrame,
    algorithm: PartitionAnonymizer,
    schema: Schema,
    models: Sequence[Model],
    most_points: int,
) -> SparkRelease:
    """Return the release of rows; `source` are the rows themselves, or counted over all that is released."""
    keys = keys_of(schema, models)
    if _comes_whole(source, most_points):
        counted = collect_counts(source.select(*map(quote_name, [*keys, ROWS]))).merge_equal()
        return _release_on_driver(source, rows.columns, algorithm, schema, models, counted)
    counts = count_rows(source, keys).persist()
    try:
        with spark_sentences("the rows cannot be counted"):
            points = counts.count()
        if points > most_points and isinstance(algorithm, Mondrian):
            refuse_models_of_tables(models)
            whole = WholeTable.of(counts, rows.columns, schema, models, points)
            return anonymize_in_parts(rows, counts, algorithm, whole, most_points)
        refuse_many(points, most_points)
        return _release_on_driver(source, rows.columns, algorithm, schema, models, collect_counts(counts))
    finally:
        counts.unpersist()


def _comes_whole(source: DataFrame, most: int) -> bool:
    """Return whether rows were counted over all that is released, and are so few that the driver counts on itself."""
    with spark_sentences("the rows cannot be counted"):
        return ROWS in source.columns and source.count() <= min(MOST_KINDS, most)


def _few_kinds(rows: DataFrame, names: Sequence[str], most: int) -> bool:
    """Return whether rows that agree on all that is counted or released are many, so that one count of them will do.

    Told from how often two of the first rows agree, as birthdays tell the length of a year: of n rows out of G kinds
    about n²/2G do. A wrong guess costs time, nothing else.
    """
    head = collect_frame(rows.select(*map(quote_name, dict.fromkeys(names))).limit(HEAD))
    alike = head.height - head.unique().height
    return head.height < HEAD or head.height**2 < 2 * alike * most


def _release_in_blocks(
    rows: DataFrame, algorithm: Microaggregator, schema: Schema, models: Sequence[Model]
) -> SparkRelease:
    from pyspark.sql import functions

    refuse_models_of_tables(models)
    counted = rows.select(*map(quote_name, keys_of(schema, models))).withColumn(ROWS, functions.lit(1))
    with spark_sentences("the rows cannot be grouped"):
        whole = WholeTable.of(counted, rows.columns, schema, models, rows.count())
        return anonymize_in_blocks(rows, algorithm, whole)


def refuse_models_of_tables(models: Sequence[Model]) -> None:
    """Refuse models that speak of all classes together, where classes are made and checked part by part.

    >>> from sfumato.models import AverageRisk
    >>> refuse_models_of_tables([AverageRisk(0.05)])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: average prosecutor risk is measured on all classes together, and here Spark checks \
them part by part; ask for --k 20, which is enough for it
    """
    for model in models:
        if model.of_table:
            raise ParameterError(
                f"{model.name} is measured on all classes together, and here Spark checks them part by part; ask for "
                f"--k {model.least_units}, which is enough for it"
            )


def refuse_populations(models: Sequence[Model]) -> None:
    """Refuse models that count people of a population, whose table would have to lie beside the rows."""
    for model in models:
        if model.people is not None:
            raise ParameterError(
                f"{model.name} counts a population on one machine; leave --engine spark out, or give --sampling"
            )


def without_rows(algorithm: Anonymizer) -> PartitionAnonymizer:
    """Return an algorithm that Spark can work for; refuse what needs the rows themselves, one after the other."""
    if algorithm.private:
        raise ParameterError(f"{algorithm.algorithm} draws its noise on one machine; leave --engine spark out")
    if not isinstance(algorithm, PartitionAnonymizer) or not (
        algorithm.reads_counts or isinstance(algorithm, Microaggregator)
    ):
        raise ParameterError(
            f"{algorithm.algorithm} needs every row on one machine; on Spark use an algorithm that reads counts, "
            "for example mondrian, or microaggregation, for example mdav+"
        )
    if isinstance(algorithm, Mondrian) and algorithm.relaxed:
        raise ParameterError("relaxed Mondrian parts equal rows, which Spark counts as one; use strict Mondrian")
    if algorithm.keep_order:
        raise ParameterError("rows on Spark have no order to keep; leave keep_order out")
    return algorithm


def _release_on_driver(
    rows: DataFrame,
    columns: Sequence[str],
    algorithm: PartitionAnonymizer,
    schema: Schema,
    models: Sequence[Model],
    counted: CountedRows,
) -> SparkRelease:
    """Return the release of rows whose distinct quasi-identifiers are here, counted."""
    with no_row_numbers():
        problem = Problem.of(counted.table(columns), schema, list(models), counted.weights)
    found = algorithm.settle(problem, algorithm.partition(problem))
    problem = found.problem
    quasi = list(problem.schema.names(Role.QUASI))
    labels = ReleasedLabels.of(found.coarse, found.partition.count)
    entries = problem.table.frame.select(quasi).with_columns(pl.Series(CLASS, labels.number[found.row_class])).unique()
    names = released_names(problem.schema, found.coarse)
    lost = average_lost(certainty_lost(problem, found.row_class, found.partition.count), problem.weights)
    steward = {**found.partition.steward, "distinct_rows": counted.weights.size, "certainty_lost": lost}
    card = card_on_spark(algorithm.card(found, names, seeded=False))
    return SparkRelease(
        recode_rows(rows, entries, labels, found), card, steward, [rows] if ROWS in rows.columns else []
    )
