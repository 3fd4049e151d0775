"""m-invariance: a person keeps the same set of possible values in every release (Xiao & Tao 2007).

Groups have at least m rows and no value twice; people who were published before are grouped with exactly
the values they were published with, newcomers or counterfeit rows standing in for those who left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError, UnsatisfiableError

Signature = frozenset[str]
Positions = npt.NDArray[np.float64]
COUNTERFEIT = -1


@dataclass
class Bucket:
    """Rows of one signature by their value; as many of each value once counterfeit rows are added."""

    rows: dict[str, list[int]]

    @classmethod
    def of(cls, signature: Signature) -> Bucket:
        return cls({value: [] for value in sorted(signature)})

    @property
    def height(self) -> int:
        """How many rows the most frequent value has."""
        return max(len(rows) for rows in self.rows.values())


@dataclass(frozen=True)
class Invariant:
    """Groups of rows as (row, value) pairs, row -1 being counterfeit, and every person's signature."""

    groups: list[list[tuple[int, str]]]
    signatures: list[Signature] = field(default_factory=list)

    @property
    def counterfeits(self) -> int:
        """The number of counterfeit rows."""
        return sum(row == COUNTERFEIT for group in self.groups for row, _ in group)


def invariant_groups(
    rows: Sequence[tuple[int, str, str]], positions: Positions, past: Mapping[str, Sequence[str]], m: int
) -> Invariant:
    """Return groups that keep every earlier signature, of rows given as (row, person, value).

    Who shares a group follows the order of `rows`, so a release needs them shuffled; `positions` places each
    row among the quasi-identifiers, for tight groups.

    >>> past = {"p": ["flu", "cough"]}
    >>> rows = [(0, "p", "flu"), (1, "q", "gout"), (2, "r", "cold")]
    >>> groups = invariant_groups(rows, np.zeros((3, 1)), past, 2)
    >>> sorted(sorted(value for _, value in group) for group in groups.groups), groups.counterfeits
    ([['cold', 'gout'], ['cough', 'flu']], 1)
    """
    buckets, new = _divide(rows, past)
    for bucket in buckets.values():
        _balance(bucket, new, m)
    known = Counter(value for _, _, value in rows) + Counter(
        value for signature in past.values() for value in signature
    )
    for group in _dealt(new, m, known):
        bucket = buckets.setdefault(frozenset(value for _, value in group), Bucket.of(frozenset(v for _, v in group)))
        for row, value in group:
            bucket.rows[value].append(row)
    groups = [group for bucket in buckets.values() for group in _split(bucket, positions)]
    signatures = [frozenset[str]()] * len(rows)
    for group in groups:
        for row, _ in group:
            if row != COUNTERFEIT:
                signatures[row] = frozenset(value for _, value in group)
    return Invariant(groups, signatures)


def _divide(
    rows: Sequence[tuple[int, str, str]], past: Mapping[str, Sequence[str]]
) -> tuple[dict[Signature, Bucket], dict[str, list[int]]]:
    """Return those published before in buckets by signature, and the new rows by value."""
    buckets: dict[Signature, Bucket] = {}
    new: dict[str, list[int]] = defaultdict(list)
    for row, person, value in rows:
        if person not in past:
            new[value].append(row)
            continue
        signature = frozenset(past[person])
        if value not in signature:
            raise InputError(
                f"person '{person}' now has '{value}', which is not among the values published before; "
                "m-invariance needs values that do not change: give the person a new id, or keep the old value"
            )
        buckets.setdefault(signature, Bucket.of(signature)).rows[value].append(row)
    return buckets, new


def _balance(bucket: Bucket, new: dict[str, list[int]], m: int) -> None:
    """Fill a bucket up to as many rows of each value, from new rows where they can be spared, else counterfeit."""
    height = bucket.height
    for value, rows in bucket.rows.items():
        while len(rows) < height:
            rows.append(new[value].pop() if _spare(new, value, m) else COUNTERFEIT)


def _spare(new: Mapping[str, list[int]], value: str, m: int) -> bool:
    """Return whether the other new rows can still be grouped by themselves, no value above one in m."""
    if not new.get(value):
        return False
    counts = {other: len(rows) - (other == value) for other, rows in new.items()}
    before = max(len(rows) for rows in new.values()) * m - sum(len(rows) for rows in new.values())
    return max(counts.values()) * m - sum(counts.values()) <= max(0, before)


def _dealt(new: Mapping[str, list[int]], m: int, known: Counter[str]) -> list[list[tuple[int, str]]]:
    """Return the new rows dealt out by value, so that no group has a value twice; short groups are filled up."""
    dealt = [(row, value) for value, rows in new.items() for row in rows]
    if not dealt:
        return []
    if len(known) < m:
        raise UnsatisfiableError(
            f"m-invariance with m={m} needs as many different values; there are {len(known)}, so at most "
            f"m={len(known)} is possible"
        )
    most = max(len(rows) for rows in new.values())
    count = max(len(dealt) // m, most)
    groups = [dealt[start::count] for start in range(count)]
    for group in groups:
        taken = {value for _, value in group}
        spare = (value for value, _ in known.most_common() if value not in taken)
        group += [(COUNTERFEIT, next(spare)) for _ in range(m - len(group))]
    return groups


def _split(bucket: Bucket, positions: Positions) -> list[list[tuple[int, str]]]:
    """Return groups with one row of each value, near each other: every value's rows are halved again and again."""
    height = bucket.height
    if height == 0:
        return []
    if height == 1:
        return [[(rows[0], value) for value, rows in bucket.rows.items()]]
    real = [row for rows in bucket.rows.values() for row in rows if row != COUNTERFEIT]
    widest = int(np.ptp(positions[real], axis=0).argmax())
    ordered = {
        value: sorted(rows, key=lambda row: (row == COUNTERFEIT, positions[row, widest] if row >= 0 else 0.0))
        for value, rows in bucket.rows.items()
    }
    half = height // 2
    halves = [{value: rows[part] for value, rows in ordered.items()} for part in (slice(half), slice(half, None))]
    return [group for part in halves for group in _split(Bucket(part), positions)]
