"""What bounds an answer, said with it: bounds that values are clipped to, the keys, and the least units of one unknown.

Both follow from the schema and the price alone, never from the rows, so that saying them costs nothing (Wilson et al.
2020, "Differentially private SQL with bounded user contribution", sections 3.2 and 3.3).
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sfumato.dp.budget_split import share_of_each, threshold_of, whole_share
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.features import COUNTS, PerPerson, PersonColumn
from sfumato.dp.questions.people import FeatureFunction
from sfumato.dp.questions.private_bounds import BoundChoice
from sfumato.dp.questions.request import Binned, ColumnGrid, PositionCounts, Total, Unknown
from sfumato.dp.questions.stages import Derive, with_made
from sfumato.dp.stored_answer import CONFIDENCE, KeyColumn
from sfumato.promise.cost import Cost
from sfumato.schema import Schema

Limit = int | float | str


def clipped_to(compiled: Compiled, schema: Schema) -> dict[str, list[Limit]]:
    """Return the declared bounds of every column whose values are clipped before they enter the answer.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.query import count, mean
    >>> from sfumato.promise.unit import Neighbours, ProtectRows
    >>> from sfumato.schema import Attribute, Kind, Role
    >>> schema = Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))})
    >>> clipped_to(compile_query(mean("age"), schema, ProtectRows(), Neighbours.PRESENCE), schema)
    {'age': [0, 99]}
    >>> clipped_to(compile_query(count(), schema, ProtectRows(), Neighbours.PRESENCE), schema)
    {}
    """
    declared = with_made(schema, compiled.stages).columns
    found: dict[str, list[Limit]] = {}
    for entry, estimator in zip(compiled.query.aggregates, compiled.estimators, strict=True):
        for grid in [one.grid for one in estimator.measures if isinstance(one, Total | PositionCounts)]:
            if isinstance(grid, ColumnGrid):
                name = grid.column if entry.clip is None else f"{grid.column} in {entry.kind}"
                found[name] = [_limit(bound) for bound in entry.clip or declared[grid.column].bounds or ()]
    return found


def key_limits(compiled: Compiled, cost: Cost) -> dict[str, int]:
    """Return the noisy number of units below which a key is withheld, and from how many it is there (95 %).

    Nothing where all keys are declared.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.query import count
    >>> from sfumato.promise.unit import Neighbours, ProtectRows
    >>> asked = count().by("disease")
    >>> compiled = compile_query(asked, Schema.from_roles(quasi=["disease"]), ProtectRows(), Neighbours.PRESENCE)
    >>> key_limits(compiled, Cost("0.5", "1e-6"))
    {'threshold': 28, 'present_from': 33}
    """
    if not compiled.unknown:
        return {}
    threshold = threshold_of(compiled, cost, whole_share(compiled, cost))
    return {"threshold": threshold.least, "present_from": threshold.present_from(CONFIDENCE)}


def key_columns(compiled: Compiled, schema: Schema) -> list[KeyColumn]:
    """Return what is public of each key: whether its values are declared and in an order, and the edges of its bins.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.query import histogram
    >>> from sfumato.promise.unit import Neighbours, ProtectRows
    >>> from sfumato.schema import Attribute, Kind, Role
    >>> schema = Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))})
    >>> compiled = compile_query(histogram("age", [0, 50, 99]), schema, ProtectRows(), Neighbours.PRESENCE)
    >>> key_columns(compiled, schema)
    [KeyColumn(name='age', declared=True, ordered=True, edges=[0, 50, 99])]
    """
    declared = with_made(schema, compiled.stages).columns
    return [
        KeyColumn(
            name=key.column,
            declared=not isinstance(key, Unknown),
            ordered=isinstance(key, Binned) or ((kind := declared[key.column].kind) is not None and kind.ordered),
            edges=[line.show_edge(edge) for edge in key.edges] if isinstance(key, Binned) and line else None,
        )
        for key, line in zip(compiled.keys, compiled.lines, strict=True)
    ]


def question_facts(compiled: Compiled, schema: Schema, cost: Cost) -> dict[str, Any]:
    """Return what the ledger keeps of a question beside its numbers: bounds, keys and computed columns."""
    return {
        "clipped": clipped_to(compiled, schema),
        "said": said_of_bounds(compiled, cost),
        "key_columns": key_columns(compiled, schema),
        "derived": derived_columns(compiled),
    }


def derived_columns(compiled: Compiled) -> dict[str, str]:
    """Return the expression of every column that the question computes, by name."""
    return {stage.attribute.name: stage.value.text for stage in compiled.stages if isinstance(stage, Derive)}


def said_of_bounds(compiled: Compiled, cost: Cost) -> list[str]:
    """Return what bounds the features of persons, and what private bounds aim at, in words.

    >>> from sfumato.dp.questions.compiled import compile_query
    >>> from sfumato.dp.questions.people import per_person
    >>> from sfumato.dp.questions.query import count, mean
    >>> from sfumato.promise.unit import Neighbours, ProtectPersons
    >>> asked = mean("rides").of(per_person(rides=count()))
    >>> schema = Schema.from_roles(identifier=["rider"])
    >>> compiled = compile_query(asked, schema, ProtectPersons("rider", 4, 2), Neighbours.PRESENCE)
    >>> said_of_bounds(compiled, Cost(epsilon=1))
    ['rides counts at most 8 rows of a person']
    """
    columns = [one for stage in compiled.stages if isinstance(stage, PerPerson) for one in stage.columns]
    share = share_of_each(compiled, whole_share(compiled, cost))
    chosen = [one.words(share) for one in compiled.estimators if isinstance(one, BoundChoice)]
    return [*(words for one in columns for words in _words(one)), *chosen]


def _words(one: PersonColumn) -> list[str]:
    name, column = one.attribute.name, one.feature.column
    if one.feature.function in COUNTS:
        what = "values" if one.feature.function is FeatureFunction.DISTINCT else "rows"
        return [f"{name} counts at most {one.cap} {what} of a person"]
    if one.line is None:
        return []
    grid, (low, high) = one.line.grid, one.attribute.bounds or (0, 0)
    whole = f", and {name} lies between {low} and {high}" if one.feature.function is FeatureFunction.SUM else ""
    return [f"values of {column} are clipped to [{grid.low:g}, {grid.high:g}] in {name}{whole}"]


def _limit(bound: object) -> Limit:
    if isinstance(bound, dt.datetime):
        return bound.isoformat(sep=" ")
    return bound if isinstance(bound, int | float) else str(bound)
