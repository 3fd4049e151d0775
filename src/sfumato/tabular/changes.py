"""What an anonymizer did to a table, as sentences of its card: from the released values alone.

A suppressed cell shows `*` (Sweeney 2002); where a whole column shows nothing else, the reader should hear it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import SUPPRESSED
from sfumato.schema import Attribute, Role, Schema
from sfumato.tabular.recode import Coarse

IDENTIFYING = "Columns that identify a person were left out."
WITHOUT_ROLE = "Columns that identify a person, and columns without a role, were left out."


def column_changes(schema: Schema, shown: str) -> list[str]:
    """Return what became of the columns: which were left out, and as what the quasi-identifiers are `shown`.

    >>> schema = Schema.from_roles(quasi=["age", "zip"], identifier=["name"])
    >>> column_changes(schema, "{quasi}: shown as ranges.")
    ['Columns that identify a person were left out.', 'age, zip: shown as ranges.']
    """
    names = {"quasi": ", ".join(schema.names(Role.QUASI)), "sensitive": ", ".join(schema.names(Role.SENSITIVE))}
    return [*dropped_columns(schema), shown.format_map(names), *coarsened_columns(schema.columns.values())]


def dropped_columns(schema: Schema) -> list[str]:
    """Return which columns were left out, by what the schema says of them.

    >>> dropped_columns(Schema.from_roles(quasi=["age"])), len(dropped_columns(Schema(other="drop")))
    ([], 1)
    """
    if schema.other == "drop":
        return [WITHOUT_ROLE]
    return [IDENTIFYING] if schema.names(Role.IDENTIFIER) else []


def coarsened_columns(attributes: Iterable[Attribute]) -> list[str]:
    """Return which columns were made coarser by a declared rule.

    >>> from sfumato.schema.coarsening import Coarsening
    >>> coarsened_columns([Attribute("cost", Role.SENSITIVE, coarsened=Coarsening(round=100))])
    ['cost: made coarser by a declared rule (round:100).']
    """
    return [
        f"{one.name}: made coarser by a declared rule ({one.coarsened.text})."
        for one in attributes
        if one.coarsened is not None
    ]


def starred_columns(
    coarse: Mapping[str, Sequence[Coarse]],
    row_class: npt.NDArray[np.int64],
    weights: npt.NDArray[np.int64] | None,
    starred: int,
) -> list[str]:
    """Return which columns show `*`, and in how many rows beside the `starred` ones that show nothing else.

    >>> column = Coarse("zip", pl.Series(["*", "1100"]), np.array([0, 1]))
    >>> starred_columns({"zip": [column]}, np.array([0, 0, 1]), None, 0)
    ['zip is replaced by * in 2 of 3 rows.']
    """
    sentences = []
    every = len(row_class) if weights is None else int(weights.sum())
    for column in (part for parts in coarse.values() for part in parts):
        if column.values.dtype != pl.String:
            continue
        stars = (column.values == SUPPRESSED).fill_null(value=False).to_numpy()
        rows = stars[column.index[row_class]]
        number = int(rows.sum() if weights is None else weights[rows].sum())
        where = "every row" if number == every else f"{number:,} of {every:,} rows"
        if number > starred:
            sentences.append(f"{column.name} is replaced by * in {where}.")
    return sentences
