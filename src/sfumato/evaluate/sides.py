"""A column twice: as it was and as it was released, each cell read as the values that it may stand for.

A generalised cell stands for every value under it (Samarati & Sweeney 1998). What is computed from both sides is the
steward's, and is never published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.errors import InputError
from sfumato.evaluate.regions import Regions, code_original, exact_regions, read_regions
from sfumato.schema import Attribute, Role, Schema
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.table.parse_report import take_in
from sfumato.tabular.coarsen import coarsen_table


@dataclass(frozen=True, eq=False)
class Sides:
    """One column's cells before and after, read on the same scale.

    >>> import polars as pl
    >>> people, coarse = Table(pl.DataFrame({"age": [20, 25]})), Table(pl.DataFrame({"age": ["[20-25]"] * 2}))
    >>> sides = read_sides(people, Schema.from_roles(quasi=["age"]), coarse)["age"]
    >>> sides.original.index.tolist(), sides.released.index.tolist()
    ([0, 5], [0, 0])
    """

    original: Regions
    released: Regions

    @property
    def column(self) -> Column:
        """The original column, coded."""
        return self.original.column


def read_columns(original: Table, schema: Schema, names: Sequence[str] | None = None) -> dict[str, Column]:
    """Return original columns, coded after their rules of coarsening; without names quasi-identifiers and sensitive.

    A column that holds no value at all is left out, and refused where it is named.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 25], "job": ["cook", "smith"]}))
    >>> [*read_columns(people, Schema.from_roles(quasi=["age"], other="keep"), ["job"])]
    ['job']
    """
    schema = replace(schema, columns={**schema.columns, **_as_measured(schema, names or ())})
    taken = take_in(original, schema)
    coarser, settled = coarsen_table(taken, schema.settled(taken))
    wanted = names or (*settled.names(Role.QUASI), *settled.names(Role.SENSITIVE))
    if not wanted:
        raise InputError("no column is a quasi-identifier or sensitive; declare the role of at least one")
    columns = {name: code_original(coarser, settled, name) for name in wanted}
    for name, column in columns.items():
        if names and not _holds_values(column):
            raise InputError(f"column '{name}' holds no value at all; leave it out")
    return {name: column for name, column in columns.items() if _holds_values(column)}


def read_sides(
    original: Table, schema: Schema, released: Table, names: Sequence[str] | None = None
) -> dict[str, Sides]:
    """Return columns before and after; without names the quasi-identifiers and sensitive columns.

    >>> import polars as pl
    >>> people = Table(pl.DataFrame({"age": [20, 25]}))
    >>> read_sides(people, Schema.from_roles(quasi=["age"]), Table(people.frame.clear()))
    Traceback (most recent call last):
    sfumato.errors.InputError: the released table has no rows; there is nothing to measure
    """
    refuse_empty(released)
    columns = read_columns(original, schema, names)
    return {name: Sides(exact_regions(column), read_regions(column, released)) for name, column in columns.items()}


def refuse_empty(released: Table) -> None:
    """Refuse a release without a row."""
    if released.rows == 0:
        raise InputError("the released table has no rows; there is nothing to measure")


def _holds_values(column: Column) -> bool:
    return bool((column.codes >= int(column.has_missing)).any())


def _as_measured(schema: Schema, names: Sequence[str]) -> dict[str, Attribute]:
    """Return named columns in roles that are measured; others are released as they are, like sensitive ones."""
    measured = {}
    for name in names:
        attribute = schema.columns.get(name, Attribute(name, Role.SENSITIVE, public=False))
        if attribute.role is Role.IDENTIFIER:
            raise InputError(f"column '{name}' is an identifier, which a release drops; name another column")
        measured[name] = replace(attribute, role=Role.SENSITIVE) if attribute.role is Role.OTHER else attribute
    return measured
