"""The ledger in PostgreSQL: debits a second from several processes, against a bare conditional UPDATE of one row."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from measure import NotMeasuredError, Part, Row

from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise.cost import Budget, Cost

if TYPE_CHECKING:
    from servers import PostgresServer

GOAL = 200  # debits a second
PROCESSES = (4, 8)
SECONDS = 10.0
COST = Cost(epsilon="0.001")
SERVERS = Path(__file__).parents[1] / "tests" / "stream" / "connectors"
BARE = "UPDATE bare SET spent = spent + 0.001 WHERE id = 1 AND spent + 0.001 <= total"


@contextmanager
def server() -> Iterator[PostgresServer]:
    """Give a server of our own, which flushes what it commits."""
    import pytest

    sys.path.insert(0, str(SERVERS))
    from servers import PostgresServer

    try:
        made = PostgresServer(fsync=True)
    except pytest.skip.Exception as absent:
        raise NotMeasuredError(str(absent)) from None
    made.start()
    try:
        yield made
    finally:
        made.stop()


def debits(place: str, number: int, seconds: float) -> int:
    """Return how many new questions one process has paid for in some seconds."""
    ledger, done = Ledger.open(place), 0
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        ledger.debit(f"count where station = {done} by hour; epsilon 0.001; asker {number}", 1, "ana", COST)
        done += 1
    return done


def updates(address: str, number: int, seconds: float) -> int:
    """Return how often one process has raised a total in a bare table in some seconds."""
    import psycopg

    del number
    done = 0
    with psycopg.connect(address, autocommit=True) as connection:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            done += connection.execute(BARE).rowcount
    return done


def rate(work: Callable[[str, int, float], int], place: str, processes: int) -> float:
    """Return how often a second something is done by processes that begin together."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, initializer=together.wait, initargs=(120,)) as pool:
        tasks = [pool.submit(work, place, number, SECONDS) for number in range(processes)]
        return sum(task.result() for task in tasks) / SECONDS


def measured() -> Iterable[Row]:
    """Yield the rows, from one server that holds both."""
    import psycopg

    with server() as found:
        address = f"postgresql://sfumato@127.0.0.1:{found.port}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (id int PRIMARY KEY, spent numeric NOT NULL, total numeric NOT NULL)")
            connection.execute("INSERT INTO bare VALUES (1, 0, 1000000)")
        for processes in PROCESSES:
            place = f"{address}?ledger=bench{processes}"
            Ledger.create(place, Budget(10**6), {"table": "rides"})
            bare, ours = rate(updates, address, processes), rate(debits, place, processes)
            name = f"ledger in PostgreSQL, debits a second from {processes} processes"
            said = f"{ours:.0f} a second"
            yield Row(
                f"{name} against a bare UPDATE",
                said,
                f"bare UPDATE, {bare:.0f} a second",
                ours / bare,
                None,
                at_most=False,
            )
            yield Row(name, said, f"goal, {GOAL} a second", ours / GOAL, 1, at_most=False)


PARTS = (Part("the ledger in PostgreSQL, debits of several processes", measured),)
