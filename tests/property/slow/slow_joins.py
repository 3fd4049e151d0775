"""Joins as dictionaries and loops in Python, and persons bounded by sorting their hashes: slow and obvious."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from typing import Any

from sfumato.promise.unit import ProtectRows, Unit
from sfumato.schema import Attribute, Kind, Schema

Row = dict[str, str | None]
SECRET = b"secret"
Cells = dict[str, Any]


def read(row: Row, schema: Schema) -> Cells:
    return {name: cell(row[name], attribute) for name, attribute in schema.columns.items()}


def cell(text: str | None, attribute: Attribute) -> Any:
    if text is None or text in attribute.missing:
        return None
    try:
        if attribute.kind is Kind.INTEGER:
            return int(text)
        if attribute.kind is Kind.NUMBER:
            return float(text) if math.isfinite(float(text)) else None
    except ValueError:
        return None
    return text


def looked_up(rows: list[Cells], public: list[Cells], on: list[tuple[str, str]], *, left: bool) -> list[Cells]:
    found: dict[tuple[Any, ...], list[Cells]] = defaultdict(list)
    added = [name for name in ("id", "route", "city", "lift") if name not in {theirs for _, theirs in on}]
    for entry in public:
        found[tuple(entry[theirs] for _, theirs in on)].append({name: entry[name] for name in added})
    joined: list[Cells] = []
    for row in rows:
        key = tuple(row[ours] for ours, _ in on)
        matches = [] if None in key else found.get(key, [])
        if left and not matches:
            matches = [dict.fromkeys(added)]
        joined += [{**row, **match} for match in matches]
    return joined


def spelled(value: Any) -> str:
    if isinstance(value, float):
        value = math.floor(value * 2**20)
    return "-" if value is None else f"{len(str(value).encode())}:{value}"


def truncated(rows: list[Cells], names: list[str], most: int, table: str) -> list[Cells]:
    """At most so many rows of each person: those with the least hash of the table's name and their cells."""

    def digest(row: Cells) -> tuple[Any, ...]:
        text = f"{SECRET.hex()}:{len(names)}:{spelled(table)}{''.join(spelled(row[name]) for name in names)}"
        order = [(row[name] is not None, row[name]) for name in names]
        return hashlib.sha256(text.encode()).hexdigest(), order

    kept: list[Cells] = []
    for person in {row["rider"] for row in rows} - {None}:
        kept += sorted((row for row in rows if row["rider"] == person), key=digest)[:most]
    return kept


def attached(rows: list[Cells], others: list[Cells], *, left: bool) -> list[Cells]:
    joined: list[Cells] = []
    for row in rows:
        matches = [other for other in others if row["rider"] is not None and other["rider"] == row["rider"]]
        if left and not matches:
            matches = [{"home": None, "age": None}]
        joined += [{**other, **row} for other in matches]
    return joined


def bounded(rows: list[Cells], key: str | None, values: list[Any], unit: Unit) -> dict[Any, int]:
    """The rows counted in every group, each person bounded by the hash of person and group."""
    counts: Counter[Any] = Counter()
    if isinstance(unit, ProtectRows):
        counts.update(row[key] if key else () for row in rows)
        return {value: counts[value] for value in values}
    for person in {row["rider"] for row in rows} - {None}:
        own = Counter(row[key] if key else () for row in rows if row["rider"] == person)
        groups = [group for group in values if own[group]]
        order = sorted(groups, key=lambda group: _group_hash(str(person), group, keyed=key is not None))
        for group in order[: unit.groups if key else 1]:
            counts[group] += min(own[group], unit.rows)
    return {value: counts[value] for value in values}


def _group_hash(person: str, group: Any, *, keyed: bool) -> str:
    if not keyed:
        return ""
    return hashlib.sha256(f"{SECRET.hex()}:1:{spelled(person)}{spelled(group)}".encode()).hexdigest()
