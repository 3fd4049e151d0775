"""A table before it is masked, and one of its columns of numbers on the way there and back.

What is read, refused and dropped is the same as for every other release of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError, SchemaError
from sfumato.models.base import Model
from sfumato.random import SecureSource, Source
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.schema.attribute import Bound
from sfumato.schema.detection import detected
from sfumato.schema.separation import Distinctness
from sfumato.schema.times import bound_number
from sfumato.schema.values import parse_cells
from sfumato.table import Table
from sfumato.table.coding import Column, code
from sfumato.table.parse_report import take_in
from sfumato.tabular.coarsen import coarsen_table
from sfumato.tabular.persons import persons_of
from sfumato.tabular.uniqueness import unique_columns

Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
Fits = Callable[[Attribute], bool]


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """The numbers of a column (days since 1970 for dates, microseconds for times), where there are any.

    >>> from sfumato.schema import Role
    >>> age = NumberColumn.of(pl.Series("age", ["31", ""]), Attribute("age", Role.QUASI, Kind.INTEGER))
    >>> age.numbers.tolist(), age.present.tolist(), age.written(age.numbers + 1.4).to_list()
    ([31], [True, False], [32, None])
    """

    attribute: Attribute
    numbers: Numbers
    present: Booleans

    @classmethod
    def of(cls, series: pl.Series, attribute: Attribute) -> NumberColumn:
        """Return a column's numbers; values outside declared bounds are refused."""
        code(series, replace(attribute, hierarchy=None))  # refuses what cannot be read or lies outside of bounds
        values = parse_cells(series, replace(attribute, hierarchy=None)).values
        return cls(attribute, values.drop_nulls().to_numpy(), values.is_not_null().to_numpy())

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The declared bounds as numbers; None where there are none, or where they were guessed from the rows."""
        if self.attribute.bounds is None or not self.attribute.public:
            return None
        low, high = self.attribute.bounds
        return _number(low), _number(high)

    def written(self, numbers: Numbers) -> pl.Series:
        """Return other numbers in the place of the column's own, in its type, null where there was none."""
        kind = self.attribute.kind
        whole = numbers if kind is Kind.NUMBER else np.rint(numbers).astype(np.int64)
        place = pl.Series(np.maximum(self.present.cumsum() - 1, 0)).cast(pl.UInt32).set(pl.Series(~self.present), None)
        values = pl.Series(self.attribute.name, whole).gather(place)
        if kind is Kind.DATE:
            return values.cast(pl.Int32).cast(pl.Date)
        return values.cast(pl.Datetime("us")) if kind is Kind.TIMESTAMP else values


def _number(bound: Bound) -> float:
    return float(bound_number(bound))


@dataclass(frozen=True, eq=False)
class MaskingDraft:
    """A table that is about to be masked: read, coarsened as declared, its columns with their roles and types.

    Beside it stand the models that were asked for, and where all randomness comes from.

    >>> people = Table(pl.DataFrame({"age": [31, 47], "sex": ["F", "M"]}))
    >>> MaskingDraft.of(people, Schema.from_roles(quasi=["age", "sex"])).released
    ('age', 'sex')
    """

    table: Table
    schema: Schema
    person: npt.NDArray[np.int64] | None
    models: Sequence[Model] = ()
    source: Source = field(default_factory=SecureSource)
    unique: Mapping[str, Distinctness] = field(default_factory=dict)

    @classmethod
    def of(
        cls, table: Table, schema: Schema, models: Sequence[Model] = (), source: Source | None = None
    ) -> MaskingDraft:
        """Return the table ready to be masked, or say in one sentence why it is not."""
        if table.rows == 0:
            raise InputError("the table has no rows; there is nothing to release")
        settled = schema.settled(table)
        table = take_in(table, schema)
        if not settled.names(Role.QUASI):
            raise SchemaError("no column has the role quasi; name the columns an attacker may know")
        person = persons_of(table, settled)
        table, settled = coarsen_table(table, settled)
        unique = unique_columns(table, settled, person)
        return cls(table, settled, person, models, SecureSource() if source is None else source, unique)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that leave, in the order they came in."""
        return tuple(name for name, one in self.schema.columns.items() if one.role is not Role.IDENTIFIER)

    @property
    def repeats(self) -> bool:
        """Whether a person has several rows."""
        return self.person is not None and len(np.unique(self.person)) < len(self.person)

    def attribute(self, name: str) -> Attribute:
        """Return what is declared of a released column, with a type that its cells suggest where none is declared."""
        cells = self.table.column(name)  # says which name was probably meant
        found = self.schema.columns.get(name)
        if found is None or found.role is Role.IDENTIFIER:
            raise SchemaError(f"column '{name}' is not released; name one that is: {', '.join(self.released)}")
        return found if found.kind is not None else detected(found, cells)

    def numbers(self, name: str) -> NumberColumn:
        """Return a column of numbers, dates or times."""
        attribute = self.attribute(name)
        if attribute.kind is None or not attribute.kind.numeric:
            raise SchemaError(f"column '{name}' is {attribute.kind or 'text'}; a column of numbers is wanted")
        return NumberColumn.of(self.table.column(name), attribute)

    def coded(self, name: str) -> Column:
        """Return any released column as codes."""
        return code(self.table.column(name), self.attribute(name))

    def named(self, given: Sequence[str], fits: Fits, words: str) -> tuple[str, ...]:
        """Return the columns that were named; else all quasi-identifiers that fit, `words` saying which do.

        >>> people = Table(pl.DataFrame({"age": [31, 47], "sex": ["F", "M"]}))
        >>> MaskingDraft.of(people, Schema.from_roles(quasi=["age", "sex"])).named([], is_number, "numbers")
        ('age',)
        """
        for name in given:
            self.attribute(name)
        found = tuple(given) or tuple(name for name in self.schema.names(Role.QUASI) if fits(self.attribute(name)))
        if not found:
            raise SchemaError(f"no quasi-identifier holds {words}; name columns that do with --columns")
        return found


def is_number(attribute: Attribute) -> bool:
    """Return whether a column holds numbers that can be added up.

    >>> is_number(Attribute("age", Role.QUASI, Kind.INTEGER)), is_number(Attribute("born", Role.QUASI, Kind.DATE))
    (True, False)
    """
    return attribute.kind in {Kind.INTEGER, Kind.NUMBER}


def is_ordered(attribute: Attribute) -> bool:
    """Return whether a column's values have an order.

    >>> is_ordered(Attribute("born", Role.QUASI, Kind.DATE)), is_ordered(Attribute("sex", Role.QUASI, Kind.CATEGORY))
    (True, False)
    """
    return attribute.kind is not None and attribute.kind.ordered


def is_worded(attribute: Attribute) -> bool:
    """Return whether a column holds words, or numbers that a hierarchy lists.

    >>> is_worded(Attribute("sex", Role.QUASI, Kind.CATEGORY)), is_worded(Attribute("age", Role.QUASI, Kind.INTEGER))
    (True, False)
    """
    return attribute.hierarchy is not None or attribute.kind is None or not attribute.kind.numeric
