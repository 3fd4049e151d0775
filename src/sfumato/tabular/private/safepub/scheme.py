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
from sfumato.tabular.lattice.lattice import Lattice, Levels
from sfumato.tabular.problem import Problem

GRAINS = 1000  # a row that is released exactly scores this much
SLOPE = 2  # rows by which one more row in a class can move the score
MOST_SCHEMES = 1 << 14
PUBLIC_SEED = 2018  # steers which schemes are candidates where there are more; it is no secret


@dataclass(frozen=True, eq=False)
class Schemes:
    """The candidates for one table: levels of every column, the finest row of counts below them, and their scores.

    `enough` is how many rows a class needs to be kept by sampling, about k/β.
    """

    lattice: Lattice
    enough: int

    @classmethod
    def of(cls, table: Table, schema: Schema, columns: Sequence[Column], k: int, beta: Fraction) -> Schemes:
        """Return the candidates over public columns; every released column counts."""
        problem = Problem(table, schema, [KAnonymity(k)], list(columns), {}, None)
        return cls(Lattice.of(problem), math.ceil(k / beta))

    def candidates(self) -> list[Levels]:
        """The schemes to choose among: all, or a public choice of them where there are too many."""
        shape = self.lattice.shape
        count = math.prod(shape)
        if count <= MOST_SCHEMES:
            return list(itertools.product(*(range(levels) for levels in shape)))
        if count > 1 << 40:
            raise SchemaError("the hierarchies allow more than 2^40 schemes; fix one with `scheme`, or release less")
        chosen = _public_choice(count)
        found = np.unravel_index(chosen, shape)
        return [self.lattice.top, *zip(*(part.tolist() for part in found), strict=True)]

    def score(self, levels: Levels) -> int:
        """The score of a scheme: rows that it keeps, each weighted by what it still tells, in thousandths.

        A class of c rows counts min(c, 2·(c - m)) rows, and none below m, half of what sampling needs: a ramp
        instead of a step, so that one row more adds at most two.
        """
        tally = self.lattice.tally(levels)
        least = self.enough // 2
        chosen = tally.sizes > least
        sizes = tally.sizes[chosen]
        told = len(self.lattice.ladders) - self.lattice.group_losses(tally, chosen)
        weights = np.floor(np.clip(told / len(self.lattice.ladders), 0.0, 1.0) * GRAINS).astype(np.int64)
        return int(np.minimum(sizes, SLOPE * (sizes - least)) @ weights)

    def pick(self, epsilon: Fraction, noise: Noise) -> Levels:
        """Return a scheme by the exponential mechanism at ε; one row more raises scores and lowers none."""
        candidates = self.candidates()
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


def fixed_levels(columns: Sequence[Column], tops: Levels, scheme: dict[str, int]) -> Levels:
    """Return the levels of a scheme that was fixed beforehand; a column without one goes to the top."""
    names = [column.name for column in columns]
    for name, level in scheme.items():
        if name not in names:
            raise ParameterError(f"the scheme names '{name}', which is not released{suggestion(name, names)}")
        top = tops[names.index(name)]
        if not 0 <= level <= top:
            raise ParameterError(f"the scheme gives column '{name}' level {level}; it has levels 0 to {top}")
    return tuple(scheme.get(name, top) for name, top in zip(names, tops, strict=True))


def _public_choice(count: int) -> npt.NDArray[np.int64]:
    """Return as many numbers below `count` as are tried, drawn from a public seed."""
    if count <= 1 << 20:
        return permutation(count, SeededSource(PUBLIC_SEED))[: MOST_SCHEMES - 1]
    return np.unique(np.random.default_rng(PUBLIC_SEED).integers(0, count, MOST_SCHEMES - 1))
