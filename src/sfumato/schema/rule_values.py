"""The values that a rule of a hierarchy groups, where they come from a table: words, the ends of a scale, days.

They tell which values occur, so a hierarchy with them is not public.
"""

from __future__ import annotations

import polars as pl

from sfumato.errors import InputError, ParameterError
from sfumato.schema.attribute import Attribute
from sfumato.schema.detection import detected
from sfumato.schema.kinds import Kind, is_missing
from sfumato.schema.propose import scale_rule
from sfumato.schema.roles import Role
from sfumato.schema.schema import NamedColumns, Schema

SCALES = {"intervals": "numbers", "dates": "dates or times"}
OWN = ("values", "low", "high", "first", "last")


def rule_values(table: NamedColumns, name: str, schema: Schema, rule: str) -> dict[str, object]:
    """Return the keys of a rule that name values, for one column of a table.

    >>> from sfumato.table import Table
    >>> rule_values(Table(pl.DataFrame({"age": [31, 47]})), "age", Schema(), "intervals")
    {'low': 31, 'high': 47}
    >>> rule_values(Table(pl.DataFrame({"sex": ["M", "F"]})), "sex", Schema(), "flat")
    {'values': ['F', 'M']}
    """
    series = table.column(name)
    known = schema.columns.get(name, Attribute(name, Role.OTHER))
    present = series.filter(~is_missing(series, known.missing))
    if present.is_empty():
        raise InputError(f"column '{name}' has no values to make a hierarchy of; give some rows")
    if rule == "ordered":
        if known.categories is None:
            raise ParameterError(
                f"column '{name}' has no declared order; give --values in their order, or a schema with categories"
            )
        return {"values": list(known.categories)}
    if rule not in SCALES:
        return {"values": present.cast(pl.String).unique().sort().to_list()}
    found = known if known.kind is not None else detected(known, present)
    if found.kind is None or not found.kind.numeric or (found.kind in {Kind.DATE, Kind.TIMESTAMP}) != (rule == "dates"):
        raise ParameterError(f"column '{name}' has type {found.kind}; {rule} groups {SCALES[rule]}")
    content = scale_rule(present, found.kind, found.written)
    return {key: content[key] for key in OWN if key in content}
