"""The checker of concurrent ledgers: from what processes saw and what the ledger holds, whether one order explains all.

The idea is Jepsen's (Kingsbury): every call is logged when it begins and when it ends, and the history is compared with
a sequential model. Linearizability (Herlihy & Wing 1990) is hard to decide in general. Here it is easy: an entry's
number says its place in the order, and prices above 0 let every total that was read say how many entries it knew.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

NEVER = 1 << 62
CHARGED, AGAIN, FREE, REFUSED, FROZEN = "charged", "again", "free", "refused", "frozen"
Key = tuple[str, int]  # a question and the version that it is about


@dataclass(frozen=True)
class Call:
    """One call of one process; `completed` is None where the process died in it."""

    kind: str
    asked: dict[str, Any]
    invoked: int
    completed: int | None
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """When it ended at the latest."""
        return NEVER if self.completed is None else self.completed

    @property
    def key(self) -> Key:
        """What it is about."""
        return self.asked["question"], self.asked["version"]


@dataclass(frozen=True)
class Held:
    """One entry of the ledger at the end."""

    number: int
    question: str
    version: int
    analyst: str
    price: str
    again: bool


@dataclass(frozen=True)
class Final:
    """What the ledger holds at the end."""

    budget: Decimal
    total: Decimal
    versions: int
    entries: list[Held]
    answers: dict[Key, str]


def read_calls(files: Iterable[Path]) -> list[Call]:
    """Return the calls in the logs of processes; a last line may be cut off."""
    calls = []
    for file in files:
        open_calls: dict[int, dict[str, Any]] = {}
        for line in file.read_bytes().split(b"\n")[:-1]:
            event = json.loads(line)
            if event["phase"] == "invoke":
                open_calls[event["call"]] = event
            else:
                begun = open_calls.pop(event["call"])
                calls.append(Call(begun["kind"], begun["asked"], begun["at"], event["at"], event["result"]))
        calls += [Call(event["kind"], event["asked"], event["at"], None) for event in open_calls.values()]
    return calls


def faults(calls: list[Call], final: Final) -> list[str]:
    """Return what no sequential ledger would have done, a sentence each."""
    return [
        *_totals(final),
        *_lost_and_doubled(calls, final),
        *_without_order(calls, final),
        *_refusals(calls, final),
        *_answers(calls, final),
        *_versions(calls, final),
        *_freezes(calls),
    ]


def _counted(final: Final) -> list[Held]:
    return [entry for entry in final.entries if not entry.again]


def _sums(final: Final) -> list[Decimal]:
    """The totals after 0, 1, 2 … entries that cost the ledger something."""
    return list(accumulate((Decimal(entry.price) for entry in _counted(final)), initial=Decimal(0)))


def _totals(final: Final) -> Iterator[str]:
    if _sums(final)[-1] != final.total:
        yield f"the entries add up to {_sums(final)[-1]} and the total is {final.total}"
    if final.total > final.budget:
        yield f"overdraft: the total {final.total} is above the budget {final.budget}"


def _lost_and_doubled(calls: list[Call], final: Final) -> Iterator[str]:
    """Each completed debit is in the ledger once, an unfinished one at most once, and nothing else is."""
    debits = [call for call in calls if call.kind == "debit"]
    done = Counter(call.result["number"] for call in debits if call.result.get("how") in {CHARGED, AGAIN})
    held = {entry.number: entry for entry in final.entries}
    yield from (f"double debit: two calls were given entry {number}" for number, count in done.items() if count > 1)
    for call in debits:
        entry = held.get(call.result.get("number", -1))
        if call.result.get("how") in {CHARGED, AGAIN, FREE}:
            if entry is None:
                yield f"lost debit: entry {call.result['number']} is not in the ledger"
            elif (entry.question, entry.version, entry.analyst) != (*call.key, call.asked["analyst"]):
                yield f"entry {entry.number} is about another question than the call that was given it"
    waiting = Counter((*call.key, call.asked["analyst"], call.asked["price"]) for call in debits if not call.completed)
    for entry in final.entries:
        if entry.number not in done:
            mark = (entry.question, entry.version, entry.analyst, entry.price)
            waiting[mark] -= 1
            if waiting[mark] < 0:
                yield f"double debit: entry {entry.number} belongs to no call"


def _without_order(calls: list[Call], final: Final) -> Iterator[str]:
    """Calls that ended before another began must come before it: places in the order must not go back in time."""
    places = {entry.number: place for place, entry in enumerate(_counted(final), start=1)}
    sums = _sums(final)
    placed: list[tuple[Call, tuple[int, int]]] = []
    for call in calls:
        if call.kind == "debit" and call.result.get("how") == CHARGED and call.result["number"] in places:
            placed.append((call, (places[call.result["number"]], 0)))
        elif call.kind == "total" and call.completed is not None:
            known = bisect_right(sums, Decimal(call.result["spent"])) - 1
            if sums[known] != Decimal(call.result["spent"]):
                yield f"a total of {call.result['spent']} was read, which the ledger never had"
            placed.append((call, (known, 1)))
    ended = sorted((call.end, place) for call, place in placed)
    latest = list(accumulate((place for _, place in ended), max))
    ends = [end for end, _ in ended]
    for call, place in placed:
        before = bisect_right(ends, call.invoked - 1)
        if before and latest[before - 1] > place:
            found = (
                "a refund: a smaller total was read" if call.kind == "total" else "a debit was entered before others"
            )
            yield f"{found} after a call had ended that knew {latest[before - 1][0]} entries; it knew {place[0]}"


def _refusals(calls: list[Call], final: Final) -> Iterator[str]:
    """A debit is refused only where the most that could have been spent by then leaves too little."""
    begun = {call.result["number"]: call.invoked for call in calls if call.result.get("how") == CHARGED}
    for call in calls:
        if call.result.get("how") == REFUSED:
            most = sum(Decimal(entry.price) for entry in _counted(final) if begun.get(entry.number, 0) < call.end)
            if most + Decimal(call.asked["price"]) <= final.budget:
                yield f"a debit of {call.asked['price']} was refused when at most {most} was spent"


def _answers(calls: list[Call], final: Final) -> Iterator[str]:
    """A question has one answer on a version: one that somebody drew, that was paid for, seen by all who come later."""
    drawn: dict[Key, dict[str, int]] = defaultdict(dict)  # answers that were offered, and when first
    stored: dict[Key, int] = {}  # when an answer was there for certain
    for call in calls:
        if call.kind == "settle":
            offered = drawn[call.key]
            offered[call.asked["answer"]] = min(offered.get(call.asked["answer"], NEVER), call.invoked)
            stored[call.key] = min(stored.get(call.key, NEVER), call.end)
    charged = {(entry.question, entry.version) for entry in _counted(final)}
    yield from (f"an answer without a debit: {key[0]}" for key in final.answers if key not in charged)
    for call in calls:
        if "answer" not in call.result:
            continue
        seen, key = call.result["answer"], call.key
        if seen is None:
            if call.kind == "find" and call.asked["paid"] and stored.get(key, NEVER) < call.invoked:
                yield f"an answer to {key[0]} was stored and then not found"
        elif seen != final.answers.get(key):
            yield f"{key[0]} has two answers"
        elif drawn[key].get(seen, NEVER) > call.end:
            yield f"an answer to {key[0]} was shown before anybody had drawn it"


def _versions(calls: list[Call], final: Final) -> Iterator[str]:
    declared = [call for call in calls if call.kind == "version"]
    done = sorted((call for call in declared if call.completed), key=lambda call: call.end)
    numbers = [call.result["number"] for call in done]
    if len(set(numbers)) != len(numbers) or max(numbers, default=1) > final.versions:
        yield "two versions have one number, or a version was lost"
    if not len(done) < final.versions <= len(declared) + 1:  # the first was declared with the ledger
        yield f"{len(done)} versions were declared, and the ledger has {final.versions}"
    for call in done:
        later = [other.result["number"] for other in done if other.invoked > call.end]
        if later and min(later) < call.result["number"]:
            yield f"version {min(later)} was declared after version {call.result['number']}"


def _freezes(calls: list[Call]) -> Iterator[str]:
    """A frozen ledger charges nobody, and one that is not frozen turns nobody away as if it were."""
    frozen = [call for call in calls if call.kind == "freeze"]
    thawed = [call for call in calls if call.kind == "thaw"]
    for call in calls:
        if call.kind != "debit" or call.completed is None:
            continue
        if call.result["how"] == FROZEN:
            possible = [one for one in frozen if one.invoked < call.end and not _lifted(one, call, thawed)]
            if not possible:
                yield "a debit was turned away as frozen, and nobody had frozen the ledger"
        elif call.result["how"] == CHARGED:
            for one in frozen:
                maybe = [thaw for thaw in thawed if thaw.end > one.invoked and thaw.invoked < call.end]
                if one.end < call.invoked and not maybe:
                    yield "a debit was charged to a frozen ledger"


def _lifted(freeze: Call, call: Call, thawed: list[Call]) -> bool:
    return any(thaw.invoked > freeze.end and thaw.end < call.invoked for thaw in thawed)
