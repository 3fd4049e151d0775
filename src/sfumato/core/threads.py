"""How many threads may work at once, in our code and in the libraries below: one a core, or as many as are allowed.

Libraries read their own variables when they are loaded, so a limit is passed on before that.
"""

from __future__ import annotations

import os
import re

from sfumato.errors import ParameterError

VARIABLE = "SFUMATO_THREADS"
COUNT = re.compile("[1-9][0-9]{0,4}")
OF_LIBRARIES = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def most_threads() -> int:
    """Return how many threads may work at once.

    >>> most_threads() >= 1
    True
    """
    given = os.environ.get(VARIABLE)
    return _count(given, VARIABLE) if given else os.cpu_count() or 1


def limit_threads(given: str, name: str) -> None:
    """Allow so many threads from now on; a library that is already loaded keeps those it has.

    >>> limit_threads("none", "--threads")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --threads must be an integer of at least 1. Got 'none' instead.
    """
    _tell_libraries(_count(given, name))


def pass_on_limit() -> None:
    """Tell the libraries what the environment allows; what is no number there is refused by whoever asks for it."""
    given = os.environ.get(VARIABLE, "")
    if COUNT.fullmatch(given):
        _tell_libraries(int(given))


def _tell_libraries(count: int) -> None:
    os.environ |= dict.fromkeys((VARIABLE, *OF_LIBRARIES), str(count))


def _count(given: str, name: str) -> int:
    if not COUNT.fullmatch(given):
        raise ParameterError(f"{name} must be an integer of at least 1. Got {given!r} instead.")
    return int(given)
