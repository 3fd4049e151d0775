"""The tables that a question in SQL can name: those of the ledger with their columns, and public ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.dp.questions.join import Join
from sfumato.dp.questions.public import PublicTable
from sfumato.errors import InputError, suggestion
from sfumato.schema import Schema


@dataclass(frozen=True)
class KnownTables:
    """The ledger's tables by name, its first one first, and public tables; columns are None where they are not known.

    Where the ledger has `several`, a question says which it is about.

    >>> KnownTables({"rides": ("hour", "rider")}).first
    'rides'
    """

    private: Mapping[str, Sequence[str] | None]
    public: Mapping[str, PublicTable] = field(default_factory=dict)
    several: bool = False

    @classmethod
    def of(cls, schemas: Mapping[str, Schema], public: Mapping[str, Any] | None = None) -> KnownTables:
        """Return the tables that have these schemas, and public ones out of files, dataframes or `PublicTable`.

        >>> KnownTables.of({"rides": Schema()}).several
        False
        """
        given = {name: PublicTable.of(data, name) for name, data in (public or {}).items()}
        return cls({name: tuple(schema.columns) for name, schema in schemas.items()}, given, several=len(schemas) > 1)

    @property
    def first(self) -> str:
        """The table that an error names."""
        return next(iter(self.private))

    @property
    def names(self) -> list[str]:
        """The names of all columns that are known."""
        private = [name for columns in self.private.values() for name in columns or ()]
        return [*private, *(name for table in self.public.values() for name in table.names)]

    def private_name(self, name: str) -> str:
        """Return a table of the ledger as it is declared; SQL does not tell upper from lower case."""
        found = _named(name, self.private)
        if found is None:
            there = ", ".join(self.private)
            wanted = f"the table is called '{there}'" if len(self.private) == 1 else f"the tables are {there}"
            raise InputError(f"the question reads from '{name}'; {wanted}")
        return found

    def joined(self, name: str) -> PublicTable | str:
        """Return the table that a join names: a public one, or the name of one of the ledger."""
        public, private = _named(name, self.public), _named(name, self.private)
        if public is not None and private is not None:
            raise InputError(f"'{name}' is a table of the ledger and a public table; call the public one otherwise")
        if public is not None:
            return self.public[public]
        if private is not None:
            return private
        there = [*self.private, *self.public]
        raise InputError(
            f"the question joins '{name}', which is no table of the ledger and no public table that was given"
            f"{suggestion(name, there)}; give a public table as NAME=FILE (--public)"
        )

    def columns(self, table: str, joins: Sequence[Join]) -> list[str] | None:
        """Return the columns of a table and of all that are joined with it, or None where they are not known.

        >>> KnownTables({"rides": ("hour", "rider")}).columns("rides", [])
        ['hour', 'rider']
        """
        names: list[str] = []
        for one in (table, *(join.table for join in joins)):
            columns = one.names if isinstance(one, PublicTable) else self.private[one]
            if columns is None:
                return None
            names += columns
        keys = {theirs for join in joins for ours, theirs in join.on if ours != theirs}
        return [name for name in dict.fromkeys(names) if name not in keys or name in (self.private[table] or ())]


def spelled(name: str, known: Collection[str]) -> str:
    """Return a name as it is declared; one that is not known stays, for a better error later.

    >>> spelled("Hour", ["hour", "rider"]), spelled("day", ["hour"])
    ('hour', 'day')
    """
    return _named(name, known) or name


def _named(name: str, known: Collection[str]) -> str | None:
    if name in known:
        return name
    near = [one for one in known if one.casefold() == name.casefold()]
    return near[0] if len(near) == 1 else None
