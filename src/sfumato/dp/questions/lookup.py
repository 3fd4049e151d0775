"""Joins as stages: rows looked up in a public table, and a person's rows of one private table joined to another's.

A public match is decided by the row alone, so that it changes no other row (McSherry 2009, section 3). A private match
is one of the same person, so that one person changes no other person's rows (Wilson et al. 2020, section 3; Johnson,
Near & Song 2018, "Towards practical differential privacy for SQL queries", on what joins on other keys would do).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.dp.questions.public import PublicCell
from sfumato.schema import Attribute, Kind

Keys = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lookup:
    """Each row with its match in a public table, or with each of its at most `at_most` matches.

    `identity` names the table and its content; `keys` pairs columns of the rows with columns of the table; `cells` are
    those of the table's key columns and of the columns that it adds, by the table's names, rows without a key left out.

    >>> from sfumato.schema import Role
    >>> city = Attribute("city", Role.OTHER, categories=("Basel", "Bern"), missing=())
    >>> stage = Lookup("stations (SHA-256 …)", (("station", "id"),), (city,), {"id": [1], "city": ["Bern"]})
    >>> stage.uses, stage.copies, stage.text
    (('station',), 1, 'JOIN stations (SHA-256 …) ON "station" = "id"')
    """

    identity: str
    keys: Keys
    makes: tuple[Attribute, ...]
    cells: Mapping[str, list[PublicCell]] = field(compare=False, repr=False)
    key_attributes: tuple[Attribute, ...] = field(default=(), compare=False, repr=False)
    left: bool = False
    at_most: int = 1

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(ours for ours, _ in self.keys))

    def kind_of(self, column: str) -> Kind | None:
        """Return the type of a column of the table: of a key the one of the rows' column."""
        return next(one.kind for one in (*self.key_attributes, *self.makes) if one.name == column)

    @property
    def copies(self) -> int:
        """How many rows one row becomes at most."""
        return self.at_most

    @property
    def keeps(self) -> None:
        """All columns are still there afterwards."""

    @property
    def text(self) -> str:
        """The canonical text."""
        many = f" AT MOST {self.at_most}" if self.at_most > 1 else ""
        return f"{_kind(self.left)} {self.identity}{_on(self.keys)}{many}"


@dataclass(frozen=True)
class Attach:
    """Each row with all rows of the same person in another private table, of which `theirs` rows are left at most.

    `keys` holds the person's column of both tables. `reads` are the other table's columns as it declares them. Where
    `ours` is given, only so many of a person's rows before the join are left.

    >>> from sfumato.schema import Role
    >>> riders = (Attribute("rider", Role.IDENTIFIER), Attribute("age", Role.OTHER))
    >>> stage = Attach("riders", "rider", (("rider", "rider"),), riders, theirs=1)
    >>> [made.name for made in stage.makes], stage.text
    (['age'], 'JOIN PRIVATE riders ON "rider" = "rider" ROWS 1')
    """

    table: str
    person: str
    keys: Keys
    reads: tuple[Attribute, ...]
    theirs: int
    ours: int | None = None
    left: bool = False

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys(ours for ours, _ in self.keys))

    @property
    def makes(self) -> tuple[Attribute, ...]:
        """The columns that it adds."""
        keys = {theirs for _, theirs in self.keys}
        return tuple(attribute for attribute in self.reads if attribute.name not in keys)

    @property
    def keeps(self) -> None:
        """All columns are still there afterwards."""

    @property
    def text(self) -> str:
        """The canonical text."""
        before = "" if self.ours is None else f" OF {self.ours}"
        return f"{_kind(self.left)} PRIVATE {self.table}{_on(self.keys)} ROWS {self.theirs}{before}"


def _kind(left: bool) -> str:  # noqa: FBT001 - which of two joins
    return "LEFT JOIN" if left else "JOIN"


def _on(keys: Keys) -> str:
    quoted = [tuple('"' + name.replace('"', '""') + '"' for name in pair) for pair in keys]
    return " ON " + " AND ".join(f"{ours} = {theirs}" for ours, theirs in quoted)
