"""Processes call one ledger at random and are killed; a checker looks for an order that explains all they saw."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from ledger_history import Call, Final, Held, faults, read_calls
from ledger_places import LONG_ON_SERVER, Ledgers, Place

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.verify import verify
from sfumato.promise import Budget

WORKER = Path(__file__).with_name("ledger_worker.py")
BUDGET = Decimal(1)


def started(place: Place, folder: Path, seed: int, calls: int) -> subprocess.Popen[str]:
    files = [str(place), str(folder / f"{seed}.log"), str(seed), str(calls)]
    pipes = {"stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, str(WORKER), *files], **pipes)  # type: ignore[call-overload,no-any-return]


def run_schedule(place: Place, folder: Path, workers: int, calls: int, kills: int, seed: int) -> list[Call]:
    """Return the calls of processes that worked at once; as many as `kills` were killed and replaced by new ones."""
    chance = random.Random(seed)  # noqa: S311
    running = [started(place, folder, seed + number, calls) for number in range(workers)]
    for number in range(kills):
        victim = running[chance.randrange(len(running))]
        assert victim.stdout is not None
        victim.stdout.readline()
        time.sleep(chance.uniform(0.05, 1.0))
        victim.send_signal(signal.SIGKILL)
        running.append(started(place, folder, seed + workers + number, calls))
    for worker in running:
        worker.communicate(timeout=200)
    return read_calls(sorted(folder.glob("*.log")))


def final_state(ledger: Ledger) -> Final:
    records = list(ledger.entries())
    entries = [Held(r.number, r.question, r.version, r.analyst, str(r.cost.epsilon), r.again) for r in records]
    found = {(r.question, r.version): ledger.find(r.question, r.version, r.analyst) for r in records}
    answers = {key: answer.hex() for key, answer in found.items() if answer is not None}
    return Final(ledger.budget.epsilon, ledger.spent.epsilon, ledger.version, entries, answers)


def explain(place: Place, folder: Path, workers: int, calls: int, kills: int, seed: int) -> Counter[str]:
    ledger = Ledger.create(place, Budget(BUDGET), {})
    made = run_schedule(place, folder, workers, calls, kills, seed)
    ledger.thaw()
    assert faults(made, final_state(ledger)) == []
    assert verify(place) == []
    return Counter([call.result.get("how", call.kind) for call in made if call.completed])


@LONG_ON_SERVER
def test_a_short_schedule_is_explained_by_one_order(ledgers: Ledgers, tmp_path: Path) -> None:
    assert explain(ledgers.at(), tmp_path, workers=2, calls=40, kills=1, seed=5)["charged"] > 5


@pytest.mark.long
@pytest.mark.parametrize("seed", [100, 200])
def test_long_schedules_with_kills_are_explained_by_one_order(ledgers: Ledgers, tmp_path: Path, seed: int) -> None:
    seen = explain(ledgers.at(), tmp_path, workers=4, calls=150, kills=8, seed=seed)
    assert min(seen[how] for how in ("charged", "refused", "settle", "find", "total", "version")) > 0


def call(kind: str, invoked: int, completed: int | None, result: dict[str, object], **asked: object) -> Call:
    return Call(kind, asked, invoked, completed, result)


def debit(number: int, invoked: int, completed: int | None, how: str = "charged") -> Call:
    result: dict[str, object] = {"how": how, "number": number} if completed else {}
    return call("debit", invoked, completed, result, question=f"q{number}", version=1, analyst="ana", price="0.4")


def held(number: int, price: str = "0.4") -> Held:
    return Held(number, f"q{number}", 1, "ana", price, again=False)


def read(spent: str, invoked: int, completed: int) -> Call:
    return call("total", invoked, completed, {"spent": spent})


def settle(number: int, answer: str, shown: str, at: int) -> Call:
    return call("settle", at, at + 1, {"answer": shown}, question=f"q{number}", version=1, answer=answer)


RIGHT = [debit(1, 1, 2), read("0.4", 3, 4), debit(2, 5, 6), read("0.8", 7, 8), settle(1, "aa", "aa", 9)]
END = Final(BUDGET, Decimal("0.8"), 1, [held(1), held(2)], {("q1", 1): "aa"})


def test_a_right_history_is_explained() -> None:
    assert faults(RIGHT, END) == []
    killed = [*RIGHT, debit(3, 10, None)]  # it may have been entered or not
    assert faults(killed, END) == []
    third = replace(END, entries=[*END.entries, held(3, "0.1")], total=Decimal("0.9"))
    assert (
        faults([*RIGHT, replace(debit(3, 10, None), asked={**debit(3, 10, None).asked, "price": "0.1"})], third) == []
    )
    meanwhile = [debit(1, 1, 9), read("0", 3, 4), debit(2, 2, 8), read("0.8", 5, 6)]
    assert faults(meanwhile, replace(END, answers={})) == []


PLANTED: dict[str, Callable[[], tuple[list[Call], Final]]] = {
    "lost debit": lambda: (RIGHT, replace(END, entries=[held(1)], total=Decimal("0.4"))),
    "belongs to no call": lambda: (RIGHT, replace(END, entries=[*END.entries, held(3, "0.1")], total=Decimal("0.9"))),
    "two calls were given entry": lambda: ([*RIGHT, debit(2, 5, 6)], END),
    "a refund": lambda: ([*RIGHT, read("0.4", 11, 12)], END),
    "which the ledger never had": lambda: ([*RIGHT, read("0.3", 3, 12)], END),
    "entered before others": lambda: ([debit(2, 1, 2), debit(1, 3, 4)], replace(END, answers={})),
    "overdraft": lambda: (
        [*RIGHT, debit(3, 10, 11)],
        replace(END, entries=[*END.entries, held(3)], total=Decimal("1.2")),
    ),
    "add up to": lambda: (RIGHT, replace(END, total=Decimal("0.4"))),
    "was refused when": lambda: ([*RIGHT, call("debit", 2, 3, {"how": "refused"}, **debit(9, 2, 3).asked)], END),
    "an answer without a debit": lambda: (RIGHT, replace(END, answers={**END.answers, ("q7", 1): "bb"})),
    "has two answers": lambda: ([*RIGHT, settle(1, "bb", "bb", 11)], END),
    "then not found": lambda: (
        [*RIGHT, call("find", 11, 12, {"answer": None}, question="q1", version=1, paid=True)],
        END,
    ),
    "before anybody had drawn it": lambda: (
        [*RIGHT, call("find", 2, 3, {"answer": "aa"}, question="q1", version=1, paid=True)],
        END,
    ),
    "two versions have one number": lambda: (
        [*RIGHT, *(call("version", at, at + 1, {"number": 2}) for at in (10, 12))],
        replace(END, versions=3),
    ),
    "turned away as frozen": lambda: ([*RIGHT, call("debit", 12, 13, {"how": "frozen"}, **debit(9, 2, 3).asked)], END),
    "charged to a frozen ledger": lambda: (
        [call("freeze", 0, 1, {}), *(replace(c, invoked=c.invoked + 1) for c in RIGHT[:1])],
        replace(END, entries=[held(1)], total=Decimal("0.4"), answers={}),
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    found = faults(*PLANTED[fault]())
    assert any(fault in sentence for sentence in found), found
