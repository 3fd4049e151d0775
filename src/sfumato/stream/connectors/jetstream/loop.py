"""One event loop in a thread of its own, so that a client that needs one is called like any other function.

The loop also runs while nobody calls, so that a quiet connection answers what its server asks now and then.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as LateError
from typing import Any, TypeVar

from sfumato.stream.connectors.retry import BrokerGoneError

T = TypeVar("T")


class LoopThread:
    """A running loop; `call` waits for a coroutine on it.

    >>> loop = LoopThread()
    >>> loop.call(asyncio.sleep(0, "done"), 5.0)
    'done'
    >>> loop.close()
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T], limit: float) -> T:
        """Return what a coroutine returns; one that takes longer than `limit` seconds is given up."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(limit)
        except LateError:
            future.cancel()
            raise BrokerGoneError(f"no answer for {limit:g} seconds") from None

    def close(self) -> None:
        """End the loop, once what runs on it was cancelled."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @staticmethod
    async def _cancel_all() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
