"""Whether a ledger is the one it was: it is whole to its first link, and kept cards fit it.

A ledger that was edited without its key breaks the chain; one that was cut, rolled back or written anew by somebody who
has the file still contradicts every card that left after that moment (Haber & Stornetta 1991).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from sfumato.core.hash_chain import Head
from sfumato.dp.ledger.places import LedgerPlace, store_of
from sfumato.dp.ledger.store import Book
from sfumato.dp.ledger.wholeness import NO_LEDGER, faults
from sfumato.errors import InputError, reason


def verify(place: LedgerPlace, cards: Sequence[str | Path] = ()) -> list[str]:
    """Return what is wrong with a ledger, a sentence each; nothing where all of it holds.

    >>> import tempfile
    >>> from sfumato.dp.ledger.ledger import Ledger
    >>> from sfumato.promise.cost import Budget
    >>> place = f"{tempfile.mkdtemp()}/rides.ledger"
    >>> _ = Ledger.create(place, Budget(epsilon=1), {"table": "rides"})
    >>> verify(place)
    []
    """
    store = store_of(place)
    heads = [(str(card), _head_of(Path(card))) for card in cards]
    with store.opening() as book:
        return _edited(book) + [wrong for name, head in heads for wrong in _against(book, name, head)]


def _edited(book: Book) -> list[str]:
    """Return where the ledger contradicts itself."""
    try:
        return [f"{fault}: the ledger was edited or is damaged" for fault in faults(book)]
    except NO_LEDGER:
        return ["the ledger holds what no ledger holds: the ledger was edited or is damaged"]


def _head_of(card: Path) -> Head:
    """Return the head that a card carries; a card, or an answer's JSON with a card in it."""
    try:
        content = json.loads(card.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"card '{card}' cannot be read: {reason(error)}") from None
    inner = content.get("card", content) if isinstance(content, dict) else {}
    text = inner.get("ledger") if isinstance(inner, dict) else None
    if not isinstance(text, str):
        raise InputError(f"card '{card}' carries no head of a ledger; give the card of a release that was charged")
    return Head.read(text)


def _against(book: Book, name: str, head: Head) -> list[str]:
    """Return what a card proves about the ledger."""
    newest, left = book.head().number, f"card '{name}' left at link {head.number}"
    if head.number > newest:
        return [f"{left}, the ledger ends at link {newest}: it was cut or rolled back"]
    if head.number and [link.head for link in book.links(head.number - 1)[:1]] == [head]:
        return []
    other = "it was rolled back and used again, it was edited, or it is not the ledger that was charged"
    return [f"{left}, which is another one in this ledger: {other}"]
