"""Where the ledgers of a test lie, files or schemas of PostgreSQL, and what a test does to them behind their back."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from abc import ABC, abstractmethod
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.postgres import PREFIX

Place = Path | str
LONG_ON_SERVER = pytest.mark.parametrize(
    "ledgers", ["file", pytest.param("postgres", marks=pytest.mark.long)], indirect=True
)
TABLES = ("account", "analyst", "answer", "entry", "link", "version")
CHARGED = "SELECT epsilon FROM entry WHERE again = 0"
UNPAID = "SELECT count(*) FROM answer WHERE hash NOT IN (SELECT hash FROM entry WHERE answered = 1)"


class Ledgers(ABC):
    """Places for ledgers of one kind; statements are SQL that both kinds of database understand."""

    kind: ClassVar[str]

    @abstractmethod
    def at(self, name: str = "rides") -> Place:
        """Return the place of a ledger of this test, always the same for a name."""

    @abstractmethod
    def fetch(self, place: Place, statement: str) -> list[Any]:
        """Return what a statement finds or changes in a ledger."""

    @abstractmethod
    def save(self, place: Place) -> Any:
        """Return a copy of all that a ledger holds."""

    @abstractmethod
    def restore(self, place: Place, saved: Any) -> None:
        """Put a copy in the place of a ledger, as whoever rolls it back would."""

    def whole(self, place: Place) -> None:
        """Check that the total is the sum of the entries and that no answer is unpaid."""
        charged = self.fetch(place, CHARGED)
        assert sum((Decimal(text) for (text,) in charged), Decimal(0)) == Ledger.open(place).spent.epsilon
        assert self.fetch(place, UNPAID) == [(0,)]

    def clear(self) -> None:  # noqa: B027 - files go with their folder
        """Remove what the test has made."""


class Files(Ledgers):
    """Ledgers in files of one folder."""

    kind = "file"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def at(self, name: str = "rides") -> Path:
        return self._folder / f"{name}.ledger"

    def fetch(self, place: Place, statement: str) -> list[Any]:
        with closing(sqlite3.connect(place)) as connection, connection:
            return connection.execute(statement).fetchall()

    def save(self, place: Place) -> bytes:
        return Path(place).read_bytes()

    def restore(self, place: Place, saved: bytes) -> None:
        beside = self._folder / "saved"
        beside.write_bytes(saved)
        shutil.copy(beside, place)
        beside.unlink()

    def whole(self, place: Place) -> None:
        assert self.fetch(place, "PRAGMA integrity_check") == [("ok",)]
        super().whole(place)


class Schemas(Ledgers):
    """Ledgers in schemas of one database, which may be on a server for tests without fsync."""

    kind = "postgres"

    def __init__(self, address: str, *, fsync: bool = False) -> None:
        self._address, self._mark = address, uuid.uuid4().hex[:12]
        self._options = "" if fsync else "&fsync=off"
        self._schemas: set[str] = set()

    def at(self, name: str = "rides") -> str:
        ledger = f"t{self._mark}_{name}"
        self._schemas.add(PREFIX + ledger)
        return f"{self._address}{'&' if '?' in self._address else '?'}ledger={ledger}{self._options}"

    def _connect(self, place: Place) -> Any:
        import psycopg

        schema = PREFIX + str(place).partition("ledger=")[2].partition("&")[0]
        return psycopg.connect(self._address, autocommit=True, options=f"-c search_path={schema}")

    def fetch(self, place: Place, statement: str) -> list[Any]:
        with self._connect(place) as connection:
            cursor = connection.execute(statement.replace(" x'", r" '\x").encode())
            return cursor.fetchall() if cursor.description else []

    def save(self, place: Place) -> dict[str, list[Any]]:
        with self._connect(place) as connection:
            return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in TABLES}  # noqa: S608

    def restore(self, place: Place, saved: dict[str, list[Any]]) -> None:
        with self._connect(place) as connection, connection.transaction():
            for table, rows in saved.items():
                connection.execute(f"DELETE FROM {table}")  # noqa: S608
                for row in rows:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)  # noqa: S608

    def clear(self) -> None:
        import psycopg

        with psycopg.connect(self._address, autocommit=True) as connection:
            for schema in sorted(self._schemas):
                connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
