"""What a part of a table must know of the whole: types, sensitive values and their shares, and each column's scale.

A class in one part is compared with the whole table (Li, Li & Venkatasubramanian 2007), never with its part alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.engines.spark.expressions import number_of
from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import ROWS, collect_frame, no_row_numbers
from sfumato.errors import InputError
from sfumato.models.base import Model
from sfumato.models.groups import Groups, Histograms
from sfumato.schema import Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column, code, code_sensitive, only_observed
from sfumato.table.distinct import tally
from sfumato.tabular.persons import number_persons
from sfumato.tabular.problem import Problem, refuse_impossible

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

SAMPLE = 100_000  # distinct rows that tell where to cut and what text columns hold
UNITS = "__sfumato_units"
WRITTEN, ALIKE = "__sfumato_written", "__sfumato_alike"
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """A sensitive column of the whole table: its distinct values, coded, and the units that have each code.

    `every` are the units of the table, and `holders` those of them who have a value.
    """

    values: pl.Series
    column: Column
    units: Counts
    every: int
    holders: int

    @property
    def reference(self) -> npt.NDArray[np.float64]:
        """The share of all units that have each code."""
        return np.asarray(self.units / self.every)

    @property
    def histograms(self) -> Histograms:
        """The counts of the whole table as one class."""
        codes = np.arange(self.column.size)
        units, holders = np.array([self.every]), np.array([self.holders])
        return Histograms(self.column, np.zeros_like(codes), codes, self.units, self.reference, units, holders)

    def code_series(self, series: pl.Series) -> Column:
        """The column of some rows, with the codes of the whole."""
        known = pl.DataFrame({"value": self.values, "code": self.column.codes})
        found = pl.DataFrame({"value": series}).join(
            known, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        return replace(self.column, codes=found["code"].to_numpy())

    def one_spelling(self, rows: DataFrame, name: str) -> DataFrame:
        """Rows in which texts that are compared as one value are written alike."""
        return _one_spelling(rows, name, self.values, self.column)


@dataclass(frozen=True, eq=False)
class WholeTable:
    """A table on the cluster as its parts must know it."""

    schema: Schema
    models: Sequence[Model]
    rows: int
    points: int
    sensitive: Mapping[str, SensitiveValues]
    sample: pl.DataFrame
    weights: Counts
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, counts: DataFrame, names: Sequence[str], schema: Schema, models: Sequence[Model], points: int
    ) -> WholeTable:
        """Return what is known of counted rows: `names` are all columns of the table, `points` its distinct rows."""
        if points == 0:
            raise InputError("the table has no rows; there is nothing to release")
        rows, units = _totals(counts, schema)
        share = min(1.0, SAMPLE / max(1, points))
        drawn = collect_frame(counts.sample(fraction=share, seed=0) if share < 1 else counts)
        weights = drawn[ROWS].to_numpy().astype(np.int64)
        wanted = sorted({model.sensitive for model in models if model.sensitive is not None})
        with no_row_numbers():
            known = {name: _sensitive_values(counts, name, schema, rows, units) for name in wanted}
            every = Groups(np.array([rows]), np.array([units]), {name: one.histograms for name, one in known.items()})
            refuse_impossible(models, every, "rows" if schema.person is None else "persons")
            told = {name: entry.column.attribute for name, entry in known.items()}
            empty = [pl.lit(None).alias(name) for name in names if name not in drawn.columns]
            table = Table(drawn.with_columns(empty).select(names))
            settled = replace(schema, columns={**schema.columns, **told}).settled(table, weights)
        return cls(settled, models, rows, points, known, drawn.drop(ROWS), weights, _scales(counts, settled))

    def problem(self, frame: pl.DataFrame, weights: Counts | None = None) -> Problem:
        """The problem of some rows of the table, their models compared with the whole."""
        return replace(self.released_problem(frame, weights), quasi=self.quasi(frame))

    def quasi(self, frame: pl.DataFrame) -> list[Column]:
        """The quasi-identifiers of some rows, coded, on the scales of the whole."""
        return [
            replace(code(frame[name], self.schema.columns[name], self.rows), scale=self.scales.get(name))
            for name in self.schema.names(Role.QUASI)
        ]

    def released_problem(self, frame: pl.DataFrame, weights: Counts | None = None) -> Problem:
        """The problem of some rows whose quasi-identifiers are no longer there."""
        columns = self.schema.columns
        sensitive = {name: known.code_series(frame[name]) for name, known in self.sensitive.items()}
        person = None
        if self.schema.person is not None:
            person = number_persons(frame[self.schema.person], columns[self.schema.person].missing)
        references = {name: known.reference for name, known in self.sensitive.items()}
        return Problem(Table(frame), self.schema, self.models, [], sensitive, person, weights, references)

    def units_by(self, counts: DataFrame, part: str, name: str | None) -> pl.DataFrame:
        """The rows, or the persons, of each part, by one sensitive column's values if named."""
        from pyspark.sql import functions

        person = self.schema.person
        units = functions.sum(ROWS) if person is None else functions.count_distinct(functions.col(quote_name(person)))
        by = [part] if name is None else [part, quote_name(name)]
        rows = counts if name is None else self.sensitive[name].one_spelling(counts, name)
        return collect_frame(rows.groupBy(*by).agg(units.alias(UNITS)))


def _totals(counts: DataFrame, schema: Schema) -> tuple[int, int]:
    """Return the rows of a table and its protected units."""
    from pyspark.sql import functions

    rows = functions.sum(ROWS)
    units = rows if schema.person is None else functions.count_distinct(functions.col(quote_name(schema.person)))
    found = collect_frame(counts.agg(rows.alias(ROWS), units.alias(UNITS)))
    return int(found[ROWS][0]), int(found[UNITS][0])


def _sensitive_values(counts: DataFrame, name: str, schema: Schema, rows: int, every: int) -> SensitiveValues:
    """Return a sensitive column of the whole table; a person counts once for each value, as everywhere."""
    from pyspark.sql import functions

    person = schema.person
    units = functions.sum(ROWS) if person is None else functions.count_distinct(functions.col(quote_name(person)))
    found = collect_frame(counts.groupBy(quote_name(name)).agg(units.alias(UNITS), functions.sum(ROWS).alias(ROWS)))
    weights = found[ROWS].to_numpy().astype(np.int64)
    alone = Schema({name: schema.columns[name]}).settled(Table(found.select(name)), weights)
    column = only_observed(code_sensitive(found[name], alone.columns[name], rows))
    held = np.minimum(_units_of_codes(counts, found, name, column, units), every)  # null beside a missing mark
    holders = every - int(held[0]) if column.unknown else every
    if column.unknown and person is not None:
        known = found[name].filter(column.codes > 0).to_list()
        has_value = counts.filter(functions.col(quote_name(name)).isin(known))
        holders = has_value.select(quote_name(person)).distinct().count()
    return SensitiveValues(found[name], column, held, every, holders)


def _units_of_codes(counts: DataFrame, found: pl.DataFrame, name: str, column: Column, units: SparkColumn) -> Counts:
    """Return the units of each code; whoever wrote one value in two ways counts once."""
    alike = _one_spelling(counts, name, found[name], column)
    if alike is counts:
        return tally(column.codes, found[UNITS].to_numpy(), column.size)
    again = collect_frame(alike.groupBy(quote_name(name)).agg(units.alias(UNITS)))
    code_of = dict(zip(found[name].to_list(), column.codes.tolist(), strict=True))
    codes = np.array([code_of[value] for value in again[name].to_list()], dtype=np.int32)
    return tally(codes, again[UNITS].to_numpy(), column.size)


def _one_spelling(rows: DataFrame, name: str, values: pl.Series, column: Column) -> DataFrame:
    """Return the rows with one spelling for each code, or the rows themselves where no value has two."""
    from pyspark.sql import functions

    first = pl.DataFrame({"value": values, "code": column.codes}).with_columns(
        first=pl.col("value").drop_nulls().first().over("code")
    )
    others = first.filter(pl.col("value").ne_missing(pl.col("first")) & pl.col("value").is_not_null())
    if others.is_empty():
        return rows
    pairs = others.select(pl.col("value").alias(WRITTEN), pl.col("first").alias(ALIKE)).to_arrow()
    here, known = functions.col(quote_name(name)), functions.broadcast(rows.sparkSession.createDataFrame(pairs))
    joined = rows.join(known, here == functions.col(WRITTEN), "left")
    return joined.withColumn(name, functions.coalesce(functions.col(ALIKE), here)).drop(WRITTEN, ALIKE)


def _scales(counts: DataFrame, schema: Schema) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest number of every column that has any."""
    from pyspark.sql import functions

    names = [name for name in schema.names(Role.QUASI) if number_of(counts, schema.columns[name]) is not None]
    if not names:
        return {}
    wanted = []
    for name in names:
        number = number_of(counts, schema.columns[name])
        wanted += [functions.min(number), functions.max(number)]  # type: ignore[arg-type]  # the others are left out
    found = counts.agg(*wanted).first() or ()
    pairs = zip(names, found[::2], found[1::2], strict=True)
    return {name: (float(low), float(high)) for name, low, high in pairs if low is not None}
