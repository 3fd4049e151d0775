"""The types on a card against the cells of the file: a column of numbers holds numbers, one of dates holds dates.

Cells that contradict their type are a claim refuted, not a reason to stop; what remains is measured without them. Types
are parsed as on the way in (van den Burg, Nazabal & Sutton 2019, on cells and their types).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from sfumato.core.cells import SUPPRESSED
from sfumato.evaluate.agreement import WRITTEN
from sfumato.release.card import Card, ReleasedColumn
from sfumato.release.finding import Finding, compare_stated
from sfumato.schema import Attribute, Kind, Role
from sfumato.schema.detection import detected
from sfumato.schema.missing_marks import MISSING_MARKS
from sfumato.schema.values import parse_cells
from sfumato.table import Table
from sfumato.table.parse_report import CellCount

CLAIM = "every cell is of the type that the card states for its column"
KINDS = {kind.value: kind for kind in Kind if kind.numeric}
MARKS = ("decimal", "thousands", "format", "zone")
PASSED_ON = (Role.SENSITIVE, Role.OTHER)


def typed_columns(card: Card, table: Table) -> dict[str, Attribute]:
    """Return the columns whose cells are values of a type that can fail, each as the card says it is written.

    Generalised cells are ranges, sets or labels: quasi-identifiers are none of these, nor is any column of a private
    table.

    >>> from sfumato.release.card import Guarantee, Released
    >>> released = Released(rows=1, columns=[ReleasedColumn(name="cost", role="sensitive", type="number")])
    >>> stated = Guarantee(model="k-anonymity", parameters={}, unit="row")
    >>> card = Card(version="1", door="table", algorithm="x", guarantee=stated, assumptions=[], released=released)
    >>> list(typed_columns(card, Table(pl.DataFrame({"cost": ["7"]}))))
    ['cost']
    """
    if card.door == "table" and card.guarantee.neighbours is not None:
        return {}
    stated = [*card.released.columns, *(column for entry in card.released.companions for column in entry.columns)]
    passed = [column for column in stated if column.role in PASSED_ON and column.type in KINDS]
    written = card.released.settings.get(WRITTEN)
    told = written if isinstance(written, Mapping) else {}
    return {
        column.name: as_written(column, table.column(column.name), told.get(column.name))
        for column in passed
        if column.name in table.names
    }


def as_written(column: ReleasedColumn, cells: pl.Series, told: Mapping[str, Any] | None = None) -> Attribute:
    """Return a column as declared, with the marks that its card tells; those that its cells show where it tells none.

    >>> cost = ReleasedColumn(name="cost", role="sensitive", type="number")
    >>> as_written(cost, pl.Series("cost", ["1,50", "NA"])).decimal
    ','
    """
    kind = KINDS[column.type or ""]
    if told is not None:
        marks: dict[str, Any] = {name: str(told[name]) for name in MARKS if name in told}
        missing = tuple(map(str, told.get("missing", ())))
        counts = told.get("missing_is_value") is True
        missing = (*missing, "", SUPPRESSED)
        return Attribute(column.name, Role.SENSITIVE, kind, missing=missing, missing_is_value=counts, **marks)
    plain = Attribute(column.name, Role.SENSITIVE, kind, missing=("", SUPPRESSED, *MISSING_MARKS))
    if not parse_cells(cells, plain).failed.any():
        return plain
    found = detected(replace(plain, kind=None), cells)
    alike = found.kind is kind or (found.kind, kind) == (Kind.INTEGER, Kind.NUMBER)
    return replace(found, kind=kind) if alike else plain


def type_finding(tables: Iterable[tuple[Table, Mapping[str, Attribute]]]) -> Finding:
    """Return whether the cells of typed columns, in the tables that hold them, are what is stated.

    >>> table = Table(pl.DataFrame({"cost": ["7", "abc"]}))
    >>> type_finding([(table, {"cost": Attribute("cost", Role.SENSITIVE, Kind.NUMBER)})]).evidence["reason"]
    "column 'cost': found 1 cell that is none, the first in row 2, stated number"
    """
    wrong: dict[str, tuple[str, str]] = {}
    columns: dict[str, str] = {}
    for table, typed in tables:
        for name, attribute in typed.items():
            columns[name] = str(attribute.kind)
            failed = CellCount.of(parse_cells(table.column(name), attribute).failed)
            if failed.cells:
                wrong[f"column '{name}'"] = (_none(failed), str(attribute.kind))
    return compare_stated(CLAIM, wrong, {"types": columns})


def without_contradictions(table: Table, typed: Mapping[str, Attribute]) -> Table:
    """Return the table with every cell missing that is not of its column's type.

    >>> cost = {"cost": Attribute("cost", Role.SENSITIVE, Kind.NUMBER)}
    >>> without_contradictions(Table(pl.DataFrame({"cost": ["7", "abc"]})), cost).column("cost").to_list()
    ['7', None]
    """
    held = [(table.column(name), attribute) for name, attribute in typed.items() if name in table.names]
    cleaned = [cells.set(parse_cells(cells, attribute).failed, None) for cells, attribute in held]
    return replace(table, frame=table.frame.with_columns(cleaned))


def no_numbers(table: Table, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the columns of a file that hold cells that are no numbers, with what was found and what was stated.

    >>> no_numbers(Table(pl.DataFrame({"count": ["7", "abc"]})), ["count"])
    {"column 'count'": ('1 cell that is none, the first in row 2', 'number')}
    """
    wrong = {}
    for name in names:
        failed = CellCount.of(parse_cells(table.column(name), Attribute(name, Role.SENSITIVE, Kind.NUMBER)).failed)
        if failed.cells:
            wrong[f"column '{name}'"] = (_none(failed), str(Kind.NUMBER))
    return wrong


def _none(failed: CellCount) -> str:
    cells = "1 cell that is" if failed.cells == 1 else f"{failed.cells} cells that are"
    return f"{cells} none, the first in row {failed.rows[0]}"
