"""Random words that a secret key gives again: for engines that run a task twice and must not draw twice.

The words of a context are a ChaCha20 key stream (RFC 8439) under HMAC-SHA256 (Bellare, Canetti & Krawczyk 1996) of the
context, a pseudo-random function: to whoever has no key they look drawn afresh for every new context, and the same
context gives the same words. What is released with them is therefore private against bounded attackers only
(computational differential privacy, Mironov, Pandey, Reingold & Vadhan 2009).
"""

from __future__ import annotations

import hmac
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.random.source import SecureSource, Source, Words

KEY_BYTES = 32
KEYED = (
    "Noise is a pseudo-random function (HMAC-SHA256, then ChaCha20) of a secret key, a group's number and its exact "
    "content, so that a task that runs twice repeats it; the promise is computational: against those who have no key."
)
Part = str | int | bytes | npt.NDArray[Any]


class KeyedSource:
    """The words of one context under a secret key; `of` gives those of a narrower one.

    A context is a list of texts, whole numbers, bytes and arrays; no two different lists read alike.

    >>> key = new_key()
    >>> KeyedSource(key, "meters", 7).words(3).tolist() == KeyedSource(key, "meters").of(7).words(3).tolist()
    True
    >>> KeyedSource(key, "meters", 7).words(3).tolist() == KeyedSource(key, "meters", 8).words(3).tolist()
    False
    """

    secure = True
    computational = True
    _stream: Any = None

    def __init__(self, key: bytes, *context: Part) -> None:
        if len(key) != KEY_BYTES:
            raise ParameterError(f"the key of keyed noise has {len(key)} bytes; it must have {KEY_BYTES}")
        self._function = hmac.new(key, digestmod="sha256")
        self._take_in(context)

    def of(self, *context: Part) -> KeyedSource:
        """Return the source of this context with more behind it, from its first word on."""
        narrower = object.__new__(KeyedSource)
        narrower._function = self._function.copy()
        narrower._take_in(context)
        return narrower

    def words(self, count: int) -> Words:
        """Return the next words."""
        if self._stream is None:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

            cipher = Cipher(algorithms.ChaCha20(self._function.digest(), bytes(16)), mode=None)
            self._stream = cipher.encryptor()
        found: Words = np.frombuffer(self._stream.update(bytes(4 * count)), dtype="<u4")
        return found

    def _take_in(self, context: tuple[Part, ...]) -> None:
        for part in context:
            self._function.update(_encode_part(part))

    def __repr__(self) -> str:
        return "KeyedSource(a key that is not shown)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a keyed source is never written or sent: send its context, and read the key where it is kept")


def new_key() -> bytes:
    """Return a fresh key from the secure source.

    >>> len(new_key()), new_key() == new_key()
    (32, False)
    """
    return SecureSource().words(KEY_BYTES // 4).tobytes()


def of_group(source: Source, *context: Part) -> Source:
    """Return the source that a group's noise is drawn from: its own where noise is keyed, else the one given.

    >>> secure = SecureSource()
    >>> of_group(secure, 7) is secure, of_group(KeyedSource(new_key()), 7).secure
    (True, True)
    """
    return source.of(*context) if isinstance(source, KeyedSource) else source


def _encode_part(part: Part) -> bytes:
    """Return a part of a context with its kind and its length before it, so that parts cannot run into each other."""
    if isinstance(part, np.ndarray):
        kind, content = f"{part.dtype.str}{part.shape}", np.ascontiguousarray(part).tobytes()
    elif isinstance(part, bytes):
        kind, content = "bytes", part
    elif isinstance(part, str):
        kind, content = "text", part.encode()
    else:
        kind, content = "number", b"%d" % part
    return b"%d:%s%d:%s" % (len(kind), kind.encode(), len(content), content)
