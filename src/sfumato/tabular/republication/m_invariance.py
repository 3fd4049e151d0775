"""m-invariance: a person keeps the same set of possible values in every release (Xiao & Tao 2007).

Groups have at least m rows and no value twice; people who were published before are grouped with exactly
the values they were published with, newcomers or counterfeit rows standing in for those who left. A counterfeit row
takes its place from a real row of its group, so it never widens the group's box.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import BrokenPromiseError, InputError, ParameterError, SchemaError, UnsatisfiableError
from sfumato.models.base import Model
from sfumato.models.l_diversity import LDiversity
from sfumato.random import Source, permutation
from sfumato.schema import Role
from sfumato.tabular.problem import Problem
from sfumato.tabular.republication.draft import Draft, Integers, coded_values

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
    for group in _deal_new_rows(new, m, known):
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


def _deal_new_rows(new: Mapping[str, list[int]], m: int, known: Counter[str]) -> list[list[tuple[int, str]]]:
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


@dataclass(frozen=True, eq=False)
class InvariantRows:
    """Real rows followed by counterfeit rows, their groups, and the signature of every real row's person."""

    problem: Problem
    groups: Integers
    persons: Sequence[str]
    signatures: Sequence[Signature]

    @classmethod
    def of(cls, problem: Problem, past: Mapping[str, Sequence[str]], m: int, source: Source) -> InvariantRows:
        """Return the rows of an m-invariant release, given the signatures of those published before."""
        column, person = _columns(problem, m)
        frame = problem.table.frame.with_columns(pl.col(column, person).cast(pl.String).fill_null(""))
        persons, values = frame.get_column(person).to_list(), frame.get_column(column).to_list()
        positions = np.stack([part.positions[part.codes] for part in problem.quasi], axis=1)
        shuffled = [(row, persons[row], values[row]) for row in permutation(len(values), source).tolist()]
        found = invariant_groups(shuffled, positions, past, m)
        full = pl.concat([frame, _counterfeits(frame, found, column, person)])
        table = replace(problem.table, frame=full)
        return cls(Problem.of(table, problem.schema, problem.models), _numbers(found, len(values)), persons,
                   found.signatures)  # fmt: skip

    def count(self, draft: Draft) -> int:
        """Return how many counterfeit rows a draft of these rows keeps."""
        return int((draft.classes[len(self.persons) :] >= 0).sum())

    def kept_signatures(self, draft: Draft) -> dict[str, tuple[str, ...]]:
        """Return the signatures of the people in a draft, once each one's class shows all of it."""
        values, codes = coded_values(self.problem.table.column(_columns(self.problem)[0]))
        kept = draft.classes >= 0
        shown: list[set[str]] = [set() for _ in range(draft.count)]
        for number, code in set(zip(draft.classes[kept].tolist(), codes[kept].tolist(), strict=True)):
            shown[number].add(values[code])
        signatures = {}
        for person, signature, number in zip(self.persons, self.signatures, draft.classes.tolist(), strict=False):
            if number < 0:
                continue
            if not signature <= shown[number]:
                raise BrokenPromiseError("the release was withheld: a class lacks a value of a signature; report it")
            signatures[person] = tuple(sorted(signature))
        return signatures


def _columns(problem: Problem, m: int | None = None) -> tuple[str, str]:
    """Return the sensitive column and the person column; refuse what m-invariance has no answer for."""
    sensitive, person = problem.schema.names(Role.SENSITIVE), problem.schema.person
    if len(sensitive) != 1 or problem.schema.names(Role.OTHER):
        raise SchemaError(
            "m-invariance needs one sensitive column and no others beside the quasi-identifiers; drop them"
        )
    if person is None or problem.person is None:
        raise SchemaError("m-invariance follows persons from release to release; declare the column that names them")
    if m is not None:
        _refuse_models(problem.models, m)
        if len(np.unique(problem.person)) < problem.table.rows:
            raise SchemaError("m-invariance needs one row for each person; gather each person's rows into one")
    return sensitive[0], person


def _refuse_models(models: Sequence[Model], m: int) -> None:
    for model in models:
        if isinstance(model, LDiversity) and model.kind == "recursive":
            raise ParameterError("m-invariance promises distinct and entropy l-diversity, not the recursive one")
        if model.least_units > m:
            raise ParameterError(
                f"m-invariant groups have m={m} rows, {model.name} asks for {model.least_units}; ask for an l of "
                f"{model.least_units}, or for less"
            )


def _counterfeits(frame: pl.DataFrame, found: Invariant, column: str, person: str) -> pl.DataFrame:
    donors, values = [], []
    for group in found.groups:
        donor = next(row for row, _ in group if row != COUNTERFEIT)
        values += [value for row, value in group if row == COUNTERFEIT]
        donors += [donor] * sum(row == COUNTERFEIT for row, _ in group)
    taken = set(frame.get_column(person).to_list())
    names = [f"counterfeit {number}" for number in range(len(donors) + len(taken))]
    free = [name for name in names if name not in taken][: len(donors)]
    return frame[donors].with_columns(
        pl.Series(column, values, dtype=pl.String), pl.Series(person, free, dtype=pl.String)
    )


def _numbers(found: Invariant, rows: int) -> Integers:
    """Return the group of each real row and then of each counterfeit row, in the order they were made."""
    groups = np.empty(rows, dtype=np.int64)
    counterfeit = []
    for number, group in enumerate(found.groups):
        for row, _ in group:
            if row == COUNTERFEIT:
                counterfeit.append(number)
            else:
                groups[row] = number
    return np.concatenate([groups, np.array(counterfeit, dtype=np.int64)])
