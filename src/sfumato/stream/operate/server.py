"""Two pages of numbers over HTTP: the public one at an address, the steward's at a socket that only its owner opens.

Answers on the public page leave at multiples of BEAT alone: how busy the process is tells of records, and the time of
an answer would tell it (Haeberlen, Pierce & Narayan 2011). One request is answered at a time; a slow one is dropped.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from sfumato.errors import InputError, ParameterError, reason
from sfumato.stream.operate.numbers import registry_of

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry

    from sfumato.stream.operate.numbers import StreamNumbers

LOOPBACK = "127.0.0.1"
BEAT = 0.25  # seconds
PATIENCE = 2.0  # seconds for which a request may take its time
Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


@dataclass(frozen=True)
class Address:
    """Where the public page is: loopback unless a host is named.

    >>> Address.read("9464"), Address.read("0.0.0.0:9464").host, Address.read("[::1]:80").host
    (Address(host='127.0.0.1', port=9464), '0.0.0.0', '::1')
    >>> Address.read("localhost")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --metrics is 'localhost'; give PORT or HOST:PORT, as in 9464
    """

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        """Return what the command line names."""
        host, colon, port = text.rpartition(":")
        if not port.isdecimal() or not 0 < int(port) < 1 << 16 or (colon and not host):
            raise ParameterError(f"--metrics is '{text}'; give PORT or HOST:PORT, as in 9464")
        return cls(host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port))

    def listen(self) -> socket.socket:
        """Return a socket that listens there."""
        try:
            family = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((self.host, self.port), family=family)
        except OSError as error:
            raise InputError(
                f"--metrics cannot listen at {self.host} on port {self.port}: {_words(error)}; give another port"
            ) from error


def _words(error: OSError) -> str:
    """Return what the system says of an error, without what Python adds."""
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else reason(error)


def listen_privately(path: Path) -> socket.socket:
    """Return a socket in a file that only its owner may open; one that a killed run left is taken away.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "steward.sock"
    >>> with listen_privately(place):
    ...     oct(place.stat().st_mode & 0o777)
    '0o600'
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _clear(path)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen()
    except (OSError, InputError) as error:
        listener.close()
        if isinstance(error, InputError):
            raise
        raise InputError(f"--steward-metrics cannot listen at '{path}': {_words(error)}") from error
    return listener


def _clear(path: Path) -> None:
    """Take away a socket on which nobody listens; anything else that is there is refused."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise InputError(f"--steward-metrics '{path}' exists and is no socket; give another place")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as known:
        known.settimeout(PATIENCE)
        try:
            known.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise InputError(f"--steward-metrics '{path}' is in use by another process; give another place")


class _Handler(WSGIRequestHandler):
    """Answers without a word."""

    timeout = PATIENCE

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        return ""


class _Server(WSGIServer):
    """Serves a socket that listens already."""

    def __init__(self, listener: socket.socket, app: Wsgi) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.server_name, self.server_port = listener, "sfumato", 0
        self.setup_environ()
        self.set_app(app)

    def get_request(self) -> tuple[Any, Any]:
        request, _ = self.socket.accept()
        return request, ("", 0)  # who asks is nobody's business

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of who went away."""


@contextmanager
def serve_page(listener: socket.socket, registry: CollectorRegistry, beat: float = 0.0) -> Iterator[None]:
    """Answer with a registry's numbers while the block runs; `beat` is the time of whose multiples answers leave."""
    from prometheus_client import make_wsgi_app

    answer: Wsgi = make_wsgi_app(registry)

    def app(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        def begin(status: str, headers: list[tuple[str, str]]) -> Any:
            return start(status, [*headers, ("Server", "sfumato")])  # and not which Python it is

        content = list(answer(environ, begin))
        wait_for_beat(beat)
        return content

    with contextlib.closing(listener):
        server = _Server(listener, app)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def wait_for_beat(beat: float) -> None:
    """Sleep until a multiple of `beat` seconds that is at least half of it away; not at all where it is 0.

    >>> wait_for_beat(0.0)
    """
    if beat:
        now = time.monotonic()
        time.sleep(math.ceil(now / beat + 0.5) * beat - now)


@contextmanager
def serve_numbers(numbers: StreamNumbers, metrics: str | None = None, steward: Path | None = None) -> Iterator[None]:
    """Show a stream's numbers while the block runs: the public ones at an address, the steward's in a private socket.

    >>> from sfumato.stream import build
    >>> from sfumato.stream.operate.numbers import StreamNumbers
    >>> with serve_numbers(StreamNumbers(build("laplace", ["hours"], bounds=(0, 10)))):
    ...     pass
    """
    with contextlib.ExitStack() as open_pages:
        if metrics is not None:
            registry = registry_of([numbers.public])
            open_pages.enter_context(serve_page(Address.read(metrics).listen(), registry, BEAT))
        if steward is not None:
            registry = registry_of([numbers.public, numbers.steward], process=True)
            listener = listen_privately(steward)
            open_pages.callback(steward.unlink, missing_ok=True)
            open_pages.enter_context(serve_page(listener, registry))
        yield
