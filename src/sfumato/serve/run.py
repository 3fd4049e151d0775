"""A curator that runs: a home folder, a listening socket, and what is told to whoever started it.

The server is uvicorn (ASGI 3). It writes no log of its own: a line of ours for each call is all that is written.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable

from sfumato.errors import InputError
from sfumato.serve import acts
from sfumato.serve.accounts import Role, find_account, open_account
from sfumato.serve.app import application
from sfumato.serve.home import Home
from sfumato.serve.server import Server
from sfumato.serve.settings import CONNECTIONS, Settings
from sfumato.serve.tokens import make_link

STEWARD = "steward"
GRACEFUL = 10  # seconds that calls have to end
LARGEST_HEAD = 32 * 1024  # bytes of a request's headers
Tell = Callable[[str], None]


def serve(
    home: Home, settings: Settings, tell: Tell, *, link: bool = False, ready: Callable[[str], None] | None = None
) -> None:
    """Answer until somebody stops it (Ctrl-C, or SIGTERM); `ready` gets the address once it listens."""
    import uvicorn

    server = Server(home, settings)
    with listen(settings) as listener:
        address = address_of(settings, listener)
        for line in greeting(home, address, link=link):
            tell(line)
        if ready is not None:
            ready(address)
        logger = logging.getLogger("uvicorn")
        logger.handlers, logger.propagate = [logging.NullHandler()], False
        config = uvicorn.Config(
            application(server),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=GRACEFUL,
            h11_max_incomplete_event_size=LARGEST_HEAD,
        )
        server.crew.start()
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            server.crew.close()


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens where the settings say.

    >>> with listen(Settings(port=0)) as listener:
    ...     listener.getsockname()[0]
    '127.0.0.1'
    """
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        words = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else "there is no such host"
        raise InputError(
            f"the curator cannot listen at {settings.host} on port {settings.port}: {words}; give another --port"
        ) from error


def address_of(settings: Settings, listener: socket.socket) -> str:
    """Return where a browser finds it."""
    name = settings.hosts[0] if settings.hosts else settings.host
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}"


def greeting(home: Home, address: str, *, link: bool) -> list[str]:
    """Return what is told at the start: where it listens, and a one-time link at the first start or if it is wanted."""
    with home.database.reading() as book:
        known = find_account(book, STEWARD) is not None
    if not known:
        open_account(home.database, STEWARD, Role.STEWARD, acts.HOME)
    lines = [f"curator at {address}, home {home.path}"]
    if known and not link:
        return lines
    code = make_link(home.database, STEWARD)
    return [*lines, f"sign in once, within an hour: {address}/sign-in?code={code}"]
