"""The columns of a regression's design, of original and released cells alike.

A word is an indicator, against a reference, as in the treatment coding of Chambers & Hastie 1992.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError
from sfumato.evaluate.features import ColumnFeatures
from sfumato.evaluate.regions import Regions
from sfumato.table.coding import Column

Floats = npt.NDArray[np.float64]
MOST_WORDS = 50
LEAST_SQUARES, LOGISTIC = "least squares", "logistic"


@dataclass(frozen=True, eq=False)
class DesignTerm:
    """One column of a design: a number, or an indicator of each word but the most frequent one.

    >>> import polars as pl
    >>> from sfumato.evaluate.sides import read_columns
    >>> from sfumato.schema import Schema
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"sex": ["F", "M", "F"]}))
    >>> term = DesignTerm.of(read_columns(people, Schema.from_roles(quasi=["sex"]))["sex"])
    >>> term.reference, term.labels("sex")
    ('F', ['sex = M'])
    """

    features: ColumnFeatures
    reference: str | None
    words: Mapping[str, int]

    @classmethod
    def of(cls, column: Column) -> DesignTerm:
        """Return the term of a column."""
        features = _features(column)
        if _is_number(features):
            return cls(features, None, {})
        names = _value_names(features)
        if len(names) > MOST_WORDS:
            raise InputError(
                f"term '{column.name}' has {len(names)} words; a regression takes at most {MOST_WORDS}: declare "
                "its type if these are numbers, or leave it out"
            )
        rows = np.bincount(features.group_of, weights=features.counts)[features.observed]
        most = int(rows.argmax())
        return cls(features, names[most], {name: place for place, name in enumerate(names) if place != most})

    def labels(self, name: str) -> list[str]:
        """Return the names of the term's coefficients."""
        return [name] if self.reference is None else [f"{name} = {word}" for word in self.words]

    @property
    def shift_and_size(self) -> tuple[Floats, Floats]:
        """The mean and spread of original numbers, by which both sides are scaled; 0 and 1 for words."""
        if self.reference is not None:
            return np.zeros(len(self.words)), np.ones(len(self.words))
        values, rows = np.asarray(self.features.points) / self.features.unit, self.features.counts
        mean = np.average(values, weights=rows)
        spread = math.sqrt(np.average((values - mean) ** 2, weights=rows))
        return np.array([mean]), np.array([spread or 1.0])

    def cells(self, regions: Regions) -> Floats:
        """Return the numbers of each region of one side; NaN where it tells nothing."""
        if self.reference is None:
            return _numbers(self.features, regions)[:, None]
        shares = self.features.observed_shares(regions)
        shares[(shares.sum(axis=1) == 0) | self.features.silent(regions)] = np.nan
        return shares[:, [*self.words.values()]]


@dataclass(frozen=True, eq=False)
class DesignTarget:
    """What is explained: a number, or the probability of the second of two values.

    >>> import polars as pl
    >>> from sfumato.evaluate.sides import read_columns
    >>> from sfumato.schema import Schema
    >>> from sfumato.table import Table
    >>> people = Table(pl.DataFrame({"sex": ["F", "M", "F"]}))
    >>> DesignTarget.of(read_columns(people, Schema.from_roles(quasi=["sex"]))["sex"]).modelled
    'M'
    """

    features: ColumnFeatures
    modelled: str | None

    @classmethod
    def of(cls, column: Column) -> DesignTarget:
        """Return the target of a column."""
        features = _features(column)
        names = _value_names(features)
        if len(names) == 2:
            return cls(features, names[1])
        if len(names) < 2 or not _is_number(features):
            raise InputError(
                f"target '{column.name}' has {len(names)} values; a regression's target is a number or has two"
            )
        return cls(features, None)

    @property
    def method(self) -> str:
        """How the model is fitted."""
        return LEAST_SQUARES if self.modelled is None else LOGISTIC

    def cells(self, regions: Regions) -> Floats:
        """Return the target of each region of one side; NaN where it tells nothing."""
        if self.modelled is None:
            return _numbers(self.features, regions)
        shares = self.features.observed_shares(regions)
        shares[(shares.sum(axis=1) == 0) | self.features.silent(regions)] = np.nan
        return shares[:, 1]


def _features(column: Column) -> ColumnFeatures:
    """Return features of which every word, and each of two numbers, is a group of its own."""
    return ColumnFeatures(column, bins=2, most=len(column.levels))


def _is_number(features: ColumnFeatures) -> bool:
    return features.column.kind.numeric and features.ordered


def _value_names(features: ColumnFeatures) -> list[str]:
    """Return the values that occur in the original, in the order of their groups."""
    column, seen = features.column, np.flatnonzero(features.counts).tolist()
    return [column.text(place + column.has_missing) for place in sorted(seen, key=lambda one: features.group_of[one])]


def _numbers(features: ColumnFeatures, regions: Regions) -> Floats:
    """Return the mean of each region's values in the column's units; NaN where it tells nothing."""
    low, high = features.scale
    means: Floats = (low + features.moments(regions)[:, 0] * (high - low or 1.0)) / features.unit
    means[features.silent(regions)] = np.nan
    return means
