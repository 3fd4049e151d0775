"""The one decorator that compiles hot loops, typed so that strict checking sees through it.

Kernels live in modules of their own (`*_kernel.py`) and are compiled once per machine by Numba
(Lam, Pitrou & Seibert 2015), then loaded from its cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
from numba.core import event

from sfumato.core.compiling import COMPILING

Function = TypeVar("Function", bound=Callable[..., object])


class _Listener(event.Listener):
    """Passes on when Numba compiles; loading a kernel from the cache is no event."""

    def on_start(self, event: event.Event) -> None:
        COMPILING.begin(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: event.Event) -> None:
        del event
        COMPILING.end()


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def kernel(function: Function) -> Function:
    """Return the compiled function: same arguments, same result, no interpreter inside.

    >>> import numpy as np
    >>> from sfumato.random.discrete_kernel import shuffle_from
    >>> order = np.arange(3)
    >>> shuffle_from(order, 3, np.array([0, 0], dtype=np.uint32)), order.tolist()
    (1, [1, 2, 0])
    """
    return cast("Function", numba.njit(cache=True, nogil=True)(function))


def inlined(function: Function) -> Function:
    """Return the compiled function, written out wherever a kernel calls it: for small steps of a hot loop.

    >>> from sfumato.tabular.mondrian.kernel import shared_levels
    >>> import numpy as np
    >>> shared_levels(np.array([0, 2, 1], dtype=np.int32), 0, 2)
    1
    """
    return cast("Function", numba.njit(cache=True, nogil=True, inline="always")(function))
