"""What a file's cells look like and nobody declared: marks of numbers, formats of dates, marks of missing values.

A mark that two readings fit is not guessed (van den Burg, Nazabal & Sutton 2019, on how guesses go wrong), and a cell
that looks missing stays a value until somebody says so. All of this is computed from the rows, for the steward alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from sfumato.schema import Attribute, Role, Schema
from sfumato.schema.detection import detected, possible_formats, possible_marks
from sfumato.schema.kinds import Weights, is_missing
from sfumato.schema.missing_marks import marks_in
from sfumato.schema.schema import toml_value
from sfumato.table.formats.dialect import QUOTE
from sfumato.table.table import Table

PROBE = 1000  # cells that show whether a column could have marks at all: if so, all of them agree
READ = (Role.QUASI, Role.SENSITIVE)  # the roles whose cells are read; others are dropped, or passed on unchanged
HEADING = "# How the file is written. What is declared here is not guessed again."


def cell_guesses(table: Table, schema: Schema | None = None) -> list[str]:
    """Return a sentence for every column whose cells are read, or could be, in a way that nobody declared.

    >>> people = Table(pl.DataFrame({"cost": ["1,50", "2,75"], "job": ["cook", "NA"]}))
    >>> for sentence in cell_guesses(people, Schema.from_roles(quasi=["cost", "job"])):
    ...     print(sentence)
    decimal mark ',' in column 'cost' (guessed from its cells)
    'NA' in column 'job' counts as a value (it looks like a missing mark: declare it with --missing or in the schema)
    """
    return [sentence for found in _open_columns(table, schema) for sentence in _sentences(*found)]


def reading_lines(table: Table) -> list[str]:
    r"""Return the `[reading]` table of a proposed schema: how the file was read, so that it is not guessed again.

    >>> from sfumato.table.io import decode
    >>> print("\n".join(reading_lines(decode(b"job;age\ncook;31\n", "t.csv", "t.csv"))))
    # How the file is written. What is declared here is not guessed again.
    [reading]
    delimiter = ";"
    encoding = "utf-8"
    """
    used = table.reading.to_mapping()
    pinned = [
        f"{key} = {toml_value(value)}" for key, value in used.items() if key != "quote" or table.reading.quote != QUOTE
    ]
    return [HEADING, "[reading]", *pinned] if pinned else []


def undeclared_marks(column: pl.Series, declared: Attribute) -> list[str]:
    """Return the cells of a text column that look like missing marks and are not declared as anything.

    >>> undeclared_marks(pl.Series("x", ["NA", "3", "?"]), Attribute("x", Role.QUASI, missing=("?",)))
    ['NA']
    """
    known = {*declared.missing, *(declared.categories or ())}
    if declared.hierarchy is not None:
        known |= set(declared.hierarchy.leaves)
    return [mark for mark in marks_in(column) if mark not in known]


def _open_columns(table: Table, schema: Schema | None) -> Iterator[tuple[pl.Series, Weights | None, Attribute]]:
    """Yield the cells of text that are looked at, counted or all, with what is declared; without a schema, of all."""
    for name in table.names:
        declared = None if schema is None else schema.columns.get(name)
        if schema is not None and (declared is None or declared.role not in READ):
            continue
        cells, times = table.counted(name)
        if cells.dtype == pl.String:
            yield cells, times, Attribute(name, Role.OTHER) if declared is None else declared


def _sentences(column: pl.Series, times: Weights | None, declared: Attribute) -> list[str]:
    told = []
    if declared.kind is None and declared.role in READ and not _listed(declared) and _may_be_marked(column, declared):
        told = _marks(detected(declared, column, times), declared)
    marks = undeclared_marks(column, declared)
    if marks:
        one = "counts as a value (it looks like a missing mark"
        said = one if len(marks) == 1 else "count as values (they look like missing marks"
        listed = ", ".join(f"'{mark}'" for mark in marks)
        told.append(f"{listed} in column '{column.name}' {said}: declare it with --missing or in the schema)")
    return told


def _may_be_marked(column: pl.Series, declared: Attribute) -> bool:
    """Return whether the first cells could be numbers with marks, or dates with a format."""
    first = column.head(PROBE)
    present = first.filter(~is_missing(first, declared.missing))
    return bool(present.is_empty() or possible_marks(present) or possible_formats(present))


def _listed(declared: Attribute) -> bool:
    return declared.categories is not None or declared.hierarchy is not None


def _marks(found: Attribute, declared: Attribute) -> list[str]:
    """Return what was found of how the cells of a column are written, beyond what was declared."""
    names = {"decimal": "decimal mark", "thousands": "thousands mark", "format": "date format", "zone": "time zone"}
    return [
        f"{words} '{getattr(found, key)}' in column '{found.name}' (guessed from its cells)"
        for key, words in names.items()
        if getattr(found, key) not in (None, getattr(declared, key))
    ]
