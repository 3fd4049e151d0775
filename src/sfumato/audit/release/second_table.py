"""The second table of an anatomised release, which counts sensitive values by group, against its card.

Its counts say how many rows of a group have a value (Xiao & Tao 2006, "Anatomy: Simple and Effective Privacy
Preservation"); only where they add up to the released rows can the values be dealt out and measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.files import sha256_of
from sfumato.release.card import Card, Companion
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.schema import Role
from sfumato.table import Table, read

GROUP, COUNT = "group", "count"


@dataclass(frozen=True, eq=False)
class DealtValues:
    """The sensitive values of a second table, dealt to its groups one row each; no table where that cannot be done."""

    table: Table | None
    names: list[str]
    findings: list[Finding]


def dealt_values(card: Card, path: Path, rows: int) -> DealtValues:
    """Return the values of the second table beside a release of so many rows, and what became of its own claims."""
    companion: Companion = card.released.companions[0]
    file = companion.beside(path)
    values = read(file)
    names = [column.name for column in companion.columns if column.role == Role.SENSITIVE]
    found = [_same_table(companion, file), _whole_counts(companion, values, [GROUP, *names, COUNT], rows)]
    if found[1].refuted:
        return DealtValues(None, names, found)
    counts = values.column(COUNT).cast(pl.UInt32)
    dealt = values.frame.select(pl.col([GROUP, *names]).repeat_by(counts)).explode([GROUP, *names])
    return DealtValues(Table(dealt), names, found)


def _same_table(companion: Companion, file: Path) -> Finding:
    claim = f"the table '{companion.name}' is the one that the card was written for"
    if companion.sha256 is None:
        return leave_unaudited(claim, "the card names no hash, so nothing ties it to a file")
    evidence: dict[str, Any] = {"file": file.name, "sha256": sha256_of(file), "stated": companion.sha256}
    same = evidence["sha256"] == companion.sha256
    if not same:
        evidence["reason"] = "its SHA-256 is another; it was changed, or belongs to another card"
    return Finding(claim=claim, verdict=NOT_REFUTED if same else REFUTED, evidence=evidence)


def _whole_counts(companion: Companion, values: Table, names: list[str], rows: int) -> Finding:
    """Return whether the table has its columns, and counts from 1 on that add up to the released rows."""
    claim = f"the counts of the table '{companion.name}' are whole numbers that add up to the released rows"
    gone = [name for name in names if name not in values.names]
    if gone:
        return compare_stated(claim, {"missing columns": (", ".join(gone), "")}, {})
    counts = values.column(COUNT).cast(pl.Int64, strict=False)
    none = (counts.is_null() | (counts < 1)).fill_null(value=True)
    if none.any():
        first = int(none.arg_true()[0]) + 1
        return compare_stated(claim, {"counts": (f"{none.sum()} that are none, the first in row {first}", "")}, {})
    total = sum(counts.to_list())  # Python's integers do not overflow
    wrong = {} if total == rows else {"sum of the counts": (str(total), str(rows))}
    return compare_stated(claim, wrong, {"rows": rows, "counts": len(counts)})
