"""Connections to PostgreSQL by their addresses: what its client is given, and which failures another attempt may mend.

Codes of errors are those of PostgreSQL's documentation, appendix A.
"""

from __future__ import annotations

from typing import Any

from sfumato.core.address import Address

PATIENCE = 10  # seconds that a server has to take a connection
VARIABLE = "PGPASSWORD"
LIBPQ = ("host", "sslmode", "sslrootcert", "sslcert", "sslkey", "passfile")
OPTIONS = {
    "host": "Folder of the server's socket, where there is no host before the database.",
    **{name: f"{name} of libpq, PostgreSQL's own client." for name in LIBPQ[1:]},
}
PASSING = ("08", "40", "53", "55", "57", "58")  # classes of errors that another attempt may not meet
DISTRUSTED = ("certificate verify failed", "server certificate for", "root certificate file")
STRANGER = (
    "password authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "does not exist",
    "server does not support SSL",
    "is not permitted to log in",
)  # no server says these words of itself in the middle of an outage


def login(address: Address, database: str, settings: str) -> dict[str, Any]:
    """Return what libpq is given to reach a database; `settings` are those of the connection (`-c NAME=VALUE`).

    >>> found = login(Address.read("postgresql://ana@server/city?sslmode=verify-full"), "city", "-c jit=off")
    >>> found["host"], found["user"], found["sslmode"]
    ('server', 'ana', 'verify-full')
    """
    given: dict[str, Any] = {name: address.options[name] for name in LIBPQ if name in address.options}
    given |= {"host": address.host} if address.host else {}
    given |= {"port": address.port} if address.port else {}
    given |= {"user": address.user} if address.user else {}
    given |= {"password": word} if (word := address.password(VARIABLE)) else {}
    return {"dbname": database, "connect_timeout": PATIENCE, "options": settings, **given}


def words_of(error: Exception) -> str:
    """Return why, without where: a host may have several addresses, and the last one tried says most.

    >>> words_of(OSError('connection to server at "x", port 1 failed: Connection refused'))
    'Connection refused'
    """
    lines = str(error).strip().splitlines()
    why = lines[0].rpartition(" failed: ")[2].removeprefix("FATAL:").strip() if lines else ""
    return why or type(error).__name__
