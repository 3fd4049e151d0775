"""PRAM, post randomisation: every cell of a categorical column is drawn anew by a published matrix.

Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), "Post Randomisation for Statistical Disclosure Control: Theory and
Implementation"; as a local report it is the randomised response of Warner (1965) and of Kairouz, Bonawitz & Ramage
(2016). `sfumato.tabular.perturbation.pram_counts` corrects counts of a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import UNSET, UnsetType

from sfumato.core.cells import read
from sfumato.core.parameters import OneOf, Option, Optional, Real
from sfumato.core.seam import choose
from sfumato.errors import ParameterError, SchemaError
from sfumato.promise import Cost, Metric, Neighbours, PerRow, ProtectRows, derive
from sfumato.random import Source, Words
from sfumato.release import Card, Finding
from sfumato.release.card import CellPromise, Guarantee
from sfumato.release.finding import compare_stated
from sfumato.release.plain_words import listed
from sfumato.schema import Role
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.tabular.perturbation.base import ONLY_ONE, UNPROVEN, Masked, MaskingAnonymizer, quoted
from sfumato.tabular.perturbation.draft import MaskingDraft, is_worded
from sfumato.tabular.perturbation.given import ColumnNames, Names, names_in
from sfumato.tabular.perturbation.matrix_law import MatrixLaw
from sfumato.tabular.perturbation.transition_matrix import TransitionMatrix, invariant_matrix

Integers = npt.NDArray[np.int64]
Matrices = str | Mapping[str, TransitionMatrix]
Fill = Callable[[Integers, int, Words], tuple[int, int]]
WORDS_PER_DRAW = 3
ALIKE = 1e-9
LARGEST_WEIGHT = 2**61
MATRICES = "matrices"
MISSING_STAYS = "A missing value stays missing: whether a value is known is told as it is."
LEARNT = (
    "the matrices of {columns} were computed from the rows: whoever has them can tell the shares of their values in "
    "the original rows"
)
LISTED = (
    "the values of {columns} are those of the rows, since no categories are declared: a rare value shows that it occurs"
)


@dataclass(frozen=True)
class GivenMatrices:
    """Transition matrices of some columns: a mapping, or files written `sex=sex.csv,job=job.csv`.

    >>> GivenMatrices().accepts("sex=sex.csv"), GivenMatrices().accepts("sex")
    (True, False)
    """

    wanted: str = "a transition matrix for each of some columns, as in 'sex=sex.csv'"

    def accepts(self, value: object) -> bool:
        if isinstance(value, str):
            pairs = [part.rpartition("=") for part in value.split(",")]
            return all(name.strip() and equals and file.strip() for name, equals, file in pairs)
        known = isinstance(value, Mapping) and all(isinstance(one, TransitionMatrix) for one in value.values())
        return known and bool(value)

    def bad_values(self) -> list[object]:
        return ["", "sex", "=sex.csv", 7, {}, {"sex": 3}]


@dataclass(frozen=True)
class PRAM(MaskingAnonymizer):
    """Post randomisation of categorical columns: each value is kept with probability `keep`, else another one is drawn.

    `invariant` draws so that counts stay as they are on average, by a matrix that is computed from the rows. `matrices`
    declares whole matrices.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"sex": ["F", "M"] * 50}))
    >>> sex = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
    >>> card = PRAM(keep=0.75).anonymize(people, sf.Schema({"sex": sex})).card
    >>> card.guarantee.model, round(card.guarantee.of_cells.columns["sex"], 6)
    ('none', 1.098612)
    """

    columns: Names | None = None
    keep: float | None = None
    invariant: bool = False
    matrices: Matrices | None = None

    RULES: ClassVar = {
        "columns": Optional(ColumnNames()),
        "keep": Optional(Real(0, 1, above=True)),
        "invariant": OneOf((False, True)),
        "matrices": Optional(GivenMatrices()),
    }
    OPTIONS: ClassVar = {
        "columns": Option("Columns to change, separated by commas; quasi-identifiers that fit unless given."),
        "keep": Option("Probability with which a cell keeps its value; else it shows another value, all alike."),
        "invariant": Option("Draw so that counts stay as they are on average, by a matrix computed from the rows."),
        "matrices": Option("Declared transition matrices, as in sex=sex.csv,job=job.csv.", name="matrix"),
    }
    algorithm: ClassVar = "pram"
    notes: ClassVar = (MISSING_STAYS,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.invariant and self.keep is None:
            raise ParameterError("invariant PRAM begins with a probability to keep a value; give it, for example 0.8")

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        matrix = TransitionMatrix.of(["low", "middle", "high"], [[0.8, 0.2, 0], [0.1, 0.8, 0.1], [0, 0.2, 0.8]])
        return (
            cls("job,grade", keep=0.8),
            cls("job", keep=0.8, invariant=True),
            cls(matrices={"grade": matrix}),
        )

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files of matrices, which no output may replace."""
        return tuple(_files(self.matrices).values()) if isinstance(self.matrices, str) else ()

    def mask(self, draft: MaskingDraft) -> Masked:
        declared = self._declared()
        asked = names_in(self.columns) or tuple(declared)
        if self.keep is None and not declared:
            raise ParameterError("pram needs --keep, for example --keep 0.8, or --matrix")
        names = tuple(dict.fromkeys((*draft.named(asked, is_worded, "words"), *declared)))
        cells = {name: self._coded(draft, name) for name in names}
        matrices = {name: self._matrix(column, declared.get(name)) for name, column in cells.items()}
        changed = {
            name: _drawn(draft, column, matrices[name], self._stages(column, matrices[name]))
            for name, column in cells.items()
        }
        settings = {"columns": list(names), MATRICES: {name: one.on_card() for name, one in matrices.items()}}
        return Masked(
            {name: column for name, (column, _) in changed.items()},
            [f"{listed(names)}: each cell was drawn anew by the transition matrix on this card (PRAM)."],
            settings,
            (UNPROVEN, ONLY_ONE),
            warnings=_warnings(draft, matrices),
            guarantee=Guarantee(model="none", parameters={}, unit="none", cells=_cell_promise(draft, matrices)),
            steward={f"changed_{name}": share for name, (_, share) in changed.items()},
        )

    @classmethod
    def claims(cls, card: Card, table: Table) -> list[Finding]:
        """Return whether cells show nothing but the matrices' values, and whether the stated ε are theirs."""
        matrices = {
            name: TransitionMatrix.from_card(one) for name, one in card.released.settings.get(MATRICES, {}).items()
        }
        found = [_only_values(name, matrix, table) for name, matrix in matrices.items() if name in table.names]
        stated = {} if card.guarantee.of_cells is None else card.guarantee.of_cells.columns
        return [*found, *(_right_loss(name, float(loss), matrices.get(name)) for name, loss in stated.items())]

    def settings(self) -> dict[str, Any]:
        """The method's parameters as the card states them; the matrices are stated for each column."""
        return {"keep": self.keep, "invariant": self.invariant}

    def _declared(self) -> Mapping[str, TransitionMatrix]:
        if isinstance(self.matrices, str):
            return {name: TransitionMatrix.read(path) for name, path in _files(self.matrices).items()}
        return self.matrices or {}

    def _coded(self, draft: MaskingDraft, name: str) -> Column:
        column = draft.coded(name)
        if not is_worded(column.attribute):
            raise SchemaError(
                f"column '{name}' is {column.kind}; pram takes categories: declare type = \"category\", or use "
                "rank-swapping"
            )
        if len(column.levels) < 2:
            raise SchemaError(f"column '{name}' has fewer than two values; pram has nothing to draw from")
        return column

    def _matrix(self, column: Column, declared: TransitionMatrix | None) -> TransitionMatrix:
        """Return the matrix of a column over its values in code order."""
        if declared is not None:
            return _in_order(column, declared)
        values = [str(level) for level in column.levels]
        if self.keep is None:
            raise ParameterError(f"column '{column.name}' has no matrix; give --keep, or name it in --matrix")
        plain = TransitionMatrix.uniform(values, self.keep)
        if not self.invariant:
            return plain
        counts = _counts(column)
        some = np.flatnonzero(counts)
        if len(some) < 2:
            raise SchemaError(f"column '{column.name}' has fewer than two values; pram has nothing to draw from")
        return invariant_matrix(TransitionMatrix.uniform([values[i] for i in some], self.keep), counts[some])

    def _stages(self, column: Column, matrix: TransitionMatrix) -> list[TransitionMatrix | Integers]:
        """Return what cells are drawn by, one after the other: a matrix, or whole weights."""
        if not matrix.learnt or self.keep is None:
            return [matrix]
        first = TransitionMatrix.uniform(matrix.values, self.keep)
        counts = _counts(column)
        return [first, reversal_weights(first, counts[counts > 0])]


def reversal_weights(first: TransitionMatrix, counts: Integers) -> Integers:
    """Return the exact ratio in which a shown value goes back to each value: its count times its chance to show so.

    >>> reversal_weights(TransitionMatrix.uniform(["a", "b"], "0.75"), np.array([2, 1])).tolist()
    [[6, 1], [2, 3]]
    """
    keep = first.keep or Fraction(1)
    size = len(first.values)
    own, other = keep.numerator * (size - 1), keep.denominator - keep.numerator
    if max(own, other) * int(counts.sum()) > LARGEST_WEIGHT:
        raise ParameterError(f"invariant PRAM over {size} values needs fewer decimals than {keep} has; give at most 9")
    weights = np.where(np.eye(size, dtype=np.bool_), own, other).astype(np.int64)
    return np.asarray(weights * counts.astype(np.int64)[None, :])


def draw_cells(codes: Integers, by: TransitionMatrix | Integers, source: Source) -> Integers:
    """Return each code drawn anew by a matrix, or in the ratio of whole weights.

    >>> from sfumato.random import SeededSource
    >>> draw_cells(np.array([0, 1]), TransitionMatrix.uniform(["a", "b"], "1"), SeededSource(1)).tolist()
    [0, 1]
    """
    from sfumato.tabular.perturbation.pram_kernel import by_weights, keep_or_other

    if isinstance(by, TransitionMatrix) and by.keep is not None:
        keep, size = by.keep, len(by.values)
        return _draw(codes, lambda out, n, words: keep_or_other(out, n, keep.numerator, keep.denominator, size, words),
                     source)  # fmt: skip
    ends = (by.weights if isinstance(by, TransitionMatrix) else by).cumsum(axis=1)
    return _draw(codes, lambda out, done, words: by_weights(out, done, ends, words), source)


def _draw(codes: Integers, fill: Fill, source: Source) -> Integers:
    """Run a kernel until every cell is drawn, giving it again the words of a draw that ran out of them."""
    shown = codes.astype(np.int64)
    done, unread = 0, np.empty(0, dtype=np.uint32)
    while done < len(shown):
        words = np.concatenate([unread, source.words(WORDS_PER_DRAW * (len(shown) - done) + 64)])
        done, place = fill(shown, done, words)
        unread = words[place:]
    return shown


def _drawn(
    draft: MaskingDraft,
    column: Column,
    matrix: TransitionMatrix,
    stages: Sequence[TransitionMatrix | Integers],
) -> tuple[pl.Series, float]:
    """Return a column whose present cells were drawn anew, and the share of them that show another value."""
    present = np.flatnonzero(column.codes >= column.has_missing)
    numbered = {str(level): place for place, level in enumerate(column.levels)}
    own = np.array([numbered[value] for value in matrix.values], dtype=np.int64)
    place = np.zeros(len(column.levels), dtype=np.int64)
    place[own] = np.arange(len(own))
    before = place[column.codes[present] - column.has_missing]
    shown = choose(lambda: MatrixLaw(before, matrix), lambda: _through(before, stages, draft.source))
    words = pl.Series([str(level) for level in column.levels], dtype=pl.String)
    cells = draft.table.column(column.name).cast(pl.String).clone()
    found = cells.scatter(present, words.gather(pl.Series(own[shown]))) if len(present) else cells
    quasi = draft.schema.columns[column.name].role is Role.QUASI
    moved = float((shown != before).mean()) if len(before) else 0.0
    return quoted(found, column.attribute.missing) if quasi else found, moved


def _through(codes: Integers, stages: Sequence[TransitionMatrix | Integers], source: Source) -> Integers:
    for stage in stages:
        codes = draw_cells(codes, stage, source)
    return codes


def _counts(column: Column) -> Integers:
    return np.bincount(column.codes, minlength=column.size)[int(column.has_missing) :].astype(np.int64)


def _files(text: str) -> dict[str, Path]:
    pairs = (part.rpartition("=") for part in text.split(","))
    return {name.strip(): Path(file.strip()) for name, _, file in pairs}


def _in_order(column: Column, declared: TransitionMatrix) -> TransitionMatrix:
    """Return a declared matrix, refused where it does not list exactly the values that the column may have."""
    levels = {str(level) for level in column.levels}
    lost = sorted(levels - set(declared.values)) or sorted(set(declared.values) - levels)
    if lost:
        raise SchemaError(
            f"the matrix of column '{column.name}' and the column do not have the same values: '{lost[0]}' is in one "
            "of them only; declare the column's categories, and a row for each"
        )
    return declared


def _warnings(draft: MaskingDraft, matrices: Mapping[str, TransitionMatrix]) -> list[str]:
    learnt = [name for name, one in matrices.items() if one.learnt]
    open_ = [name for name in matrices if name not in learnt and not _is_declared(draft, name)]
    told = [LEARNT.format(columns=listed(learnt))] if learnt else []
    return [*told, *([LISTED.format(columns=listed(open_))] if open_ else [])]


def _is_declared(draft: MaskingDraft, name: str) -> bool:
    """Whether the values that a column may have were declared, and not read from its rows."""
    attribute = draft.attribute(name)
    return attribute.public and (attribute.categories is not None or attribute.hierarchy is not None)


def _cell_promise(draft: MaskingDraft, matrices: Mapping[str, TransitionMatrix]) -> CellPromise | UnsetType:
    """Return what each cell of a declared column costs, and a row's cells together; unset where nothing is proven."""
    losses: dict[str, Decimal] = {}
    for name, matrix in matrices.items():
        loss = matrix.epsilon if _is_declared(draft, name) else None
        if loss:
            losses[name] = loss
    if not losses:
        return UNSET
    rows = Metric(ProtectRows(), Neighbours.VALUE)
    promises = {name: derive(rows, [], PerRow(Cost(epsilon=loss), Neighbours.VALUE)) for name, loss in losses.items()}
    whole = derive(rows, [], PerRow(Cost(epsilon=sum(losses.values(), Decimal(0))), Neighbours.VALUE))
    return CellPromise(
        columns={name: one.parameters["epsilon"] for name, one in promises.items()},
        epsilon=whole.parameters["epsilon"],
    )


def _only_values(name: str, matrix: TransitionMatrix, table: Table) -> Finding:
    """Return whether a released column shows values of its matrix and nothing else."""
    cells = table.column(name).cast(pl.String).unique().to_list()
    words = {word for text in cells for word in read(text).words}
    odd = sorted(words - set(matrix.values))
    wrong = {f"values of {name}": (odd[0], "")} if odd else {}
    return compare_stated(f"column '{name}' shows values of its matrix alone", wrong, {"values": len(words)})


def _right_loss(name: str, stated: float, matrix: TransitionMatrix | None) -> Finding:
    """Return whether a cell costs no more than is stated, worked out again from the matrix in floating point."""
    claim = f"one cell of '{name}' costs at most ε={stated:.6g}"
    if matrix is None or matrix.learnt:
        return compare_stated(claim, {"matrix": ("none that was declared", "")}, {})
    if matrix.keep is not None:
        others = float(1 - matrix.keep) / (len(matrix.values) - 1)
        ratio = float(matrix.keep) / others if others else math.inf
        bound = abs(math.log(ratio))
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(matrix.array)
        bound = float((logs.max(axis=0) - logs.min(axis=0)).max())
    wrong = {"ε": (f"{bound:.6g}", f"{stated:.6g}")} if not bound <= stated * (1 + ALIKE) else {}
    return compare_stated(claim, wrong, {"stated": stated}, bound=bound)
