"""A ledger's tables as its chain tells them: every link is read once, in order, into what the tables must say.

The chain is that of Haber & Stornetta (1991); a table that says something else was damaged or edited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sfumato.core.hash_chain import EMPTY, Head
from sfumato.dp.ledger import events
from sfumato.dp.ledger.store import Book, Link

Texts = tuple[str, str, str]


class EntryEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What the link of an entry says (`sfumato.dp.ledger.events.entered`)."""

    number: int
    time: str
    analyst: str
    version: int
    question: str
    cost: Texts
    again: bool
    answered: bool
    door: str
    data: str | None
    outside: bool


class SettledEvent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What the link of an answer says (`sfumato.dp.ledger.events.settled`)."""

    number: int
    answer: str | None


ENTRY_EVENT = msgspec.json.Decoder(EntryEvent)
SETTLED_EVENT = msgspec.json.Decoder(SettledEvent)


@dataclass
class Replay:
    """What a chain tells; `broken` says where it does not hold, and then nothing after that place was read.

    >>> Replay().frozen is None
    True
    """

    opened: dict[str, Any] = field(default_factory=dict)
    versions: dict[int, tuple[str, str]] = field(default_factory=dict)
    entries: dict[int, EntryEvent] = field(default_factory=dict)
    answers: dict[int, str] = field(default_factory=dict)  # the hash of an answer, by the entry that it settled first
    frozen: str | None = None
    broken: str | None = None

    @classmethod
    def of(cls, book: Book, newest: int | None = None) -> Replay:
        """Return what the chain of a book tells; the hashes of the `newest` links are checked, None: of all.

        Older hashes change nothing that a ledger does: they matter to `budget verify`, which checks all of them.
        """
        replay, key, end = cls(), book.chain_key(), book.head()
        trusted, number, digest = 0 if newest is None else end.number - newest, 0, EMPTY.digest
        for link in _all_links(book):
            number += 1
            if number > trusted:
                digest = Head(number - 1, digest).then(key, f"{link.kind} {link.happened}".encode()).digest
            else:
                digest = link.digest
            if number != link.number or digest != link.digest:
                replay.broken = f"link {number} of the chain ({link.kind}) is not as it was written"
                return replay
            replay.add(link)
        if Head(number, digest) != end:
            replay.broken = f"the chain ends at link {number}, the account at link {end.number}"
        return replay

    def add(self, link: Link) -> None:
        """Take in one thing that happened."""
        if link.kind == events.ENTRY:
            entry = ENTRY_EVENT.decode(link.happened)
            self.entries[entry.number] = entry
        elif link.kind == events.SETTLED:
            settled = SETTLED_EVENT.decode(link.happened)
            self.entries[settled.number].answered = True
            if settled.answer is not None:
                self.answers[settled.number] = settled.answer
        else:
            self._add_rare(link.kind, events.read(link.happened))

    def _add_rare(self, kind: str, happened: dict[str, Any]) -> None:
        if kind == events.OPENED:
            self.opened = happened
        elif kind == events.VERSION:
            self.versions[happened["number"]] = (happened["time"], happened["facts"])
        elif kind in {events.FROZEN, events.THAWED}:
            self.frozen = happened["reason"] if kind == events.FROZEN else None


def _all_links(book: Book) -> Iterator[Link]:
    after = 0
    while page := book.links(after):
        yield from page
        after = page[-1].number
