"""The one decorator that compiles hot loops, typed so that strict checking sees through it.

Kernels live in modules of their own (`*_kernel.py`) and are compiled once per machine by Numba
(Lam, Pitrou & Seibert 2015), then loaded from its cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


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
