"""Whether a regression says the same of a release as of its original: coefficients and their confidence intervals.

The overlap of intervals is that of Karr, Kohnen, Oganian, Reiter & Sanil 2006, the standardised difference that of
Snoke, Raab, Nowok, Dibben & Slavkovic 2018.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from msgspec import to_builtins

from sfumato.errors import InputError
from sfumato.evaluate.design import DesignTarget, DesignTerm
from sfumato.evaluate.formula import Formula
from sfumato.evaluate.least_squares import linear_fit, logistic_fit
from sfumato.evaluate.regions import Regions, exact_regions, read_regions
from sfumato.evaluate.sides import read_columns, refuse_empty
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.coding import Column

Floats = npt.NDArray[np.float64]
INTERCEPT = "(intercept)"
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Coefficient:
    """A coefficient, its standard error, and the ends of its 95 % confidence interval.

    >>> Coefficient(value=0.5, error=0.1, low=0.25, high=0.75).width
    0.5
    """

    value: float
    error: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class ComparedCoefficient:
    """A coefficient on the original and on the release; None where the rows cannot tell it.

    >>> wide, narrow = Coefficient(1.0, 0.5, 0.0, 2.0), Coefficient(1.5, 0.25, 1.0, 2.0)
    >>> ComparedCoefficient("age", wide, narrow).overlap, ComparedCoefficient("age", wide, narrow).difference
    (0.75, 1.0)
    """

    name: str
    original: Coefficient | None
    released: Coefficient | None

    @property
    def sides(self) -> tuple[Coefficient | None, Coefficient | None]:
        """The coefficient before and after."""
        return self.original, self.released

    @property
    def overlap(self) -> float | None:
        """The mean share of the two intervals that they have in common, from 0 (nothing) to 1 (the same).

        It is 0 where the release cannot tell the coefficient, and None where the original cannot.
        """
        if self.original is None:
            return None
        if self.released is None:
            return 0.0
        common = min(self.original.high, self.released.high) - max(self.original.low, self.released.low)
        if common < 0:
            return 0.0
        return sum(common / each.width if each.width > 0 else 1.0 for each in (self.original, self.released)) / 2

    @property
    def difference(self) -> float | None:
        """How many of the original's standard errors the two values lie apart; None where a side has none."""
        if self.original is None or self.released is None:
            return None
        apart = abs(self.original.value - self.released.value)
        return apart / self.original.error if self.original.error > 0 else math.inf if apart else 0.0


@dataclass(frozen=True)
class Regression:
    """A model fitted on the original and on the release, over the rows that tell all of its columns.

    `references` has the word of each column that the others are compared with; `modelled` is the value whose
    probability a logistic model tells.

    >>> Regression("y ~ x", "least squares", (ComparedCoefficient("x", None, None),), 9, 9, {}).mean_overlap is None
    True
    """

    formula: str
    method: str
    coefficients: tuple[ComparedCoefficient, ...]
    rows_original: int
    rows_released: int
    references: Mapping[str, str]
    modelled: str | None = None

    @property
    def mean_overlap(self) -> float | None:
        """The mean overlap of all coefficients that the original tells."""
        found = [each.overlap for each in self.coefficients if each.overlap is not None]
        return sum(found) / len(found) if found else None

    def as_json(self) -> dict[str, Any]:
        """Return the regression with its overlaps; a difference that has no end is null.

        >>> Regression("y ~ x", "least squares", (ComparedCoefficient("x", None, None),), 9, 9, {}).as_json()["formula"]
        'y ~ x'
        """
        told: dict[str, Any] = to_builtins(self)
        for entry, each in zip(told["coefficients"], self.coefficients, strict=True):
            entry["overlap"] = each.overlap
            entry["difference"] = None if each.difference is None or math.isinf(each.difference) else each.difference
        return {**told, "mean_overlap": self.mean_overlap}


def regression(original: Table, schema: Schema, released: Table, formula: str) -> Regression:
    """Return a regression's coefficients on the original and on the release, side by side.

    A target with two values is fitted by logistic regression, one of numbers by least squares. Terms are numbers in
    their own units (days for dates and times), or words against the most frequent original one. A released cell has the
    mean of the values it covers: the middle of a range, a share for each word under a label. Rows with a missing value,
    or with a cell that covers its whole column, are left out. Standard errors are those of an analyst who takes
    released rows for exact ones. Never publish them: they are computed from raw rows.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 30, 40, 50], "cost": [1.0, 2.0, 2.0, 4.0]}))
    >>> coarse = Table(pl.DataFrame({"age": ["[20-30]"] * 2 + ["[40-50]"] * 2, "cost": [1.0, 2.0, 2.0, 4.0]}))
    >>> found = regression(people, Schema.from_roles(quasi=["age"], sensitive=["cost"]), coarse, "cost ~ age")
    >>> [(each.name, round(each.original.value, 3), round(each.released.value, 3)) for each in found.coefficients]
    [('(intercept)', -0.9, -0.375), ('age', 0.09, 0.075)]
    """
    return OriginalRegression.of(original, schema, formula).compare(released)


@dataclass(frozen=True, eq=False)
class OriginalRegression:
    """A model fitted on the original, once for all releases that are compared with it.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 30, 40, 50], "cost": [1.0, 2.0, 2.0, 4.0]}))
    >>> fitted = OriginalRegression.of(people, Schema.from_roles(quasi=["age"], sensitive=["cost"]), "cost ~ age")
    >>> fitted.compare(people).mean_overlap
    1.0
    """

    formula: Formula
    columns: Mapping[str, Column]
    terms: Mapping[str, DesignTerm]
    target: DesignTarget
    fitted: _Fitted

    @classmethod
    def of(cls, original: Table, schema: Schema, formula: str) -> Self:
        """Return the model's fit on the original; one that its rows cannot tell is refused."""
        model = Formula.parse(formula)
        columns = read_columns(original, schema, [*model.terms, model.target])
        target = DesignTarget.of(columns[model.target])
        terms = {name: DesignTerm.of(columns[name]) for name in model.terms}
        fitted = _fit([*terms.values()], target, [exact_regions(column) for column in columns.values()])
        if all(each is None for each in fitted.coefficients):
            raise InputError(
                f"'{model}' cannot be fitted: the {fitted.rows} original rows that tell all columns are too few"
            )
        return cls(model, columns, terms, target, fitted)

    def compare(self, released: Table) -> Regression:
        """Return the coefficients of the original and of a release, side by side."""
        refuse_empty(released)
        cells = [read_regions(column, released) for column in self.columns.values()]
        before, after = self.fitted, _fit([*self.terms.values()], self.target, cells)
        names = [INTERCEPT, *(label for name, term in self.terms.items() for label in term.labels(name))]
        both = zip(names, before.coefficients, after.coefficients, strict=True)
        return Regression(
            str(self.formula),
            self.target.method,
            tuple(ComparedCoefficient(*each) for each in both),
            before.rows,
            after.rows,
            {name: term.reference for name, term in self.terms.items() if term.reference is not None},
            self.target.modelled,
        )


@dataclass(frozen=True)
class _Fitted:
    coefficients: list[Coefficient | None]
    rows: int


def _fit(terms: Sequence[DesignTerm], target: DesignTarget, sides: Sequence[Regions]) -> _Fitted:
    """Return the coefficients of one side, in the columns' own units; the target's regions come last."""
    explained = target.cells(sides[-1])[sides[-1].index]
    parts = [term.cells(regions)[regions.index] for term, regions in zip(terms, sides[:-1], strict=True)]
    cells = np.concatenate([np.ones((len(explained), 1)), *parts], axis=1)
    scales = [term.shift_and_size for term in terms]
    shift = np.concatenate([[0.0], *(each for each, _ in scales)])
    size = np.concatenate([[1.0], *(each for _, each in scales)])
    told = ~np.isnan(cells).any(axis=1) & ~np.isnan(explained)
    design, rows = (cells[told] - shift) / size, int(told.sum())
    fit = linear_fit if target.modelled is None else logistic_fit
    values, covariance = fit(design, explained[told])
    own = np.diag(1 / size)
    own[0] -= shift / size
    known = np.flatnonzero(~np.isnan(values))
    own = own[np.ix_(known, known)]
    values, covariance = own @ values[known], own @ covariance[np.ix_(known, known)] @ own.T
    errors = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    reach = _reach(rows - len(known)) if target.modelled is None else _reach(None)
    found: list[Coefficient | None] = [None] * len(size)
    for place, value, error in zip(known.tolist(), values.tolist(), errors.tolist(), strict=True):
        found[place] = Coefficient(value, error, value - reach * error, value + reach * error)
    return _Fitted(found, rows)


def _reach(freedom: int | None) -> float:
    """Return how many standard errors the interval reaches: Student's quantile, or the normal one."""
    from scipy.special import ndtri, stdtrit

    share = (1 + CONFIDENCE) / 2
    return float(ndtri(share) if freedom is None else stdtrit(max(1, freedom), share))
