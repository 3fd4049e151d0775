"""Claims of a stream's card against the released file: every row in its place, every group whole, every crowd of k.

The columns are those of the contract: published values, `group`, `size`, `seq`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from sfumato.audit.release.types import type_finding, typed_columns
from sfumato.core.cells import SUPPRESSED
from sfumato.evaluate.check import check
from sfumato.random import Source
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.schema import Role
from sfumato.table import Table

COUNTERS = ("group", "size", "seq")


def stream_findings(card: Card, table: Table, path: Path, trials: int, rng: Source | None) -> list[Finding]:
    """Return what became of the claims about a stream."""
    del path, trials, rng
    missing = [name for name in COUNTERS if name not in table.names]
    if missing:
        return [leave_unaudited("the rows of the stream are complete", f"the file has no column {', '.join(missing)}")]
    typed = typed_columns(card, table)
    types = [type_finding([(table, typed)])] if typed else []
    return [*types, _in_order(table), _whole(table), *_crowds(card, table), *_losses(card)]


def _in_order(table: Table) -> Finding:
    seq = table.frame["seq"].cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    wrong = np.flatnonzero(seq != np.arange(len(seq)))
    told = {"row": (f"seq {seq[wrong[0]]} in row {wrong[0] + 1}", str(wrong[0]))} if wrong.size else {}
    return compare_stated("rows are numbered one after another, none twice and none left out", told, {"rows": len(seq)})


def _whole(table: Table) -> Finding:
    """Return whether every group has as many rows as it says."""
    size = pl.col("size").cast(pl.Int64, strict=False).fill_null(-1)  # what is no number is the size of no group
    groups = table.frame.group_by("group").agg(pl.len(), size.min().alias("least"), size.max())
    wrong = groups.filter((pl.col("len") != pl.col("least")) | (pl.col("least") != pl.col("size"))).sort("group")
    told = {}
    if wrong.height:
        first = wrong.row(0, named=True)
        stated = first["least"] if first["least"] != first["len"] else first["size"]
        told = {f"group {first['group']}": (f"{first['len']} rows", "no number" if stated < 0 else f"{stated}")}
    evidence = {"groups": groups.height, "not whole": wrong.height}
    return compare_stated("every group has as many rows as its size says", told, evidence)


def _crowds(card: Card, table: Table) -> list[Finding]:
    """Return whether every published combination of quasi-identifiers is shared by k rows."""
    k = card.guarantee.parameters.get("k")
    quasi = [
        column.name for column in card.released.columns if column.role == Role.QUASI and column.name in table.names
    ]
    if k is None or not quasi:
        return []
    names = [column.name for column in card.released.columns if column.name in table.names]
    told = table.frame.filter(~pl.all_horizontal(pl.col(names).cast(pl.String) == SUPPRESSED))  # the rest tell nothing
    if told.height == 0:
        return []
    found = check(Table(told), quasi)
    evidence = {"measured": found.k, "classes": found.classes}
    if found.k < k:
        evidence["reason"] = f"a combination is shared by {found.k} rows"  # type: ignore[assignment]
    verdict = REFUTED if found.k < k else NOT_REFUTED
    claim = f"k-anonymity: every published combination is shared by at least {k} rows of the stream"
    return [Finding(claim=claim, verdict=verdict, bound=found.k, evidence=evidence)]


def _losses(card: Card) -> list[Finding]:
    """Return that the noise is left to the audit of streams, which needs many streams and not one."""
    epsilon = card.guarantee.parameters.get("epsilon")
    if epsilon is None:
        return []
    why = f"one stream cannot show it; run sfumato audit stream --publisher {card.algorithm} --epsilon {epsilon:g}"
    return [leave_unaudited(f"{card.guarantee.model} with ε={epsilon:g}", why)]
