"""What a compiled kernel depends on, as one hash: its own code, and all that it names.

A kernel is compiled together with the kernels, tuple types and constants that it names, wherever these lie. If one of
them changes, so does the hash, and what was compiled before is not found any more.
"""

from __future__ import annotations

import hashlib
import os
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher

KNOWN = {"builtins", "llvmlite", "math", "numba", "numpy"}  # they change with their version only
THREADS = "NUMBA_NUM_THREADS"  # no kernel of ours starts any, so that the code is the same
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic)


class UnknownPartError(Exception):
    """A kernel names something of which we cannot say whether it has changed."""


def kernel_key(kernel: Dispatcher, signature: object, machine: object) -> str:
    """Return the hash of a kernel with all that it names, of its arguments' types, the versions and the machine.

    >>> from sfumato.random.discrete_kernel import shuffle_from
    >>> len(kernel_key(shuffle_from, (), "a machine"))
    64
    """
    versions = (sys.version, sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    set_by_user = (item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    settings = sorted(item for item in set_by_user if item[0] != THREADS and "CACHE" not in item[0])
    parts = repr((versions, settings, machine, described(kernel), _signature(signature)))
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()


def described(value: Any, seen: frozenset[int] = frozenset()) -> object:
    """Return what a value consists of, written with plain values only; refuse what could change unnoticed.

    >>> from sfumato.models.criteria import Criteria
    >>> described(Criteria)[:3]
    ('type', 'sfumato.models.criteria', 'Criteria')
    >>> described(object())
    Traceback (most recent call last):
    sfumato.core.kernel_key.UnknownPartError: object
    """
    if isinstance(value, PLAIN):
        return type(value).__name__, repr(value)
    if isinstance(value, tuple):
        return type(value).__qualname__, *(described(item, seen) for item in value)
    if isinstance(value, frozenset):  # its order is another one in every process
        return "set", sorted(repr(described(item, seen)) for item in value)
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    return _compiled(value, seen) if isinstance(value, Dispatcher | types.Type) else _named(value, seen)


def _compiled(value: Any, seen: frozenset[int]) -> object:
    if isinstance(value, Dispatcher):
        return "kernel", sorted(map(repr, value.targetoptions.items())), described(value.py_func, seen)
    return "numba type", _type(value)


def _named(value: Any, seen: frozenset[int]) -> object:
    """Return what a function, a class or a module consists of; those of known libraries go by their names."""
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
    if home.partition(".")[0] in KNOWN and not hasattr(value, "_defn"):
        return "of a library", home, getattr(value, "__qualname__", None) or getattr(value, "__name__", repr(value))
    if isinstance(value, type):
        return "type", home, value.__qualname__, getattr(value, "_fields", ())
    if isinstance(value, BuiltinFunctionType):
        return "of a library", home, value.__qualname__
    written = getattr(value, "_defn", None)  # by numba.extending.intrinsic
    if written is not None:
        return "intrinsic", described(written, seen)
    if isinstance(value, FunctionType):
        return "function", home, value.__qualname__, _function(value, seen)
    raise UnknownPartError(type(value).__name__)


def _function(function: FunctionType, seen: frozenset[int]) -> object:
    if id(function) in seen:
        return "itself"
    seen |= {id(function)}
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    return (
        _code(function.__code__, function.__globals__, seen),
        described(function.__defaults__, seen),
        [described(value, seen) for value in held],
    )


def _code(code: CodeType, known: dict[str, Any], seen: frozenset[int]) -> object:
    """Return what a piece of code consists of; where it stands in its file does not count."""
    constants = [
        _code(value, known, seen) if isinstance(value, CodeType) else described(value, seen) for value in code.co_consts
    ]
    named = [(name, described(known[name], seen)) for name in code.co_names if name in known]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants, named


def _signature(signature: object) -> object:
    """Return the types of the arguments in words; a tuple type with its fields and where it is declared."""
    if isinstance(signature, tuple | list):
        return [_signature(item) for item in signature]
    return _type(signature) if isinstance(signature, types.Type) else repr(signature)


def _type(value: types.Type) -> object:
    declared: Any = getattr(value, "instance_class", None)
    where = () if declared is None else (declared.__module__, declared.__qualname__, getattr(declared, "_fields", ()))
    return repr(value), where, [_type(item) for item in getattr(value, "types", ()) if isinstance(item, types.Type)]
