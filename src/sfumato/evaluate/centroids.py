"""What centroids cost: the share of a column's variance that is gone when groups are shown as their means.

Domingo-Ferrer & Mateo-Sanz 2002: means lose exactly the variance within groups, so what is left shows what was lost.
"""

from __future__ import annotations

from sfumato.schema import Role, Schema
from sfumato.schema.kinds import is_missing, parse
from sfumato.table import Table


def variance_lost(original: Table, schema: Schema, released: Table) -> dict[str, float]:
    """Return the lost share of variance of each numeric quasi-identifier that is released as group means.

    >>> import polars as pl, sfumato as sf
    >>> people = Table(pl.DataFrame({"age": [20, 22, 70, 72]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> release = sf.MDAV().anonymize(people, schema, [sf.KAnonymity(2)])
    >>> round(variance_lost(people, schema, release.table)["age"], 6)
    0.001597
    """
    settled = schema.settled(original)
    lost = {}
    for name in settled.names(Role.QUASI):
        attribute = settled.columns[name]
        shown = released.column(name)
        if attribute.kind is None or not attribute.kind.numeric or not shown.dtype.is_float():
            continue
        series = original.column(name)
        before = float(parse(series, attribute.kind, is_missing(series, attribute.missing)).var())
        lost[name] = 1 - float(shown.to_numpy().var()) / before if before > 0 else 0.0
    return lost
