"""Whether a ledger is whole: its chain holds, its tables say what the chain says, and its entries add up to its total.

A bit that flipped anywhere in what a ledger reads is found here, so that damage is refused and never gives budget back
or shows another answer (the end-to-end argument, Saltzer, Reed & Clark 1984).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from decimal import Context, Decimal, Inexact, InvalidOperation

import msgspec

from sfumato.dp.ledger import events
from sfumato.dp.ledger.replay import EntryEvent, Replay, Texts
from sfumato.dp.ledger.store import Account, Book, EntryRow
from sfumato.errors import InputError
from sfumato.promise.cost import Cost

NEWEST = 1000  # links whose hashes are checked whenever a ledger is opened
EXACT = Context(prec=150, traps=[Inexact, InvalidOperation])
NO_LEDGER = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, msgspec.MsgspecError)


def refuse_damaged(book: Book, name: str) -> None:
    """Refuse a ledger that contradicts itself."""
    try:
        found = faults(book, NEWEST)
    except NO_LEDGER:  # what stands there is of another kind than anything that a ledger writes
        found = ["it holds what no ledger holds"]
    if found:
        raise InputError(
            f"ledger '{name}' is damaged, nothing was answered; count its whole budget as spent ({found[0]}; "
            "`sfumato budget verify` tells more)"
        )


def refuse_younger(last: tuple[int, Cost], found: tuple[int, Cost], name: str) -> None:
    """Refuse a ledger with fewer links, or a smaller total, than a process has charged to it before.

    >>> refuse_younger((7, Cost(epsilon=1)), (9, Cost(epsilon=1)), "rides.ledger")
    """
    if found[0] < last[0] or not last[1] <= found[1]:
        raise InputError(
            f"ledger '{name}' has less in it than this process has charged to it: it was rolled back or is damaged; "
            "nothing was answered, count its whole budget as spent"
        )


def faults(book: Book, newest: int | None = None) -> list[str]:
    """Return where a ledger contradicts itself, in words each; the hashes of the `newest` links are checked."""
    replay = Replay.of(book, newest)
    if replay.broken is not None:
        return [replay.broken]
    wrong = [part for part, same in _comparisons(book, replay).items() if not same]
    return [f"{part}: the tables say something else than the chain" for part in wrong]


def _comparisons(book: Book, replay: Replay) -> dict[str, bool]:
    """Return for each part of the tables whether it says what the chain says."""
    account, opened = book.account(), replay.opened
    hashes = {number: hash_of(entry.question) for number, entry in replay.entries.items()}
    total, purses = _sums(replay.entries.values())
    return {
        "the budget": opened.get("budget") == _budget(account)
        and opened.get("accountant") == str(account.budget.accountant),
        "what was spent": account.spent == total,
        "what analysts spent": {name: purse.spent for name, purse in book.purses().items() if purse.spent != Cost()}
        == purses,
        "who may ask": account.closed == (opened.get("shares") is not None),
        "what analysts may spend": _shares(book) == (opened.get("shares") or {}),
        "the terms": book.terms() == opened.get("terms"),
        "the secret": opened.get("secret") in {None, events.fingerprint(book.secret())},
        "whether it is frozen": account.frozen == replay.frozen,
        "the versions": {number: (time, facts) for number, time, facts in book.versions()} == replay.versions,
        "the entries": _entries_agree(book, replay.entries, hashes),
        "the answers": _answers_agree(book, replay, hashes),
    }


def _budget(account: Account) -> list[str]:
    return [str(account.budget.epsilon), str(account.budget.delta), str(account.budget.rho)]


def _shares(book: Book) -> dict[str, list[str]]:
    return {name: events.costs(purse.share) for name, purse in book.purses().items() if purse.share is not None}


def _sums(entries: Iterable[EntryEvent]) -> tuple[Cost, dict[str, Cost]]:
    """Return what entries cost the ledger and each analyst; equal prices are counted first, for speed."""
    counted = Counter((entry.analyst, entry.again, entry.cost) for entry in entries)
    total: list[Decimal] = [Decimal(0)] * 3
    purses: dict[str, list[Decimal]] = {}
    for (analyst, again, texts), count in counted.items():
        cost = [EXACT.multiply(Decimal(text), Decimal(count)) for text in texts]
        if not again:
            total = _plus(total, cost)
        if any(cost):
            purses[analyst] = _plus(purses.get(analyst, [Decimal(0)] * 3), cost)
    return Cost(*total), {analyst: Cost(*spent) for analyst, spent in purses.items()}


def _plus(left: list[Decimal], right: list[Decimal]) -> list[Decimal]:
    return [EXACT.add(one, other) for one, other in zip(left, right, strict=True)]


def _entries_agree(book: Book, told: dict[int, EntryEvent], hashes: dict[int, bytes]) -> bool:
    seen = after = 0
    while page := book.rows(after):
        for row in page:
            entry = told.get(row[0])
            if entry is None or row != _row(entry, hashes[entry.number]):
                return False
        seen, after = seen + len(page), page[-1][0]
    return seen == len(told)


def _row(entry: EntryEvent, question: bytes) -> EntryRow:
    head = (entry.number, entry.time, entry.analyst, entry.version, question, entry.question)
    cost: Texts = entry.cost
    return (*head, *cost, entry.again, entry.answered, entry.door, entry.data, entry.outside)


def _answers_agree(book: Book, replay: Replay, hashes: dict[int, bytes]) -> bool:
    """Whether exactly the answers that were given are there, each under its own question."""
    told = {(hashes[number], replay.entries[number].version): mark for number, mark in replay.answers.items()}
    for question, version, answer in book.answers():
        if told.pop((question, version), None) != events.fingerprint(answer):
            return False
    return not told


def hash_of(question: str) -> bytes:
    """Return the hash by which a ledger finds a question.

    >>> hash_of("count").hex()[:8]
    '6c35493a'
    """
    return hashlib.sha256(question.encode()).digest()
