"""m-invariance: a person keeps the same set of possible values in every release (Xiao & Tao 2007).

Groups have at least m rows and no value twice; people who were published before are grouped with exactly
the values they were published with, newcomers or counterfeit rows standing in for those who left. No other groups of
one release need fewer counterfeit rows (docs/algorithms/republication.md has the proof).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.core.progress import counting
from sfumato.errors import InputError, UnsatisfiableError

Signature = frozenset[str]
Positions = npt.NDArray[np.float64]
COUNTERFEIT = -1


@dataclass
class Bucket:
    """Real rows of one signature by their value; counterfeit rows make up for values that have fewer than others."""

    rows: dict[str, list[int]]

    @classmethod
    def of(cls, signature: Signature) -> Bucket:
        return cls({value: [] for value in sorted(signature)})

    @property
    def height(self) -> int:
        """How many rows the most frequent value has, which is the number of groups."""
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
    buckets, new = _divide(rows, past, m)
    for bucket in buckets.values():
        _fill_gaps(bucket, new)
    known = Counter(value for _, _, value in rows)
    known.update(value for signature in past.values() for value in signature)
    for signature, group in _deal_new_rows(new, m, known):
        bucket = buckets.setdefault(signature, Bucket.of(signature))
        for row, value in group:
            bucket.rows[value].append(row)
    return _split(buckets, positions, len(rows))


def _divide(
    rows: Sequence[tuple[int, str, str]], past: Mapping[str, Sequence[str]], m: int
) -> tuple[dict[Signature, Bucket], dict[str, list[int]]]:
    """Return those published before in buckets by signature, and the new rows by value."""
    buckets: dict[Signature, Bucket] = {}
    new: dict[str, list[int]] = defaultdict(list)
    for row, person, value in rows:
        if person not in past:
            new[value].append(row)
            continue
        signature = frozenset(past[person])
        _refuse_signature(person, value, signature, m)
        buckets.setdefault(signature, Bucket.of(signature)).rows[value].append(row)
    return buckets, new


def _refuse_signature(person: str, value: str, signature: Signature, m: int) -> None:
    """Refuse a person who can no longer be given the values published before, or was given fewer than m."""
    if value not in signature:
        raise InputError(
            f"person '{person}' now has '{value}', which is not among the values published before; "
            "m-invariance needs values that do not change: give the person a new id, or keep the old value"
        )
    if len(signature) < m:
        raise InputError(
            f"person '{person}' was published among {len(signature)} values, and m-invariance keeps them: nobody can "
            f"have m={m} now; ask for an l of {len(signature)}, or begin another history with people who were in none"
        )


def _fill_gaps(bucket: Bucket, new: Mapping[str, list[int]]) -> None:
    """Let newcomers stand in wherever a value has fewer rows than another: that never costs a counterfeit row."""
    height = bucket.height
    for value, rows in bucket.rows.items():
        waiting = new.get(value, [])
        rows += [waiting.pop() for _ in range(min(height - len(rows), len(waiting)))]


def _deal_new_rows(
    new: Mapping[str, list[int]], m: int, known: Counter[str]
) -> list[tuple[Signature, list[tuple[int, str]]]]:
    """Return the new rows dealt out by value, so that no group has a value twice, each group with its signature.

    Values are dealt in their order and not as they come, so that the next release makes the same signatures again:
    few large buckets need fewer counterfeit rows than many small ones when people leave.
    """
    dealt = [(row, value) for value in sorted(new) for row in new[value]]
    if not dealt:
        return []
    if len(known) < m:
        raise UnsatisfiableError(
            f"m-invariance with m={m} needs as many different values; there are {len(known)}, so at most "
            f"m={len(known)} is possible"
        )
    count = max(len(dealt) // m, *(len(rows) for rows in new.values()))
    common = sorted(known, key=lambda value: (-known[value], value))
    groups = [dealt[start::count] for start in range(count)]
    return [(_signature({value for _, value in group}, m, common), group) for group in groups]


def _signature(shown: set[str], m: int, common: Sequence[str]) -> Signature:
    """Return the values that a new group shows: its own, filled up to m with the most common others."""
    others = [value for value in common[: m + len(shown)] if value not in shown]
    return frozenset([*shown, *others[: max(0, m - len(shown))]])


def _split(buckets: Mapping[Signature, Bucket], positions: Positions, rows: int) -> Invariant:
    """Return the groups of all buckets: one row of each value, a counterfeit one where a value has none to give."""
    from sfumato.tabular.republication.split_kernel import split_bucket

    numbers, first = np.empty(rows, dtype=np.int64), 0
    signatures, found = [frozenset[str]()] * rows, []
    with counting(rows, "rows grouped") as done:
        for signature, bucket in buckets.items():
            sizes = [len(rows) for rows in bucket.rows.values()]
            order = np.array([row for rows in bucket.rows.values() for row in rows], dtype=np.int64)
            starts = np.cumsum([0, *sizes], dtype=np.int64)
            count = split_bucket(order, starts, positions, first, numbers, done)
            groups = [dict.fromkeys(bucket.rows, COUNTERFEIT) for _ in range(count)]
            for value, members in bucket.rows.items():
                for row in members:
                    groups[numbers[row] - first][value] = row
                    signatures[row] = signature
            found += [[(row, value) for value, row in group.items()] for group in groups]
            first += count
    return Invariant(found, signatures)
