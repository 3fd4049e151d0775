"""Polish a partition: no single move of a few kinds between near groups lowers its error after.

Moves after Späth, "Cluster analysis algorithms" (1980) and Glover, "Ejection chains" (1996);
dissolving and founding groups are ours.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.algorithms.kanonymeans_kernel import split_large
from sfumato.tabular.microaggregation.kdtree.kernel import build
from sfumato.tabular.microaggregation.loss import Labels, Records
from sfumato.tabular.microaggregation.search.chain_kernel import chain_sweep
from sfumato.tabular.microaggregation.search.journal import Journal, open_journal
from sfumato.tabular.microaggregation.search.journal_kernel import forget
from sfumato.tabular.microaggregation.search.neighbours import near_records
from sfumato.tabular.microaggregation.search.partition import Partition, open_partition
from sfumato.tabular.microaggregation.search.partition_kernel import fill
from sfumato.tabular.microaggregation.search.polish_kernel import settle
from sfumato.tabular.microaggregation.search.regroup_kernel import dissolve_sweep, found_sweep

# Candidates are the groups of this many nearest records.
REACH = 16
# Gains below these shares of the mean error per record and of the largest squared norm are
# rounding: chasing them among equal records would not end.
TRIFLE, ROUNDING = 1e-9, 1e-14
# Visits between two looks at the clock or the keyboard: well under a second.
CHUNK = 100_000
SWEEP = 5_000
# More records than this do not stay in a processor's cache, so that near ones should lie side by side.
CROWD = 20_000


class Bench(NamedTuple):
    """A partition on the workbench, with what its search needs."""

    partition: Partition
    journal: Journal
    k: int
    trifle: float


def open_bench(x: Records, k: int, labels: Labels) -> Bench:
    """Return the groups of ``labels``, those of 2k or more split, ready for a search."""
    if np.bincount(labels).min() < k:
        message = f"Every group to improve must have at least k = {k} records."
        raise ParameterError(message)
    partition = open_partition(x, k, near_records(x, min(REACH, len(x) - 1)))
    fill(partition, split_large(x, labels, k))
    mean_error = float(partition.error.sum()) / len(x)
    trifle = TRIFLE * mean_error + ROUNDING * float(np.square(x).sum(axis=1).max())
    return Bench(partition, open_journal(partition, k), k, trifle)


class Layout(NamedTuple):
    """Records and labels in the order a search works on them; ``order`` says where each record was."""

    x: Records
    labels: Labels
    order: Labels

    @classmethod
    def of(cls, x: Records, labels: Labels) -> "Layout":
        """Return many records with near ones together and groups numbered alike, few records as they are."""
        members = np.arange(len(x))
        if len(x) <= CROWD:
            return cls(x, labels, members)
        order = np.argsort(build(x, members).slot)
        return cls(np.ascontiguousarray(x[order]), dense(labels[order]), order)

    def restored(self, labels: Labels) -> Labels:
        """Return labels of the search in the order of the records given."""
        result = np.empty_like(labels)
        result[self.order] = labels
        return dense(result)


def settling(bench: Bench) -> Iterator[None]:
    """Relocate and swap until nothing gains, pausing after each chunk."""
    while bench.journal.span[1] > 0:
        settle(bench.partition, bench.journal, bench.k, CHUNK, bench.trifle)
        forget(bench.journal)
        yield


Sweep = Callable[[Partition, Journal, int, int, int, float], int]


def polishing(bench: Bench) -> Iterator[None]:
    """Polish until no kind of move gains, pausing after each chunk."""
    yield from settling(bench)
    p, journal, k, trifle = bench
    sweeps: list[tuple[Sweep, int]] = [
        (dissolve_sweep, len(p.size)),
        (found_sweep, len(p.label)),
        (chain_sweep, len(p.label)),
    ]
    moves = 1
    while moves > 0:
        moves = 0
        for sweep, stop in sweeps:
            for start in range(0, stop, SWEEP):
                moves += sweep(p, journal, k, start, min(start + SWEEP, stop), trifle)
                forget(journal)
                yield


def dense(labels: Labels) -> Labels:
    """Return the labels renumbered from 0 without gaps, in order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def polish(x: Records, k: int, labels: Labels) -> Labels:
    """Return labels of no higher error, with groups of k to 2k-1 records."""
    if len(x) < 2 * k:
        return np.zeros(len(x), np.int64)
    layout = Layout.of(x, labels)
    bench = open_bench(layout.x, k, layout.labels)
    for _ in polishing(bench):
        pass
    return layout.restored(bench.partition.label)
