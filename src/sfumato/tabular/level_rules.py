"""Limits of levels and weights of columns that a schema declares: who keeps them, and how they stand on a card."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.attribute import LEVELS

KEEPERS = {
    "has_levels": "datafly, incognito or optimal",
    "weighs_columns": "datafly, incognito, optimal or local-recoding",
}


class LevelKeeper(Protocol):
    """An algorithm that says whether it keeps limits of levels, and whether it weighs columns."""

    @property
    def algorithm(self) -> str: ...
    @property
    def has_levels(self) -> bool: ...
    @property
    def weighs_columns(self) -> bool: ...


def refuse_unkept(algorithm: LevelKeeper, schema: Schema) -> None:
    """Refuse a schema whose limits or weights an algorithm would not keep.

    >>> import sfumato as sf
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, min_level=1)})
    >>> refuse_unkept(sf.Optimal(), schema)
    >>> refuse_unkept(sf.Mondrian(), schema)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: column 'age' declares min_level, which mondrian does not keep; use datafly, \
incognito or optimal, or leave it out
    """
    for name in schema.names(Role.QUASI):
        for key in LEVELS:
            keeps = "weighs_columns" if key == "weight" else "has_levels"
            if getattr(schema.columns[name], key) is not None and not getattr(algorithm, keeps):
                raise ParameterError(
                    f"column '{name}' declares {key}, which {algorithm.algorithm} does not keep; use {KEEPERS[keeps]}, "
                    "or leave it out"
                )


def level_rules(attributes: Iterable[Attribute]) -> dict[str, Any]:
    """Return declared limits and weights as settings of a card; none where nothing was declared.

    >>> level_rules([Attribute("age", Role.QUASI, min_level=1, weight=3)])
    {'min_level': {'age': 1}, 'weight': {'age': 3}}
    """
    columns = list(attributes)
    found = {key: {one.name: getattr(one, key) for one in columns if getattr(one, key) is not None} for key in LEVELS}
    return {key: values for key, values in found.items() if values}
