"""Transition matrices of post randomisation: which value a cell may become, with which exact probability.

Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), "Post Randomisation for Statistical Disclosure Control: Theory and
Implementation". A matrix that keeps a value with probability p, and else takes one of the others, all alike, is the
generalised randomised response of `sfumato.local`, and costs ε = ln(p(d - 1)/(1 - p)) for each cell.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError, ParameterError
from sfumato.promise.ratio import loss_above

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
LARGEST_DENOMINATOR = 2**60
MOST_VALUES = 2000  # of a column whose matrix is written out


@dataclass(frozen=True)
class TransitionMatrix:
    """The probability of each value (`rows[i][j]`: value i becomes value j), or of keeping any value (`keep`).

    `learnt` says that it was computed from the rows that it changes.

    >>> matrix = TransitionMatrix.uniform(["no", "yes"], "0.75")
    >>> matrix.array.tolist(), f"{matrix.epsilon:.6f}"
    ([[0.75, 0.25], [0.25, 0.75]], '1.098612')
    """

    values: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...] = ()
    keep: Fraction | None = None
    learnt: bool = False

    def __post_init__(self) -> None:
        wrong = self._contradiction()
        if wrong:
            raise ParameterError(f"the transition matrix {wrong}")

    def _contradiction(self) -> str | None:
        size = len(self.values)
        if len(set(self.values)) != size or size == 0:
            return "must list each value once, and at least one"
        if self.keep is not None:
            fits = 0 < self.keep <= 1 and self.keep.denominator <= LARGEST_DENOMINATOR
            return None if fits else f"keeps a value with {self.keep}; give a probability of at most 18 decimals"
        return self._contradicting_row()

    def _contradicting_row(self) -> str | None:
        size = len(self.values)
        if len(self.rows) != size or any(len(row) != size for row in self.rows):
            return f"must have a row and a column for each of its {size} values"
        for value, row in zip(self.values, self.rows, strict=True):
            if any(chance < 0 for chance in row):
                return f"has a row '{value}' with {float(min(row)):g}; a probability is at least 0"
            if not self.learnt and sum(row) != 1:
                return f"has a row '{value}' whose probabilities add up to {float(sum(row)):g}; wanted exactly 1"
            if not self.learnt and math.lcm(*(chance.denominator for chance in row)) > LARGEST_DENOMINATOR:
                return f"has a row '{value}' with too many decimals; give at most 18"
        return None

    @classmethod
    def uniform(cls, values: Sequence[str], keep: str | float | Fraction) -> TransitionMatrix:
        """Return the matrix that keeps each value with one probability, and else takes another one, all alike.

        A float counts as its shortest decimal text.

        >>> TransitionMatrix.uniform(["a", "b", "c"], 0.8).chance(0, 1)
        Fraction(1, 10)
        """
        return cls(tuple(values), keep=Fraction(repr(keep) if isinstance(keep, float) else keep))

    @classmethod
    def of(cls, values: Sequence[str], rows: Sequence[Sequence[str | float | Fraction]]) -> TransitionMatrix:
        """Return a declared matrix; a float counts as its shortest decimal text.

        >>> TransitionMatrix.of(["a", "b"], [[0.9, 0.1], ["1/3", "2/3"]]).rows[1]
        (Fraction(1, 3), Fraction(2, 3))
        >>> TransitionMatrix.of(["a", "b"], [[0.9, 0.2], [0, 1]])
        Traceback (most recent call last):
        sfumato.errors.ParameterError: the transition matrix has a row 'a' whose probabilities add up to 1.1; wanted \
exactly 1
        """
        exact = tuple(tuple(Fraction(repr(p) if isinstance(p, float) else p) for p in row) for row in rows)
        return cls(tuple(values), exact)

    @classmethod
    def read(cls, path: str | Path) -> TransitionMatrix:
        """Return the matrix in a CSV file: a header with the values, then a row for each with its value first.

        >>> TransitionMatrix.read("no such file")
        Traceback (most recent call last):
        sfumato.errors.InputError: transition matrix 'no such file' cannot be read: No such file or directory
        """
        try:
            with Path(path).open(encoding="utf-8", newline="") as file:
                lines = [line for line in csv.reader(file) if line]
        except OSError as error:
            raise InputError(f"transition matrix '{path}' cannot be read: {error.strerror}") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"transition matrix '{path}' is no CSV file in UTF-8: {error}") from error
        values = [value.strip() for value in lines[0][1:]] if lines else []
        if [line[0].strip() for line in lines[1:]] != values or not values:
            raise InputError(
                f"transition matrix '{path}' must have its values in the header and, in the same order, in the first "
                f"column; found {', '.join(values) or 'no header'}"
            )
        try:
            return cls.of(values, [[Fraction(cell.strip()) for cell in line[1:]] for line in lines[1:]])
        except (ValueError, ZeroDivisionError) as error:
            raise InputError(f"transition matrix '{path}' has a cell that is no probability: {error}") from error
        except ParameterError as error:
            raise InputError(f"transition matrix '{path}': {error}") from error

    @classmethod
    def from_card(cls, stated: Mapping[str, Any]) -> TransitionMatrix:
        """Return the matrix that a card states.

        >>> matrix = TransitionMatrix.uniform(["a", "b"], "0.8")
        >>> TransitionMatrix.from_card(matrix.on_card()) == matrix
        True
        """
        values = tuple(map(str, stated["values"]))
        if "keep" in stated:
            return cls.uniform(values, str(stated["keep"]))
        rows = tuple(tuple(Fraction(str(chance)) for chance in row) for row in stated["matrix"])
        return cls(values, rows, learnt=bool(stated.get("learnt_from_rows")))

    def on_card(self) -> dict[str, Any]:
        """Return the matrix as a card states it: exact probabilities as texts, computed ones as numbers."""
        if self.keep is not None:
            return {"values": list(self.values), "keep": str(self.keep)}
        shown = [[float(chance) if self.learnt else str(chance) for chance in row] for row in self.rows]
        return {"values": list(self.values), "matrix": shown, "learnt_from_rows": self.learnt}

    def chance(self, value: int, shown: int) -> Fraction:
        """Return the probability that one value is shown as another, by their places."""
        if self.keep is None:
            return self.rows[value][shown]
        return self.keep if value == shown else (1 - self.keep) / (len(self.values) - 1)

    @cached_property
    def array(self) -> Reals:
        """All probabilities as numbers."""
        size = len(self.values)
        if size > MOST_VALUES:
            raise ParameterError(f"a matrix over {size} values is too large to be worked with; at most {MOST_VALUES}")
        return np.array([[float(self.chance(i, j)) for j in range(size)] for i in range(size)])

    @property
    def weights(self) -> Integers:
        """Whole numbers in the ratio of each row's probabilities."""
        scales = [math.lcm(*(chance.denominator for chance in row)) for row in self.rows]
        return np.array(
            [[int(chance * scale) for chance in row] for row, scale in zip(self.rows, scales, strict=True)],
            dtype=np.int64,
        )

    @property
    def epsilon(self) -> Decimal | None:
        """What one cell costs: the largest log-ratio of two values' probabilities of one report; None without a bound.

        A matrix that was learnt from the rows has none: it tells of them by itself.

        >>> TransitionMatrix.of(["a", "b"], [[1, 0], [0, 1]]).epsilon is None
        True
        """
        if self.learnt:
            return None
        if self.keep is not None and len(self.values) > 1:
            pairs = [(self.keep, self.chance(0, 1))]
        else:
            pairs = [(max(column), min(column)) for column in zip(*self.rows, strict=True) if max(column)]
        if any(min(pair) == 0 for pair in pairs):
            return None
        return max((loss_above(max(pair) / min(pair)) for pair in pairs), default=Decimal(0))

    @cached_property
    def inverse(self) -> Reals:
        """The matrix that undoes it on average; refused where none does."""
        if np.linalg.matrix_rank(self.array) < len(self.values):
            raise ParameterError(
                f"the matrix of the values {', '.join(self.values[:5])} cannot be inverted: what is released tells "
                "nothing about the original counts"
            )
        return np.asarray(np.linalg.inv(self.array), dtype=np.float64)


def invariant_matrix(first: TransitionMatrix, counts: Integers) -> TransitionMatrix:
    """Return the matrix R = P·Q that leaves the counts as they are on average, Q being Bayes' reversal of P.

    It is the two-stage matrix of Gouweleeuw et al. (1998, section 4).

    >>> matrix = invariant_matrix(TransitionMatrix.uniform(["a", "b"], "0.8"), np.array([30, 10]))
    >>> (np.array([30, 10]) @ matrix.array).round(9).tolist()
    [30.0, 10.0]
    """
    joint = first.array * counts[:, None]
    back = (joint / joint.sum(axis=0)).T
    rows = tuple(tuple(Fraction(float(f"{p:.15g}")) for p in row) for row in (first.array @ back).tolist())
    return TransitionMatrix(first.values, rows, learnt=True)
