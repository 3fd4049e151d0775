"""Bounds in a SELECT: `CLIP(fare, 0, 64)` inside an aggregate, and `BOUNDS(fare)`, which asks for both private ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.dp.questions.clips import Clip, read_clip
from sfumato.dp.questions.sql.statement import shown_sql
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sqlglot import exp

DIGITS = 20  # characters of a number


def unclipped(tree: exp.Expr) -> tuple[exp.Expr, Clip | None]:
    """Return what is clipped, and the bounds that `CLIP(expression, low, high)` gives; anything else as it is.

    >>> import sqlglot
    >>> found, clip = unclipped(sqlglot.parse_one("CLIP(fare, -1, 64)"))
    >>> found.sql(), clip
    ('fare', (-1, 64))
    """
    from sqlglot import exp

    if not isinstance(tree, exp.Anonymous) or tree.name.upper() != "CLIP":
        return tree, None
    ends = [number_of(entry) for entry in tree.expressions[1:]]
    if len(tree.expressions) != 3 or None in ends:
        raise InputError(f"the question has {shown_sql(tree)}; write CLIP(column, low, high) with numbers or dates")
    return tree.expressions[0], read_clip(*ends)


def number_of(tree: exp.Expr) -> int | float | str | None:
    """Return a number, or a text that may be a date; None for anything else.

    >>> import sqlglot
    >>> number_of(sqlglot.parse_one("-2.5")), number_of(sqlglot.parse_one("DATE '2020-01-01'"))
    (-2.5, '2020-01-01')
    """
    from sqlglot import exp

    if isinstance(tree, exp.Neg):
        found = number_of(tree.this)
        return -found if isinstance(found, int | float) else None
    inner = tree.this if isinstance(tree, exp.Cast) else tree
    if not isinstance(inner, exp.Literal):
        return None
    text = str(inner.this)
    if inner.is_string:
        return text
    if len(text) > DIGITS:
        return None
    return int(text) if text.isdecimal() else float(text)


def both_bounds(entries: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the entries of a SELECT list, `BOUNDS(x)` as the lower and the upper bound of x.

    >>> import sqlglot
    >>> [entry.sql() for entry in both_bounds(sqlglot.parse_one("SELECT BOUNDS(x) AS b").expressions)]
    ['LOWER_BOUND(x) AS lower_b', 'UPPER_BOUND(x) AS upper_b']
    """
    from sqlglot import exp

    for entry in entries:
        inner = entry.this if isinstance(entry, exp.Alias) else entry
        if not isinstance(inner, exp.Anonymous) or inner.name.upper() != "BOUNDS":
            yield entry
            continue
        for side in ("lower", "upper"):
            one = exp.Anonymous(this=f"{side.upper()}_BOUND", expressions=[part.copy() for part in inner.expressions])
            yield exp.alias_(one, f"{side}_{entry.alias}") if isinstance(entry, exp.Alias) else one
