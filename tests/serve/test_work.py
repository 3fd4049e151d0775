"""Workers as processes of their own: what they are given, what they may use, and what is left when one dies."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from curator_calls import COUNT, ROWS, SCHEMA

from sfumato.client.wire import AnswerReply, AskBody
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import UnavailableError
from sfumato.serve.home import Home
from sfumato.serve.work import child, crew, jobs
from sfumato.serve.work.crew import Crew, Places

DECLARED = jobs.Declaration(
    schema=SCHEMA, epsilon="10", delta="0", delta_keys="0", accountant="pure", protect="rows", neighbours="presence",
    deadline=3.0, population=None, other_people=False, shares={"ana": "10"},
)  # fmt: skip
BODY = AskBody(sql=COUNT, epsilon="0.5")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home.open(tmp_path / "home")
    folder = made.data / "rides"
    folder.mkdir()
    (folder / "rides.csv").write_text(ROWS)
    yield made
    made.close()


@pytest.fixture
def workers(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "secret")
    made = Crew(home.path, workers=2)
    found = made.do(jobs.Register(ledger(home), str(home.data / "rides" / "rides.csv"), DECLARED), "steward")
    assert isinstance(found, jobs.Done), found
    yield made
    made.close()


def ledger(home: Home) -> str:
    return str(home.data / "rides" / "budget.ledger")


def process_of(made: Crew) -> int:
    assert made._forge is not None
    return made._forge.pid


def children_of(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [int(one) for one in listed]


def test_a_worker_rehearses_and_knows_nothing_of_the_server(home: Home, workers: Crew) -> None:
    found = workers.do(jobs.Rehearse(ledger(home), "ana", BODY), "ana")
    assert isinstance(found, jobs.Done)
    assert msgspec.json.decode(found.reply, type=AnswerReply).left.epsilon == "10"
    environment = Path(f"/proc/{process_of(workers)}/environ").read_bytes()
    assert b"secret" not in environment
    names = {line.partition(b"=")[0].decode() for line in environment.split(b"\0") if line}
    assert names <= {*crew.PASSED_ON, "TMPDIR", "OPENBLAS_NUM_THREADS", "LC_CTYPE"}
    opened = {str(Path(f"/proc/{process_of(workers)}/fd/{one}").readlink()) for one in range(3)}
    assert len([name for name in opened if name == "/dev/null"]) == 1
    assert workers.asking.running == workers.free.running == {}


def test_no_more_than_so_many_run_at_once() -> None:
    places = Places(3, of_one=2)
    with places.taken("ana"), places.taken("ana"):
        with pytest.raises(UnavailableError, match="of your questions"), places.taken("ana"):
            pass
        with places.taken("bo"), pytest.raises(UnavailableError, match="as many questions"), places.taken("bo"):
            pass
        with places.taken("bo"):
            assert places.running == {"ana": 2, "bo": 1}
    assert places.running == {}


def test_what_breaks_in_a_worker_has_no_words(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("cell 'Ana Smith'")

    monkeypatch.setattr(child, "_reply", broken)
    found = child.outcome(jobs.Ask(ledger(home), "ana", BODY), lambda _: None, "/home/")
    assert found == jobs.Refused("broken", child.BROKEN)


def scripted(words: list[jobs.Word], monkeypatch: pytest.MonkeyPatch, *, dies: bool) -> Crew:
    """Return a crew whose workers say so much and no more, and then die or only wait."""
    made, kept = Crew(Path()), list[socket.socket]()

    def worker() -> crew.Worker:
        ours, theirs = socket.socketpair()
        for word in words:
            jobs.send_frame(theirs, word)
        theirs.close() if dies else kept.append(theirs)
        return crew.Worker(ours, os.open(os.devnull, os.O_RDONLY))

    def end(self: crew.Worker) -> None:
        os.close(self.process)
        self.connection.close()
        while kept:
            kept.pop().close()

    monkeypatch.setattr(made, "_worker", worker)
    monkeypatch.setattr(crew.Worker, "end", end)
    monkeypatch.setattr(crew, "GRACE", 0.2)
    monkeypatch.setattr(crew, "OPENING", 0.2)
    return made


BEGUN = jobs.Begun(0.2)
BROKEN = jobs.Refused("broken", child.BROKEN)
OVERRUN = jobs.Refused("frozen", "the question took longer than the deadline")  # the library has frozen the ledger


@pytest.mark.parametrize(
    "words,dies",
    [([BEGUN], True), ([BEGUN], False), ([BEGUN, BROKEN], True), ([BEGUN, BEGUN], False), ([BEGUN, OVERRUN], True)],
    ids=["dies", "is silent", "breaks", "babbles", "overruns"],
)
def test_whatever_goes_wrong_after_the_clock_began_is_one_bit(
    words: list[jobs.Word], dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    made, begun = scripted(words, monkeypatch, dies=dies), time.monotonic()
    found = made.ask(jobs.Ask("", "ana", BODY), told.append)
    assert found == jobs.Refused("frozen", crew.FROZEN)
    assert time.monotonic() - begun >= 0.4
    assert told == ([] if words[1:] == [OVERRUN] else [crew.WHY])
    assert made.asking.running == {}


@pytest.mark.parametrize("dies", [True, False])
def test_what_goes_wrong_before_costs_nothing(dies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    found = scripted([], monkeypatch, dies=dies).ask(jobs.Ask("", "ana", BODY), told.append)
    assert (found, told) == (jobs.Refused("input", crew.NOT_BEGUN), [])


def test_an_outcome_that_the_library_lets_leave_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    for outcome in (jobs.Refused("budget", "too little"), jobs.Refused("input", "no such column")):
        told: list[str] = []
        made = scripted([BEGUN, outcome], monkeypatch, dies=True)
        assert (made.ask(jobs.Ask("", "ana", BODY), told.append), told) == (outcome, [])


@pytest.mark.long
def test_answers_leave_at_the_deadline_also_under_load(home: Home, workers: Crew) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def ask(number: int) -> tuple[jobs.Done | jobs.Refused, float]:
        begun = time.monotonic()
        body = AskBody(sql=COUNT, epsilon=f"0.{number + 10}")
        return workers.ask(jobs.Ask(ledger(home), "ana", body), lambda _: None), time.monotonic() - begun

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(ask, range(8)))
    assert all(isinstance(outcome, jobs.Done) for outcome, _ in found), found
    assert min(seconds for _, seconds in found) >= 3.0


@pytest.mark.long
def test_a_worker_without_memory_answers_nothing(home: Home, workers: Crew) -> None:
    workers._memory = 1 << 20
    found = workers.ask(jobs.Ask(ledger(home), "ana", BODY), lambda _: None)
    assert isinstance(found, jobs.Refused)
    assert found.sentence in {crew.FROZEN, crew.NOT_BEGUN, child.BROKEN}
    workers._memory = 1 << 30
    Ledger.open(ledger(home)).thaw()
    assert isinstance(workers.ask(jobs.Ask(ledger(home), "ana", BODY), lambda _: None), jobs.Done)


@pytest.mark.long
def test_a_worker_that_is_killed_after_the_charge_freezes_the_ledger(home: Home, workers: Crew) -> None:
    folder = home.data / "trips"
    folder.mkdir()
    (folder / "rides.csv").write_text(ROWS + "1,A\n")
    place = str(folder / "budget.ledger")
    declared = msgspec.structs.replace(DECLARED, deadline=15.0)
    assert isinstance(workers.do(jobs.Register(place, str(folder / "rides.csv"), declared), "steward"), jobs.Done)

    def kill() -> None:
        until = time.monotonic() + 60
        while not list(Ledger.open(place).entries()) and time.monotonic() < until:
            time.sleep(0.05)
        for one in children_of(process_of(workers)):
            os.kill(one, signal.SIGKILL)

    killer = Thread(target=kill)
    begun = time.monotonic()
    killer.start()
    found = workers.ask(jobs.Ask(place, "ana", BODY), Ledger.open(place).freeze)
    killer.join()
    assert found == jobs.Refused("frozen", crew.FROZEN)
    assert time.monotonic() - begun >= 15.0 + crew.GRACE
    assert Ledger.open(place).frozen == crew.WHY
    assert str(Ledger.open(place).spent) == "epsilon 0.5"
    assert workers.asking.running == {}


@pytest.mark.long
def test_workers_go_on_when_the_process_that_forks_them_was_killed(home: Home, workers: Crew) -> None:
    os.kill(process_of(workers), signal.SIGKILL)
    found = workers.do(jobs.Rehearse(ledger(home), "ana", BODY), "ana")
    assert isinstance(found, jobs.Done)


@pytest.mark.long
def test_a_hundred_workers_leave_nothing_behind(home: Home, workers: Crew) -> None:
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(100):
        assert isinstance(workers.do(jobs.Rehearse(ledger(home), "ana", BODY), "ana"), jobs.Done)
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened + 1
    until = time.monotonic() + 30
    while children_of(process_of(workers)) and time.monotonic() < until:
        time.sleep(0.01)
    assert children_of(process_of(workers)) == []
