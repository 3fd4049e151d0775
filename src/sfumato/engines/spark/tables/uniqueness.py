"""Columns on a cluster whose values single people out: the measure of the single machine, counted by Spark.

A sketch of distinct values (HyperLogLog, Flajolet et al. 2007) tells which columns repeat; only the others are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from sfumato.engines.spark.expressions import is_missing
from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import collect_frame
from sfumato.release import Card
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.separation import FEW, OFTEN_ALONE, Distinctness
from sfumato.table import Table
from sfumato.tabular.card import repeated_warning
from sfumato.tabular.uniqueness import RELEASED, refuse_unique, unique_warning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HEAD = 10_000  # cells that tell a type and a rule to propose
ERROR, SLACK = 0.03, 0.8  # how far a sketch errs, and how far a column may lie below the limit by it
VALUE, OWNERS, OWNER = "__sfumato_value", "__sfumato_owners", "__sfumato_owner"


def warn_or_refuse_unique(rows: DataFrame, settled: Schema) -> list[str]:
    """Return what the card says first of columns that single people out; refuse those that nobody accepted."""
    released = [entry for entry in settled.columns.values() if entry.role in RELEASED]
    suspects = _mostly_distinct(rows, released, settled.person)
    measured = {entry.name: _measure(rows, entry, settled.person) for entry in suspects}
    found = {name: one for name, one in measured.items() if one.nearly_unique}
    heads = {name: collect_frame(rows.select(quote_name(name)).limit(HEAD)) for name in found}
    known = {name: Schema({name: settled.columns[name]}).settled(Table(head)) for name, head in heads.items()}
    typed = Schema({name: schema.columns[name] for name, schema in known.items()})
    refuse_unique(found, typed)
    return [unique_warning(typed.columns[name], one, heads[name][name]) for name, one in found.items()]


def with_warnings(card: Card, before: Sequence[str], after: Sequence[str] = ()) -> Card:
    """Return the card with these warnings before its own, and those after them."""
    return msgspec.structs.replace(card, warnings=[*before, *card.warnings, *after])


def warn_repeated(rows: DataFrame, settled: Schema) -> list[str]:
    """Return what the card says where all identifiers repeat and no column names persons, as one machine does.

    An identifier whose sketch lies far below the number of rows repeats; the others are counted.
    """
    from pyspark.sql import functions

    names = [name for name in settled.names(Role.IDENTIFIER) if name in rows.columns]
    if settled.person is not None or not names:
        return []
    sketches = [functions.approx_count_distinct(quote_name(name), ERROR) for name in names]
    found = rows.agg(functions.count(functions.lit(1)), *sketches).first() or [0] * (1 + len(names))
    total, *guessed = (int(number) for number in found)
    doubtful = [name for name, number in zip(names, guessed, strict=True) if number >= SLACK * total]
    differs = any(rows.select(quote_name(name)).distinct().count() >= total for name in doubtful)
    return [] if differs else [repeated_warning(names)]


def _mostly_distinct(rows: DataFrame, attributes: Sequence[Attribute], person: str | None) -> list[Attribute]:
    """Return the columns with so many values that enough of them may occur once; with persons, any with a few."""
    from pyspark.sql import functions

    if not attributes:
        return []
    wanted = []
    for one in attributes:
        there = functions.when(~is_missing(one), functions.col(quote_name(one.name)))
        wanted += [functions.count(there), functions.approx_count_distinct(there, ERROR)]
    found = [int(number) for number in rows.agg(*wanted).first() or ()]
    least = [FEW if person else max(FEW, cells) for cells in found[::2]]
    enough = [SLACK * OFTEN_ALONE * number for number in least]
    return [one for one, many, some in zip(attributes, found[1::2], enough, strict=True) if many >= some]


def _measure(rows: DataFrame, attribute: Attribute, person: str | None) -> Distinctness:
    """Return how far a column tells rows apart, or persons."""
    from pyspark.sql import functions

    present = rows.filter(~is_missing(attribute))
    cell = functions.col(quote_name(attribute.name)).cast("string").alias(VALUE)
    if person is None:
        owners = present.select(cell).groupBy(VALUE).agg(functions.count(functions.lit(1)).alias(OWNERS))
        alone = functions.sum((functions.col(OWNERS) == 1).cast("bigint"))
        found = owners.agg(functions.sum(OWNERS), functions.count(functions.lit(1)), alone).first() or (0, 0, 0)
        cells, distinct, single = (int(number or 0) for number in found)
        return Distinctness(cells, distinct, cells, single)
    pairs = present.select(cell, functions.col(quote_name(person)).alias(OWNER)).distinct()
    each = functions.count(functions.lit(1))
    by_value = pairs.groupBy(VALUE).agg(each.alias(OWNERS), functions.first(OWNER).alias(OWNER))
    lonely = functions.when(functions.col(OWNERS) == 1, functions.col(OWNER))
    totals = by_value.agg(functions.sum(OWNERS), each, functions.count_distinct(lonely)).first() or (0, 0, 0)
    cells, distinct, single = (int(number or 0) for number in totals)
    units = pairs.agg(functions.count_distinct(functions.col(OWNER))).first() or (0,)
    return Distinctness(cells, distinct, int(units[0] or 0), single, "persons")
