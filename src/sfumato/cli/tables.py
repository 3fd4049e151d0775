"""Tables on the command line: several files of one budget, and public tables that a question joins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.dp.questions.public import PublicTable
    from sfumato.schema import Schema

NAMED = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)
Numbers = Annotated[tuple[str, ...], Parameter(negative=(), metavar="TABLE=NUMBER", show_default=False)]


@Parameter(name="*", group="Joins")
@dataclass(frozen=True, kw_only=True)
class PublicOptions:
    """Public tables that the question joins.

    Attributes:
        public: A table that anybody may know, joined under this name; may be repeated.
        at_most: So many rows of a public table may match one row; 1 unless named.
    """

    public: Annotated[tuple[str, ...], Parameter(negative=(), metavar="NAME=FILE", show_default=False)] = ()
    at_most: Numbers = ()

    def tables(self) -> dict[str, PublicTable]:
        """Return the public tables by their names."""
        from sfumato.dp.questions.public import PublicTable

        given, most = named_tables(self.public), numbers_of(self.at_most)
        for name in most:
            if name not in given:
                raise ParameterError(f"at most {most[name]} rows of '{name}', which is no public table of the question")
        return {name: PublicTable.of(data, name, at_most=most.get(name, 1)) for name, data in given.items()}

    @property
    def files(self) -> list[str]:
        """The files that are read."""
        return list(named_tables(self.public).values())


def named_tables(given: Sequence[str]) -> dict[str, str]:
    """Return files and addresses by the names of their tables: NAME=FILE, or the file's stem.

    >>> named_tables(["data/rides.csv", "people=riders-2024.csv"])
    {'rides': 'data/rides.csv', 'people': 'riders-2024.csv'}
    >>> named_tables(["a/rides.csv", "b/rides.csv"])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: two tables are called 'rides'; name one, as in NAME=b/rides.csv
    """
    from sfumato.dp.rows import table_name

    found: dict[str, str] = {}
    for text in given:
        match = None if Path(text).exists() else NAMED.fullmatch(text)
        name, place = (match[1], match[2]) if match else (table_name(text), text)
        if name.casefold() in {other.casefold() for other in found}:
            raise ParameterError(f"two tables are called '{name}'; name one, as in NAME={place}")
        found[name] = place
    return found


def numbers_of(given: Sequence[str]) -> dict[str, int]:
    """Return whole numbers by the names of tables.

    >>> numbers_of(["riders=1"])
    {'riders': 1}
    """
    found = {}
    for text in given:
        name, _, number = text.rpartition("=")
        if not name or not number.isdecimal() or not int(number[:10]) > 0 or len(number) > 9:
            raise ParameterError(f"'{text}' is no number of rows of a table; write TABLE=NUMBER, as in riders=1")
        found[name] = int(number)
    return found


def with_schemas(tables: Mapping[str, str], schemas: Sequence[Schema]) -> tuple[Any, Any]:
    """Return the data and the schema of a session: of one table as they are, of several by their names.

    >>> with_schemas({"rides": "rides.csv"}, ["its schema"])
    ('rides.csv', 'its schema')
    """
    if len(schemas) != len(tables):
        raise ParameterError(
            f"there are {len(tables)} tables and {len(schemas)} schemas; give one --schema for each --data, in the "
            "same order"
        )
    if len(tables) == 1 and [*tables] == [*named_tables([*tables.values()])]:
        return next(iter(tables.values())), schemas[0]
    return dict(tables), dict(zip(tables, schemas, strict=True))


def unit_of(protect: str, person: str | None) -> str:
    """Return the unit to protect: what is named, or persons by a column with one row in one group.

    >>> unit_of("rows", "rider"), unit_of("person:rider:4:2", None)
    ('person:rider:1:1', 'person:rider:4:2')
    """
    if person is None:
        return protect
    if protect != "rows":
        raise ParameterError("--person and --protect both say what is protected; give one of them")
    return f"person:{person}:1:1"
