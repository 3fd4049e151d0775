"""Bounds that whoever asks gives for the values of an aggregate: public numbers, part of the question.

They take the place of declared bounds, for those who could not declare any, or want narrower ones (Wilson et al. 2020,
section 5, let an analyst clamp in the same way).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from sfumato.errors import ParameterError, SchemaError
from sfumato.schema import Kind, Schema
from sfumato.schema.attribute import Bound

Clip = tuple[Bound, Bound]


def read_clip(low: object, high: object) -> Clip:
    """Return two bounds as numbers or days; days may be texts.

    >>> read_clip(0, 64), read_clip("2020-01-01", "2020-12-31")[0]
    ((0, 64), datetime.date(2020, 1, 1))
    >>> read_clip(3, 1)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: values are clipped to [3, 1]; give a low bound below a high one, numbers or dates
    """
    try:
        ends = _bound(low), _bound(high)
        if ends[0] < ends[1]:  # type: ignore[operator]  # of two types: a TypeError
            return ends
    except (TypeError, ValueError):
        pass
    shown = f"[{str(low)[:40]}, {str(high)[:40]}]"
    raise ParameterError(f"values are clipped to {shown}; give a low bound below a high one, numbers or dates")


def clip_words(clip: Clip) -> str:
    """Return the bounds as the canonical text of a question has them: 64 and 64.0 are the same.

    >>> clip_words((0.0, 64))
    '[0, 64]'
    """
    ends = [int(end) if isinstance(end, float) and end.is_integer() else end for end in clip]
    return f"[{ends[0]}, {ends[1]}]"


def clipped_schema(schema: Schema, column: str, clip: Clip | None) -> Schema:
    """Return the schema with other bounds of a column, as an aggregate sees it.

    >>> from sfumato.schema import Attribute, Role
    >>> fares = Schema({"fare": Attribute("fare", Role.OTHER, Kind.NUMBER)})
    >>> clipped_schema(fares, "fare", (0, 64)).columns["fare"].bounds
    (0, 64)
    """
    if clip is None or column not in schema.columns:
        return schema
    attribute = schema.columns[column]
    if attribute.kind is None or not attribute.kind.numeric:
        raise SchemaError(f"column '{column}' has no numbers to clip; declare its type as integer, number or date")
    low, high = (_fitting(end, attribute.kind) for end in clip)
    bounded = replace(attribute, bounds=(low, high), categories=None, public=True)
    return replace(schema, columns={**schema.columns, column: bounded})


def _fitting(end: Bound, kind: Kind) -> Bound:
    """Return a bound as the column's type writes it: whole numbers of integers as such."""
    return int(end) if kind is Kind.INTEGER and isinstance(end, float) and end.is_integer() else end


def _bound(value: object) -> Bound:
    if isinstance(value, str):
        return dt.date.fromisoformat(value)
    if isinstance(value, bool) or not isinstance(value, int | float | dt.date) or value != value:  # noqa: PLR0124
        raise TypeError
    return value
