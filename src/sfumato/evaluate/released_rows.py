"""The rows of a release with their sensitive values, wherever it keeps these.

Anatomy (Xiao & Tao 2006) puts sensitive values into a second table; measures of a class want them beside its rows.
"""

from __future__ import annotations

import polars as pl

from sfumato.release import Release
from sfumato.table import Table
from sfumato.tabular.anatomy import COUNT, GROUP, SENSITIVE


def rows_with_values(release: Release) -> Table:
    """Return the released rows; where sensitive values are in a second table, each group's go to its rows in turn.

    >>> import sfumato as sf
    >>> people = sf.Table(pl.DataFrame({"age": [20, 25], "ill": ["flu", "gout"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> rows_with_values(sf.Anatomy().anonymize(people, schema, [sf.LDiversity(2, "ill")])).names
    ('age', 'group', 'ill')
    """
    if SENSITIVE not in release.companions:
        return release.table
    values = release.companions[SENSITIVE].frame
    names = [name for name in values.columns if name != COUNT]
    dealt = values.select(pl.col(names).repeat_by(COUNT)).explode(names).sort(GROUP).drop(GROUP)
    return Table(pl.concat([release.table.frame.sort(GROUP), dealt], how="horizontal"))
