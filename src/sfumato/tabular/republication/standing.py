"""Where each series stood when this user last used it, kept outside of its folder.

A folder that was restored from a backup is whole in itself; only somebody who saw a later state can tell (the forks of
Li, Krohn, Mazières & Shasha 2004). So the newest link of every series is kept in the user's state folder.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from sfumato.core.files import flush_folder, state_folder, write_durably
from sfumato.core.hash_chain import Head
from sfumato.errors import InputError
from sfumato.tabular.republication.index import Index

FOLDER = "histories"
LOST = "restore the newest copy of the folder; without it no further release of these people is safe"


class Standing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest link of a series, the folder it lies in, and a hash of both.

    >>> Standing.of(Path("/kept"), Index.begin().head).whole
    True
    """

    folder: str
    head: str
    sha256: str

    @classmethod
    def of(cls, folder: Path, head: Head) -> Standing:
        """Return where a series in a folder stands."""
        return cls(folder=str(folder), head=head.text, sha256=_mark(str(folder), head.text))

    @property
    def whole(self) -> bool:
        """Whether it is what was written."""
        return self.sha256 == _mark(self.folder, self.head)


def refuse_rolled_back(folder: Path, index: Index) -> None:
    """Refuse a series that stood further when it was last used, and one in the place of another."""
    own, known = _place(index), _known()
    if own in known:
        _refuse_earlier(folder, index, known[own])
        return
    for place, other in known.items():
        if other.folder == str(folder.resolve()):
            raise InputError(
                f"history '{folder}' is not the series of {Head.read(other.head).number} releases that this folder had "
                f"when it was last used: {LOST}, or choose another folder for other people (if nothing of that series "
                f"was ever published, remove '{place}')"
            )


def _refuse_earlier(folder: Path, index: Index, standing: Standing) -> None:
    last, heads = Head.read(standing.head), index.heads()
    if last.number >= len(heads):
        raise InputError(
            f"history '{folder}' has {len(heads) - 1} releases and had {last.number} when it was last used: it was "
            f"rolled back; {LOST}"
        )
    if heads[last.number] != last:
        raise InputError(
            f"history '{folder}' has other releases than it had when it was last used: it was changed, or two copies "
            f"of it were used; {LOST}"
        )


def remember(folder: Path, index: Index) -> str | None:
    """Keep where a series stands now; return a sentence for the steward where that is not possible.

    >>> remember(Path("kept"), Index.begin()) is None
    True
    """
    place = _place(index)
    content = msgspec.json.encode(Standing.of(folder.resolve(), index.head))
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flush_folder(place.parent.parent)
        write_durably(place, content)
    except OSError as error:
        return (
            f"'{place}' cannot be written ({error.strerror}), so nobody will notice if history '{folder}' is "
            "replaced by an older copy"
        )
    return None


def _known() -> dict[Path, Standing]:
    """Return where all series of this user stand; refuse one that cannot be read, which may be the one in question."""
    try:
        places = sorted((state_folder() / FOLDER).glob("*.json"))
    except OSError:
        return {}
    return {place: _read(place) for place in places}


def _read(place: Path) -> Standing:
    try:
        found = msgspec.json.decode(place.read_bytes(), type=Standing)
        Head.read(found.head)
        if found.whole:
            return found
    except (msgspec.DecodeError, UnicodeDecodeError, OSError, InputError):
        pass
    raise InputError(
        f"'{place}', which says where a series stood when it was last used, is damaged; restore it from a backup, or "
        "remove it if every history is the newest copy"
    )


def _place(index: Index) -> Path:
    """Return the file of a series; its name does not tell the key of the chain."""
    return state_folder() / FOLDER / f"{hashlib.sha256(index.series.encode()).hexdigest()[:32]}.json"


def _mark(folder: str, head: str) -> str:
    return hashlib.sha256(f"{folder}\n{head}".encode(errors="surrogateescape")).hexdigest()[:16]
