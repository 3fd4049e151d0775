"""Noisy counts on Anatomy's two tables, put to trials: groups are drawn at random, so that no class can be told gone.

Xiao & Tao 2006 estimate a count from each group's share of a sensitive value; the dissertation (Pereira 2014) leaves
open what noise on such counts promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec
import numpy as np

from sfumato.audit.composition.answers import Claim
from sfumato.audit.epsilon import epsilon
from sfumato.audit.epsilon.events import Integers
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.l_diversity import LDiversity
from sfumato.random import SeededSource, Source, discrete_laplace
from sfumato.release import Finding
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.tabular.anatomy import Anatomy
from sfumato.tabular.problem import Problem

FEWEST_TRIALS = 1000


@dataclass(frozen=True, eq=False)
class GroupEstimate:
    """A count estimated from Anatomy's groups: rows up to a value of one column with up to a sensitive value."""

    anonymizer: Anatomy
    problem: Problem

    def draw(self, count: int) -> Integers:
        """Return the estimate, rounded, for groups drawn anew each time."""
        quasi, sensitive = self.problem.quasi[0], next(iter(self.problem.sensitive.values()))
        asked = [column.codes <= column.size // 2 for column in (quasi, sensitive)]
        estimates = np.empty(count)
        for trial in range(count):
            partition = self.anonymizer.partition(self.problem)
            held, rows, values = (
                np.bincount(part, minlength=partition.count)
                for part in (partition.classes, partition.classes[asked[0]], partition.classes[asked[1]])
            )
            estimates[trial] = (rows * values / held).sum()
        return np.rint(estimates).astype(np.int64)


def audited_groups(table: Table, schema: Schema, models: Sequence[Model], anonymizer: Anatomy, claim: Claim) -> Finding:
    """Return whether trials refute ε for noisy counts on Anatomy's groups, with and without a row that is counted."""
    if claim.answer != "count" or not all(isinstance(model, LDiversity) for model in models):
        raise ParameterError(
            "anatomy is audited on counts, with l-diversity alone; leave --answer and other models out"
        )
    whole = Problem.of(table, schema, list(models))
    counted = np.flatnonzero(whole.quasi[0].codes <= whole.quasi[0].size // 2)
    row = int(counted[0])
    inputs = {0: whole, row + 1: whole.only(np.arange(table.rows) != row)}

    def noisy(dropped: int, count: int, rng: Source) -> Integers:
        estimates = GroupEstimate(anonymizer, inputs[dropped]).draw(count)
        return estimates + discrete_laplace(count, 1 / Fraction(str(claim.epsilon)), rng)

    found = epsilon(
        noisy,
        0,
        row + 1,
        claim=claim.epsilon,
        trials=max(FEWEST_TRIALS, claim.trials),
        rng=SeededSource(claim.seed),
    )
    evidence = {
        "algorithm": anonymizer.algorithm,
        **found.evidence,
        "claim": claim.parameters(),
        "inputs": "row dropped",
    }
    return msgspec.structs.replace(found, claim=claim.words, evidence=evidence)
