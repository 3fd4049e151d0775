"""Options that several commands share: lists of columns, and the schema they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, Token

if TYPE_CHECKING:
    from sfumato.schema import Schema


def _whole(_hint: object, tokens: Sequence[Token]) -> int:
    """Return an integer that was written as one; cyclopts alone would round 2.5 to 2."""
    return int(tokens[0].value)


Whole = Annotated[int | None, Parameter(converter=_whole)]
Columns = Annotated[list[str], Parameter(negative=(), metavar="COLUMNS", show_default=False)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


def names(given: Sequence[str]) -> list[str]:
    """Return the column names in comma-separated lists.

    >>> names(["age,sex", "zip"])
    ['age', 'sex', 'zip']
    """
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def build_schema(  # one argument per option
    *,
    file: Path | None,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    identifier: Sequence[str] = (),
    person: str | None = None,
    other: str | None = None,
) -> Schema:
    """Return the schema file, if any, with the roles named on the command line laid over it."""
    from sfumato.schema import Schema

    named = Schema.from_roles(
        quasi=names(quasi),
        sensitive=names(sensitive),
        identifier=names(identifier),
        person=person,
        other=other or "refuse",
    )
    return named if file is None else Schema.from_toml(file).updated(named)
