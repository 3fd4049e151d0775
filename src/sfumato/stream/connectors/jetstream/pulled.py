"""Messages of a consumer, asked for in large numbers and taken as they come; no more wait here than were asked for."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

EXPIRY = 30  # seconds for which the server keeps a request for messages
MOST_BYTES = 1 << 27  # that may wait here; a message has 64 MiB at most
NANOSECONDS = 1_000_000_000
SHORT = 9  # parts of the subject of an acknowledgement, where it names no domain of servers


def number_of(message: Msg) -> int:
    """Return the number of a message in its stream, which stands in the subject of its acknowledgement."""
    parts = message.reply.split(".")
    return int(parts[5] if len(parts) == SHORT else parts[7])


class Pulled:
    """The messages that were asked for and came, in the thread of the loop; never more than were asked for."""

    def __init__(self, client: Client, request: str) -> None:
        self._client, self._request = client, request
        self._inbox = client.new_inbox()
        self._come: deque[Msg] = deque()
        self._due = 0
        self._event = asyncio.Event()
        self._until = 0.0

    async def begin(self) -> None:
        """Listen to where messages come."""
        await self._client.subscribe(self._inbox, cb=self._take, pending_msgs_limit=-1, pending_bytes_limit=-1)

    async def _take(self, message: Msg) -> None:
        status = message.headers and message.headers.get("Status")
        if status is None:
            self._come.append(message)
            self._due -= 1
        else:  # the request is over: it expired, or asked for more bytes than it may
            self._due = 0
        self._event.set()

    async def next(self, limit: int, wait: float) -> list[Msg]:
        """Return the messages that are there, or the first that come within some seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        while not self._come and (left := until - loop.time()) > 0:
            if self._client.is_closed:
                raise ConnectionError("the connection was closed")
            await self._ask(limit, loop.time())
            self._event.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._event.wait(), left)
        return [self._come.popleft() for _ in range(min(limit, len(self._come)))]

    async def _ask(self, limit: int, now: float) -> None:
        if self._due > 0 and now < self._until:
            return
        asked = {"batch": limit, "expires": EXPIRY * NANOSECONDS, "max_bytes": MOST_BYTES}
        self._due, self._until = limit, now + EXPIRY + 1
        await self._client.publish(self._request, json.dumps(asked).encode(), reply=self._inbox)
