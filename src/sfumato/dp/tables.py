"""Several private tables under one ledger and one person: what is declared of each, and one look at a question's.

A person is all rows of that person in all tables, so that what questions about any of them reveal adds up in one ledger
(McSherry 2009, "Privacy integrated queries", section 3, on sequential composition).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.dp.dataset import (
    TABLE_FACTS,
    LedgerRows,
    declared_cells,
    declared_rows,
    facts_by_table,
    laid_out,
    noted_reading,
    seconds_of_a_count,
    whereabouts,
    without_files,
)
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.questions.grids import attribute_of
from sfumato.dp.questions.joining import PrivateTables
from sfumato.dp.questions.request import EngineRows, QueryableRows
from sfumato.dp.rows import table_name
from sfumato.dp.rows.together import Together
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import ProtectPersons, Unit
from sfumato.schema import Reading, Schema
from sfumato.table import ParseReport

MOST_TABLES = 20
OLD = frozenset(TABLE_FACTS) - {"schema"}  # what a new version of a table replaces


@dataclass(frozen=True)
class DeclaredTable:
    """One table as the curator declares it: read once in full, its cells counted."""

    name: str
    data: Any = field(repr=False)
    schema: Schema
    rows: QueryableRows = field(repr=False)
    cells: ParseReport | None = field(repr=False)

    @classmethod
    def of(cls, name: str, data: Any, schema: Schema, failed: float | None = None) -> DeclaredTable:
        """Return the table, or refuse what cannot be read as declared."""
        rows = declared_rows(data, schema)
        cells = declared_cells(data, rows, schema if failed is None else replace(schema, failed=failed))
        return cls(name, data, schema, rows, cells)

    @property
    def given(self) -> Any:
        """The rows themselves, where a ledger cannot find them again."""
        placed = whereabouts(self.data)
        return None if placed["data"] and "engine" not in placed else self.data

    @property
    def facts(self) -> dict[str, Any]:
        """What a ledger notes of the table."""
        found = {"fingerprint": self.rows.fingerprint(), **noted_reading(self.rows)}
        return {**whereabouts(self.data), "schema": self.schema.to_toml(), **found}


def declare_tables(data: Any, schema: Any, unit: Unit) -> list[DeclaredTable]:
    """Return the tables of a new ledger: one, or several by their names, which then share the person's column.

    >>> import polars as pl
    >>> from sfumato.promise.unit import ProtectRows
    >>> frames = {name: pl.DataFrame({"age": [31]}) for name in ("a", "b")}
    >>> declare_tables(frames, {name: Schema.from_roles(quasi=["age"]) for name in frames}, ProtectRows())
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the budget protects rows and has 2 tables; several tables share a budget by the \
persons in them (--protect person:ID:ROWS:GROUPS), or each gets a budget of its own
    """
    several = data if isinstance(data, Mapping) else {table_name(data): data}
    schemas = schema if isinstance(schema, Mapping) else dict.fromkeys(several, schema)
    _refuse_names(several, schemas)
    kept = {name: without_files(schemas[name]) for name in several}
    _refuse_units(kept, unit)
    tables = [DeclaredTable.of(name, one, kept[name]) for name, one in several.items()]
    _refuse_equal(tables)
    return tables


def _refuse_names(data: Mapping[str, Any], schemas: Mapping[str, Any]) -> None:
    if not 1 <= len(data) <= MOST_TABLES:
        raise InputError(f"the ledger is given {len(data)} tables; give 1 to {MOST_TABLES}")
    if len({name.casefold() for name in data}) < len(data):
        raise InputError(f"two tables have one name ({', '.join(data)}); name them apart, as in NAME=FILE")
    for name in data:
        if not name or name not in schemas:
            raise InputError(f"the table '{name}' has no schema; give one schema for each table, in the same order")
        if len(data) > 1 and isinstance(data[name], EngineRows):
            raise InputError(
                f"the table '{name}' is held by the engine {data[name].engine}, which keeps one table under a ledger; "
                "give files, dataframes or tables of PostgreSQL"
            )


def _refuse_units(schemas: Mapping[str, Schema], unit: Unit) -> None:
    if not isinstance(unit, ProtectPersons):
        if len(schemas) > 1:
            raise ParameterError(
                f"the budget protects rows and has {len(schemas)} tables; several tables share a budget by the persons "
                "in them (--protect person:ID:ROWS:GROUPS), or each gets a budget of its own"
            )
        return
    kinds = {}
    for name, schema in schemas.items():
        kind = attribute_of(schema, unit.person).kind
        kinds[name] = kind if kind is not None and kind.numeric else None
    if len(set(kinds.values())) > 1:
        found = ", ".join(f"{kind or 'category'} in '{name}'" for name, kind in kinds.items())
        raise InputError(f"the person's column '{unit.person}' has several types: {found}; declare it alike")


def _refuse_equal(tables: Sequence[DeclaredTable]) -> None:
    seen: dict[str, str] = {}
    for table in tables if len(tables) > 1 else ():
        other = seen.setdefault(table.rows.fingerprint(), table.name)
        if other != table.name:
            raise InputError(f"the tables '{other}' and '{table.name}' have the same rows; give each once")


def rows_joined(rows: Mapping[str, int] | None, tables: Sequence[DeclaredTable]) -> dict[str, dict[str, int]]:
    """Return what a ledger notes of how many rows of a person each table gives to a join.

    >>> rows_joined(None, [])
    {}
    """
    for name, most in (rows or {}).items():
        if name not in {table.name for table in tables} or len(tables) == 1:
            raise ParameterError(f"rows are bounded in '{name}', which is no table of several; name a table")
        if isinstance(most, bool) or most < 1:
            raise ParameterError(f"at most {most!r} rows of a person in '{name}'; give a whole number of at least 1")
    return {"rows": dict(rows)} if rows else {}


def facts_of_tables(tables: Sequence[DeclaredTable]) -> dict[str, Any]:
    """Return what a ledger notes of its tables: the first as ledgers of one table always did, others beside it."""
    first, *others = tables
    beside = {"beside": {table.name: table.facts for table in others}} if others else {}
    return {"table": first.name, **first.facts, **beside}


def private_tables(facts: Mapping[str, Any]) -> PrivateTables:
    """Return the schemas of a ledger's tables where it has several; of one table no question needs the name.

    >>> private_tables({"table": "rides"}).first is None
    True
    """
    if "beside" not in facts:
        return PrivateTables()
    schemas = {name: Schema.from_text(table["schema"]) for name, table in facts_by_table(facts).items()}
    return PrivateTables(schemas, facts.get("rows", {}))


@dataclass(eq=False)
class LedgerTables:
    """The rows of all tables that a ledger speaks of.

    >>> LedgerTables({}).guesses
    ()
    """

    tables: dict[str, LedgerRows]
    together: Together = field(default_factory=Together)

    @classmethod
    def of(cls, ledger: Ledger, data: Any) -> LedgerTables:
        """Return the tables of a ledger; `data` gives the rows that it cannot find by itself, by names if several."""
        facts = facts_by_table(ledger.facts)
        if data is None or isinstance(data, Mapping):
            given = dict(data or {})
        else:
            given = {next(iter(facts)) if len(facts) == 1 else table_name(data): data}
        for name in given:
            if name not in facts:
                raise InputError(f"the ledger has no table '{name}'; its tables are {', '.join(facts)}")
        tables = {}
        for name, table in facts.items():
            if given.get(name) is None and table["data"] is None and "engine" not in table:
                which = f" ({name})" if len(facts) > 1 else ""
                raise InputError(f"the ledger was made for a dataframe{which}; give it again with data=…")
            tables[name] = LedgerRows(ledger, Schema.from_text(table["schema"]), given.get(name), table=name)
        return cls(tables)

    @classmethod
    def declared(cls, ledger: Ledger, tables: Sequence[DeclaredTable], version: int) -> LedgerTables:
        """Return tables that were just declared."""
        return cls(
            {one.name: LedgerRows(ledger, one.schema, one.given, (version, one.rows), one.name) for one in tables}
        )

    @property
    def given(self) -> Any:
        """The first table's dataframe, if it was given as one."""
        return next((rows.given for rows in self.tables.values()), None)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed about files that were just declared; for the curator, who sees the rows."""
        return tuple(guess for rows in self.tables.values() for guess in rows.guesses)

    @contextmanager
    def look(self, version: int, names: Sequence[str | None] = (None,)) -> Iterator[QueryableRows]:
        """Give some tables as they are at one moment, the first of them as the rows; refuse others than were declared.

        None is the ledger's first table.
        """
        first = next(iter(self.tables))
        chosen = {name or first: self.tables[name or first] for name in names}
        with self.together.look({name: rows.open(version) for name, rows in chosen.items()}) as found:
            for name, fingerprint in found.fingerprints.items():
                chosen[name].refuse_others(version, fingerprint)
            yield found.rows


def renew(ledger: Ledger, tables: LedgerTables, data: Any, reading: Reading, failed: float | None) -> Renewed:
    """Declare a new version: other rows of one table, or of those that `data` names; the rest stays as it is."""
    facts = ledger.facts
    known = facts_by_table(facts)
    if isinstance(data, Mapping):
        several = dict(data)
    else:
        several = {table_name(data) if len(known) > 1 else next(iter(known)): data}
    for name in several:
        if name not in known:
            raise InputError(f"the ledger has no table '{name}'; its tables are {', '.join(known)} (NAME=FILE)")
    made = [
        DeclaredTable.of(name, one, laid_out(tables.tables[name].schema, reading), failed)
        for name, one in several.items()
    ]
    first, renewed = next(iter(known)), {}
    for one in made:
        kept = {name: fact for name, fact in known[one.name].items() if name not in OLD}
        renewed[one.name] = {**one.facts, **kept}
    top = {name: fact for name, fact in facts.items() if name not in OLD or first not in renewed}
    beside = {name: renewed.get(name, table) for name, table in facts.get("beside", {}).items()}
    number = ledger.declare_version({**top, **renewed.get(first, {}), **({"beside": beside} if beside else {})})
    fresh = LedgerTables.declared(ledger, made, number).tables
    for name, rows in fresh.items():
        rows.schema = tables.tables[name].schema
    return Renewed(number, LedgerTables({**tables.tables, **fresh}), {one.name: one.cells for one in made})


@dataclass(frozen=True)
class Renewed:
    """A new version: its number, its tables, and what became of the cells of those that changed."""

    version: int
    tables: LedgerTables
    cells: Mapping[str, ParseReport | None]


def seconds_of_counts(tables: Sequence[DeclaredTable]) -> float:
    """Return how long one look at every table and a plain count of its rows take.

    >>> seconds_of_counts([])
    0
    """
    return sum(seconds_of_a_count(table.rows) for table in tables)
