"""A ledger whose server is killed, rolled back or only a standby: what was answered is spent, and a loss is seen."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from ledger_places import Schemas
from servers import PostgresServer

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.server import close_idle
from sfumato.dp.ledger.verify import verify
from sfumato.errors import InputError, UnavailableError
from sfumato.promise.cost import Budget, Cost
from sfumato.release.card import Card, Guarantee, Released

pytestmark = pytest.mark.long
KILLS, ASKERS = 30, 3
PRICE = Decimal("0.001")
ASKER = """
import os, sys, time
from sfumato.promise.cost import Cost
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import UnavailableError
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
number, tries = 0, 0
while True:
    question = f"{os.getpid()} {number}"
    number += 1
    try:
        tries += 1
        answer = ledger.settle(ledger.debit(question, 1, "ana", Cost("0.001")), os.urandom(2000))
    except UnavailableError as error:
        print("lost", flush=True)
        time.sleep(0.02)
        continue
    print(question, answer[:8].hex(), flush=True)
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    made = PostgresServer(fsync=True)
    made.start()
    yield made
    close_idle()
    made.stop()


def place_on(server: PostgresServer) -> Schemas:
    return Schemas(f"postgresql://sfumato@127.0.0.1:{server.port}/postgres", fsync=True)


class Askers:
    """Processes that ask without end; what they print goes to files, which stay when they are killed."""

    def __init__(self, place: str, folder: Path) -> None:
        self._logs = [folder / f"{number}.log" for number in range(ASKERS)]
        self._running = []
        for log in self._logs:
            with log.open("w") as file:
                self._running.append(subprocess.Popen([sys.executable, "-c", ASKER, place], stdout=file))

        until = time.monotonic() + 120
        while self.lines().count("ready") < ASKERS:
            assert time.monotonic() < until, "the askers do not begin"
            time.sleep(0.05)

    def lines(self) -> list[str]:
        return [line for log in self._logs for line in log.read_text().splitlines()]

    def answered(self) -> dict[str, str]:
        """What was answered, by its question; a last line may be cut off."""
        said = (line.rpartition(" ") for line in self.lines())
        return {question: answer for question, _, answer in said if question and len(answer) == 16}

    def wait(self, least: int) -> None:
        """Wait until so many answers were given, which they are only as long as all goes on."""
        until = time.monotonic() + 120
        while len(self.answered()) < least:
            assert time.monotonic() < until, self.lines()[-5:]
            assert all(asker.poll() is None for asker in self._running), "an asker gave up"
            time.sleep(0.01)

    def end(self) -> None:
        for asker in self._running:
            asker.kill()
            asker.wait()


def test_however_often_the_server_is_killed_what_was_answered_is_spent(server: PostgresServer, tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - when to kill is no secret
    schemas = place_on(server)
    ledger = Ledger.create(schemas.at(), Budget(10**6), {})
    askers = Askers(schemas.at(), tmp_path)
    try:
        for _ in range(KILLS):
            askers.wait(len(askers.answered()) + chance.randint(3, 12))
            time.sleep(chance.uniform(0, 0.02))
            server.kill()
            server.start()
            known = askers.answered()  # before the total is read
            assert ledger.spent.epsilon >= len(known) * PRICE
        askers.wait(len(askers.answered()) + 5)
    finally:
        askers.end()
    answered, lost = askers.answered(), askers.lines().count("lost")
    assert len(answered) >= 4 * KILLS
    assert lost >= KILLS
    schemas.whole(schemas.at())
    assert verify(schemas.at()) == []
    assert all((ledger.find(question, 1, "ana") or b"")[:8].hex() == answer for question, answer in answered.items())
    assert ledger.spent.epsilon >= len(answered) * PRICE
    assert ledger.spent.epsilon <= (len(answered) + lost + ASKERS) * PRICE


def copy_of(server: PostgresServer, name: str) -> Path:
    """Return a copy of the server's data, with the same owner; the server must stand still."""
    copy = server.folder / name
    subprocess.run(["cp", "-a", str(server.folder / "data"), str(copy)], check=True)
    return copy


def card_of(ledger: Ledger, path: Path) -> Path:
    promise = Guarantee(model="differential privacy", parameters={"epsilon": 0.1}, unit="row")
    released = Released(rows=0, columns=[])
    card = Card(version="0", door="query", algorithm="count", guarantee=promise, assumptions=[], released=released)
    path.write_text(card.for_ledger(ledger.head.text).to_json(), encoding="utf-8")
    return path


def test_a_server_that_comes_back_with_older_data_is_found_out(server: PostgresServer, tmp_path: Path) -> None:
    """A standby that was behind takes over, or a backup is restored: both look like this."""
    place = place_on(server).at()
    ledger = Ledger.create(place, Budget(1), {})
    ledger.settle(ledger.debit("first", 1, "ana", Cost("0.1")), b"17")
    early = card_of(ledger, tmp_path / "early.card.json")
    server.kill()
    older = copy_of(server, "older")
    server.start()
    ledger.settle(ledger.debit("second", 1, "ana", Cost("0.1")), b"18")
    late = card_of(ledger, tmp_path / "late.card.json")
    server.kill()
    shutil.rmtree(server.folder / "data")
    older.rename(server.folder / "data")
    server.start()
    with pytest.raises(InputError, match="it was rolled back or is damaged"):
        ledger.debit("third", 1, "ana", Cost("0.1"))
    assert verify(place) == []  # nothing within the database can tell
    assert verify(place, [early]) == []
    (found,) = verify(place, [early, late])
    assert "it was cut or rolled back" in found


def test_a_standby_takes_no_charges(server: PostgresServer) -> None:
    place = place_on(server).at()
    ledger = Ledger.create(place, Budget(1), {})
    server._end(signal.SIGINT)
    (server.folder / "data" / "standby.signal").touch()
    server.start()
    for use in (lambda: Ledger.open(place), lambda: ledger.debit("q", 1, "ana", Cost("0.1"))):
        with pytest.raises(InputError, match="the server is a standby, which takes no charges"):
            use()
    server.kill()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        Ledger.open(place)
