"""How the loss of a randomised algorithm falls with the work put in (Stoldt, slides 2019: losses against passes).

A pass is one κ-means with merge and split; time is processor time of the one thread, which neighbours on the machine
lengthen by less than the clock's time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from sfumato.experiments.data import Data
from sfumato.experiments.declared import Row
from sfumato.experiments.microaggregation.algorithms import EVOLVED, PLAIN, grouped
from sfumato.experiments.microaggregation.sets import records
from sfumato.tabular.microaggregation.loss import Records, information_loss

MARKS = (1, 2, 5, 10, 20, 50, 100)  # passes after which a repetition is looked at
GENERATIONS = 8  # with 20 at first and 15 children each: 140 passes
KICKS = 100_000
APART = 1000  # between the first seeds of two repetitions, so that no pass is made twice


def course(data: Data, *, dataset: str, k: int, algorithm: str, seed: int) -> Iterator[Row]:
    """Give the lowest loss so far of one repetition after a few numbers of steps (passes, or kicks of the search)."""
    x = records(data, dataset)
    warmed = x[: 4 * k].copy()
    grouped(algorithm, warmed, k, seed)  # so that loading compiled kernels is not counted
    followed = {PLAIN: _restarted, EVOLVED: _evolved}.get(algorithm, _descended)
    yield from followed(x, k, seed)


def _restarted(x: Records, k: int, seed: int) -> Iterator[Row]:
    least, begun = np.inf, time.process_time()
    for step in range(1, MARKS[-1] + 1):
        least = min(least, information_loss(x, grouped(PLAIN, x, k, APART * seed + step)))
        if step in MARKS:
            yield {"step": step, "seconds": time.process_time() - begun, "loss": least}


def _evolved(x: Records, k: int, seed: int) -> Iterator[Row]:
    from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import Breeding, kanonymeans_star

    breeding, spread = Breeding(), float(np.square(x).sum())
    births = breeding.population - breeding.survivors
    rows: list[Row] = []
    begun = time.process_time()

    def note(generation: int, error: float) -> None:
        passes = breeding.population + births * generation
        rows.append({"step": passes, "seconds": time.process_time() - begun, "loss": 100 * error / spread})

    kanonymeans_star(x, k, breeding=breeding, generations=GENERATIONS, seed=seed, on_generation=note)
    yield from rows


def _descended(x: Records, k: int, seed: int) -> Iterator[Row]:
    """Follow polishing and search from MDAV: after the first kicks, and each time their number has doubled since."""
    from sfumato.tabular.microaggregation.search.improve import SearchProgress, improve

    begun = time.process_time()
    start = grouped("MDAV", x, k, seed)
    rows: list[Row] = [{"step": 0, "seconds": time.process_time() - begun, "loss": information_loss(x, start)}]
    next_look = 1

    def note(progress: SearchProgress) -> None:
        nonlocal next_look
        kicks = round(progress.share * KICKS)
        if kicks >= next_look:
            rows.append({"step": kicks, "seconds": time.process_time() - begun, "loss": progress.loss})
            next_look = 2 * kicks

    improve(x, k, start, iterations=KICKS, seed=seed, on_progress=note)
    yield from rows
