"""A chain of hashes over what happened, in order: whoever kept one head can tell whether anything before it changed.

Each link is an HMAC-SHA256 (Bellare, Canetti & Krawczyk 1996) of the link before and of what happened, as in Haber &
Stornetta's time stamps (1991). The key is secret, so that a published head tells nothing about what happened.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from sfumato.errors import InputError

KEY_BYTES = 32
DIGEST_BYTES = 32
NOTHING = bytes(DIGEST_BYTES)


@dataclass(frozen=True)
class Head:
    """The newest link of a chain: its number from 1, and its hash.

    >>> Head.read(Head(3, bytes(32)).text) == Head(3, bytes(32))
    True
    """

    number: int
    digest: bytes

    @property
    def text(self) -> str:
        """The head as cards print it."""
        return f"{self.number}:{self.digest.hex()}"

    @classmethod
    def read(cls, text: str) -> Head:
        """Return the head that a card prints.

        >>> Head.read("seven")
        Traceback (most recent call last):
        sfumato.errors.InputError: the head of a chain is 'seven'; it must be NUMBER:HASH
        """
        number, colon, digest = text.partition(":")
        try:
            found = cls(int(number), bytes.fromhex(digest))
        except ValueError:
            found = cls(0, b"")
        if not colon or found.number < 0 or len(found.digest) != DIGEST_BYTES:
            raise InputError(f"the head of a chain is '{text}'; it must be NUMBER:HASH")
        return found

    def then(self, key: bytes, happened: bytes) -> Head:
        """Return the head after one more link.

        >>> one = EMPTY.then(bytes(32), b"opened")
        >>> one.number, one == EMPTY.then(bytes(32), b"opened"), one == EMPTY.then(bytes(32), b"closed")
        (1, True, False)
        """
        number = self.number + 1
        return Head(number, hmac.digest(key, b"%d:" % number + self.digest + happened, "sha256"))


EMPTY = Head(0, NOTHING)
