"""Columns released as they are whose values single people out: refused, or accepted by name and then told first.

Whoever knows a value that occurs once finds its row, whatever is promised about quasi-identifiers (Article 29 Working
Party 2014, opinion 05/2014: singling out); l-diversity counts such values as different and protects nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import SchemaError
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.coarser import propose_rule
from sfumato.schema.schema import toml_value
from sfumato.schema.separation import Distinctness, distinctness
from sfumato.schema.values import parse_cells
from sfumato.table import Table

RELEASED = (Role.SENSITIVE, Role.OTHER)


def unique_columns(table: Table, settled: Schema, person: npt.NDArray[np.int64] | None) -> dict[str, Distinctness]:
    """Return the columns released as they are that are unique or nearly so over rows, or over persons.

    >>> table = Table(pl.DataFrame({"mrn": range(40), "ward": [1, 2] * 20}))
    >>> list(unique_columns(table, Schema(other="keep").settled(table), None))
    ['mrn']
    """
    released = {name: entry for name, entry in settled.columns.items() if entry.role in RELEASED}
    found = {name: _distinctness(table, entry, person) for name, entry in released.items()}
    return {name: one for name, one in found.items() if one.nearly_unique}


def _distinctness(table: Table, attribute: Attribute, person: npt.NDArray[np.int64] | None) -> Distinctness:
    if person is not None:
        return distinctness(table.column(attribute.name), attribute.missing, person)
    cells, times = table.counted(attribute.name)
    return distinctness(cells, attribute.missing, times=times)


def refuse_unique(found: Mapping[str, Distinctness], settled: Schema) -> None:
    """Refuse nearly unique columns that nobody accepted; sensitive numbers and days are only warned of.

    >>> schema = Schema({"mrn": Attribute("mrn", Role.OTHER)})
    >>> refuse_unique({"mrn": Distinctness(40, 40, 40, 40)}, schema)
    Traceback (most recent call last):
    sfumato.errors.SchemaError: column 'mrn' would be released as it is and has 40 distinct values, 40 of 40 rows \
alone with theirs: whoever knows the value finds the row; declare it as an identifier (dropped) or quasi \
(generalised), coarsen it, or accept it with --accept-unique mrn
    """
    for name, one in found.items():
        attribute = settled.columns[name]
        if attribute.accept_unique or _is_measured(attribute):
            continue
        raise SchemaError(
            f"column '{name}' would be released as it is and has {one.words}: whoever knows the value finds the row; "
            "declare it as an identifier (dropped) or quasi (generalised), coarsen it, or accept it with "
            f"--accept-unique {name}"
        )


def unique_warnings(found: Mapping[str, Distinctness], settled: Schema, table: Table) -> list[str]:
    """Return what the card says first: columns that were accepted, and sensitive numbers that nobody made coarser.

    >>> schema = Schema({"mrn": Attribute("mrn", Role.OTHER, accept_unique=True)})
    >>> unique_warnings({"mrn": Distinctness(40, 40, 40, 40)}, schema, Table(pl.DataFrame({"mrn": []})))[0]
    "column 'mrn' singles people out and was accepted (40 distinct values, 40 of 40 rows alone with theirs): whoever \
knows the value finds the row, whatever is promised here"
    """
    return [unique_warning(settled.columns[name], one, table.column(name)) for name, one in found.items()]


def unique_warning(attribute: Attribute, one: Distinctness, values: pl.Series) -> str:
    """Return the warning about one column; `values` are some of its cells, which tell a rule to propose.

    >>> from sfumato.schema import Kind
    >>> cost = Attribute("cost", Role.SENSITIVE, Kind.NUMBER)
    >>> said = unique_warning(cost, Distinctness(40, 40, 40, 40), pl.Series([float(number) for number in range(40)]))
    >>> said.rpartition("; ")[2]
    'declare for example coarsen = {round = 5}'
    """
    if attribute.accept_unique:
        return (
            f"column '{attribute.name}' singles people out and was accepted ({one.words}): whoever knows the value "
            "finds the row, whatever is promised here"
        )
    numbers = parse_cells(values, attribute).values.drop_nulls().to_numpy()
    rule = toml_value(propose_rule(numbers, attribute.kind).to_mapping()) if attribute.kind and len(numbers) else ""
    return (
        f"sensitive column '{attribute.name}' singles people out ({one.words}): whoever knows the value finds the row, "
        f"and l-diversity protects nobody where all values differ; declare for example coarsen = {rule}"
    )


def _is_measured(attribute: Attribute) -> bool:
    """Whether a column is a sensitive quantity, for which a coarser scale is the remedy."""
    return attribute.role is Role.SENSITIVE and attribute.kind is not None and attribute.kind.numeric
