"""The index of a history folder: its releases in order, each linked to the one before by a hash.

A chain of hashes as in Haber & Stornetta 1991 (`sfumato.core.hash_chain`): whoever kept one link can tell whether
anything before it is other than it was.
"""

from __future__ import annotations

import hashlib
import secrets
from itertools import accumulate

import msgspec

from sfumato.core.hash_chain import EMPTY, KEY_BYTES, Head

VERSION, WITHOUT_CHAIN, WITHOUT_HASH = 3, 2, 1


class RecordedRelease(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One recorded release: its files with their hashes, its layer, and the columns it was checked on.

    `least` is how many values of each sensitive column it promised to leave everybody, `link` its link in the chain.
    """

    layer: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    files: dict[str, str]
    least: dict[str, int] = {}
    link: str = ""


class Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorded releases, oldest first, and the hash of all of it; an index of the first version has none.

    `series` tells this series from all others and is the key of its chain. `pending` names the files of a release that
    is being recorded: after a crash they belong to nothing, and are removed.

    >>> index = Index.begin()
    >>> index.whole, index.head.number, msgspec.structs.replace(index, pending=("release-0001.csv",)).whole
    (True, 0, False)
    """

    version: int
    series: str = ""
    releases: tuple[RecordedRelease, ...] = ()
    pending: tuple[str, ...] = ()
    sha256: str | None = None

    @classmethod
    def begin(cls) -> Index:
        """Return the index of a new series."""
        return cls(version=VERSION, series=secrets.token_hex(KEY_BYTES)).sealed()

    @property
    def head(self) -> Head:
        """The newest link of the chain."""
        return self.heads()[-1]

    def heads(self) -> list[Head]:
        """Return the links of the chain, the empty one first, as they follow from the releases."""
        happened = (msgspec.json.encode(msgspec.structs.replace(release, link="")) for release in self.releases)
        key = bytes.fromhex(self.series)
        return list(accumulate(happened, lambda head, entry: head.then(key, entry), initial=EMPTY))

    def sealed(self) -> Index:
        """Return the index with its links and its hash."""
        linked = [
            msgspec.structs.replace(release, link=head.digest.hex())
            for release, head in zip(self.releases, self.heads()[1:], strict=True)
        ]
        bare = msgspec.structs.replace(self, version=VERSION, releases=tuple(linked), sha256=None)
        return msgspec.structs.replace(bare, sha256=sha256(msgspec.json.encode(bare)))

    @property
    def whole(self) -> bool:
        """Whether the hashes are those of the releases."""
        if self.version == VERSION:
            try:
                return len(self.series) == 2 * KEY_BYTES and self == self.sealed()
            except ValueError:  # a series that is no number
                return False
        if self.series or self.pending or any(release.link for release in self.releases):
            return False
        return self.sha256 == (None if self.version == WITHOUT_HASH else self._hash_without_chain())

    def _hash_without_chain(self) -> str:
        entries = [msgspec.to_builtins(release) for release in self.releases]
        return sha256(msgspec.json.encode([{key: entry[key] for key in entry if key != "link"} for entry in entries]))

    def chained(self) -> Index:
        """Return the index in the present version; an older one gets a name for its series and its chain."""
        if self.version == VERSION:
            return self
        return msgspec.structs.replace(self, series=secrets.token_hex(KEY_BYTES)).sealed()

    @property
    def files(self) -> dict[str, str]:
        """The files of all releases, and their hashes."""
        return {name: content for release in self.releases for name, content in release.files.items()}


def sha256(content: bytes) -> str:
    """Return a hash as the index shows it.

    >>> sha256(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(content).hexdigest()
