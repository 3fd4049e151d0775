"""The stages of a question as SQL: each is a selection around the rows before it, with cells for what it adds.

Every stage computes the same for every row, whatever the rows hold (Haeberlen, Pierce & Narayan 2011, section 4).
"""

# ruff: noqa: S608  # names are our own, and texts are parameters

from __future__ import annotations

from sfumato.dp.questions.expression import ColumnReference
from sfumato.dp.questions.features import PerPerson
from sfumato.dp.questions.lookup import Attach, Lookup
from sfumato.dp.questions.stages import Derive, Keep, Stage
from sfumato.dp.rows.condition import Compiler
from sfumato.dp.rows.features import select_people
from sfumato.dp.rows.joins import JoinBindings, select_attach, select_lookup
from sfumato.errors import ParameterError
from sfumato.schema import Kind

WHOLE = {Kind.INTEGER, Kind.DATE}


def select_stage(stage: Stage, place: int, inner: str, cells: JoinBindings) -> str:
    """Return the rows after the stage at a place, from the SQL of the rows before it.

    >>> from sfumato.dp.questions.expression import Predicate, Truth
    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> class Cells:
    ...     dialect = DUCKDB
    >>> select_stage(Keep(Predicate(Truth(True))), 0, "SELECT c0 FROM rides", Cells())
    'SELECT * FROM (SELECT *, (2 = 2) AS keep0 FROM (SELECT c0 FROM rides) AS staged) AS tested WHERE keep0'
    """
    match stage:
        case Derive():
            return f"SELECT *, {_derived(stage, cells)} AS {cells.cell(stage.attribute.name)} FROM ({inner}) AS staged"
        case Keep(predicate):
            tested = f"SELECT *, {Compiler(cells).counts(predicate.condition)} AS keep{place} FROM ({inner}) AS staged"
            return f"SELECT * FROM ({tested}{cells.dialect.fence}) AS tested WHERE keep{place}"
        case Lookup():
            return select_lookup(stage, inner, cells)
        case Attach():
            return select_attach(stage, place, inner, cells)
        case PerPerson():
            return select_people(stage, inner, cells)
    raise ParameterError(f"no engine carries out a {type(stage).__name__}")


def _derived(stage: Derive, cells: JoinBindings) -> str:
    """Return the cell: days and integers as such, other numbers and seconds as doubles, words as texts."""
    if isinstance(stage.value, ColumnReference):  # an integer beyond all bounds would not fit again as a double
        return cells.cell(stage.value.name)
    value = Compiler(cells).value(stage.value)
    return f"CAST({value} AS BIGINT)" if stage.attribute.kind in WHOLE else value
