"""The rows of an m-invariant release, counterfeit ones among them, and the check that the theorem holds for them.

Xiao & Tao 2007, theorem 1: whoever knows everybody's quasi-identifiers and who is in which release finds a value with a
chance of one in m at most. A counterfeit row takes its place from a real row of its group, so it never widens the
group's box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import polars as pl

from sfumato.core.progress import tell
from sfumato.errors import BrokenPromiseError, ParameterError, SchemaError
from sfumato.models.base import Model
from sfumato.models.l_diversity import LDiversity
from sfumato.random import Source, permutation
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, Finding
from sfumato.schema import Role
from sfumato.tabular.card import ONLY_RELEASE
from sfumato.tabular.problem import Problem
from sfumato.tabular.republication.draft import Draft, Integers, coded_values
from sfumato.tabular.republication.m_invariance import COUNTERFEIT, Invariant, Signature, invariant_groups

IN_SERIES = (
    "An attacker has all releases of this series and knows everybody's quasi-identifiers and in which releases "
    "everybody is, but not which rows belong to nobody; sensitive values do not change between releases."
)


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
        tell(1.0, "checking the promise")
        full = pl.concat([frame, _counterfeits(frame, found, column, person)])
        table = replace(problem.table, frame=full)
        return cls(Problem.of(table, problem.schema, problem.models), _numbers(found, len(values)), persons,
                   found.signatures)  # fmt: skip

    @property
    def counterfeits(self) -> int:
        """The number of counterfeit rows."""
        return len(self.groups) - len(self.persons)

    def checked_signatures(self, draft: Draft, past: Mapping[str, Sequence[str]], m: int) -> dict[str, tuple[str, ...]]:
        """Return everybody's signature, once what the theorem asks of the classes is checked.

        Groups that are written alike are one class. It shows the signature of everybody in it, and no value in more
        than one of m rows.
        """
        values, codes = coded_values(self.problem.table.column(_columns(self.problem)[0]))
        counts = np.zeros((draft.count, len(values)), dtype=np.int64)
        np.add.at(counts, (draft.classes, codes), 1)
        place = {value: number for number, value in enumerate(values)}
        shown = counts > 0
        holds = bool((counts.max(axis=1) * m <= counts.sum(axis=1)).all())
        for person, signature, number in zip(self.persons, self.signatures, draft.classes.tolist(), strict=False):
            holds &= all(value in place and shown[number, place[value]] for value in signature)
            holds &= len(signature) >= m and signature == frozenset(past.get(person, signature))
        if not holds:
            raise BrokenPromiseError("the release was withheld: a class breaks what m-invariance asks of it; report it")
        return {person: tuple(sorted(own)) for person, own in zip(self.persons, self.signatures, strict=True)}


def invariant_card(card: Card, m: int, releases: int) -> Card:
    """Return the card of an m-invariant release: its claim in a series, its attacker, and what was checked."""
    finding = Finding(
        claim=f"over all releases everybody has at least {m} possible values, each with a chance of 1/{m} at most",
        verdict=NOT_REFUTED,
        bound=m,
        evidence={"releases": releases, "checked": "the conditions of the theorem of Xiao & Tao 2007, on all rows"},
    )
    parameters = {**card.guarantee.parameters, "series": "m-invariance", "releases": releases}
    model = f"{card.guarantee.model}, in series by m-invariance"
    return msgspec.structs.replace(
        card,
        guarantee=msgspec.structs.replace(card.guarantee, model=model, parameters=parameters),
        assumptions=[*(text for text in card.assumptions if text != ONLY_RELEASE), IN_SERIES],
        audits=[*card.audits, finding],
    )


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
