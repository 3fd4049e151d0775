"""Groups in public order: what the engine found is laid into declared cells, empty ones with zeros.

Every declared group is answered whether or not it has rows, so that which groups exist tells nothing (Wilson et al.
2020, section 3.3, on why undeclared groups need a threshold).
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence

from sfumato.dp.questions.expression import EPOCH
from sfumato.dp.questions.request import Binned, Cell, Cells, Key, Request, Unknown
from sfumato.errors import InputError
from sfumato.schema import Kind, Schema

Found = tuple[Cell, ...]


def key_value(cell: Cell, kind: Kind | None, column: str) -> Cell:
    """Return a declared cell as the engine holds it: an integer, a double, days or a text.

    >>> key_value("1970-01-03", Kind.DATE, "day"), key_value(2.0, Kind.INTEGER, "hour"), key_value(2, None, "zip")
    (2, 2, '2')
    """
    if kind not in {Kind.INTEGER, Kind.NUMBER, Kind.DATE}:
        return str(cell)
    try:
        if kind is Kind.DATE:
            return (dt.date.fromisoformat(cell) - EPOCH).days if isinstance(cell, str) else int(cell)
        number = float(cell)
        if kind is Kind.NUMBER:
            return number
        if number.is_integer():
            return int(cell)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"key '{column}': the declared cell '{cell}' is no {kind}; declare cells of the column's type")


def arrange(request: Request, schema: Schema, found: Sequence[Found]) -> tuple[list[Cells], dict[Found, int]]:
    """Return the groups' cells in the order they are answered, and the place of every group the engine found.

    Declared and binned keys come in full; with an unknown key among them, only the groups found do, sorted.

    >>> from sfumato.dp.questions.request import Count, Declared
    >>> from sfumato.dp.unit import ProtectRows
    >>> request = Request((Count(),), ProtectRows(), (Declared("sex", ("F", "M")),))
    >>> arrange(request, Schema.from_roles(quasi=["sex"]), [("M",)])
    ([('F',), ('M',)], {('M',): 1})
    """
    names = [_names(key, schema) for key in request.keys]
    shown = {row: tuple(_shown(name, cell) for name, cell in zip(names, row, strict=True)) for row in found}
    if any(isinstance(key, Unknown) for key in request.keys):
        cells = [shown[row] for row in sorted(shown)]
    else:
        cells = list(itertools.product(*(key.cells for key in request.keys if not isinstance(key, Unknown))))
    places = {group: place for place, group in enumerate(cells)}
    return cells, {row: places[group] for row, group in shown.items()}


def _names(key: Key, schema: Schema) -> dict[Cell, Cell] | Kind | None:
    """Return the public cell of every value an engine may hold, or for an unknown key the kind of its values."""
    kind = schema.columns[key.column].kind
    if isinstance(key, Unknown):
        return kind
    if isinstance(key, Binned):
        return dict(enumerate(key.cells))
    return {key_value(cell, kind, key.column): cell for cell in key.cells}


def _shown(names: dict[Cell, Cell] | Kind | None, value: Cell) -> Cell:
    if isinstance(names, dict):
        return names[value]
    if names is Kind.DATE:
        return (EPOCH + dt.timedelta(days=int(value))).isoformat()
    return value
