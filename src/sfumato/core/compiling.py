"""News that hot loops are being compiled, which happens once on a machine and takes seconds.

Numba (Lam, Pitrou & Seibert 2015) compiles a kernel when it is first called and keeps the result; whoever started the
program hears of it here without loading Numba.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Heard = Callable[[], None]


class Compiling:
    """Whether kernels are being compiled at the moment, and who wants to know when that begins.

    >>> news, heard = Compiling(), []
    >>> with news.told(lambda: heard.append("compiling")):
    ...     for _ in range(2):
    ...         news.begin("mondrian")
    ...         news.end()
    >>> heard
    ['compiling']
    """

    def __init__(self) -> None:
        self._listener: Heard | None = None
        self._depth, self._paused, self._begun = 0, False, 0.0
        self.seconds = 0.0  # how long this process has compiled

    @contextmanager
    def told(self, listener: Heard) -> Iterator[None]:
        """Call the listener once, when the first kernel is compiled inside the block."""
        before, self._listener = self._listener, listener
        try:
            yield
        finally:
            self._listener = before

    def begin(self, name: str) -> None:
        """Note that a kernel's compilation begins; the kernels that it calls are compiled within it."""
        from sfumato.core.progress import tell

        self._depth += 1
        if self._depth == 1:
            self._begun = time.monotonic()
            self._paused = gc.isenabled()
            gc.disable()  # the compiler makes millions of objects and hardly a cycle: collecting costs an eighth
        listener, self._listener = self._listener, None
        if listener is not None:
            listener()
        tell(0.0, f"compiling {name}")

    def end(self) -> None:
        """Note that the compilation that began last has ended."""
        self._depth -= 1
        if self._depth > 0:
            return
        self.seconds += time.monotonic() - self._begun
        if self._paused:
            gc.enable()


COMPILING = Compiling()


def working_time() -> float:
    """Return a clock in seconds that stands still while kernels are compiled: for limits on how long to search.

    >>> working_time() <= working_time()
    True
    """
    return time.monotonic() - COMPILING.seconds
