"""News from a long search to whoever listens: how far it is, and what it has reached.

Algorithms call `tell`; the command line listens and draws a bar. Nobody listening costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Listener = Callable[[float, str], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
SECONDS = 0.5  # between two looks at a counter
LONGEST_WAIT = 0.2  # seconds between two looks at the clock, which stands still while kernels are compiled


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


@contextmanager
def counting(total: int, words: str) -> Iterator[npt.NDArray[np.int64]]:
    """Yield a counter that a compiled loop sets; whoever listens hears now and then how much of `total` is done.

    A kernel cannot call the listener itself, but it runs without Python's lock, so that a thread can look.

    >>> with counting(10, "records grouped") as done:
    ...     done[0] = 10
    """
    import numpy as np

    done = np.zeros(1, dtype=np.int64)
    listener, over = _listener.get(), Event()
    if listener is None:
        yield done
        return

    def look() -> None:
        while not over.wait(SECONDS):
            listener(min(1.0, int(done[0]) / max(1, total)), f"{int(done[0])} of {total} {words}")

    with _watched(look, over):
        yield done


@contextmanager
def stopping_at(moment: float | None) -> Iterator[npt.NDArray[np.int64]]:
    """Yield a flag that a compiled loop reads: 1 once `working_time` has passed a moment, and never without one.

    >>> with stopping_at(None) as stop:
    ...     int(stop[0])
    0
    """
    import numpy as np

    from sfumato.core.compiling import working_time

    stop = np.zeros(1, dtype=np.int64)
    if moment is None:
        yield stop
        return
    over = Event()

    def look() -> None:
        while not stop[0] and not over.wait(min(LONGEST_WAIT, max(0.0, moment - working_time()))):
            stop[0] = working_time() >= moment

    with _watched(look, over):
        yield stop


@contextmanager
def _watched(look: Callable[[], None], over: Event) -> Iterator[None]:
    """Let a thread look on while the block runs."""
    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
