"""The one decorator that compiles hot loops, typed so that strict checking sees through it.

Kernels live in modules of their own (`*_kernel.py`) and are compiled once per machine by Numba
(Lam, Pitrou & Seibert 2015), then loaded from our cache of compiled kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

from sfumato.core.compiling import COMPILING
from sfumato.core.kernel_cache import KernelCache

OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}  # no kernel is called from C, and the wrapper costs a second
_compile: Any = numba.njit  # its stub does not know every option
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
    return _kept(function, _compile(**OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Return the compiled function, written out wherever a kernel calls it: for small steps of a hot loop.

    >>> from sfumato.tabular.mondrian.tree_kernel import shared_levels
    >>> import numpy as np
    >>> shared_levels(np.array([[2, 0], [2, 2], [2, 2]], dtype=np.int32), 1, 2)
    1
    """
    return _kept(function, _compile(**OPTIONS, inline="always")(function))


def _kept(function: Function, compiled: object) -> Function:
    """Return the kernel with our cache; with NUMBA_DISABLE_JIT it is the function, and there is nothing to keep."""
    if isinstance(compiled, Dispatcher):
        compiled._cache = KernelCache(compiled)  # type: ignore[attr-defined]  # noqa: SLF001 - as enable_caching does
        return cast("Function", compiled)
    return function
