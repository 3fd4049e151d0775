"""The record of a run, `record.json`: every row, how costs grow, and the machine; and what fell since the last one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import Row

FILE = Path(__file__).parent / "record.json"
KEPT = 2 / 3  # a ratio that keeps less than this of its worth fell by more than a third


@dataclass(frozen=True)
class Curve:
    """Seconds over n, d or k, and the exponent of the power law nearest to its points from `low` to `high`."""

    what: str
    who: str
    over: str
    setting: str
    points: tuple[tuple[float, float], ...]
    exponent: float
    low: float
    high: float


@dataclass(frozen=True)
class Record:
    """One run of all benchmarks."""

    machine: dict[str, Any]
    rows: tuple[Row, ...]
    curves: tuple[Curve, ...] = ()

    def row(self, name: str) -> Row:
        """Return a row by its name."""
        return next(row for row in self.rows if row.name == name)


def as_text(record: Record) -> str:
    """Return a record as the text of `record.json`."""
    rows = [
        {
            "what": row.name,
            "ours": row.ours,
            "reference": row.reference,
            "ratio": row.ratio,
            "goal": row.goal,
            "direction": "at most" if row.at_most else "at least",
        }
        for row in record.rows
    ]
    curves = [asdict(curve) for curve in record.curves]
    return json.dumps({"machine": record.machine, "rows": rows, "growth": curves}, indent=1, ensure_ascii=False) + "\n"


def from_text(text: str) -> Record:
    """Return the record that a text of `record.json` holds."""
    plain = json.loads(text)
    rows = tuple(
        Row(row["what"], row["ours"], row["reference"], row["ratio"], row["goal"], row["direction"] == "at most")
        for row in plain["rows"]
    )
    curves = tuple(
        Curve(**{**curve, "points": tuple((place, seconds) for place, seconds in curve["points"])})
        for curve in plain["growth"]
    )
    return Record(plain["machine"], rows, curves)


def updated(last: Record, now: Record) -> Record:
    """Return the last record with what was measured anew in the place of what it had; new rows come behind the others.

    Both must come from the same machine and versions, or their seconds do not stand side by side; new peers may join.
    """
    peers = {name: now.machine["peers"].get(name) for name in last.machine["peers"]}
    if last.machine != {**now.machine, "peers": peers}:
        raise ValueError("the last record comes from another machine, or from other versions; measure all anew")
    rows = {row.name: row for row in last.rows} | {row.name: row for row in now.rows}
    curves = {(one.what, one.who, one.over): one for one in (*last.curves, *now.curves)}
    return Record(now.machine, tuple(rows.values()), tuple(curves.values()))


def fallen(last: Record, now: Record) -> list[str]:
    """Return one line for every ratio that is worse than in the last record by more than a third.

    Where more is better, worse is less than two thirds of the last ratio; where less is better, more than three halves
    of it, since then it is the inverse that fell. A row that was measured and now is not has fallen too.
    """
    before = {row.name: row.ratio for row in last.rows if row.ratio is not None}
    lines = []
    for row in now.rows:
        old = before.get(row.name)
        if old is None:
            continue
        if row.ratio is None:
            lines.append(f"{row.name}: {old:.3g}, now {row.reference}")
        elif (row.ratio * KEPT > old) if row.at_most else (row.ratio < old * KEPT):
            lines.append(f"{row.name}: {old:.3g}, now {row.ratio:.3g} ({'less' if row.at_most else 'more'} is better)")
    return lines


def unmeasured(last: Record, now: Record) -> list[str]:
    """Return the names of rows that the last record has and this one has not, such as those that need real data."""
    names = {row.name for row in now.rows}
    return [row.name for row in last.rows if row.name not in names and row.ratio is not None]
