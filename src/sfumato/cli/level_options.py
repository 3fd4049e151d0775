"""The options that limit the levels of single columns, or weigh columns, as a schema file can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato.errors import ParameterError, suggestion

if TYPE_CHECKING:
    from sfumato.schema import Schema

Levels = Annotated[tuple[str, ...], Parameter(negative=(), metavar="COLUMN=LEVEL", show_default=False)]
Weights = Annotated[tuple[str, ...], Parameter(negative=(), metavar="COLUMN=WEIGHT", show_default=False)]


@Parameter(name="*", group="Columns")
@dataclass(frozen=True, kw_only=True)
class LevelOptions:
    """Which levels of a column may be released, and how much its loss counts.

    Attributes:
        min_level: Lowest level of a column that may be released (datafly, incognito, optimal), as in age=1; may be
            repeated.
        max_level: Highest level of a column that may be released (datafly, incognito, optimal), as in zip=2; may be
            repeated.
        weight: How much a column's loss counts (datafly, incognito, optimal, local-recoding), as in age=3; 1 unless
            declared; may be repeated.
    """

    min_level: Levels = ()
    max_level: Levels = ()
    weight: Weights = ()

    def declared(self, schema: Schema) -> Schema:
        """Return the schema with the limits and weights that were named on the command line.

        >>> from sfumato.schema import Schema
        >>> LevelOptions(weight=("age=3",)).declared(Schema.from_roles(quasi=["age"])).columns["age"].weight
        3.0
        """
        found = schema
        asked: list[tuple[str, Sequence[str], Callable[[str], Any], str]] = [
            ("min_level", self.min_level, _whole, "an integer of at least 0"),
            ("max_level", self.max_level, _whole, "an integer of at least 0"),
            ("weight", self.weight, float, "a number"),
        ]
        for key, entries, reader, wanted in asked:
            for entry in entries:
                found = _declare(found, key, entry, reader, wanted)
        return found


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def _declare(schema: Schema, key: str, entry: str, reader: Callable[[str], Any], wanted: str) -> Schema:
    option = f"--{key.replace('_', '-')}"
    name, equals, text = entry.rpartition("=")
    if not equals:
        raise ParameterError(f"{option} '{entry}' is not of the form age={1 if key != 'weight' else 3}")
    if name not in schema.columns:
        raise ParameterError(f"{option} '{entry}': column '{name}' has no role{suggestion(name, schema.columns)}")
    try:
        value = reader(text)
    except ValueError:
        raise ParameterError(f"{option} '{entry}': '{text}' is not {wanted}") from None
    column = replace(schema.columns[name], **{key: value})
    return replace(schema, columns={**schema.columns, name: column})
