"""Noise with the covariances of the data: what is released has their correlations, and is no longer anybody's number.

Kim (1986), "A Method for Limiting Disclosure in Microdata Based on Random Noise and Transformation". It is not
differential privacy: the noise grows with the spread of the rows, and not with what one row can change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.parameters import OneOf, Option, Optional, Real
from sfumato.core.seam import choose
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.random import Source
from sfumato.random.laws import Uniform
from sfumato.release import Card
from sfumato.release.plain_words import listed
from sfumato.schema import Kind
from sfumato.table import Table
from sfumato.tabular.perturbation.base import ONLY_ONE, UNPROVEN, Masked, MaskingAnonymizer
from sfumato.tabular.perturbation.draft import MaskingDraft, NumberColumn, is_number
from sfumato.tabular.perturbation.given import ColumnNames, Names, names_in

Reals = npt.NDArray[np.float64]
LARGEST = 2.0**62
SHEPPARD = 1 / 12  # the variance that rounding to whole numbers adds
NOT_PRIVATE = (
    "This is not differential privacy. The noise has the covariances of the rows, so that an outlier stays one, and "
    "its law was learnt from the rows."
)
CLIPPED = (
    "noise was cut off at the declared bounds of {columns}: means and covariances near a bound are biased, and the "
    "correction on this card does not undo that"
)


@dataclass(frozen=True)
class CorrelatedNoise(MaskingAnonymizer):
    """Normal noise whose covariance is `noise` times that of the data; `rescaled` shrinks the sum to the old spread.

    Without `rescaled` a recipient divides covariances by 1 + noise; means need no correction either way (Kim 1986).

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"height": [170.5, 180.1, 165.2], "weight": [70.1, 81.5, 60.2]}))
    >>> schema = sf.Schema.from_roles(quasi=["height", "weight"])
    >>> CorrelatedNoise(noise=0.1).anonymize(people, schema).card.guarantee.model
    'none'
    """

    columns: Names | None = None
    noise: float = 0.1
    rescaled: bool = False

    RULES: ClassVar = {
        "columns": Optional(ColumnNames()),
        "noise": Real(0, 1000, above=True),
        "rescaled": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "columns": Option("Columns to change, separated by commas; quasi-identifiers that fit unless given."),
        "noise": Option("Covariance of the noise, as a share of that of the data."),
        "rescaled": Option("Shrink the sums so that covariances are those of the data without a correction."),
    }
    algorithm: ClassVar = "correlated-noise"
    notes: ClassVar = (NOT_PRIVATE,)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls("age,weight"), cls(["weight"], noise=0.5, rescaled=True)

    def mask(self, draft: MaskingDraft) -> Masked:
        names = draft.named(names_in(self.columns), is_number, "numbers")
        found = {name: self._numbers(draft, name) for name in names}
        values = np.column_stack([_with_gaps(column) for column in found.values()])
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            noisy = self._noisy(values, draft.source)
        _refuse_too_large(values, noisy)
        cut = {name: _within(column, noisy[:, place]) for place, (name, column) in enumerate(found.items())}
        columns = {name: column.written(cut[name]) for name, column in found.items()}
        bounded = [name for name, column in found.items() if column.bounds is not None]
        clipped = {
            f"cut_at_bounds_{name}": int((cut[name] != noisy[:, place][found[name].present]).sum())
            for place, name in enumerate(found)
        }
        return Masked(
            columns,
            [f"{listed(names)}: normal noise was added, {self._spread()}."],
            {"columns": list(names), "whole": [name for name in names if found[name].attribute.kind is Kind.INTEGER]},
            (UNPROVEN, ONLY_ONE),
            warnings=[CLIPPED.format(columns=listed(bounded))] if bounded else [],
            steward=clipped,
        )

    def _spread(self) -> str:
        share = f"with {self.noise:g} times the covariances of the data"
        if self.rescaled:
            return f"{share}, and the sums were shrunk around the means to the old spread"
        return f"{share}; divide covariances by {1 + self.noise:g} to correct them, means are right as they are"

    def _numbers(self, draft: MaskingDraft, name: str) -> NumberColumn:
        column = draft.numbers(name)
        if not is_number(column.attribute):
            raise SchemaError(f"column '{name}' is {column.attribute.kind}; correlated-noise takes numbers")
        if len(column.numbers) < 2:
            raise SchemaError(f"column '{name}' has fewer than two numbers, so no covariance")
        return column

    def _noisy(self, values: Reals, source: Source) -> Reals:
        """Return the values with their noise, NaN where there is none."""
        root = covariance_root(values)
        drawn = choose(
            lambda: Uniform("normal noise", values.size), lambda: normal_draws(len(values), values.shape[1], source)
        )
        noisy: Reals = values + np.sqrt(self.noise) * drawn @ root.T
        if not self.rescaled:
            return noisy
        means = np.nanmean(values, axis=0)
        shrunk: Reals = means + (noisy - means) / np.sqrt(1 + self.noise)
        return shrunk


def _refuse_too_large(values: Reals, noisy: Reals) -> None:
    """Refuse numbers that have no covariance or no place for their noise."""
    if not (np.abs(noisy[~np.isnan(values)]) < LARGEST).all():
        raise InputError(f"the numbers with their noise go beyond {LARGEST:g}; give them in a larger unit")


def covariance_root(values: Reals) -> Reals:
    """Return a matrix A with A·Aᵀ the covariance of the rows that have every value.

    >>> covariance_root(np.array([[1.0], [3.0], [np.nan]])).round(6).tolist()
    [[1.414214]]
    """
    whole = values[~np.isnan(values).any(axis=1)]
    if len(whole) < 2:
        raise InputError("fewer than two rows have a number in every column of the noise, so there is no covariance")
    spread, axes = np.linalg.eigh(np.atleast_2d(np.cov(whole, rowvar=False)))
    root: Reals = axes * np.sqrt(np.maximum(spread, 0))
    return root


def normal_draws(rows: int, columns: int, source: Source) -> Reals:
    """Return standard normal numbers, by the method of Box & Muller (1958).

    >>> from sfumato.random import SeededSource
    >>> normal_draws(2, 3, SeededSource(1)).shape
    (2, 3)
    """
    half = (rows * columns + 1) // 2
    words = source.words(4 * half).astype(np.uint64)
    parts = ((words[: 2 * half] << np.uint64(21)) ^ (words[2 * half :] >> np.uint64(11))).reshape(2, half)
    first, second = (parts + 0.5) * 2.0**-53
    length, angle = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
    found: Reals = np.concatenate([length * np.cos(angle), length * np.sin(angle)])[: rows * columns]
    return found.reshape(rows, columns)


def noise_moments(table: Table, card: Card) -> pl.DataFrame:
    """Return the means and covariances of the original columns, estimated from a release by correlated noise.

    A row for each column: its mean, then its covariance with every column. Rounding to whole numbers is taken out too
    (Sheppard 1898).

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(500))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["cost"], other="drop")
    >>> release = sf.CorrelatedNoise("age,cost", noise=0.2).anonymize(people, schema)
    >>> noise_moments(release.table, release.card).columns
    ['column', 'mean', 'age', 'cost']
    """
    settings: dict[str, Any] = card.released.settings
    if card.algorithm != CorrelatedNoise.algorithm:
        raise ParameterError(f"the card is of {card.algorithm}; moments are corrected for correlated-noise")
    names = list(settings["columns"])
    values = np.column_stack([table.column(name).cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names])
    whole = values[~np.isnan(values).any(axis=1)]
    rounded = np.diag([SHEPPARD * (name in settings["whole"]) for name in names])
    scale = 1.0 if settings["rescaled"] else 1 + float(settings["noise"])
    covariance = (np.atleast_2d(np.cov(whole, rowvar=False)) - rounded) / scale
    columns = {name: covariance[:, place] for place, name in enumerate(names)}
    return pl.DataFrame({"column": names, "mean": np.nanmean(values, axis=0), **columns})


def _with_gaps(column: NumberColumn) -> Reals:
    values = np.full(len(column.present), np.nan)
    values[column.present] = column.numbers
    return values


def _within(column: NumberColumn, noisy: Reals) -> Reals:
    """Return the noisy numbers of the cells that have one, within declared bounds."""
    numbers = noisy[column.present]
    return numbers if column.bounds is None else np.clip(numbers, *column.bounds)
