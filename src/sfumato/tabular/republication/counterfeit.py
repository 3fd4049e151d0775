"""The rows of an m-invariant release: real ones and counterfeit ones that nobody can tell apart (Xiao & Tao 2007).

A counterfeit row takes its place from a real row of its group, so it never widens the group's box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sfumato.errors import BrokenPromiseError, ParameterError, SchemaError
from sfumato.models.base import Model
from sfumato.models.l_diversity import LDiversity
from sfumato.random import Source, permutation
from sfumato.schema import Role
from sfumato.tabular.problem import Problem
from sfumato.tabular.republication.draft import Draft, Integers, coded_values
from sfumato.tabular.republication.m_invariance import COUNTERFEIT, Invariant, Signature, invariant_groups


@dataclass(frozen=True, eq=False)
class Counterfeited:
    """Real rows followed by counterfeit rows, their groups, and the signature of every real row's person."""

    problem: Problem
    groups: Integers
    persons: Sequence[str]
    signatures: Sequence[Signature]

    @classmethod
    def of(cls, problem: Problem, past: Mapping[str, Sequence[str]], m: int, source: Source) -> Counterfeited:
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
