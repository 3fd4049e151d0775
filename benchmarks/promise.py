"""Promises: what deriving one costs, against the millisecond that nobody notices."""

from __future__ import annotations

import statistics
import time

from measure import Part, Row

from sfumato.promise import (
    CapPersons,
    Clamp,
    Cost,
    Edges,
    Excess,
    Input,
    Metric,
    Neighbours,
    PerRow,
    ProtectPersons,
    Windows,
    derive,
)
from sfumato.promise.chain import Step

TIMES = 2000
MILLISECOND = 1e-3


def derived() -> float:
    """Return the seconds of one promise: a capped stream, derived and priced for a ledger."""
    drives = Metric(ProtectPersons("drive"), Neighbours.VALUE, Input.RECORDS)
    start = time.perf_counter()
    steps: list[Step] = [CapPersons("drive", 30, excess=Excess.REPLACED), Clamp(), Windows(Edges.POSITION)]
    promise = derive(drives, steps, PerRow(Cost(epsilon="0.1"), Neighbours.VALUE))
    promise.cost_for(ProtectPersons("drive"), Neighbours.VALUE)
    return time.perf_counter() - start


def promises(times: int = TIMES) -> list[Row]:
    """Return the median time of deriving and pricing a promise against a millisecond."""
    taken = statistics.median(derived() for _ in range(times))
    return [
        Row(
            "promise of a capped stream, derived and priced, against 1 ms",
            f"{taken * 1e3:.3f} ms",
            "1 ms",
            taken / MILLISECOND,
            1,
            at_most=True,
        )
    ]


PARTS = (Part("deriving promises", promises),)
