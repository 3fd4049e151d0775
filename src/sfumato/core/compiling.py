"""News that hot loops are being compiled, which happens once on a machine and takes seconds.

Numba (Lam, Pitrou & Seibert 2015) compiles a kernel when it is first called and keeps the result; whoever started the
program hears of it here without loading Numba.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Heard = Callable[[str], None]
FIRST_USE = "compiling for the first use on this machine; later commands start at once"
UNKEPT = "compiling, and the next command will compile again"


class Compiling:
    """Whether kernels are being compiled at the moment, and who wants to know when that begins.

    >>> news, heard = Compiling(), []
    >>> with news.told(heard.append):
    ...     for _ in range(2):
    ...         news.begin("mondrian")
    ...         news.end()
    >>> heard
    ['compiling for the first use on this machine; later commands start at once']
    >>> with news.told(heard.append):
    ...     news.refuse("folder '/' cannot be written")
    ...     news.begin("mondrian")
    ...     news.end()
    >>> heard[1:]
    ["compiling, and the next command will compile again: folder '/' cannot be written"]
    """

    def __init__(self) -> None:
        self._listener: Heard | None = None
        self._announced, self._unkept = False, ""
        self._depth, self._paused, self._begun = 0, False, 0.0
        self.seconds = 0.0  # how long this process has compiled

    @contextmanager
    def told(self, listener: Heard) -> Iterator[None]:
        """Tell the listener when the first kernel is compiled inside the block, and if kernels cannot be kept."""
        before = self._listener, self._announced
        self._listener, self._announced = listener, False
        try:
            yield
        finally:
            self._listener, self._announced = before

    def refuse(self, reason: str) -> None:
        """Note why what is compiled cannot be kept: said with the news that kernels are compiled, and only once."""
        before, self._unkept = self._unkept, reason
        if self._announced and not before:
            self._say(f"what was compiled is not kept, and the next command will compile again: {reason}")

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            self._say(f"{UNKEPT}: {self._unkept}" if self._unkept else FIRST_USE)

    def _say(self, sentence: str) -> None:
        if self._listener is not None:
            self._listener(sentence)
        elif self._unkept:  # nobody listens in a program that imports us: that nothing is kept is worth a warning
            warnings.warn(f"sfumato: {sentence}", RuntimeWarning, stacklevel=2)

    def begin(self, name: str) -> None:
        """Note that a kernel's compilation begins; the kernels that it calls are compiled within it."""
        from sfumato.core.progress import tell

        self._depth += 1
        if self._depth == 1:
            self._begun = time.monotonic()
            self._paused = gc.isenabled()
            gc.disable()  # the compiler makes millions of objects and hardly a cycle: collecting costs an eighth
        self._announce()
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
