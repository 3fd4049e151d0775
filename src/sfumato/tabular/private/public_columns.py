"""Columns as a private algorithm may see them: codes of a public domain, whatever the rows hold.

Bounds, categories and hierarchies are declared without looking at rows (Dwork & Roth 2014, section 3); a value outside
them gets no code, so that no row can make an algorithm stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import SchemaError
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.kinds import Kind, is_missing, numbers_in
from sfumato.schema.times import DAY, bound_number
from sfumato.table import Table
from sfumato.table.coding import Column, listed_texts
from sfumato.tabular.coarsen import coarsen_cells

Codes = npt.NDArray[np.int64]
OUTSIDE = -1
GRID = 1 << 16  # steps of a continuous column
WIDEST = 1 << 40
CONTINUOUS = {Kind.NUMBER, Kind.TIMESTAMP}


@dataclass(frozen=True, eq=False)
class PublicColumn:
    """A declared column: points 0…size-1 of its public domain, and the point of each row or -1.

    >>> from sfumato.schema import Attribute
    >>> age = Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(18, 65))
    >>> column = PublicColumn.of(pl.Series("age", [18, 70, None, 20]), age)
    >>> column.size, column.points.tolist()
    (48, [0, -1, -1, 2])
    """

    attribute: Attribute
    size: int
    points: Codes

    @classmethod
    def of(cls, series: pl.Series, attribute: Attribute) -> PublicColumn:
        """Return the column, or say how its domain is declared."""
        words = domain_words(attribute)
        if words is not None:
            physical = listed_texts(series, attribute).cast(pl.Enum(list(words)), strict=False).to_physical()
            return cls(attribute, len(words), physical.cast(pl.Int64).fill_null(OUTSIDE).to_numpy())
        low, high = domain_ends(attribute)
        numbers = _numbers(series, attribute)
        inside = numbers.is_between(low, high).fill_null(value=False).to_numpy()
        values = numbers.fill_null(0).to_numpy()
        if attribute.kind in CONTINUOUS:
            shares = np.where(inside, (values - low) / (high - low) if high > low else 0.0, 0.0)
            return cls(attribute, GRID, np.where(inside, np.minimum(shares * GRID, GRID - 1).astype(np.int64), OUTSIDE))
        return cls(attribute, int(high - low) + 1, np.where(inside, values - int(low), OUTSIDE).astype(np.int64))

    @property
    def name(self) -> str:
        """The column's name."""
        return self.attribute.name

    def as_column(self) -> Column:
        """The column for a ladder of levels; what has no public value takes the code of a missing one."""
        if self.attribute.kind in CONTINUOUS and self.attribute.hierarchy is None:
            remedy = "by hours or days" if self.attribute.kind is Kind.TIMESTAMP else "or round it to integers"
            raise SchemaError(
                f"column '{self.name}' holds {self.attribute.kind}s without end; give it a hierarchy, {remedy}"
            )
        return Column(self.attribute, (self.points + 1).astype(np.int32), self._levels(), has_missing=True)

    def _levels(self) -> Sequence[str] | npt.NDArray[np.int64]:
        words = domain_words(self.attribute)
        if words is not None:
            return list(words)
        return np.arange(self.size, dtype=np.int64) + int(domain_ends(self.attribute)[0])


def public_columns(table: Table, schema: Schema) -> list[PublicColumn]:
    """Return every column that is released, in the table's order, each with a public domain.

    >>> people = Table(pl.DataFrame({"age": [31]}))
    >>> public_columns(people, Schema.from_roles(quasi=["age"]))
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'age' has no public domain; declare its type and bounds, or its categories
    """
    settled = schema.settled(table)
    if settled.person is not None:
        raise SchemaError(
            f"column '{settled.person}' says that a person may have several rows; the promise is for one row each, "
            "so gather each person's rows into one and declare the column as an identifier"
        )
    released = {name: entry for name, entry in settled.columns.items() if entry.role is not Role.IDENTIFIER}
    for name, attribute in released.items():
        if attribute.role is Role.OTHER:
            raise SchemaError(f"column '{name}' would be released unchanged; declare its role and domain, or drop it")
        _refuse_rule(attribute)
    if not released:
        raise SchemaError("no column is released; name quasi-identifiers or sensitive columns")
    return [PublicColumn.of(*coarsen_cells(table.column(name), attribute)) for name, attribute in released.items()]


def _refuse_rule(attribute: Attribute) -> None:
    """Refuse rules that a private table cannot follow: groups depend on rows, and it makes ranges of its own."""
    rule = attribute.coarsen
    if rule is not None and (rule.microaggregate is not None or rule.bands is not None):
        why = "looks at the rows" if rule.bands is None else "makes ranges, and a private table makes its own"
        raise SchemaError(
            f"column '{attribute.name}': coarsening {rule.text} {why}; declare round, top, bottom or period instead"
        )


def domain_words(attribute: Attribute) -> tuple[str, ...] | None:
    """Return the words of a public domain in their order, or None where it is a range of numbers or days.

    >>> domain_words(Attribute("sex", Role.QUASI, Kind.CATEGORY, categories=("F", "M")))
    ('F', 'M')
    """
    if attribute.hierarchy is not None and not attribute.hierarchy.public:
        raise SchemaError(
            f"column '{attribute.name}': the values of its hierarchy were taken from rows; declare values that "
            "everybody may know, and delete `public = false` from its file"
        )
    words = attribute.categories if attribute.hierarchy is None else attribute.hierarchy.leaves
    if not attribute.public or (words is None and attribute.bounds is None):
        raise SchemaError(
            f"column '{attribute.name}' has no public domain; declare its type and bounds, or its categories"
        )
    return words


def domain_ends(attribute: Attribute) -> tuple[float, float]:
    """Return the lowest and the highest value of a public range: numbers, days or microseconds since 1970.

    >>> import datetime as dt
    >>> domain_ends(Attribute("born", Role.QUASI, Kind.DATE, bounds=(dt.date(1970, 1, 2), dt.date(1970, 1, 31))))
    (1, 30)
    """
    ends = [bound_number(end) for end in attribute.bounds or (0, 0)]
    if ends[1] - ends[0] > WIDEST and attribute.kind is not Kind.TIMESTAMP:
        raise SchemaError(f"column '{attribute.name}' has bounds more than 2^40 apart; declare narrower ones")
    last_of_a_day = attribute.kind is Kind.TIMESTAMP and (ends[1] + 1) % DAY == 0
    return ends[0], ends[1] + int(last_of_a_day)  # so that cuts fall on whole hours


def _numbers(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Return the values as numbers, days or microseconds, null where one is missing or is none."""
    if attribute.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return numbers_in(series, attribute.kind, attribute.written).set(is_missing(series, attribute.missing), None)
    marks = attribute.written.numbers() if series.dtype == pl.String else None
    plain = series if marks is None else marks.texts(series)
    whole = attribute.kind is Kind.INTEGER
    numbers = plain.cast(pl.Int64 if whole and not plain.dtype.is_float() else pl.Float64, strict=False)
    if numbers.dtype.is_float() and whole:
        numbers = numbers.set((numbers != numbers.round()).fill_null(value=True), None).cast(pl.Int64, strict=False)
    return numbers.set(is_missing(series, attribute.missing), None)
