"""Blind Mondrian: cut only where both sides satisfy every model whichever way the sensitive values fall.

Answers the minimality attack (Wong, Fu, Wang & Pei 2007): a cut depends on the class's own counts and on
quasi-identifiers, never on which side holds which value, so that neither a cut nor its absence tells of anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import OneOf
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.base import Model
from sfumato.models.groups import ClassCounts
from sfumato.tabular.base import KEEP_ORDER, RANGES, Partition, PartitionAnonymizer
from sfumato.tabular.mondrian.python_cuts import PythonCuts
from sfumato.tabular.problem import Problem

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
MIDDLE = (8,)  # in sixteenths: no other cut of a column without a hierarchy has a larger smaller side


@dataclass(frozen=True)
class BlindMondrian(PartitionAnonymizer):
    """Mondrian whose cuts tell nothing of anybody's sensitive value, with a proof (docs/algorithms/blind-mondrian.md).

    It takes k-anonymity, l-diversity, (α, k)-anonymity, β-likeness and (k, e)-anonymity. `ranges` and `keep_order` are
    as for Mondrian.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 25, 70, 80], "ill": ["flu", "gout", "cold", "gout"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> models = [sf.KAnonymity(2), sf.LDiversity(2, "ill")]
    >>> sf.BlindMondrian(keep_order=True).anonymize(people, schema, models).frame["age"].to_list()
    ['[20-80]', '[20-80]', '[20-80]', '[20-80]']

    Both pairs have two values, but two persons with gout might have been one of the pairs: a cut that depends on it
    would tell. Without a model of `ill` it is cut as by Mondrian.
    """

    ranges: Literal["text", "columns"] = "text"
    keep_order: bool = False

    RULES: ClassVar = {"ranges": OneOf(("text", "columns")), "keep_order": OneOf((False, True))}
    OPTIONS: ClassVar = {"ranges": RANGES, "keep_order": KEEP_ORDER}
    algorithm: ClassVar = "blind-mondrian"
    reads_counts: ClassVar = True
    top_down: ClassVar = True

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(), cls(ranges="columns"))

    def accepts(self, model: Model) -> bool:
        """Return whether a model knows if all parts of a class would satisfy it."""
        return super().accepts(model) and (model.sensitive is None or model.knows_parts)

    @property
    def fits_people(self) -> Literal["labels"]:
        """People of a population fit the labels of classes, whose gaps hold others."""
        return "labels"

    def partition(self, problem: Problem) -> Partition:
        """Return the classes of cuts that no exchange of sensitive values inside a class would change."""
        self._refuse_others(problem)
        return Partition(problem.points, *BlindCuts(problem, problem.points, relaxed=False).labels(), blind=True)

    def _refuse_others(self, problem: Problem) -> None:
        for model in problem.models:
            if not self.accepts(model):
                raise ParameterError(
                    f"{self.algorithm} cannot promise {model.name}: it cuts where both sides would satisfy a model "
                    "whoever holds which value, and this model would forbid almost every such cut; ask for "
                    "l-diversity, (α, k)-anonymity, β-likeness or (k, e)-anonymity, or choose another algorithm"
                )
        if problem.sensitive and problem.person is not None and len(np.unique(problem.person)) < problem.table.rows:
            raise SchemaError(
                f"{self.algorithm} needs one row for each person where a model speaks of sensitive values; gather each "
                "person's rows into one"
            )


@dataclass(frozen=True, eq=False)
class BlindCuts(PythonCuts):
    """Cuts that are allowed by the counts of the class at hand and by the sizes of both sides, by nothing else."""

    targets: ClassVar = MIDDLE

    def _allows(self, members: Int64s, left: Bools) -> bool:
        sides = [self._units(members[side]) for side in (left, ~left)]
        if min(sides) < self.problem.least_units:
            return False
        if not all(self._survives(model, members, sides) for model in self.problem.models):
            return False
        plain = [model for model in self.problem.uncompiled if model.sensitive is None]  # reads quasi-identifiers alone
        examples, counts = self.points.examples[members], self.points.counts[members]
        halves = (left, ~left) if plain else ()
        return all(self.problem.admits(examples[half], counts[half], plain) for half in halves)

    def _units(self, members: Int64s) -> int:
        """Return the rows, or the persons, among the members."""
        if self.problem.person is None:
            return int(self.points.counts[members].sum())
        return len(np.unique(self.problem.person[self.points.examples[members]]))

    def _survives(self, model: Model, members: Int64s, sides: list[int]) -> bool:
        """Return whether a model holds on both sides, whoever of the class holds which of its values."""
        if model.sensitive is None:
            return True
        column = self.problem.sensitive[model.sensitive]
        codes, weights = column.codes[self.points.examples[members]], self.points.counts[members]
        counts = np.bincount(codes, weights=weights, minlength=column.size).astype(np.int64)
        units = int(counts.sum())
        whole = ClassCounts(units, units, counts, self.problem.shares[model.sensitive], column)
        return all(model.holds_in_parts(whole, size) for size in sides)
