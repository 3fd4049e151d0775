"""News from a long search to whoever listens: how far it is, and what it has reached.

Algorithms call `tell`; the command line listens and draws a bar. Nobody listening costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(share: float, note: str) -> None:
    """Tell the listener, if there is one, which share of the work is done and a few words about it.

    >>> tell(0.5, "loss 4.7 %")
    """
    listener = _listener.get()
    if listener is not None:
        listener(share, note)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear what algorithms tell inside the block.

    >>> heard = []
    >>> with listening(lambda share, note: heard.append((share, note))):
    ...     tell(1.0, "done")
    >>> heard
    [(1.0, 'done')]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
