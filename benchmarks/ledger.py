"""The ledger: what a question costs on the disk, and whether the ten-thousandth costs as much as the first."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

from measure import Part, Row

from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise.cost import Budget, Cost

ENTRIES = 10_000
EDGE = 500
COST = Cost(epsilon="0.001")
ANSWER = b'{"value": 17, "scale": 1000}' * 30  # about a grouped answer of 24 hours
PLAIN_WRITES = 200


def ask(ledger: Ledger, number: int) -> float:
    """Return the seconds that one new question takes: looked up, charged, settled."""
    question = f"count where station = {number} by hour; epsilon 0.001; unit row"
    start = time.perf_counter()
    if ledger.find(question, 1, "ana") is None:
        ledger.settle(ledger.debit(question, 1, "ana", COST), ANSWER)
    return time.perf_counter() - start


def flushed_write(folder: Path) -> float:
    """Return the median seconds of one plain write that is flushed to the disk, which no durable ledger can beat."""
    times = []
    with (folder / "plain").open("wb", buffering=0) as file:
        for _ in range(PLAIN_WRITES):
            start = time.perf_counter()
            file.write(ANSWER)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def questions(entries: int = ENTRIES, edge: int = EDGE) -> list[Row]:
    """Return the last questions against the first, after as many entries again, and one question against a flush."""
    with tempfile.TemporaryDirectory() as place:
        ledger = Ledger.create(Path(place) / "rides.ledger", Budget(epsilon=1000), {"data": "rides"})
        times = [ask(ledger, number) for number in range(2 * entries)]
        plain = flushed_write(Path(place))
    first, last = statistics.median(times[:edge]), statistics.median(times[-edge:])
    whole = statistics.median(times[entries:])
    return [
        Row(
            f"ledger, {entries:,} questions over {entries:,} entries: last {edge} against first {edge}",
            f"{last * 1e3:.2f} ms a question",
            f"{first * 1e3:.2f} ms a question",
            last / first,
            1.5,
            at_most=True,
        ),
        Row(
            "ledger, one question (look up, debit, settle) against one flushed write",
            f"{whole * 1e3:.2f} ms",
            f"plain write and fsync, {plain * 1e3:.2f} ms",
            whole / plain,
            30,
            at_most=True,
        ),
    ]


PARTS = (Part(f"the ledger, {2 * ENTRIES:,} questions", questions),)
