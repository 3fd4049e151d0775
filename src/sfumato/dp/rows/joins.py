"""Joins as SQL: a public table travels as lists of cells, a private one is another table of the same engine.

A person's rows of the other table are bounded before they are joined, by a keyed hash, so that how many rows a join
makes is bounded by declared numbers (Wilson et al. 2020, section 3, on bounding by a person's own values).
"""

# ruff: noqa: S608  # names are our own or quoted, and texts are parameters

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from sfumato.dp.questions.lookup import Attach, Lookup
from sfumato.dp.rows.condition import Bindings
from sfumato.dp.rows.dialect import Dialect, StorageType, double, refuse_stored
from sfumato.errors import InputError
from sfumato.schema import Attribute, Kind

if TYPE_CHECKING:
    from sfumato.dp.rows.statement import SqlTable

WHOLE = {Kind.INTEGER, Kind.DATE}
REAL = {Kind.NUMBER, Kind.TIMESTAMP}
FINE, NEAR, FAR = 2.0**20, 8e9, 9e15  # parts of one by which doubles are told apart, and where not all are


class JoinBindings(Bindings, Protocol):
    """What a join needs of its statement: parameters, the engine's other tables, and which columns are used later."""

    source: SqlTable

    @property
    def used(self) -> Collection[str]: ...
    @property
    def present(self) -> Sequence[str]: ...
    def bind(self, value: object) -> str: ...
    def secret(self) -> str: ...
    def attribute(self, column: str) -> Attribute: ...
    def read_cell(self, x: str, stored: StorageType, attribute: Attribute) -> str: ...
    def prepare(self, select: Callable[[], str], more_than: int = 0, bounds: tuple[int, int] | None = None) -> str: ...


def select_lookup(stage: Lookup, inner: str, statement: JoinBindings) -> str:
    """Return the rows with their matches in a public table."""
    keys = [theirs for _, theirs in stage.keys]
    names = [*keys, *(made.name for made in stage.makes if made.name in statement.used and made.name not in keys)]
    made = [f"found.q{names.index(one.name)} AS {statement.cell(one.name)}" for one in stage.makes if one.name in names]
    held = statement.source.public
    table = held(stage, names) if held else public_rows(stage, names, statement)
    equal = [f"staged.{statement.cell(ours)} = found.q{place}" for place, (ours, _) in enumerate(stage.keys)]
    join = f"{'LEFT ' if stage.left else ''}JOIN {table} AS found ON {' AND '.join(equal)}"
    return f"SELECT {', '.join(['staged.*', *made])} FROM ({inner}) AS staged {join}{statement.dialect.fence}"


def public_rows(stage: Lookup, names: Sequence[str], statement: JoinBindings) -> str:
    """Return the columns q0, q1, … of a public table as SQL, from lists that are parameters."""
    dialect = statement.dialect
    kinds = [stage.kind_of(name) for name in names]
    types = ["BIGINT" if kind in WHOLE else dialect.double if kind in REAL else "TEXT" for kind in kinds]
    lists = [f"CAST({statement.bind(stage.cells[name])} AS {kind}[])" for name, kind in zip(names, types, strict=True)]
    if not dialect.lists:
        return f"(SELECT {', '.join(f'unnest({one}) AS q{place}' for place, one in enumerate(lists))})"
    raw = ", ".join(f"w{place}" for place in range(len(names)))
    cells = [
        f"{dialect.text.format(x=f'w{place}') if kind == 'TEXT' else f'w{place}'} AS q{place}"
        for place, kind in enumerate(types)
    ]
    return f"(SELECT {', '.join(cells)} FROM unnest({', '.join(lists)}) AS listed({raw}))"


def select_attach(stage: Attach, place: int, inner: str, statement: JoinBindings) -> str:
    """Return the rows joined with the same person's rows of another private table."""
    other = statement.source.beside.get(stage.table)
    if other is None:
        raise InputError(f"the table '{stage.table}' cannot be joined here; its rows are not in the same engine")
    ours = statement.cell(stage.person)
    if stage.ours is not None:
        kinds = {statement.cell(name): statement.attribute(name).kind for name in statement.present}
        inner = bounded(inner, ours, kinds, stage.ours, "", statement)
    joined, made = [theirs for _, theirs in stage.keys], {one.name for one in stage.makes} & set(statement.used)
    wanted = [one for one in stage.reads if one.name in joined or one.name in made]
    at = {one.name: f"d{place}x{number}" for number, one in enumerate(wanted)}
    kinds = {at[one.name]: one.kind for one in wanted}
    theirs = _their_rows(stage, lambda: _cells(wanted, other, place, statement), at[stage.person], kinds, statement)
    equal = [f"staged.{statement.cell(mine)} = other.{at[name]}" for mine, name in stage.keys]
    added = [f"other.{at[name]} AS {statement.cell(name)}" for name in at if name in made]
    join = f"{'LEFT ' if stage.left else ''}JOIN ({theirs}) AS other ON {' AND '.join(equal)}"
    return f"SELECT {', '.join(['staged.*', *added])} FROM ({inner}) AS staged {join}{statement.dialect.fence}"


def _their_rows(
    stage: Attach, select: Callable[[], str], person: str, kinds: Mapping[str, Kind | None], statement: JoinBindings
) -> str:
    """Return the rows of the other table that are left of each person.

    Where the engine has counted the persons, only the rows of those over the limit are hashed and ranked; the rows that
    are left are the same. One person's rows cost no more than if all were hashed.
    """
    if not (statement.source.sorts_persons and kinds[person] is Kind.INTEGER):
        return bounded(select(), person, kinds, stage.theirs, stage.table, statement)
    whose = f"SELECT CAST({person} AS BIGINT) AS person FROM ({{}}) AS own WHERE {person} IS NOT NULL"
    bounds = next(whole_bounds(one) for one in stage.reads if one.name == stage.person)
    over = statement.prepare(lambda: whose.format(select()), stage.theirs, bounds)
    names, rows = ", ".join(kinds), select()
    joined = f"JOIN {over} AS crowd ON {person} = crowd.person"
    alone = f"SELECT {names} FROM ({rows}) AS own LEFT {joined} WHERE crowd.person IS NULL AND {person} IS NOT NULL"
    crowd = bounded(
        f"SELECT {names} FROM ({rows}) AS own {joined}", person, kinds, stage.theirs, stage.table, statement
    )
    return f"{alone} UNION ALL {crowd}"


def whole_bounds(attribute: Attribute) -> tuple[int, int] | None:
    """Return the declared bounds of a column of integers, None where there are none, or none that are public.

    >>> from sfumato.schema import Role
    >>> whole_bounds(Attribute("rider", Role.IDENTIFIER, Kind.INTEGER, bounds=(1, 9)))
    (1, 9)
    """
    if attribute.bounds is None or not attribute.public or attribute.kind is not Kind.INTEGER:
        return None
    low, high = attribute.bounds
    return int(low), int(high)  # type: ignore[arg-type]  # bounds of integers are no dates


def _cells(wanted: Sequence[Attribute], other: SqlTable, place: int, statement: JoinBindings) -> str:
    raw, cells = [], []
    for number, attribute in enumerate(wanted):
        stored = other.stored[attribute.name]
        refuse_stored(attribute.name, stored, attribute.kind)
        raw.append(f"{other.name(attribute.name)} AS e{number}")
        zone = attribute.zone or other.zones.get(attribute.name, "UTC")  # the rows' own file may know another one
        read = replace(attribute, zone=zone) if stored is StorageType.ZONED else attribute
        cells.append(f"{statement.read_cell(f'e{number}', stored, read)} AS d{place}x{number}")
    return f"SELECT {', '.join(cells)} FROM (SELECT {', '.join(raw)} FROM {other.table}) AS raw"


def bounded(
    inner: str, person: str, cells: Mapping[str, Kind | None], rows: int, table: str, statement: JoinBindings
) -> str:
    """Return at most some rows of each person: those whose keyed hash of the table, the person and the cells is least.

    Doubles are hashed by their millionths as integers, which all engines spell alike; of equal hashes the least cells
    come first. Rows without a person are left out.
    """
    dialect = statement.dialect
    parts = [dialect.encode(hashed_cell(cell, kind, dialect)) for cell, kind in cells.items()]
    head = [statement.secret(), f"':{len(cells)}:'", dialect.encode(statement.text(table))]
    digest = dialect.digest.format(x=" || ".join([*head, *parts]))
    order = ", ".join(["of_row", *(f"{cell} NULLS FIRST" for cell in cells)])
    ranked = f"*, ROW_NUMBER() OVER (PARTITION BY {person} ORDER BY {order}) AS nth"
    hashed = f"SELECT *, {digest} AS of_row FROM ({inner}) AS own WHERE {person} IS NOT NULL"
    left = f"SELECT {ranked} FROM ({hashed}) AS hashed"
    return f"SELECT {', '.join(cells)} FROM ({left}) AS ranked WHERE nth <= {rows}"


def hashed_cell(cell: str, kind: Kind | None, dialect: Dialect) -> str:
    """Return what of a cell is hashed: a text, an integer, or the millionths of a double as an integer.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> hashed_cell("c1", Kind.INTEGER, DUCKDB)
    'c1'
    """
    del dialect
    if kind not in REAL:
        return cell
    fine = f"WHEN abs({cell}) < {double(NEAR)} THEN CAST(floor({cell} * {double(FINE)}) AS BIGINT)"
    return f"CASE {fine} WHEN abs({cell}) < {double(FAR)} THEN CAST(floor({cell}) AS BIGINT) END"


Public = Callable[[Lookup, Sequence[str]], str]
