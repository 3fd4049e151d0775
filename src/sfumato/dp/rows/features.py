"""One row of each person's rows as SQL: counts, sums of positions on a public grid, first and last by an order.

Everything is computed alike in all engines: sums are of integers and are divided once, and where rows tie the values
decide, so that a feature depends on the person's own rows alone (Wilson et al. 2020, section 3).
"""

# ruff: noqa: S608  # names are our own, and texts are parameters

from __future__ import annotations

from sfumato.dp.questions.features import EXACT, PerPerson, PersonColumn
from sfumato.dp.questions.grids import NumberLine
from sfumato.dp.questions.people import FeatureFunction
from sfumato.dp.rows.condition import Bindings
from sfumato.dp.rows.dialect import double
from sfumato.dp.rows.positions import position_of
from sfumato.errors import ParameterError
from sfumato.schema import Kind

ADDED = {FeatureFunction.SUM, FeatureFunction.MEAN}
ORDERED = {FeatureFunction.FIRST, FeatureFunction.LAST}


def select_people(stage: PerPerson, inner: str, cells: Bindings) -> str:
    """Return the rows of persons, from the SQL of the rows before it.

    >>> from sfumato.dp.rows.dialect import DUCKDB
    >>> from sfumato.schema import Attribute, Role
    >>> class Cells:
    ...     dialect = DUCKDB
    ...     def cell(self, column: str) -> str:
    ...         return column
    >>> stage = PerPerson(Attribute("rider", Role.IDENTIFIER, Kind.INTEGER), ())
    >>> select_people(stage, "SELECT rider FROM rides", Cells())
    'SELECT MIN(rider) AS rider FROM (SELECT *, rider AS of_person FROM (SELECT rider FROM rides) AS staged) AS owned \
GROUP BY of_person'
    """
    person = cells.cell(stage.person.name)
    whose = person if stage.person.kind is Kind.INTEGER else cells.dialect.text.format(x=person)
    owned = [f"{whose} AS of_person"]
    owned += [f"{_position(one, cells)} AS q{place}" for place, one in enumerate(stage.columns) if _adds(one)]
    rows = f"(SELECT *, {', '.join(owned)} FROM ({inner}) AS staged) AS owned"
    ranks = [f"{_rank(one, cells)} AS nth{place}" for place, one in enumerate(stage.columns) if _is_ordered(one)]
    rows = f"(SELECT *, {', '.join(ranks)} FROM {rows}) AS ordered" if ranks else rows
    made = [
        f"{_value(one, place, cells)} AS {cells.cell(one.attribute.name)}" for place, one in enumerate(stage.columns)
    ]
    return f"SELECT {', '.join([f'MIN({person}) AS {person}', *made])} FROM {rows} GROUP BY of_person"


def _adds(one: PersonColumn) -> bool:
    return one.feature.function in ADDED


def _is_ordered(one: PersonColumn) -> bool:
    return one.feature.function in ORDERED


def _position(one: PersonColumn, cells: Bindings) -> str:
    grid = _line(one).grid
    return position_of(cells.cell(grid.column), grid, cells.dialect)


def _line(one: PersonColumn) -> NumberLine:
    if one.line is None:
        raise ParameterError(f"the feature '{one.attribute.name}' has no grid to add on")
    return one.line


def _rank(one: PersonColumn, cells: Bindings) -> str:
    """Return the place of a row among the person's: rows without a value or an order come last."""
    x, order = cells.cell(one.feature.column or ""), cells.cell(one.feature.order or "")
    lacking = f"CASE WHEN {order} IS NULL OR {x} IS NULL THEN 1 ELSE 0 END"
    down = " DESC" if one.feature.function is FeatureFunction.LAST else ""
    return f"ROW_NUMBER() OVER (PARTITION BY of_person ORDER BY {lacking}, {order}{down}, {x})"


def _value(one: PersonColumn, place: int, cells: Bindings) -> str:
    """Return the feature: an integer, a double, or a cell as it was."""
    function = one.feature.function
    if function in ADDED:
        return _sum_or_mean(one, f"q{place}", cells)
    x = cells.cell(one.feature.column) if one.feature.column else "*"
    if function in ORDERED:
        there = f"{cells.cell(one.feature.order or '')} IS NOT NULL"
        return f"MAX(CASE WHEN nth{place} = 1 AND {there} THEN {x} END)"
    if function in {FeatureFunction.MIN, FeatureFunction.MAX}:
        return f"{function.upper()}({x})"
    counted = f"DISTINCT {x}" if function is FeatureFunction.DISTINCT else x
    return f"CAST(LEAST(COUNT({counted}), {one.cap}) AS BIGINT)"


def _sum_or_mean(one: PersonColumn, q: str, cells: Bindings) -> str:
    """Return the sum, clamped to its bounds in steps of the grid, or the mean: exact integers, divided once."""
    line, real = _line(one), cells.dialect.double
    if one.feature.function is FeatureFunction.MEAN:
        total = f"CAST(LEAST({cells.dialect.total.format(x=q)}, {EXACT}) AS {real})"
        mean = f"{double(line.grid.low)} + {total} / CAST(NULLIF(COUNT({q}), 0) AS {real}) * {double(line.step)}"
        return f"CASE WHEN COUNT({q}) > 0 THEN {mean} END"
    low, high = one.cap * min(line.first, 0), one.cap * max(line.first + line.grid.steps, 0)
    total = cells.dialect.total.format(x=f"({q} + {line.first})")
    steps = f"CAST(LEAST(GREATEST({total}, {low}), {high}) AS BIGINT)"
    value = steps if line.kind is Kind.INTEGER else f"CAST({steps} AS {real}) * {double(line.step)}"
    return f"CASE WHEN COUNT({q}) > 0 THEN {value} END"
