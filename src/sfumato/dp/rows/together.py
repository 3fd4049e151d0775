"""One look at several tables: each is hashed as it is read, and one connection reads all of them for a join.

What is hashed of every table is what is joined (Bishop & Dilger 1996, "Checking for race conditions in file accesses").
Files and dataframes are joined by one embedded database that may open just these; tables of PostgreSQL by their server,
in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from sfumato.dp.questions.request import QueryableRows
from sfumato.dp.rows.duckdb import DuckRows
from sfumato.dp.rows.postgres import PostgresRows
from sfumato.errors import InputError


@dataclass(frozen=True)
class Look:
    """The rows of a question's first table, able to join its others, and the fingerprints of all of them now.

    >>> from sfumato.dp.rows import RowsElsewhere
    >>> Look(RowsElsewhere("spark"), {"rides": "00"})
    Look(fingerprints={'rides': '00'})
    """

    rows: QueryableRows = field(repr=False)
    fingerprints: Mapping[str, str]


@dataclass
class Together:
    """Looks at tables together; the connection that reads several is kept while their content stays.

    >>> Together().joint is None
    True
    """

    joint: tuple[tuple[DuckRows, ...], DuckRows] | None = field(default=None, repr=False)

    @contextmanager
    def look(self, rows: Mapping[str, QueryableRows]) -> Iterator[Look]:
        """Give all tables as they are at one moment; the first one is that whose rows are counted."""
        (first, base), *others = rows.items()
        if not others:
            with base.look() as seen:
                yield Look(seen, {first: seen.fingerprint()})
            return
        if isinstance(base, PostgresRows):
            with base.look_beside(_of_one_server(first, base, dict(others))) as (joined, found):
                yield Look(joined, dict(zip(rows, found, strict=True)))
            return
        with ExitStack() as stack:
            seen_rows = {name: stack.enter_context(one.look()) for name, one in rows.items()}
            prints = {name: one.fingerprint() for name, one in seen_rows.items()}
            yield Look(self._joined(first, seen_rows), prints)

    def _joined(self, first: str, seen: Mapping[str, QueryableRows]) -> DuckRows:
        held = {name: rows for name, rows in seen.items() if isinstance(rows, DuckRows)}
        for name in seen:
            if name not in held:
                raise _elsewhere(first, name)
        parts = tuple(held.values())
        if self.joint is None or [*map(id, self.joint[0])] != [*map(id, parts)]:
            self.joint = (parts, held[first].beside({name: rows for name, rows in held.items() if name != first}))
        return self.joint[1]


def _of_one_server(first: str, base: PostgresRows, others: Mapping[str, QueryableRows]) -> dict[str, PostgresRows]:
    found = {name: rows for name, rows in others.items() if isinstance(rows, PostgresRows) and rows.is_beside(base)}
    for name in others:
        if name not in found:
            raise _elsewhere(first, name)
    return found


def _elsewhere(first: str, name: str) -> InputError:
    return InputError(
        f"the tables '{first}' and '{name}' cannot be joined, since no one engine reads both; private tables are "
        "joined where all are files or dataframes, or tables in one database of PostgreSQL"
    )
