"""A publisher's state as bytes: named arrays and a few plain values behind a header that says whose they are.

The header carries a version and a fingerprint of the parameters (SHA-256, FIPS 180-4), so that a state of another
publisher, of other parameters or cut short is refused before a single record is read from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from sfumato.errors import InputError

MAGIC = b"sfumato-stream-1"
SEALED = b"sfumato-sealed-1"
LENGTH = 8

Array = npt.NDArray[Any]


class Header(msgspec.Struct, frozen=True):
    """What stands before the arrays: the owner, its parameters' fingerprint, plain values, shapes of the arrays."""

    publisher: str
    fingerprint: str
    plain: dict[str, Any]
    arrays: list[tuple[str, str, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Saved:
    """A state read back: its arrays, which may be written to, and its plain values."""

    arrays: Mapping[str, Array]
    plain: Mapping[str, Any]


def fingerprint(publisher: str, parameters: Mapping[str, Any]) -> str:
    """Return a hash of a publisher's name and parameters, the same in every run.

    >>> fingerprint("doca", {"beta": 50}) == fingerprint("doca", {"beta": 51})
    False
    """
    text = msgspec.json.encode([publisher, parameters], order="deterministic")
    return hashlib.sha256(text).hexdigest()


def pack(
    publisher: str, parameters: Mapping[str, Any], arrays: Mapping[str, Array], plain: Mapping[str, Any] | None = None
) -> bytes:
    """Return arrays and plain values as bytes that `unpack` takes back under the same name and parameters.

    >>> state = pack("rank", {"window": 3}, {"held": np.array([1.5, 2.0])}, {"seq": 7})
    >>> unpack(state, "rank", {"window": 3}).arrays["held"].tolist()
    [1.5, 2.0]
    """
    shapes = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    header = msgspec.json.encode(Header(publisher, fingerprint(publisher, parameters), dict(plain or {}), shapes))
    body = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return b"".join([MAGIC, len(header).to_bytes(LENGTH, "little"), header, *body])


def unpack(state: bytes, publisher: str, parameters: Mapping[str, Any]) -> Saved:
    """Return what `pack` was given, or refuse a state that is not this publisher's.

    >>> unpack(pack("rank", {"window": 3}, {}), "rank", {"window": 4})
    Traceback (most recent call last):
    sfumato.errors.InputError: the state was saved by 'rank' with other parameters; restore it with the same ones
    """
    header, start = _header(state)
    if header.publisher != publisher:
        raise InputError(f"the state was saved by '{header.publisher}', not by '{publisher}'; give it to the former")
    if header.fingerprint != fingerprint(publisher, parameters):
        raise InputError(f"the state was saved by '{publisher}' with other parameters; restore it with the same ones")
    arrays: dict[str, Array] = {}
    for name, dtype, shape in header.arrays:
        size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        if start + size > len(state):
            raise InputError("the state is cut short; restore an earlier one")
        arrays[name] = np.frombuffer(state[start : start + size], dtype=dtype).reshape(shape).copy()
        start += size
    return Saved(arrays, header.plain)


def fill_arrays(arrays: Mapping[str, Array], saved: Saved) -> None:
    """Put what was saved into arrays of the same names, or refuse a state whose version learnt something else.

    >>> fill_arrays({"edges": np.zeros(2)}, Saved({"bins": np.ones(2)}, {}))
    Traceback (most recent call last):
    sfumato.errors.InputError: the state has no 'edges': another version saved it; go on with that one, or begin anew
    """
    for name, array in arrays.items():
        if name not in saved.arrays:
            raise InputError(f"the state has no '{name}': another version saved it; go on with that one, or begin anew")
        array[:] = saved.arrays[name]


def seal(state: bytes) -> bytes:
    """Return a state with its hash before it, by which a flipped bit is seen.

    >>> unseal(seal(b"state"))
    b'state'
    """
    return SEALED + hashlib.sha256(state).digest() + state


def unseal(sealed: bytes) -> bytes:
    """Return the state that `seal` was given, or refuse one that was damaged.

    >>> unseal(seal(b"state")[:-1])
    Traceback (most recent call last):
    sfumato.errors.InputError: the state is damaged; restore an earlier one
    """
    if sealed.startswith(MAGIC):
        return sealed  # of a version that did not seal
    start = len(SEALED) + hashlib.sha256().digest_size
    state = sealed[start:]
    if not sealed.startswith(SEALED) or sealed[len(SEALED) : start] != hashlib.sha256(state).digest():
        raise InputError("the state is damaged; restore an earlier one")
    return state


def _header(state: bytes) -> tuple[Header, int]:
    start = len(MAGIC) + LENGTH
    if state[: len(MAGIC)] != MAGIC:
        raise InputError("these bytes are not a publisher's state of this version; restore what `state` returned")
    end = start + int.from_bytes(state[len(MAGIC) : start], "little")
    try:
        return msgspec.json.decode(state[start:end], type=Header), end
    except msgspec.DecodeError as error:
        raise InputError(f"the state is damaged: {error}; restore an earlier one") from None
