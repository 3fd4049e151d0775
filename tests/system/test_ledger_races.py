"""The ledger under processes that race and processes that die: never overspent, never corrupt, never short."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from ledger_places import LONG_ON_SERVER, Ledgers, Place

from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import BudgetExceeded
from sfumato.promise.cost import Budget, Cost

PRICE = Cost("0.01")
ASKER = """
import os, sys
from sfumato.promise.cost import Cost
from sfumato.dp.ledger.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    question = f"{os.getpid()} {number % 50}"
    number += 1
    if ledger.find(question, 1, "ana") is None:
        entry = ledger.debit(question, 1, "ana", Cost("0.001"))
        answer = ledger.settle(entry, os.urandom(2000))
        print(question, answer[:8].hex(), flush=True)
    ledger.declare_version({})
"""


def ask_many(place: Place, asker: int, count: int) -> int:
    ledger = Ledger.open(place)
    got = 0
    for number in range(count):
        try:
            entry = ledger.debit(f"{asker} {number}", 1, f"analyst {asker}", PRICE)
        except BudgetExceeded:
            continue
        got += ledger.settle(entry, b"answer") == b"answer"
    return got


def race(ledgers: Ledgers, processes: int, questions: int, affordable: int) -> None:
    """Let processes ask at once and check that exactly what the budget affords was answered."""
    place = ledgers.at()
    ledger = Ledger.create(place, Budget(PRICE.epsilon * affordable), {})
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(processes)  # nobody starts before all are there
    with ProcessPoolExecutor(processes, context, initializer=together.wait, initargs=(60,)) as pool:
        tasks = [pool.submit(ask_many, place, asker, questions // processes) for asker in range(processes)]
        got = [task.result() for task in tasks]
    records = list(ledger.entries())
    assert sum(got) == affordable == len(records)
    assert all(record.answered for record in records)
    assert ledger.spent == ledger.budget.total
    assert sum(ledger.spent_by(f"analyst {asker}").epsilon for asker in range(processes)) == ledger.budget.epsilon
    ledgers.whole(place)


def test_a_few_processes_spend_exactly_the_budget(ledgers: Ledgers) -> None:
    race(ledgers, processes=3, questions=60, affordable=30)


@pytest.mark.long
def test_a_thousand_questions_from_eight_processes_spend_exactly_the_budget(ledgers: Ledgers) -> None:
    race(ledgers, processes=8, questions=1000, affordable=500)


def test_a_ledger_is_opened_while_others_write_in_it(ledgers: Ledgers) -> None:
    """Head and newest link are read at one moment, else a debit between them looks like damage."""
    place = ledgers.at()
    Ledger.create(place, Budget(10**6), {})
    asker = [sys.executable, "-c", ASKER, str(place)]
    with subprocess.Popen(asker, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            for _ in range(40):
                Ledger.open(place)
        finally:
            child.kill()


def test_a_fork_shares_the_ledger_and_nothing_else(ledgers: Ledgers) -> None:
    """Parent and child use the same object at once, which a connection kept open would not survive."""
    ledger = Ledger.create(ledgers.at(), Budget(1), {})
    ledger.debit("before", 1, "ana", PRICE)
    child = os.fork()
    for number in range(20):
        ledger.settle(ledger.debit(f"{child == 0} {number}", 1, "ana", PRICE), b"x")
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.spent == Cost("0.41")
    ledgers.whole(ledgers.at())


@LONG_ON_SERVER
def test_two_who_ask_the_same_at_once_see_the_same(ledgers: Ledgers) -> None:
    place = ledgers.at()
    ledger = Ledger.create(place, Budget(1), {})
    code = (
        "import os, sys; from sfumato.promise.cost import Cost; from sfumato.dp.ledger.ledger import Ledger\n"
        "ledger = Ledger.open(sys.argv[1]); print('ready', flush=True); sys.stdin.readline()\n"
        "entry = ledger.debit('q', 1, sys.argv[2], Cost('0.1'))\n"
        "print((entry.answer or ledger.settle(entry, os.urandom(16))).hex())"
    )
    start = [sys.executable, "-c", code, str(place)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    askers = [subprocess.Popen([*start, f"analyst {number}"], **pipes) for number in range(4)]  # type: ignore[call-overload]
    for asker in askers:
        assert asker.stdout.readline() == "ready\n"
    for asker in askers:
        asker.stdin.write("go\n")
        asker.stdin.flush()
    seen = {asker.communicate()[0] for asker in askers}
    assert len(seen) == 1
    charged = [record for record in ledger.entries() if not record.again]
    assert ledger.spent == Cost(Decimal("0.1") * len(charged))
    assert all(ledger.find("q", 1, f"analyst {number}") == bytes.fromhex(next(iter(seen))) for number in range(4))


def kill_while_asking(ledgers: Ledgers, kills: int) -> int:
    """Kill askers at random moments; after each, compare the ledger with what was printed; return what was printed."""
    moment = random.Random(11)  # noqa: S311  # when to kill is no secret
    place = ledgers.at()
    ledger = Ledger.create(place, Budget(10**6), {})
    printed: dict[str, str] = {}
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", ASKER, str(place)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            start = time.perf_counter()
            lines = [child.stdout.readline().rstrip() for _ in range(moment.randint(1, 3))]
            pace = (time.perf_counter() - start) / len(lines)
            time.sleep(moment.uniform(0, 2 * pace))  # so that a slow machine is hit in mid-question too
            os.kill(child.pid, signal.SIGKILL)
            lines += child.stdout.read().splitlines()
        said = (line.rpartition(" ") for line in lines)
        fresh = {question: answer for question, _, answer in said if len(answer) == 16}  # the last may be cut off
        printed |= fresh
        ledgers.whole(place)
        assert ledger.spent.epsilon >= len(printed) * Decimal("0.001")
        for question, answer in fresh.items():
            assert (ledger.find(question, 1, "ana") or b"")[:8].hex() == answer
    assert all((ledger.find(question, 1, "ana") or b"")[:8].hex() == answer for question, answer in printed.items())
    pending = sum(not record.answered for record in ledger.entries())
    assert pending <= kills
    assert ledger.spent.epsilon <= (len(printed) + 2 * kills) * Decimal("0.001")
    return len(printed)


@LONG_ON_SERVER
def test_killed_a_few_times_the_ledger_has_spent_what_was_answered(ledgers: Ledgers) -> None:
    assert kill_while_asking(ledgers, kills=5) >= 5


@pytest.mark.long
def test_killed_often_the_ledger_has_spent_what_was_answered(ledgers: Ledgers) -> None:
    kills = 200 if ledgers.kind == "file" else 40
    assert kill_while_asking(ledgers, kills) >= kills


FORKED = """
import os, signal, sys
import polars as pl
import sfumato as sf
folder = sys.argv[1]
rows = pl.DataFrame({"hour": list(range(24)) * 5000})
rows.write_parquet(f"{folder}/rides.parquet")
schema = sf.Schema.from_text('[columns.hour]\\nrole = "other"\\ntype = "integer"\\nbounds = [0, 23]\\n')
for name, data in (("file", f"{folder}/rides.parquet"), ("frame", rows)):
    session = sf.Session.create(f"{folder}/{name}.ledger", data, schema, sf.Budget(epsilon=2))
    session.ask(sf.count().by("hour"), epsilon=1)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            print(name, len(session.ask(sf.count().by("hour"), epsilon="0.5").stored.cells), flush=True)
        except sf.errors.InputError as error:
            print(name, error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(session.ledger.spent, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_fork_asks_about_a_file_and_refuses_a_dataframe(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    refused = "frame the rows are held by another process; open the session in the one that asks"
    assert done.stdout.splitlines() == ["file 24", "epsilon 1.5", refused, "epsilon 1"]
