"""A connection to a NATS server, whose every failure is one of two: try again later, or one sentence for a person.

The client is asynchronous and reconnects by itself; here it does neither, so that whoever reads or writes always knows
which answers belong to which connection.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.errors import InputError, MissingExtraError
from sfumato.stream.connectors.jetstream.loop import LoopThread
from sfumato.stream.connectors.retry import BrokerGoneError
from sfumato.stream.connectors.secure import refuse_distrust

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from sfumato.stream.connectors.jetstream import JetStream

T = TypeVar("T")
PORT = 4222
PATIENCE = 10.0  # seconds for an answer
REFUSED = ("authorization", "permission", "nkey", "credentials")


def _secure_client() -> Client:
    from sfumato.stream.connectors.jetstream.client import SecureClient

    return SecureClient()


class Connection:
    """One connection and the loop that it lives in; `close` may be called twice."""

    def __init__(self, connector: JetStream) -> None:
        try:
            from nats.aio.client import Client
        except ImportError as error:
            raise MissingExtraError("NATS needs its client; pip install 'sfumato[nats]'") from error
        self._connector, self.address, self._why = connector, connector.address, ""
        self._error: Exception | None = None
        given = {"tls": connector.tls, **self._login()}
        self.loop, self.client = LoopThread(), Client() if given["tls"] is None else _secure_client()
        try:
            self.call(self._connect(given))
        except BaseException:
            self.close()
            raise

    @property
    def streams(self) -> JetStreamContext:
        """The streams of the server."""
        return self.client.jetstream(timeout=PATIENCE)

    def _login(self) -> dict[str, str]:
        """Return who we are: a user with a password, or a token."""
        user, password = self.address.user, self._connector.password
        given = {"user": user, "password": password} if user else {"token": password}
        return {name: value for name, value in given.items() if value}

    async def _connect(self, given: dict[str, Any]) -> None:
        async def note(error: Exception) -> None:
            self._why, self._error = str(error) or type(error).__name__, error

        await self.client.connect(
            f"nats://{self.address.host}:{self.address.port or PORT}",
            error_cb=note,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=5,
            **given,
        )

    def call(self, work: Coroutine[Any, Any, T], limit: float = PATIENCE) -> T:
        """Return what a coroutine of the client returns."""
        from nats.errors import AuthorizationError, Error
        from nats.js.errors import APIError, ServiceUnavailableError

        try:
            return self.loop.call(work, limit)
        except AuthorizationError as error:
            raise self._refused(str(error)) from error
        except ServiceUnavailableError as error:
            raise BrokerGoneError("JetStream does not answer") from error
        except APIError as error:
            raise InputError(f"broker '{self.address}' refuses: {error.description or error.code}") from error
        except (Error, OSError, TimeoutError) as error:
            refuse_distrust(self.address, self._error)
            why = self._why or str(error) or type(error).__name__
            if any(word in why.casefold() for word in REFUSED):
                raise self._refused(why) from error
            raise BrokerGoneError(why.removeprefix("nats: ")) from error

    def _refused(self, why: str) -> InputError:
        return InputError(
            f"broker '{self.address}' does not let us in ({why.removeprefix('nats: ')}); check the user and "
            f"{self._connector.secret()}, which is the token where there is no user"
        )

    def find_stream(self) -> str | None:
        """Return the name of the stream that stores the subject of the address; None where there is none."""
        from nats.js.errors import NotFoundError

        async def find() -> str | None:
            try:
                return await self.streams.find_stream_name_by_subject(self._connector.topic)
            except NotFoundError:
                return None

        return self.call(find())

    def close(self) -> None:
        """Let the connection go."""
        with suppress(InputError, BrokerGoneError):
            self.loop.call(self.client.close(), 2.0)
        self.loop.close()
