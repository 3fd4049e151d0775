"""Models as flat numbers, so that a compiled search can test them without calling back into Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DISTINCT, ENTROPY, RECURSIVE, CLOSENESS, SHARE, VALUES, GAIN, RATIO, SPAN = 0, 1, 2, 3, 4, 5, 6, 7, 8
COUNTED = (DISTINCT, SHARE, VALUES, SPAN)  # counts of rows alone decide these; others weigh, or ask for persons
ABSORBING = (DISTINCT, SPAN)  # a class of rows that satisfies these does so whatever rows join it
SLACK = 1e-9  # what rounding may take from a measure before a model counts as broken
NO_CUTS = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
NO_WEIGHTS = np.empty(0, dtype=np.float64)


class Criterion(NamedTuple):
    """One model: its kind, two parameters, the cuts of its distance (t-closeness alone has any), and `skip`.

    Of the kind SPAN, `weights` are the numbers behind the values, each with an empty cut.

    `skip` is 1 where code 0 is a missing value that counts as none, otherwise 0. The kind VALUES asks for values that
    occur, whoever has them: what a search may rely on before it asks for DISTINCT ones among persons.
    """

    kind: int
    first: float
    second: float
    cuts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] = NO_CUTS
    weights: npt.NDArray[np.float64] = NO_WEIGHTS
    skip: int = 0


class Criteria(NamedTuple):
    """All criteria of a search as flat arrays; `column` says which sensitive column each speaks of."""

    kind: npt.NDArray[np.int64]
    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    column: npt.NDArray[np.int64]
    reference: npt.NDArray[np.float64]
    reference_start: npt.NDArray[np.int64]
    reference_mass: npt.NDArray[np.float64]
    cut_low: npt.NDArray[np.int64]
    cut_high: npt.NDArray[np.int64]
    cut_weight: npt.NDArray[np.float64]
    cut_start: npt.NDArray[np.int64]
    skip: npt.NDArray[np.int64]


def flatten(criteria: Sequence[tuple[Criterion, int]], references: Sequence[npt.NDArray[np.float64]]) -> Criteria:
    """Return the criteria, each with the number of its sensitive column, as flat arrays.

    >>> flatten([(Criterion(DISTINCT, 3, 0), 0)], [np.array([0.5, 0.5])]).first.tolist()
    [3.0]
    """
    parts = [criterion for criterion, _ in criteria]
    return Criteria(
        kind=np.array([part.kind for part in parts], dtype=np.int64),
        first=np.array([part.first for part in parts], dtype=np.float64),
        second=np.array([part.second for part in parts], dtype=np.float64),
        column=np.array([column for _, column in criteria], dtype=np.int64),
        reference=np.concatenate([NO_WEIGHTS, *references]),
        reference_start=np.cumsum([0, *(len(reference) for reference in references)]),
        reference_mass=np.array([reference.sum() for reference in references], dtype=np.float64),
        cut_low=np.concatenate([NO_CUTS[0], *(part.cuts[0] for part in parts)]),
        cut_high=np.concatenate([NO_CUTS[1], *(part.cuts[1] for part in parts)]),
        cut_weight=np.concatenate([NO_WEIGHTS, *(part.weights for part in parts)]),
        cut_start=np.cumsum([0, *(len(part.weights) for part in parts)]),
        skip=np.array([part.skip for part in parts], dtype=np.int64),
    )
