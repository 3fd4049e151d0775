"""Random words that a secret key gives again: for streams and tasks that run twice and must not draw twice.

The words of a context are AES-256 in counter mode (NIST SP 800-38A), begun at HMAC-SHA256 (Bellare, Canetti & Krawczyk
1996) of the context, a pseudo-random function: to whoever has no key they look drawn afresh for every new context, and
the same context gives the same words. What is released with them is therefore private against bounded attackers only
(computational differential privacy, Mironov, Pandey, Reingold & Vadhan 2009). `docs/algorithms/keyed-noise.md` says
what belongs into a context, and counts how often two contexts may meet.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.random.source import SecureSource, Source, Words

KEY_BYTES = 32
SEED_BYTES = 16
BLOCK_WORDS = 4
KEYED = (
    "Noise is a pseudo-random function (HMAC-SHA256, then AES-256) of a secret key, all parameters, a group's number "
    "and its exact content, so that a task or a stream that runs twice repeats it; the promise is computational: "
    "against those who have no key."
)
NARROW = 32  # numbers in a row up to which its seed is a chain of AES blocks; a wider row's is an HMAC
Part = str | int | bytes | npt.NDArray[Any]
Blocks = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64] | npt.NDArray[np.float64]


class BlockCipher:
    """AES-256 on many blocks at once under a key that is not shown.

    >>> BlockCipher(bytes(32)).encrypt(np.zeros((3, 2), dtype=np.uint64)).shape
    (3, 2)
    """

    _encryptor: Any = None

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encrypt(self, blocks: Blocks) -> Blocks:
        """Return every block, a pair of 64-bit numbers, under the cipher."""
        if self._encryptor is None:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

            book = modes.ECB()  # noqa: S305  # the blocks are counters, all different: this is counter mode
            self._encryptor = Cipher(algorithms.AES(self._key), book).encryptor()
        sent = self._encryptor.update(np.ascontiguousarray(blocks).reshape(-1).view(np.uint8))
        return np.frombuffer(sent, dtype=np.uint64).reshape(blocks.shape)


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

    def __init__(self, key: bytes, *context: Part) -> None:
        if len(key) != KEY_BYTES:
            raise ParameterError(f"the key of keyed noise has {len(key)} bytes; it must have {KEY_BYTES}")
        self._function = hmac.new(key, digestmod="sha256")
        self._cipher = BlockCipher(
            hmac.digest(key, b"words", "sha256")
        )  # no context reads so: a part begins by a digit
        self._take_in(context)

    def of(self, *context: Part) -> KeyedSource:
        """Return the source of this context with more behind it, from its first word on."""
        narrower = object.__new__(KeyedSource)
        narrower._function, narrower._cipher = self._function.copy(), self._cipher
        narrower._take_in(context)
        return narrower

    def kept(self, *context: str | int) -> KeyedSource:
        """Return the same source as `of` does, kept for the next time it is asked for: to begin rows, not for words."""
        found = self._kept.get(context)
        if found is None:
            found = self._kept[context] = self.of(*context)
        return found

    def words(self, count: int) -> Words:
        """Return the next words."""
        first = self._read // BLOCK_WORDS
        behind = self._read % BLOCK_WORDS
        found: Words = self.words_of(self.seed_of(), -(-(behind + count) // BLOCK_WORDS), first)[0]
        self._read += count
        return found[behind : behind + count]

    def words_of(self, seeds: Blocks, blocks: int, first: int = 0) -> Words:
        """Return for each seed so many blocks of four words, from its block `first` on: one row for each."""
        from sfumato.random.keyed_kernel import count_from

        counters = np.empty((len(seeds), blocks, 2), dtype=np.uint64)
        count_from(seeds, first, counters)
        words: Words = self._cipher.encrypt(counters).view(np.uint32).reshape(len(seeds), BLOCK_WORDS * blocks)
        return words

    def row_seeder(self, dtype: str, width: int) -> Callable[[int, Rows], Blocks]:
        """Return what tells where the words of each row begin: a function of this context, its number and its content.

        It takes the number of the first row and rows of this type and width. A wide row's seed is an HMAC under a key
        of this context and this width; a narrow one's is a chain of AES blocks under such a key (Bellare, Kilian &
        Rogaway 1994), a step of which is made for all rows at once.
        """
        if (dtype, width) not in self._seeders:
            function = self._function.copy()
            function.update(_encode_part("rows") + _array_head(dtype, (width,), 8))
            key = function.digest()
            seeder = partial(_hashed, key) if width > NARROW else partial(_chained, BlockCipher(key))
            self._seeders[dtype, width] = seeder
        return self._seeders[dtype, width]

    def row_seeds(self, first: int, rows: Rows) -> Blocks:
        """Return where the words of each row begin, the first of which has the number `first`."""
        return self.row_seeder(rows.dtype.str, rows.shape[1])(first, rows)

    def seed_of(self, *context: Part) -> Blocks:
        """Return where the words of the source `of` this context begin."""
        function = self._function.copy()
        function.update(b"".join(map(_encode_part, context)))
        return np.frombuffer(function.digest()[:SEED_BYTES], dtype=np.uint64).reshape(1, 2)

    def _take_in(self, context: tuple[Part, ...]) -> None:
        self._read = 0
        self._kept: dict[tuple[str | int, ...], KeyedSource] = {}
        self._seeders: dict[tuple[str, int], Callable[[int, Rows], Blocks]] = {}
        self._function.update(b"".join(map(_encode_part, context)))

    def __repr__(self) -> str:
        return "KeyedSource(a key that is not shown)"

    def __copy__(self) -> KeyedSource:
        return self.of()

    def __deepcopy__(self, _: dict[int, Any]) -> KeyedSource:
        return self.of()

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


def _chained(cipher: BlockCipher, first: int, rows: Rows) -> Blocks:
    from sfumato.random.keyed_kernel import chain_cells

    cells, seeds = np.ascontiguousarray(rows).view(np.uint64), np.zeros((len(rows), 2), dtype=np.uint64)
    for place in range(0, 1 + cells.shape[1], 2):
        seeds = cipher.encrypt(chain_cells(seeds, first, cells, place))
    return seeds


def _hashed(key: bytes, first: int, rows: Rows) -> Blocks:
    size, content = rows.itemsize * rows.shape[1], rows.tobytes()
    seeds = [
        hmac.digest(key, b"%d:%s" % (first + place, content[place * size : (place + 1) * size]), "sha256")[:SEED_BYTES]
        for place in range(len(rows))
    ]
    return np.frombuffer(b"".join(seeds), dtype=np.uint64).reshape(-1, 2)


def _encode_part(part: Part) -> bytes:
    """Return a part of a context with its kind and its length before it, so that parts cannot run into each other."""
    if isinstance(part, np.ndarray):
        return _array_head(part.dtype.str, part.shape, part.itemsize) + np.ascontiguousarray(part).tobytes()
    if isinstance(part, bytes):
        kind, content = b"bytes", part
    elif isinstance(part, str):
        kind, content = b"text", part.encode()
    else:
        kind, content = b"number", b"%d" % part
    return b"%d:%s%d:%s" % (len(kind), kind, len(content), content)


@lru_cache(maxsize=256)
def _array_head(dtype: str, shape: tuple[int, ...], itemsize: int) -> bytes:
    """Return what stands before the content of an array: its type, its shape and its length."""
    kind = f"{dtype}{shape}".encode()
    return b"%d:%s%d:" % (len(kind), kind, itemsize * math.prod(shape))
