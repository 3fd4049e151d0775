"""The law of post randomised cells as a twin run sees it: how likely each value is to be shown as another.

It is that of local reports by generalised randomised response (Kairouz, Bonawitz & Ramage 2016), for any matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.random.laws import Loss
from sfumato.tabular.perturbation.transition_matrix import TransitionMatrix


@dataclass(frozen=True, eq=False)
class MatrixLaw:
    """Cells of some codes, each drawn by one matrix; the outcome is the codes shown.

    >>> matrix = TransitionMatrix.uniform(["a", "b"], "0.75")
    >>> left, right = (MatrixLaw(np.array(codes), matrix) for codes in ([0, 0], [0, 1]))
    >>> round(left.loss(right, np.array([1, 0])).forward, 6)
    1.098612
    """

    codes: npt.NDArray[np.int64]
    matrix: TransitionMatrix

    @property
    def public(self) -> tuple[Any, ...]:
        return "post randomised cells", len(self.codes), self.matrix.values, self.matrix.rows, self.matrix.keep

    def loss(self, other: MatrixLaw, outcome: Any) -> Loss:
        """Return the log-ratio of the probabilities of the codes that were shown."""
        total = 0.0
        for left, right, shown in zip(self.codes, other.codes, outcome, strict=True):
            if left != right:
                here, there = self.matrix.chance(left, shown), other.matrix.chance(right, shown)
                if not (here and there):
                    return Loss(math.inf, math.inf, math.inf)
                total += math.log(here / there)
        return Loss(total, -total, total**2 / 2)
