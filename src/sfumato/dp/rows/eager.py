"""Persons counted before a join that gives each of them one row at most, so that few rows are joined.

Rows that are only counted may be counted before they are joined, where the join multiplies none of them (Yan & Larson
1995, "Eager aggregation and lazy aggregation", section 4). The number of a person's rows is then all that is left of
them, and whatever bounds their number takes the least of both.
"""

# ruff: noqa: S608  # names are our own, and texts are parameters

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sfumato.dp.questions.expression import Predicate
from sfumato.dp.questions.lookup import Attach
from sfumato.dp.questions.request import Request
from sfumato.dp.rows.condition import Compiler
from sfumato.dp.rows.joins import REAL, JoinBindings, whole_bounds
from sfumato.schema import Kind, Schema

ALL = 2**62  # rows of a person: no limit


@dataclass(frozen=True)
class Prepared:
    """A table that the engine makes before a statement runs: persons in more rows than so many, and their numbers.

    The selection has one column `person` of integers, none missing; `bounds` are those that are declared for it.

    >>> Prepared("persons0", "SELECT rider AS person FROM rides", {}).more_than
    0
    """

    name: str
    sql: str
    parameters: dict[str, object]
    more_than: int = 0
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class CountedBefore:
    """A join before which persons are counted: how many rows of each count at most, and the condition on these rows.

    >>> CountedBefore(Attach("riders", "rider", (("rider", "rider"),), (), 1)).most == ALL
    True
    """

    join: Attach
    most: int = ALL
    where: Predicate | None = None


def counted_before(request: Request, schema: Schema) -> CountedBefore | None:
    """Return the last stage if persons may be counted before it, where nothing but a number of rows is asked for.

    It joins by the person alone, with one row of each; keys are of that row, and the condition reads one side only.

    >>> from sfumato.promise.unit import ProtectRows
    >>> counted_before(Request((), ProtectRows()), Schema()) is None
    True
    """
    join = request.stages[-1] if request.stages else None
    if not isinstance(join, Attach) or join.theirs != 1 or len(join.keys) != 1:
        return None
    added = {made.name for made in join.makes}
    read = set(request.where.columns) if request.where else set()
    if schema.columns[join.person].kind in REAL or not {key.column for key in request.keys} <= added:
        return None
    early = CountedBefore(replace(join, ours=None), ALL if join.ours is None else join.ours)
    if read <= {*added, join.person}:
        return early
    return replace(early, where=request.where) if join.ours is None and not read & added else None


def select_counts(early: CountedBefore, select: Callable[[], str], statement: JoinBindings) -> str:
    """Return a row for each person of the rows that `select` gives, with the number of these rows as `n`."""
    person = statement.cell(early.join.person)
    if statement.source.sorts_persons and statement.attribute(early.join.person).kind is Kind.INTEGER:
        whose = f"CAST({person} AS BIGINT) AS person"
        bounds = whole_bounds(statement.attribute(early.join.person))
        table = statement.prepare(lambda: _persons(early, person, whose, select(), statement), bounds=bounds)
        return f"SELECT person AS {person}, n FROM {table}"
    return f"{_persons(early, person, f'{person}, COUNT(*) AS n', select(), statement)} GROUP BY {person}"


def _persons(early: CountedBefore, person: str, values: str, rows: str, statement: JoinBindings) -> str:
    if early.where is None:
        return f"SELECT {values} FROM ({rows}) AS own WHERE {person} IS NOT NULL"
    counted = f"SELECT {person}, {Compiler(statement).counts(early.where.condition)} AS counts FROM ({rows}) AS cells"
    fenced = f"({counted}{statement.dialect.fence}) AS counted"
    return f"SELECT {values} FROM {fenced} WHERE counts AND {person} IS NOT NULL"
