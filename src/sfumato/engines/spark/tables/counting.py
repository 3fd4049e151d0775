"""Distinct rows and how often each occurs: all that the searches for classes need of a table, counted by Spark.

The counts are the frequency set of LeFevre, DeWitt & Ramakrishnan 2005; everything coarser rolls up from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.session import spark_sentences
from sfumato.errors import InputError, ParameterError, SchemaError, SfumatoError
from sfumato.models.base import Model
from sfumato.schema import Role, Schema
from sfumato.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

ROWS = "__sfumato_rows"  # how often a distinct row occurs; no column of a table is called so
HEAD = 10_000  # rows that tell the type of a text column which no model speaks of


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows on the driver: their values, and how often each occurs."""

    frame: pl.DataFrame
    weights: npt.NDArray[np.int64]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> CountedRows:
        """Return rows that carry their count in a column."""
        return cls(frame.drop(ROWS), frame[ROWS].to_numpy().astype(np.int64))

    def merge_equal(self) -> CountedRows:
        """The same with rows that are equal here made one: they differed in columns that stayed on the cluster."""
        counts = (
            self.frame.with_columns(pl.Series(ROWS, self.weights)).group_by(self.frame.columns).agg(pl.col(ROWS).sum())
        )
        return CountedRows.of(counts)

    def table(self, names: Sequence[str]) -> Table:
        """The rows as a table with all columns of the original; those that were not counted are empty."""
        columns = [self.frame[name] if name in self.frame.columns else pl.lit(None).alias(name) for name in names]
        return Table(self.frame.select(columns))


def keys_of(schema: Schema, models: Sequence[Model]) -> list[str]:
    """Return the columns that decide classes: quasi-identifiers, sensitive columns with a model, and the person.

    >>> from sfumato import KAnonymity
    >>> keys_of(Schema.from_roles(quasi=["age"], sensitive=["disease"], person="id"), [KAnonymity(2)])
    ['age', 'id']
    """
    modelled = sorted({model.sensitive for model in models if model.sensitive is not None})
    person = [] if schema.person is None else [schema.person]
    return list(dict.fromkeys([*schema.names(Role.QUASI), *modelled, *person]))


def settled_schema(rows: DataFrame, schema: Schema, models: Sequence[Model]) -> Schema:
    """Return the schema of the columns of `rows`, refused where it contradicts them, before any row is counted.

    Quasi-identifiers and sensitive columns with a model keep an open type, since the counts will tell it. A text column
    that no model speaks of is typed by its first rows: its type stands on the card and decides nothing. So is one that
    will be made coarser: a cell that does not fit is refused then.
    """
    empty = Table(pl.DataFrame({name: pl.Series(name, [], dtype=pl.String) for name in rows.columns}))
    unruled = {name: replace(entry, coarsen=None) for name, entry in schema.columns.items()}  # no rule fits no rows
    declared = replace(schema, columns=unruled).settled(empty)
    if not declared.names(Role.QUASI):
        raise SchemaError("no column has the role quasi; name the columns an attacker may know")
    counted = keys_of(declared, models)
    columns = {name: schema.columns.get(name, entry) for name, entry in declared.columns.items()}
    silent = {
        name: entry
        for name, entry in columns.items()
        if entry.coarsen is not None or (entry.role is Role.SENSITIVE and name not in counted)
    }
    if any(attribute.kind is None for attribute in silent.values()):
        texts = any(rows.schema[name].dataType.typeName() == "string" for name in silent)  # others say it themselves
        head = collect_frame(rows.select(*map(quote_name, silent)).limit(HEAD if texts else 0))
        columns |= Schema(silent).settled(Table(head)).columns
    return replace(declared, columns=columns, other="drop")


def count_rows(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the distinct rows over some columns, each with how often it occurs, still on the cluster.

    Rows that were counted over more columns are counted on.
    """
    from pyspark.sql import functions

    count = functions.sum(ROWS) if ROWS in rows.columns else functions.count(functions.lit(1))
    return rows.groupBy(*map(quote_name, keys)).agg(count.alias(ROWS))


def refuse_many(points: int, most_points: int) -> None:
    """Refuse more distinct rows than the driver takes.

    >>> refuse_many(9, most_points=5)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: 9 distinct rows are more than the 5 that the driver takes; raise most_points, or \
name fewer or coarser columns
    """
    if points > most_points:
        raise ParameterError(
            f"{points:,} distinct rows are more than the {most_points:,} that the driver takes; raise most_points, or "
            "name fewer or coarser columns"
        )


def collect_counts(counts: DataFrame) -> CountedRows:
    """Return counted rows on the driver."""
    return CountedRows.of(collect_frame(counts))


def collect_frame(frame: DataFrame) -> pl.DataFrame:
    """Return the rows of a Spark frame on the driver, by way of Arrow."""
    with spark_sentences("the rows cannot be counted"):
        local = pl.from_arrow(frame.toArrow())
    return local if isinstance(local, pl.DataFrame) else local.to_frame()


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """Return rows as Arrow in the types that Spark expects, which knows one length of text only.

    >>> str(to_arrow(pl.DataFrame({"sex": ["F"]})).schema.field("sex").type)
    'string'
    """
    import pyarrow as pa

    table = frame.to_arrow()
    long = pa.types.is_large_string
    fields = [field.with_type(pa.string()) if long(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


@contextmanager
def no_row_numbers() -> Iterator[None]:
    """Leave the row's number out of a refusal: distinct rows have none that a person could look up.

    >>> with no_row_numbers():
    ...     raise InputError("column 'age' row 2: 'x' is not an integer")
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'age': 'x' is not an integer
    """
    try:
        yield
    except (InputError, SchemaError) as error:
        said = re.sub(r"^(column '.*?') row \d+:", r"\1:", str(error))
        raise _same_kind(error, said) from error


def _same_kind(error: SfumatoError, said: str) -> SfumatoError:
    return type(error)(said)
