"""The generalisation scheme of a private table: one level for every column, picked by the exponential mechanism.

Bild, Kuhn & Prasser 2018 pick a scheme by a score of the rows it keeps; the score here moves by at most two rows when a
person comes or goes, whatever k is, and always upwards when one comes (docs/algorithms/safepub.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Whole
from sfumato.errors import ParameterError, SchemaError, suggestion
from sfumato.models.k_anonymity import KAnonymity
from sfumato.random import Noise, SeededSource, permutation
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.problem import Problem

GRAINS = 1000  # a row that is released exactly scores this much
SLOPE = 2  # rows by which one more row in a class can move the score
MOST_SCHEMES = 1 << 14
PUBLIC_SEED = 2018  # steers which schemes are candidates where there are more; it is no secret


@dataclass(frozen=True, eq=False)
class SchemeChoice:
    """What a scheme is chosen among, known before any row is read: the columns' ladders and the candidates.

    >>> from sfumato.schema import Attribute, Kind, Role
    >>> sex = Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M"))
    >>> column = Column(sex, np.zeros(0, dtype=np.int32), ["F", "M"], has_missing=True)
    >>> SchemeChoice.of([column]).candidates, SchemeChoice.of([column], {"sex": 0}).candidates
    ([(0,), (1,)], [(0,)])
    """

    ladders: tuple[Ladder, ...]
    candidates: Sequence[Levels]
    fixed: bool

    @classmethod
    def of(cls, columns: Sequence[Column], scheme: Mapping[str, int] | None = None) -> SchemeChoice:
        """Return the one scheme that was fixed beforehand, or all there are to pick from."""
        ladders = tuple(Ladder.of(column) for column in columns)
        if scheme is not None:
            return cls(ladders, [fixed_levels(ladders, scheme)], fixed=True)
        return cls(ladders, candidate_levels([ladder.top + 1 for ladder in ladders]), fixed=False)


def candidate_levels(shape: Sequence[int]) -> list[Levels]:
    """Return the schemes to choose among, by the number of levels of each column.

    >>> candidate_levels([2, 1])
    [(0, 0), (1, 0)]
    """
    count = math.prod(shape)
    if count <= MOST_SCHEMES:
        return list(itertools.product(*(range(levels) for levels in shape)))
    if count > 1 << 40:
        raise SchemaError("the hierarchies allow more than 2^40 schemes; fix one with `scheme`, or release less")
    found = np.unravel_index(_public_choice(count), tuple(shape))
    return [tuple(levels - 1 for levels in shape), *zip(*(part.tolist() for part in found), strict=True)]


@dataclass(frozen=True, eq=False)
class Schemes:
    """The candidates with their scores on one table; `enough` is how many rows a class needs, about k/β.

    A table without rows has no lattice of counts: it has the same candidates, and each of them scores 0.
    """

    choice: SchemeChoice
    lattice: Lattice | None
    enough: int

    @classmethod
    def of(cls, table: Table, schema: Schema, choice: SchemeChoice, k: int, beta: Fraction) -> Schemes:
        """Return the candidates over public columns; every released column counts."""
        columns = [ladder.column for ladder in choice.ladders]
        problem = Problem(table, schema, [KAnonymity(k)], columns, {}, None)
        return cls(choice, Lattice.of(problem) if table.rows else None, math.ceil(k / beta))

    def score(self, levels: Levels) -> int:
        """The score of a scheme: rows that it keeps, each weighted by what it still tells, in thousandths.

        A class of c rows counts min(c, 2·(c - m)) rows, and none below m, half of what sampling needs: a ramp
        instead of a step, so that one row more adds at most two.
        """
        if self.lattice is None:
            return 0
        tally = self.lattice.tally(levels)
        least = self.enough // 2
        chosen = tally.sizes > least
        sizes = tally.sizes[chosen]
        told = len(self.choice.ladders) - self.lattice.group_losses(tally, chosen)
        weights = np.floor(np.clip(told / len(self.choice.ladders), 0.0, 1.0) * GRAINS).astype(np.int64)
        return int(np.minimum(sizes, SLOPE * (sizes - least)) @ weights)

    def pick(self, epsilon: Fraction, noise: Noise) -> Levels:
        """Return a scheme by the exponential mechanism at ε; one row more raises scores and lowers none."""
        candidates = self.choice.candidates
        scores = [self.score(levels) for levels in candidates]
        return candidates[noise.exponential(scores, SLOPE * GRAINS / epsilon)]


@dataclass(frozen=True)
class SchemeRule:
    """A level for some columns, by name, or None.

    >>> SchemeRule().accepts({"age": 2}), SchemeRule().accepts({"age": -1})
    (True, False)
    """

    wanted: str = "a level from 0 for each of some columns, or None"

    def accepts(self, value: object) -> bool:
        if value is None:
            return True
        return isinstance(value, Mapping) and all(
            isinstance(name, str) and Whole(0).accepts(level) for name, level in value.items()
        )

    def bad_values(self) -> list[object]:
        return [2, "age", {"age": -1}, {"age": "top"}]


def fixed_levels(ladders: Sequence[Ladder], scheme: Mapping[str, int]) -> Levels:
    """Return the levels of a scheme that was fixed beforehand; a column without one goes to the top."""
    names = [ladder.column.name for ladder in ladders]
    for name, level in scheme.items():
        if name not in names:
            raise ParameterError(f"the scheme names '{name}', which is not released{suggestion(name, names)}")
        top = ladders[names.index(name)].top
        if not 0 <= level <= top:
            raise ParameterError(f"the scheme gives column '{name}' level {level}; it has levels 0 to {top}")
    return tuple(scheme.get(name, ladder.top) for name, ladder in zip(names, ladders, strict=True))


def _public_choice(count: int) -> npt.NDArray[np.int64]:
    """Return as many numbers below `count` as are tried, drawn from a public seed."""
    if count <= 1 << 20:
        return permutation(count, SeededSource(PUBLIC_SEED))[: MOST_SCHEMES - 1]
    return np.unique(np.random.default_rng(PUBLIC_SEED).integers(0, count, MOST_SCHEMES - 1))
