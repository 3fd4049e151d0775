"""What released labels stand for, for whoever receives a release: each label's values by the declared hierarchy alone.

A generalised value is a set of values (Samarati 2001); a label such as `coast` says which only with its hierarchy. No
raw row is read: the values are those that the hierarchy lists, whether they occur or not.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from sfumato.core.cells import SUPPRESSED, literal
from sfumato.errors import InputError, SchemaError
from sfumato.hierarchy import Hierarchy
from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.kinds import is_missing
from sfumato.table import Table

LabelValues = Mapping[str, Mapping[str, list[str]]]


def label_values(released: Table, schema: Schema) -> dict[str, dict[str, list[str]]]:
    """Return, by column with a declared hierarchy and by released label, the values that the label stands for.

    >>> tree = Hierarchy.from_rows([("02138", "0213*", "*"), ("02139", "0213*", "*"), ("02144", "0214*", "*")])
    >>> schema = Schema({"zip": Attribute("zip", Role.QUASI, hierarchy=tree)})
    >>> label_values(Table.from_frame(pl.DataFrame({"zip": ["0213*", "0213*"]})), schema)
    {'zip': {'0213*': ['02138', '02139']}}
    """
    columns = {
        name: attribute.hierarchy
        for name in schema.names(Role.QUASI)
        if (attribute := schema.columns[name]).hierarchy is not None
    }
    if not columns:
        raise SchemaError("no quasi-identifier has a hierarchy, so that labels say themselves what they stand for")
    for name, hierarchy in columns.items():
        if not hierarchy.public:
            raise SchemaError(
                f"column '{name}': the values of its hierarchy were taken from rows and would tell which values occur; "
                "declare values that everybody may know, and delete `public = false` from its file"
            )
    return {name: _of_column(released.column(name), schema.columns[name], tree) for name, tree in columns.items()}


def _of_column(series: pl.Series, attribute: Attribute, hierarchy: Hierarchy) -> dict[str, list[str]]:
    """Return the values behind each label that a column shows; what stands for no value is left out."""
    nodes = _nodes(hierarchy)
    marks = tuple(mark for mark in ("", *attribute.missing) if mark not in nodes)
    shown = series.filter(~is_missing(series, marks)).cast(pl.String).unique().sort().to_list()
    quoted = {literal(mark) for mark in marks}
    stranger = next((label for label in shown if label not in nodes and label not in quoted), None)
    if stranger is not None:
        raise InputError(
            f"column '{attribute.name}' shows '{stranger}', which its hierarchy does not have; give the hierarchy of "
            "this release"
        )
    return {label: nodes[label] for label in shown if label in nodes}


def _nodes(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """Return the values below every label as it is released; below a label that stands twice, those of both."""
    found: dict[str, dict[str, None]] = {SUPPRESSED: dict.fromkeys(hierarchy.leaves)}
    for label, level, first, end in hierarchy.nodes():
        values = found.setdefault(label if level else literal(label), {})
        values |= dict.fromkeys(hierarchy.leaves[first:end])
    return {label: list(values) for label, values in found.items()}


def as_table(values: LabelValues) -> Table:
    """Return the values as a table: a row for every column, label and value.

    >>> as_table({"sex": {"*": ["F", "M"]}}).frame.rows()
    [('sex', '*', 'F'), ('sex', '*', 'M')]
    """
    rows = [
        (column, label, value) for column, labels in values.items() for label, held in labels.items() for value in held
    ]
    return Table.from_frame(
        pl.DataFrame(rows, schema=dict.fromkeys(("column", "label", "value"), pl.String), orient="row")
    )
