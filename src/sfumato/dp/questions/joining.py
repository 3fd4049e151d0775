"""Joins of a question checked: tables that are known, keys of one type, matches that do not exceed what was declared.

Everything here is decided by schemas and public tables; no row is looked at (Hay, Gaboardi & Vadhan 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from sfumato.dp.questions.grids import attribute_of
from sfumato.dp.questions.join import Join
from sfumato.dp.questions.lookup import Attach, Lookup
from sfumato.dp.questions.public import PublicTable
from sfumato.dp.questions.stages import Stage, with_made
from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.promise.unit import ProtectPersons, ProtectRows, Unit
from sfumato.schema import Attribute, Kind, Schema

MOST_JOINS = 10
MOST_MATCHES = 1000  # a row of one table may become so many


@dataclass(frozen=True)
class PrivateTables:
    """The schemas of a ledger's tables by name, and how many rows of a person are joined from those that say so.

    >>> PrivateTables({"rides": Schema()}).first
    'rides'
    """

    schemas: Mapping[str, Schema] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def first(self) -> str | None:
        """The table that a question is about if it names none."""
        return next(iter(self.schemas), None)

    def named(self, table: str | None) -> str | None:
        """Return the table's name as it is declared, or say which there are."""
        if table is None:
            return self.first
        if not self.schemas:
            raise InputError(f"the ledger has one table, and '{table}' is another; make a ledger with both, or drop it")
        same = [name for name in self.schemas if name == table] or [
            name for name in self.schemas if name.casefold() == table.casefold()
        ]
        if len(same) != 1:
            there = ", ".join(self.schemas)
            raise InputError(f"there is no table '{table}'{suggestion(table, self.schemas)}; the ledger has {there}")
        return same[0]


def join_stages(
    joins: Sequence[Join], table: str | None, schema: Schema, unit: Unit, tables: PrivateTables
) -> list[Stage]:
    """Return a stage for each join; refuse what would not keep one unit's rows apart from all others.

    >>> import polars as pl
    >>> from sfumato.schema import Role
    >>> stations = PublicTable.of(pl.DataFrame({"station": [1, 1], "city": ["Bern", "Basel"]}), "stations")
    >>> rides = Schema({"station": Attribute("station", Role.OTHER, Kind.INTEGER, bounds=(1, 9))})
    >>> join_stages([Join(stations, (("station", "station"),))], None, rides, ProtectRows(), PrivateTables())
    Traceback (most recent call last):
    sfumato.errors.InputError: public table 'stations' has up to 2 rows for one value of station, and the join \
declares at most 1; declare at_most=2, or join by more columns
    """
    if len(joins) > MOST_JOINS:
        raise InputError(f"the question has {len(joins)} joins; at most {MOST_JOINS} are covered")
    stages: list[Stage] = []
    seen = [table]
    for join in joins:
        now = with_made(schema, stages)
        if not join.on:
            raise ParameterError("the join names no column; give those that must be equal, as on='station'")
        if isinstance(join.table, PublicTable):
            name: str | None = join.table.name
            stage: Stage = _lookup(join, join.table, now)
        else:
            name = tables.named(join.table)
            before = None if any(isinstance(one, Attach) for one in stages) else tables.rows.get(table or "")
            stage = _attach(join, now, unit, tables, before)
        _refuse_again(stage, str(name), seen, now)
        seen.append(name)
        stages.append(stage)
    return stages


def _refuse_again(stage: Stage, name: str, seen: Sequence[str | None], schema: Schema) -> None:
    """Refuse a table that stands twice, and columns that two tables have."""
    if name in seen:
        raise InputError(f"the table '{name}' stands twice in the question; join each table once")
    for made in stage.makes:
        if made.name in schema.columns:
            raise InputError(
                f"column '{made.name}' is in '{name}' and in the rows before it; rename it in one, or join by it"
            )


def _lookup(join: Join, table: PublicTable, schema: Schema) -> Lookup:
    at_most = table.at_most if join.at_most is None else join.at_most
    if isinstance(at_most, bool) or not 1 <= at_most <= MOST_MATCHES:
        raise ParameterError(f"at_most is {at_most!r}; give a whole number from 1 to {MOST_MATCHES}")
    ours = [attribute_of(schema, name) for name, _ in join.on]
    keys = [table.cells(theirs, mine.kind) for mine, (_, theirs) in zip(ours, join.on, strict=True)]
    places = [place for place, key in enumerate(zip(*keys, strict=True)) if None not in key]
    counts = Counter(tuple(column[place] for column in keys) for place in places)
    most = max(counts.values(), default=0)
    if most > at_most:
        names = ", ".join(theirs for _, theirs in join.on)
        raise InputError(
            f"public table '{table.name}' has up to {most} rows for one value of {names}, and the join declares at "
            f"most {at_most}; declare at_most={most}, or join by more columns"
        )
    theirs = [name for _, name in join.on]
    added = tuple(table.attribute(name) for name in table.names if name not in theirs)
    columns = {**dict(zip(theirs, keys, strict=True)), **{one.name: table.cells(one.name, one.kind) for one in added}}
    cells = {name: [column[place] for place in places] for name, column in columns.items()}
    read = tuple(replace(mine, name=name) for mine, name in zip(ours, theirs, strict=True))
    return Lookup(table.identity, join.on, added, cells, read, join.left, at_most)


def _attach(join: Join, schema: Schema, unit: Unit, tables: PrivateTables, ours: int | None) -> Attach:
    name = str(tables.named(str(join.table)))
    if not isinstance(unit, ProtectPersons):
        raise ParameterError(
            f"the budget protects rows, and one row of '{name}' could be joined to any number of rows; private tables "
            "are joined under a budget that protects persons"
        )
    person, theirs = unit.person, tables.schemas[name]
    if (person, person) not in join.on:
        raise ParameterError(
            f"the join with '{name}' leaves out the person's column '{person}', so that one person's rows could change "
            f"those of others; join by {person}, and by more columns if you like"
        )
    for mine, other in join.on:
        _refuse_other_type(mine, attribute_of(schema, mine), other, attribute_of(theirs, other), name)
    rows = tables.rows.get(name, unit.rows)
    return Attach(name, person, join.on, tuple(theirs.columns.values()), rows, ours, join.left)


def _refuse_other_type(mine: str, one: Attribute, other: str, two: Attribute, table: str) -> None:
    if _held_as(one.kind) != _held_as(two.kind):
        _refuse_types(f"'{mine}' is {one.kind or 'category'} and '{other}' of '{table}' is {two.kind or 'category'}")


def _refuse_types(found: str) -> NoReturn:
    raise InputError(f"the join compares columns of two types: {found}; declare them alike")


def _held_as(kind: Kind | None) -> Kind | None:
    return kind if kind is not None and kind.numeric else None


def copies_of(stages: Sequence[Stage], unit: Unit) -> int:
    """Return how many rows one row becomes at most, where the unit is rows; persons are bounded after all stages.

    >>> copies_of([], ProtectRows())
    1
    """
    found = 1
    for stage in stages:
        if isinstance(stage, Lookup) and isinstance(unit, ProtectRows):
            found *= stage.copies
    if found > MOST_MATCHES:
        raise ParameterError(f"the joins make {found} rows of one; at most {MOST_MATCHES} are covered")
    return found
