"""Special uniques: rows that a few columns single out, and how likely they are found (SUDA2).

M. Elliot, A. Manning & R. Ford, *A computational algorithm for handling the special uniques problem*, International
Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10, 2002; A. Manning, D. Haglin & J. Keane, *A recursive
search algorithm for statistical disclosure assessment*, Data Mining and Knowledge Discovery 16, 2008. A set of columns
is a minimal sample unique of a row if the row is alone with its values there, and on no smaller part of the set. Sets
are tried level by level: a row is unique on every set that holds one on which it is unique, so the sets with one column
less tell whether a unique set is minimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np
import numpy.typing as npt

from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.evaluate.population.sampled import Floats, Int64s
from sfumato.table.distinct import distinct

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
MOST_SETS = 5000  # of columns, unless a size is asked for
MOST_CELLS = 200_000_000  # of one size's sets, times rows: 5 bytes each, for two sizes at once
LEAST_POWER = 0.05


class SpecialUniques(msgspec.Struct, frozen=True):
    """What minimal sample uniques tell of a table: how many of each size, which rows have one, which columns make them.

    `columns` gives each column's share of the scores: that of sets which hold it.

    >>> SpecialUniques(2, [1, 3], rows=3, missed=0, highest_score=2.0, highest_chance=0.5, columns={"age": 0.8}).rows
    3
    """

    largest: int
    sets: list[int]
    rows: int
    missed: int
    highest_score: float
    highest_chance: float
    columns: dict[str, float]


@dataclass(frozen=True, eq=False)
class UniqueSets:
    """How many minimal sample uniques of each size every row has, and how many of each size hold each column.

    >>> codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])]
    >>> UniqueSets.of(codes, 2).by_row.tolist()
    [[1, 0], [0, 1], [0, 0], [0, 0]]
    """

    by_row: Int64s
    by_column: Int64s

    @classmethod
    def of(cls, columns: Sequence[Int64s], largest: int, starred: Sequence[Bools] | None = None) -> UniqueSets:
        """Return the sets of at most `largest` columns; a cell that is starred cannot make its row unique."""
        rows, count = len(columns[0]), len(columns)
        stars = starred or [np.zeros(rows, dtype=bool)] * count
        by_row, by_column = np.zeros((rows, largest), np.int64), np.zeros((count, largest), np.int64)
        below: dict[tuple[int, ...], tuple[Codes, Bools]] = {(): (np.zeros(rows, np.int32), np.zeros(rows, dtype=bool))}
        done, total = 0, number_of_sets(count, largest)
        for size in range(1, largest + 1):
            here: dict[tuple[int, ...], tuple[Codes, Bools]] = {}
            for chosen in combinations(range(count), size):
                numbers, unique = _unique_rows(below[chosen[:-1]][0], columns[chosen[-1]])
                for column in chosen:
                    unique &= ~stars[column]
                smaller = [below[chosen[:place] + chosen[place + 1 :]][1] for place in range(size)]
                minimal = unique & ~np.logical_or.reduce(smaller)
                by_row[:, size - 1] += minimal
                by_column[list(chosen), size - 1] += int(minimal.sum())
                here[chosen] = numbers.astype(np.int32), unique
                done += 1
                tell(done / total, f"{done} of {total} sets of columns")
            below = here
        return cls(by_row, by_column)


def _unique_rows(numbers: Codes, column: Int64s) -> tuple[Int64s, Bools]:
    """Return the rows' numbers on a set with one column more, and which of them are alone with theirs."""
    found = distinct([numbers, column], [int(numbers.max()) + 1, int(column.max()) + 1])
    return found.ids, found.counts[found.ids] == 1


def number_of_sets(columns: int, largest: int) -> int:
    """Return how many sets of at most `largest` columns there are.

    >>> number_of_sets(8, 8), number_of_sets(15, 3)
    (255, 575)
    """
    return sum(math.comb(columns, size) for size in range(1, largest + 1))


def largest_size(columns: int, asked: int | None = None, rows: int = 1) -> int:
    """Return the size up to which sets are tried: the one asked for, else the largest with at most 5000 sets.

    All sets of one size are held in memory, with a number for each row; sizes for which that is too much are left out.

    >>> largest_size(8), largest_size(15), largest_size(8, 3), largest_size(12, rows=1_000_000)
    (8, 5, 3, 2)
    """
    if asked is not None and not 1 <= asked <= columns:
        raise ParameterError(
            f"the largest set of columns has {asked} and the table {columns} quasi-identifiers; give 1 to {columns}"
        )
    held = [size for size in range(1, columns + 1) if _widest(columns, size) * rows <= MOST_CELLS]
    most = max(held, default=1)
    if asked is not None and asked > most:
        raise ParameterError(f"sets of {asked} columns of {rows} rows do not fit into memory; give at most {most}")
    return asked or max((size for size in held if number_of_sets(columns, size) <= MOST_SETS), default=1)


def _widest(columns: int, largest: int) -> int:
    return max(math.comb(columns, size) for size in range(1, largest + 1))


def set_scores(columns: int, largest: int) -> Floats:
    """Return the score of a set of each size: the product of (columns - i) for i from its size to the largest.

    This is how many ways lead from the set to one of the largest size plus one (Elliot et al. 2002).

    >>> set_scores(8, 3).tolist()
    [210.0, 30.0, 5.0]
    """
    last = min(largest, columns - 1)
    return np.array(
        [math.prod(columns - each for each in range(size, last + 1)) for size in range(1, largest + 1)], float
    )


def suda_scores(found: UniqueSets) -> Floats:
    """Return each row's score: the sum over its minimal sample uniques, which weigh the more the smaller they are.

    >>> codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])]
    >>> suda_scores(UniqueSets.of(codes, 2)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    columns, largest = found.by_column.shape
    scores: Floats = found.by_row @ set_scores(columns, largest)
    return scores


def dis_suda(scores: Floats, columns: int, chance: float | None) -> Floats:
    """Return the chance that a match with each row is right: Skinner & Elliot's, shared out by the scores.

    The odds grow with the score's power 1 + (8 - columns)/20, as in sdcMicro's `suda2`; the harmonic mean of all odds
    is the odds of `chance`. Rows without a score have none.

    >>> dis_suda(np.array([4.0, 1.0, 0.0]), 8, 0.2).round(4).tolist()
    [0.3846, 0.1351, 0.0]
    """
    scored = scores > 0
    if chance is None or not scored.any():
        return np.zeros(len(scores))
    power = max(LEAST_POWER, 1 + (8 - columns) / 20)
    against = np.divide(1.0, scores**power, out=np.zeros(len(scores)), where=scored)
    share = against / against[scored].mean()
    return np.where(scored, chance / (chance + (1 - chance) * share), 0.0)


def summarise(found: UniqueSets, scores: Floats, chances: Floats, names: Sequence[str], uniques: int) -> SpecialUniques:
    """Return the summary of a table's special uniques; `uniques` rows are alone on all columns.

    >>> found = UniqueSets.of([np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])], 2)
    >>> summarise(found, suda_scores(found), np.zeros(4), ["age", "sex"], 2).columns
    {'age': 0.5, 'sex': 1.0}
    """
    columns, largest = found.by_column.shape
    rows = int((scores > 0).sum())
    shares = found.by_column @ set_scores(columns, largest) / max(float(scores.sum()), 1.0)
    return SpecialUniques(
        largest=largest,
        sets=found.by_row.sum(axis=0).tolist(),
        rows=rows,
        missed=max(0, uniques - rows),
        highest_score=float(scores.max()),
        highest_chance=float(chances.max()),
        columns=dict(zip(names, shares.tolist(), strict=True)),
    )
