"""Lower the error of any partition by polishing and iterated local search, for as long as wanted.

Lourenço, Martin & Stützle, "Iterated local search" (2003); acceptance after Kirkpatrick,
Gelatt & Vecchi, "Optimization by simulated annealing" (1983).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.loss import Labels, Records
from sfumato.tabular.microaggregation.search.annealing_kernel import search
from sfumato.tabular.microaggregation.search.partition_kernel import total_error
from sfumato.tabular.microaggregation.search.polish import Bench, Layout, open_bench, polishing

# Temperatures as shares of the mean error of a group, cooled geometrically.
HOT, COLD = 0.1, 0.001
# Kicks per group that a full annealing takes; with fewer, it starts cooler.
FULL = 100.0
# Kicks between two looks at the clock, few enough for large groups to answer at once.
CHUNK = 200


@dataclass(frozen=True)
class Progress:
    """How far a search is, as a share of its limit, and the loss it has reached, in per cent."""

    share: float
    loss: float


@dataclass
class Limit:
    """When a search ends: after a time, a number of kicks, or whichever comes first."""

    seconds: float | None
    iterations: int | None
    begun: float
    done: int = 0

    def share(self) -> float:
        """Return how much of the limit is used up, from 0 to 1 or above."""
        spent = 0.0
        if self.seconds is not None:
            spent = (time.monotonic() - self.begun) / max(self.seconds, 1e-9)
        if self.iterations is not None:
            spent = max(spent, self.done / max(self.iterations, 1))
        return spent

    def next_chunk(self) -> int:
        """Return how many kicks to make before looking again."""
        return CHUNK if self.iterations is None else min(CHUNK, self.iterations - self.done)


def temperature(share: float, kicks_per_group: float) -> float:
    """Return the temperature after a share of a search of so many kicks per group in all."""
    warmth = min(1.0, kicks_per_group / FULL) * (1.0 - min(share, 1.0))
    return float(COLD * (HOT / COLD) ** warmth)


def searching(bench: Bench, limit: Limit, seed: int) -> Iterator[None]:
    """Polish and then kick until the limit is reached, pausing after each chunk."""
    for _ in polishing(bench):
        yield
        if limit.share() >= 1.0:
            return
    p, journal, k, trifle = bench
    state = np.array([seed], np.uint64)
    groups = int(np.count_nonzero(p.size))
    scale = total_error(p) / groups
    polished = limit.share()
    while (share := limit.share()) < 1.0:
        # Time gives no number of kicks beforehand: it follows from the pace so far.
        expected = limit.done * (1.0 - polished) / max(share - polished, 1e-9)
        if limit.iterations is not None and limit.seconds is None:
            expected = float(limit.iterations)
        heat = scale * temperature(share, expected / groups)
        steps = limit.next_chunk()
        search(p, journal, k, state, steps, heat, trifle)
        limit.done += steps
        yield


def improve(
    x: Records,
    k: int,
    labels: Labels,
    *,
    seconds: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Labels:
    """Return labels of no higher error, with groups of k to 2k-1 records.

    The same seed and ``iterations`` give the same labels. Ctrl-C keeps the best so far.
    """
    if seconds is None and iterations is None:
        message = "A search needs a limit: seconds, iterations or both."
        raise ParameterError(message)
    limit = Limit(seconds, iterations, time.monotonic())
    if len(x) < 2 * k:
        return np.zeros(len(x), np.int64)
    layout = Layout.of(x, labels)
    bench = open_bench(layout.x, k, layout.labels)
    best, least = bench.partition.label.copy(), total_error(bench.partition)
    spread = float(np.square(x - x.mean(axis=0)).sum())
    try:
        for _ in searching(bench, limit, seed):
            error = total_error(bench.partition)
            if error < least:
                least = error
                best[:] = bench.partition.label
            if on_progress is not None:
                loss = 100.0 * least / spread if spread > 0.0 else 0.0
                on_progress(Progress(min(limit.share(), 1.0), loss))
    except KeyboardInterrupt:
        pass
    return layout.restored(best)
