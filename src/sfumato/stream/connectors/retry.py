"""Waiting for a broker that is gone: longer from attempt to attempt, for a bounded time, and said aloud.

Waits double up to a cap and have a random share (the exponential back-off with jitter of Brooker 2015), so that the
readers of a broker that comes back do not all come at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sfumato.errors import UnavailableError

Opened = TypeVar("Opened")
FIRST, CAP = 0.1, 5.0
LIMIT = 300.0  # seconds after which a broker is given up
GLANCE = 0.2  # seconds between two looks at whether somebody wants to stop


class BrokerGoneError(Exception):
    """The connection to a broker is lost, or it cannot answer now: worth another attempt; `str` says why.

    >>> str(BrokerGoneError("connection refused"))
    'connection refused'
    """


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass
class Waiting:
    """Waits between attempts to reach one broker; `reached` begins anew.

    >>> said = []
    >>> waiting = Waiting("redis://server/rides", limit=0.0, say=said.append)
    >>> waiting.next(BrokerGoneError("connection refused"))
    Traceback (most recent call last):
    sfumato.errors.UnavailableError: broker 'redis://server/rides' cannot be reached (connection refused), and 0 \
seconds of waiting did not help; what was read is kept in the checkpoint, so start the same command when it is back
    """

    name: str
    limit: float = LIMIT
    say: Callable[[str], object] = _silent
    stop: Callable[[], bool] = bool
    _attempts: int = field(default=0, init=False)
    _since: float = field(default=0.0, init=False)

    def next(self, error: BrokerGoneError) -> float:
        """Return how many seconds to wait before the next attempt, or give the broker up."""
        now = time.monotonic()
        if not self._attempts:
            self._since = now
        if now - self._since >= self.limit:
            raise self._given_up(error) from error
        if not self._attempts:
            self.say(f"sfumato: broker '{self.name}' is gone ({error}); waiting for it, for {self.limit:.0f} s at most")
        wait = min(CAP, FIRST * 2.0**self._attempts)
        self._attempts += 1
        return wait * random.uniform(0.5, 1.0)  # noqa: S311  # when to try again is no secret

    def _given_up(self, error: BrokerGoneError) -> UnavailableError:
        waited = time.monotonic() - self._since
        return UnavailableError(
            f"broker '{self.name}' cannot be reached ({error}), and {waited:.0f} seconds of waiting did not help; what "
            "was read is kept in the checkpoint, so start the same command when it is back"
        )

    def sleep(self, error: BrokerGoneError) -> None:
        """Wait for the next attempt; whoever wants to stop does not wait any longer."""
        until = time.monotonic() + self.next(error)
        while (left := until - time.monotonic()) > 0:
            if self.stop():
                raise self._given_up(error) from error
            time.sleep(min(GLANCE, left))

    def open(self, step: Callable[[], Opened], *, patient: bool) -> Opened:
        """Return what a first step at the broker gives; one that must not wait gives it up at once.

        >>> Waiting("redis://server/rides").open(lambda: 5, patient=False)
        5
        """
        while True:
            try:
                return step()
            except BrokerGoneError as error:
                if not patient:
                    raise UnavailableError(f"broker '{self.name}' cannot be reached: {error}") from error
                self.sleep(error)

    def reached(self) -> None:
        """The broker answers again."""
        if self._attempts:
            self.say(f"sfumato: broker '{self.name}' is back")
        self._attempts = 0
