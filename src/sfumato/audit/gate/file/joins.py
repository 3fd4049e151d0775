"""Rows that can be put together again: a second table that joins back one to one, and starred rows with a rare value.

Two tables are safer than one only while a join leaves several values (Xiao & Tao 2006, "Anatomy"); a suppressed row
hides its quasi-identifiers, not the value beside them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sfumato.audit.gate.file.passed import Passed, told
from sfumato.audit.gate.risk import THRESHOLD, wilson
from sfumato.core.cells import SUPPRESSED
from sfumato.release import Card, Finding
from sfumato.table import Table, read


def join_findings(card: Card, passed: Passed, table: Table, path: Path) -> list[Finding]:
    """Return whether companion tables join back to single rows, and whether starred rows have a rare value."""
    return [*_companion_findings(card, table, path), *_starred_findings(passed)]


def _companion_findings(card: Card, table: Table, path: Path) -> list[Finding]:
    found = []
    for companion in card.released.companions:
        other = read(companion.beside(path)).frame.cast(pl.String)
        keys = [name for name in other.columns if name in table.names]
        frame = table.frame.cast(pl.String)
        joined = frame.join(other.group_by(keys).len("rows"), on=keys, how="left") if keys else frame.head(0)
        alone = joined.filter((pl.col("rows") == 1) & pl.struct(keys).is_unique()) if keys else joined
        reason = None
        if keys and wilson(alone.height, table.rows)[0] > THRESHOLD:
            reason = f"{alone.height} of {table.rows} rows join with one row of '{companion.file}' by {', '.join(keys)}"
        claim = f"the table '{companion.name}' cannot be joined back row by row"
        words = f"drop {', '.join(keys) or 'nothing'} from one of the tables"
        found.append(told(claim, reason, {"on": keys, "rows that join alone": alone.height}, words))
    return found


def _starred_findings(passed: Passed) -> list[Finding]:
    """Return whether a row without quasi-identifiers is marked by a passed-on value; none where no row is starred."""
    if not passed.quasi.width:
        return []
    starred = passed.quasi.select(pl.all_horizontal(pl.all() == SUPPRESSED).fill_null(value=False)).to_series()
    if not starred.any() or starred.all():
        return []
    blamed = [column.name for column in passed.columns if (column.once & starred).any()]
    reason = f"a suppressed row has a value of '{blamed[0]}' that no other row has" if blamed else None
    words = "leave suppressed rows out, or put the value into a group"
    evidence = {"suppressed rows": int(starred.sum()), "columns to blame": blamed}
    return [told("suppressed rows are not marked by another value", reason, evidence, words)]
