"""Compiled kernels kept between processes, in a folder of ours; Numba's own cache is not used.

Numba (Lam, Pitrou & Seibert 2015) keeps what it compiled beside the source or in a folder that may be anybody's, breaks
on a damaged file, and does not notice a change in another file. Here an entry is found by all that it depends on,
checked before it is used, and compiled again where it cannot be used. No trouble with the folder ends a command.
"""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from sfumato.core.compiling import COMPILING
from sfumato.core.files.sealed_store import SealedStore
from sfumato.core.kernel_key import UnknownPartError, kernel_key
from sfumato.core.private_folder import PLACE, cache_place, private_folder
from sfumato.errors import InputError

reduce, rebuild = CompileResult._reduce, CompileResult._rebuild  # noqa: SLF001 - as Numba's own cache does
REMEDY = f"set {PLACE} to a folder that only you can write to"


@cache
def open_store() -> SealedStore | None:
    """Return the store of compiled kernels, or nothing, said once, where no folder is safe; asked once in a process.

    >>> store = open_store()
    >>> store is open_store()
    True
    """
    try:
        return SealedStore(private_folder(cache_place()))
    except InputError as error:
        COMPILING.refuse(f"{error}; {REMEDY}")
    return None


@cache
def _tidy_once(store: SealedStore) -> None:
    store.tidy()


class KernelCache(_Cache):
    """What was compiled of one kernel, loaded and saved as Numba asks for it.

    >>> from sfumato.random.discrete_kernel import shuffle_from
    >>> KernelCache(shuffle_from).load_overload((), shuffle_from.targetctx)
    """

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel, self._enabled = kernel, True

    @property
    def cache_path(self) -> str | None:
        """Where entries lie, if anywhere."""
        store = open_store()
        return None if store is None else str(store.folder)

    def enable(self) -> None:
        """Load and save from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor save from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: an entry that is not valid any more is never found."""

    def load_overload(self, sig: object, target_context: Any) -> object:
        """Return what was compiled for these types of arguments, or nothing if it has to be compiled."""
        target_context.refresh()
        store, key = self._place(sig, target_context.codegen())
        held = store.read(key) if store is not None else None
        if store is None or held is None:
            return None
        try:
            reduced = pickle.loads(held)  # noqa: S301 - from a folder that only we can write to, checked above
            return rebuild(target_context, *reduced)  # type: ignore[no-untyped-call]
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - whatever is wrong with an entry, it can be made again
            store.drop(key)
            return None

    def save_overload(self, sig: object, data: Any) -> None:
        """Keep what was compiled; a disk that is full or read-only costs the next command its time, and no more."""
        store, key = self._place(sig, data.codegen)
        if store is None or data.library.has_dynamic_globals or any(not part.can_cache for part in data.lifted):
            return
        try:
            store.write(key, dumps(reduce(data)))  # type: ignore[no-untyped-call]
        except OSError as error:
            COMPILING.refuse(f"folder '{store.folder}' cannot be written: {error.strerror or error}; {REMEDY}")
            return
        _tidy_once(store)

    def _place(self, signature: object, machine: Any) -> tuple[SealedStore | None, str]:
        """Return the store and the name of an entry; no store where an entry cannot be told from an outdated one."""
        store = open_store() if self._enabled else None
        try:
            return (store, kernel_key(self._kernel, signature, machine.magic_tuple())) if store else (None, "")
        except UnknownPartError:
            return None, ""
