"""Calls to a curator over HTTP: one connection for each, a token that never goes over an open network, no redirects.

Errors of a curator are problems (RFC 9457); here they become errors of this library, with their sentence.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import msgspec

from sfumato.client.wire import ProblemReply
from sfumato.errors import InputError, ParameterError, SfumatoError, UnavailableError

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 900.0  # a deadline may be ten minutes
LARGEST = 256 << 20
PREFIX = "urn:sfumato:problem:"


class CuratorError(SfumatoError):
    """A curator has refused a call.

    >>> CuratorError("there is nothing here for you").exit_code
    2
    """


class CuratorBudgetError(CuratorError):
    """A curator has refused a question, because too little is left or the data set is frozen.

    >>> CuratorBudgetError("the budget left is too small").exit_code
    1
    """

    exit_code = 1


@dataclass(frozen=True)
class Connection:
    """Where a curator is, and the token that it knows us by.

    >>> Connection.to("https://curator.example/rides", "sfumato_secret").path
    '/rides'
    >>> Connection.to("http://curator.example", "sfumato_secret")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the address begins with http://, which would send the token readable to everybody \
on the way; give https://, or a curator on this machine
    """

    scheme: str
    host: str
    port: int
    path: str
    token: str = field(repr=False)

    @classmethod
    def to(cls, url: str, token: str) -> Connection:
        """Return the connection to an address; a token that a header cannot hold is refused."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port, parts = "", None, urlsplit("")
        if parts.scheme not in {"http", "https"} or not host or parts.username or parts.query or parts.fragment:
            raise ParameterError("the address of the curator is not usable; give https://HOST, https://HOST:PORT or "
                                 "https://HOST/DATASET")  # fmt: skip
        if parts.scheme == "http" and host not in LOOPBACK:
            raise ParameterError(
                "the address begins with http://, which would send the token readable to everybody on the way; give "
                "https://, or a curator on this machine"
            )
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ParameterError("the token is empty or has characters that no token has; give it as it was shown")
        return cls(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), parts.path, token)

    def call(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Return the body of an answer; what the curator refuses is raised."""
        content = None if body is None else msgspec.json.encode(body)
        sent = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **(headers or {})}
        if content is not None:
            sent["Content-Type"] = "application/json"
        try:
            with closing(self._open()) as connection:
                connection.request(method, quote(path, safe="/?=&"), content, sent)
                reply = connection.getresponse()
                status, found = reply.status, reply.read(LARGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            words = getattr(error, "strerror", None) or type(error).__name__
            raise UnavailableError(f"the curator at {self.host} port {self.port} cannot be reached: {words}") from error
        if len(found) > LARGEST:
            raise InputError("the curator's answer is too large to be one")
        if 200 <= status < 300:
            return found
        raise refusal(status, found)

    def _open(self) -> http.client.HTTPConnection:
        if self.scheme == "http":
            made = http.client.HTTPConnection(self.host, self.port, timeout=CONNECT_SECONDS)
        else:
            context = ssl.create_default_context()
            made = http.client.HTTPSConnection(self.host, self.port, timeout=CONNECT_SECONDS, context=context)
        made.connect()
        if made.sock is not None:
            made.sock.settimeout(ANSWER_SECONDS)
        return made


def refusal(status: int, body: bytes) -> SfumatoError:
    """Return what a problem says, as an error of this library.

    >>> refusal(503, b"")
    UnavailableError('the curator answered with status 503')
    """
    try:
        problem = msgspec.json.decode(body, type=ProblemReply)
        words, kind = problem.detail or problem.title, problem.type.removeprefix(PREFIX)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        words, kind = f"the curator answered with status {status}", ""
    if status == 503 or kind == "conflict":
        return UnavailableError(words)
    if kind in {"budget", "frozen"}:
        return CuratorBudgetError(words)
    return CuratorError(words)
