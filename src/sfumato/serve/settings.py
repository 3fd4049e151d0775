"""What bounds a server: sizes, times and how much is done at once; every limit has a number, and is one line here."""

from __future__ import annotations

from dataclasses import dataclass

LOOPBACK = "127.0.0.1"
PORT = 8460
LARGEST_JSON = 256 * 1024  # bytes; a question has 20,000 characters at most
LARGEST_DECLARATION = 2 * 1024 * 1024  # bytes, of the body with a schema
LARGEST_FORM = 4 * 1024
BODY_SECONDS = 20.0  # that a body may take
UPLOAD_SECONDS = 3600.0
CONNECTIONS = 200
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Settings:
    """How a server is run; memory and uploads in MiB.

    >>> Settings(hosts=("curator.example",)).answers_to("curator.example:443"), Settings().answers_to("evil.example")
    (True, False)
    """

    host: str = LOOPBACK
    port: int = PORT
    hosts: tuple[str, ...] = ()
    workers: int | None = None
    memory: int = 1024
    upload: int = 1024

    def answers_to(self, name: str) -> bool:
        """Return whether a Host header names this server: another name would let a web page speak as this one's own."""
        host = name.rpartition(":")[0] if not name.endswith("]") and ":" in name else name
        return host.lower() in {LOOPBACK, "localhost", "[::1]", self.host, *self.hosts}
