"""The shape of a ledger's file: its tables and columns must be those that this program makes.

SQLite reads the shape from text in the file. A flipped bit there could turn amounts into binary fractions at the next
write (Hipp, "Datatypes in SQLite", type affinity), so another shape is refused.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache

from sfumato.dp.ledger.tables import tables

Shape = list[tuple[object, ...]]


def refuse_other_shape(connection: sqlite3.Connection) -> None:
    """Refuse tables, columns or indexes that are not those of a ledger."""
    if _shape(connection) != _right_shape():
        raise sqlite3.DatabaseError("tables and columns")


@lru_cache(maxsize=1)
def _right_shape() -> Shape:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(tables("sqlite"))
        return _shape(connection)


def _shape(connection: sqlite3.Connection) -> Shape:
    """Return what SQLite says of tables, columns and indexes, in an order that does not depend on their places."""
    found: Shape = []
    sql = "SELECT type, name, tbl_name FROM sqlite_master ORDER BY type, name"
    for kind, name, table in connection.execute(sql).fetchall():
        info = "table_info" if kind == "table" else "index_xinfo"
        columns = connection.execute(f"SELECT * FROM pragma_{info}(?)", (name,)).fetchall()  # noqa: S608 - our words
        found += [(kind, name, table, *column) for column in columns]
    return found
