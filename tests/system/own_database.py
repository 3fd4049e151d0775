"""A database of this process's own on the server of the tests, so that workers side by side do not meet each other."""

from __future__ import annotations

import atexit
import uuid
from functools import cache
from urllib.parse import urlsplit


@cache
def own_database(address: str) -> str:
    """Return the address of a new database on a server; it is dropped when the process ends."""
    import psycopg

    name = f"sfumato_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    atexit.register(_drop, address, name)
    return urlsplit(address)._replace(path=f"/{name}").geturl()


def _drop(address: str, name: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
