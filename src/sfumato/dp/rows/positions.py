"""The place of a value on a public grid as SQL: clamped to the grid's ends, the same integer in every engine."""

from __future__ import annotations

from sfumato.dp.questions.request import CandidateGrid, ColumnGrid
from sfumato.dp.rows.dialect import Dialect, double
from sfumato.dp.rows.places import place_of
from sfumato.errors import InputError, ParameterError
from sfumato.schema import Kind

FARTHEST = 1e250
NUMERIC = {Kind.INTEGER, Kind.NUMBER, Kind.DATE, Kind.TIMESTAMP}
NUMERIC_WORDS = "integer, number, date or timestamp"


def position_of(cell: str, grid: ColumnGrid, dialect: Dialect) -> str:
    """Return a cell's place on the grid; halves go up in every engine.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> position_of("c0", ColumnGrid("age", 3.0, 3.0, 0), DUCKDB)
    'CASE WHEN CAST(c0 AS DOUBLE PRECISION) IS NOT NULL THEN 0 END'
    """
    x, width = f"CAST({cell} AS {dialect.double})", grid.high - grid.low
    if not grid.steps or not width:
        return f"CASE WHEN {x} IS NOT NULL THEN 0 END"
    above = f"greatest({x} - {double(grid.low)}, {double(width * 1e-30)})"  # or PostgreSQL reports an underflow
    place = f"CAST(floor({above} * {double(grid.steps)} / {double(width)} + 0.5e0) AS BIGINT)"
    low, high = f"{x} <= {double(grid.low)} THEN 0", f"{x} >= {double(grid.high)} THEN {grid.steps}"
    return f"CASE WHEN {low} WHEN {high} WHEN {x} IS NOT NULL THEN {place} END"


def place_among(cell: str, grid: CandidateGrid, dialect: Dialect) -> str:
    """Return the value that a cell equals among given ones, or the gap that holds it, found by halving.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> place_among("c0", CandidateGrid("age", (3.0,)), DUCKDB).replace("CAST(c0 AS DOUBLE PRECISION)", "x")
    'CASE WHEN x IS NOT NULL THEN CASE WHEN x < 3.0e0 THEN 0 WHEN x > 3.0e0 THEN 2 ELSE 1 END END'
    """
    x = f"CAST({cell} AS {dialect.double})"
    return f"CASE WHEN {x} IS NOT NULL THEN {place_of(x, grid.values)} END"


def check_grid(grid: ColumnGrid | CandidateGrid, kind: Kind | None) -> None:
    """Refuse a grid of a column without numbers, and one that no engine could compute with.

    >>> check_grid(ColumnGrid("zip", 0.0, 1.0, 1), None)
    Traceback (most recent call last):
    sfumato.errors.InputError: column 'zip' has no numbers; declare its type as integer, number, date or timestamp
    """
    if kind not in NUMERIC:
        raise InputError(f"column '{grid.column}' has no numbers; declare its type as {NUMERIC_WORDS}")
    if isinstance(grid, CandidateGrid):
        return
    width = grid.high - grid.low
    if grid.steps < 0 or not (abs(grid.low) <= FARTHEST and abs(grid.high) <= FARTHEST) or width < 0:
        raise ParameterError(f"the grid of '{grid.column}' must have steps of at least 0 between bounds within ±1e250")
    if 0 < width < 1 / FARTHEST:
        raise ParameterError(f"the bounds of '{grid.column}' lie too near; give bounds at least 1e-250 apart")
