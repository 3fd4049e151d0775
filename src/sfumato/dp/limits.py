"""What bounds an answer, said with it: the bounds that values are clipped to, and the least units of a key that leaves.

Both follow from the schema and the price alone, never from the rows, so that saying them costs nothing (Wilson et al.
2020, "Differentially private SQL with bounded user contribution", sections 3.2 and 3.3).
"""

from __future__ import annotations

import datetime as dt

from sfumato.dp.budget_split import threshold_of, whole_share
from sfumato.dp.questions.compiled import Compiled
from sfumato.dp.questions.request import PositionCounts, Total
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
    measures = [measure for estimator in compiled.estimators for measure in estimator.measures]
    names = dict.fromkeys(one.grid.column for one in measures if isinstance(one, Total | PositionCounts))
    return {name: [_limit(bound) for bound in schema.columns[name].bounds or ()] for name in names}


def least_units(compiled: Compiled, cost: Cost) -> int | None:
    """Return the noisy number of units below which a key is withheld; None where all keys are declared."""
    return threshold_of(compiled, cost, whole_share(compiled, cost)).least if compiled.unknown else None


def _limit(bound: object) -> Limit:
    if isinstance(bound, dt.datetime):
        return bound.isoformat(sep=" ")
    return bound if isinstance(bound, int | float) else str(bound)
