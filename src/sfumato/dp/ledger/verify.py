"""Whether a ledger is the one it was: its chain holds, its tables say what the chain says, and kept cards fit it.

A ledger that was edited without its key breaks the chain; one that was cut, rolled back or written anew by somebody who
has the file still contradicts every card that left after that moment (Haber & Stornetta 1991).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from sfumato.core.hash_chain import EMPTY, Head
from sfumato.dp.ledger import events
from sfumato.dp.ledger.book import SqliteBook
from sfumato.dp.ledger.sqlite import SqliteStore
from sfumato.dp.ledger.store import EntryRecord, Link
from sfumato.errors import InputError
from sfumato.promise.cost import Cost

Plain = dict[str, Any]
Amounts = tuple[Decimal, Decimal, Decimal]
NOTHING: Amounts = (Decimal(0), Decimal(0), Decimal(0))


@dataclass
class Replay:
    """A ledger's tables as its chain tells them.

    >>> Replay().frozen is None
    True
    """

    opened: Plain = field(default_factory=dict)
    versions: dict[int, tuple[str, str]] = field(default_factory=dict)
    entries: dict[int, Plain] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    frozen: str | None = None

    def add(self, link: Link) -> None:
        """Take in one thing that happened."""
        happened = events.read(link.happened)
        if link.kind == events.OPENED:
            self.opened = happened
        elif link.kind == events.VERSION:
            self.versions[happened["number"]] = (happened["time"], happened["facts"])
        elif link.kind == events.ENTRY:
            self.entries[happened["number"]] = happened
        elif link.kind == events.SETTLED:
            self.entries[happened["number"]]["answered"] = True
            if happened["answer"] is not None:
                self.answers.append(happened["answer"])
        elif link.kind in {events.FROZEN, events.THAWED}:
            self.frozen = happened["reason"] if link.kind == events.FROZEN else None


def verify(path: str | Path, cards: Sequence[str | Path] = ()) -> list[str]:
    """Return what is wrong with a ledger, a sentence each; nothing where all of it holds.

    >>> import tempfile
    >>> from sfumato.dp.ledger.ledger import Ledger
    >>> from sfumato.promise.cost import Budget
    >>> place = f"{tempfile.mkdtemp()}/rides.ledger"
    >>> _ = Ledger.create(place, Budget(epsilon=1), {"table": "rides"})
    >>> verify(place)
    []
    """
    store = SqliteStore(Path(path).absolute())
    store.check()
    heads = [(str(card), _head_of(Path(card))) for card in cards]
    with store.reading() as book:
        found = list(_broken_links(book))
        if not found:
            found += _differences(book)
        return found + [wrong for name, head in heads for wrong in _against(book, name, head)]


def _all_links(book: SqliteBook) -> Iterator[Link]:
    after = 0
    while page := book.links(after):
        yield from page
        after = page[-1].head.number


def _broken_links(book: SqliteBook) -> Iterator[str]:
    """Yield the first place where the chain does not hold, and whether it ends where the account says."""
    key, head = book.chain_key(), EMPTY
    for link in _all_links(book):
        head = head.then(key, f"{link.kind} {link.happened}".encode())
        if head != link.head:
            yield f"link {head.number} of the chain ({link.kind}) is not as it was written: the ledger was edited"
            return
    if head != book.head():
        yield f"the chain ends at link {head.number}, the account at link {book.head().number}: the ledger was edited"


def _differences(book: SqliteBook) -> list[str]:
    """Return where the tables say something else than the chain."""
    replay = Replay()
    for link in _all_links(book):
        replay.add(link)
    account = book.account()
    entries, total, purses = _sums(replay)
    parts = {
        "the budget": replay.opened.get("budget")
        == [str(account.budget.epsilon), str(account.budget.delta), str(account.budget.rho)],
        "what was spent": _parts(account.spent) == total,
        "what analysts spent": _spent_by(book) == purses,
        "who may ask": account.closed == (replay.opened.get("shares") is not None),
        "the terms": book.terms() == replay.opened.get("terms"),
        "whether it is frozen": account.frozen == replay.frozen,
        "the versions": _versions(book) == replay.versions,
        "the entries": _entries(book) == entries,
        "the answers": sorted(events.fingerprint(answer) for *_, answer in book.answers()) == sorted(replay.answers),
    }
    wrong = [part for part, same in parts.items() if not same]
    return [f"{part}: the tables say something else than the chain: the ledger was edited" for part in wrong]


def _sums(replay: Replay) -> tuple[dict[int, Plain], Amounts, dict[str, Amounts]]:
    """Return the entries, what they cost the ledger and what they cost each analyst."""
    total: Amounts = NOTHING
    purses: dict[str, Amounts] = {}
    for entry in replay.entries.values():
        cost = tuple(Decimal(part) for part in entry["cost"])
        if not entry["again"]:
            total = _add(total, cost)
        if any(cost):
            purses[entry["analyst"]] = _add(purses.get(entry["analyst"], NOTHING), cost)
    return replay.entries, total, purses


def _add(left: Amounts, right: tuple[Decimal, ...]) -> Amounts:
    summed = Cost(*left) + Cost(*right)
    return _parts(summed)


def _parts(cost: Cost) -> Amounts:
    return cost.epsilon, cost.delta, cost.rho


def _spent_by(book: SqliteBook) -> dict[str, Amounts]:
    return {name: _parts(purse.spent) for name, purse in book.purses().items() if purse.spent != Cost()}


def _versions(book: SqliteBook) -> dict[int, tuple[str, str]]:
    return {number: (time, facts) for number, time, facts in book.versions()}


def _entries(book: SqliteBook) -> dict[int, Plain]:
    found: dict[int, Plain] = {}
    after = 0
    while page := book.page(after):
        found |= {record.number: _plain(record) for record in page}
        after = page[-1].number
    return found


def _plain(record: EntryRecord) -> Plain:
    return events.read(events.entered(record.number, record))


def _head_of(card: Path) -> Head:
    """Return the head that a card carries; a card, or an answer's JSON with a card in it."""
    try:
        content = json.loads(card.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"card '{card}' cannot be read: {error}") from None
    inner = content.get("card", content) if isinstance(content, dict) else {}
    text = inner.get("ledger") if isinstance(inner, dict) else None
    if not isinstance(text, str):
        raise InputError(f"card '{card}' carries no head of a ledger; give the card of a release that was charged")
    return Head.read(text)


def _against(book: SqliteBook, name: str, head: Head) -> list[str]:
    """Return what a card proves about the ledger."""
    newest, left = book.head().number, f"card '{name}' left at link {head.number}"
    if head.number > newest:
        return [f"{left}, the ledger ends at link {newest}: it was cut or rolled back"]
    if head.number and book.links(head.number - 1)[0].head == head:
        return []
    other = "it was rolled back and used again, it was edited, or it is not the ledger that was charged"
    return [f"{left}, which is another one in this ledger: {other}"]
