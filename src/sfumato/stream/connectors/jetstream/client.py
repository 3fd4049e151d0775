"""NATS' client where TLS is wanted: nothing is told to a server that offers none, least of all a password.

A NATS server greets readably and says there whether TLS follows, so whoever sits between can leave that out; the client
by itself then goes on without.
"""

from __future__ import annotations

import logging

from nats.aio.client import Client
from nats.errors import Error

from sfumato.stream.connectors.secure import NoTlsError

NOISE = "returning true from eof_received()"  # what asyncio says of each connection by TLS that its client closes


class SecureClient(Client):
    """A client that tells who we are by TLS alone."""

    def __init__(self) -> None:
        super().__init__()
        logging.getLogger("asyncio").addFilter(_is_no_noise)

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise Error("no TLS") from NoTlsError()
        command: bytes = super()._connect_command()
        return command


def _is_no_noise(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(NOISE)
