"""Counts of a table that went through PRAM, corrected for its matrices: unbiased, each with its variance.

Gouweleeuw et al. (1998, section 3): T* = Pᵀ·T on average, so that (Pᵀ)⁻¹·T* is unbiased for T; two columns are drawn
independently, so that their matrices multiply from the two sides of a cross-table (van den Hout & van der Heijden
2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import read
from sfumato.errors import ParameterError
from sfumato.release.card import Card
from sfumato.table import Table
from sfumato.tabular.perturbation.pram import MATRICES, PRAM
from sfumato.tabular.perturbation.transition_matrix import TransitionMatrix

Reals = npt.NDArray[np.float64]
MOST_COLUMNS = 2
REACH = NormalDist().inv_cdf(0.975)
TAKEN = ("count", "variance", "low", "high")


def pram_counts(table: Table, card: Card, by: Sequence[str]) -> pl.DataFrame:
    """Return the estimated original count of each value of a column, or of each pair of values of two.

    Each has the variance that the draws give it, and a 95 % interval. An estimate is unbiased, so that it may be
    negative. Columns that were not drawn anew are counted as they are; a missing value counts as a value `""`.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"sex": ["F"] * 700 + ["M"] * 300}))
    >>> sex = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
    >>> release = sf.PRAM(keep=0.9).anonymize(people, sf.Schema({"sex": sex}))
    >>> found = pram_counts(release.table, release.card, ["sex"])
    >>> round(found["count"].sum()), bool((found["count"][0] - 700) ** 2 < 36 * found["variance"][0])
    (1000, True)
    """
    if card.algorithm != PRAM.algorithm:
        raise ParameterError(f"the card is of {card.algorithm}; counts are corrected for a release by pram")
    if not 1 <= len(by) <= MOST_COLUMNS or len(set(by)) != len(by):
        raise ParameterError(f"counts are estimated by one column or by two; found {', '.join(by) or 'none'}")
    clash = next((name for name in by if name in TAKEN), None)
    if clash is not None:
        raise ParameterError(f"column '{clash}' has the name of a column of estimates; rename it in the release")
    stated: Mapping[str, Any] = card.released.settings[MATRICES]
    sides = [Side.of(table, name, stated.get(name)) for name in by]
    first, second = sides[0], sides[1] if len(sides) > 1 else Side.whole(table.rows)
    shown = np.zeros((len(first.values), len(second.values)))
    np.add.at(shown, (first.codes, second.codes), 1)
    count, variance = corrected(shown, first.matrix, second.matrix)
    pairs = [(one, other) for one in first.values for other in second.values]
    half = REACH * np.sqrt(variance).ravel()
    columns = {name: [pair[place] for pair in pairs] for place, name in enumerate(by)}
    numbers = {"count": count.ravel(), "variance": variance.ravel()}
    return pl.DataFrame({**columns, **numbers, "low": count.ravel() - half, "high": count.ravel() + half})


def corrected(shown: Reals, first: Reals, second: Reals) -> tuple[Reals, Reals]:
    """Return the unbiased cross-table behind a shown one, and an unbiased estimate of each cell's variance.

    With A, B the inverses of the matrices P, R: T = Aᵀ·T*·B, and Var T = (P·A²)ᵀ·T·(R·B²) - T, squares cell by cell.

    >>> flip = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> count, variance = corrected(np.array([[60.0], [40.0]]), flip, np.eye(1))
    >>> count.round(6).tolist(), variance.round(6).tolist()
    ([[70.0], [30.0]], [[75.0], [75.0]])
    """
    left, right = np.linalg.inv(first), np.linalg.inv(second)
    count: Reals = left.T @ shown @ right
    variance: Reals = (first @ left**2).T @ count @ (second @ right**2) - count
    return count, np.maximum(variance, 0)


class Side:
    """One column of a cross-table: its values, each row's place among them, and the matrix that drew them.

    >>> Side.whole(3).matrix.tolist()
    [[1.0]]
    """

    def __init__(self, values: Sequence[str], codes: npt.NDArray[np.int64], matrix: Reals) -> None:
        self.values, self.codes, self.matrix = values, codes, matrix

    @classmethod
    def of(cls, table: Table, name: str, stated: Mapping[str, Any] | None) -> Side:
        """Return a released column; its matrix says nothing is changed where the card states none."""
        texts = table.column(name).cast(pl.String).fill_null("")
        different = texts.unique().sort()
        words = [_word(text) for text in different.to_list()]
        matrix = None if stated is None else TransitionMatrix.from_card(stated)
        drawn = () if matrix is None else matrix.values
        others = [word for word in dict.fromkeys(words) if word not in drawn]
        if matrix is not None and any(others):
            odd = next(word for word in others if word)
            raise ParameterError(f"column '{name}' shows '{odd}', which its matrix on the card does not have")
        values = [*drawn, *others]
        place = {value: number for number, value in enumerate(values)}
        codes = np.array([place[word] for word in words], dtype=np.int64)[different.search_sorted(texts).to_numpy()]
        whole = np.eye(len(values))
        if matrix is not None:
            _ = matrix.inverse  # refused where there is none
            whole[: len(drawn), : len(drawn)] = matrix.array
        return cls(values, codes, whole)

    @classmethod
    def whole(cls, rows: int) -> Side:
        """Return a column of one value."""
        return cls([""], np.zeros(rows, dtype=np.int64), np.eye(1))


def _word(text: str) -> str:
    """Return the value that a released cell shows; nothing for a missing one."""
    cell = read(text)
    return cell.words[0] if len(cell.words) == 1 and not cell.missing else "" if cell.missing else text
