"""Polish groups: no single move of a few kinds between near groups lowers their error after.

Moves after Späth, "Cluster analysis algorithms" (1980) and Glover, "Ejection chains" (1996);
dissolving and founding groups are ours.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.core.progress import counting
from sfumato.core.threads import most_threads
from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.kdtree.codes import coded
from sfumato.tabular.microaggregation.kdtree.kernel import build, build_coded, fill_nearest
from sfumato.tabular.microaggregation.loss import Labels, Records, dense_labels
from sfumato.tabular.microaggregation.search.grouping_kernel import Grouping, fill, open_grouping
from sfumato.tabular.microaggregation.search.journal_kernel import SearchJournal, forget, open_journal
from sfumato.tabular.microaggregation.search.polish_kernel import chain_sweep, dissolve_sweep, found_sweep, settle

# Candidates are the groups of this many nearest records.
REACH = 16
# Gains below these shares of the mean error per record and of the largest squared norm are
# rounding: chasing them among equal records would not end.
TRIFLE, ROUNDING = 1e-9, 1e-14
# Visits between two looks at the clock or the keyboard: well under a tenth of a second.
CHUNK = 20_000
SWEEP = 1_000
# Records whose neighbours one core looks for between two looks at the clock.
ROWS = 250
# Columns up to which the numbers above hold; with more, as categories have, there are more looks.
NARROW = 12
# More records than this do not stay in a processor's cache, so that near ones should lie side by side.
CROWD = 20_000


Near = npt.NDArray[np.int32]


class Bench(NamedTuple):
    """Groups on the workbench, with what their search needs."""

    grouping: Grouping
    journal: SearchJournal
    k: int
    trifle: float


def near_records(x: Records, reach: int, until: float | None = None) -> Near:
    """Return the ``reach`` records nearest to each record, itself left out, nearest first.

    Each record's search stands alone, so all cores share them and the result is the same. If that is not done at the
    moment `until` (by `working_time`), it raises a TimeoutError.

    >>> near_records(np.array([[0.0], [1.0], [5.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    tree = build_coded(coded(x), np.arange(len(x)))
    result = np.empty((len(x), reach), np.int32)

    def look(start: int) -> bool:
        if until is not None and working_time() >= until:
            return False
        fill_nearest(tree, x, start, min(start + ROWS, len(x)), result)
        done[0] += ROWS
        return True

    with counting(len(x), "records with their neighbours") as done, ThreadPoolExecutor(most_threads()) as cores:
        found = list(cores.map(look, range(0, len(x), ROWS)))
    if not all(found):
        raise TimeoutError
    return result


def open_bench(x: Records, k: int, labels: Labels, near: Near | None = None) -> Bench:
    """Return the groups of ``labels``, those of 2k or more split, ready for a search."""
    sizes = np.bincount(labels)
    if sizes.min() < k:
        message = f"Every group to improve must have at least k = {k} records."
        raise ParameterError(message)
    grouping = open_grouping(x, k, near_records(x, min(REACH, len(x) - 1)) if near is None else near)
    fill(grouping, without_large(x, labels, k))
    mean_error = float(grouping.error.sum()) / len(x)
    trifle = TRIFLE * mean_error + ROUNDING * float(np.square(x).sum(axis=1).max())
    return Bench(grouping, open_journal(grouping, k), k, trifle)


def without_large(x: Records, labels: Labels, k: int) -> Labels:
    """Return labels with groups of 2k or more split; most starts have none, and need not wait for the compiler."""
    if np.bincount(labels).max() < 2 * k:
        return labels
    from sfumato.tabular.microaggregation.algorithms.kanonymeans_kernel import split_large

    return split_large(x, labels, k)


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
        return cls(np.ascontiguousarray(x[order]), dense_labels(labels[order]), order)

    def in_given_order(self, labels: Labels) -> Labels:
        """Return labels of the search in the order of the records given."""
        result = np.empty_like(labels)
        result[self.order] = labels
        return dense_labels(result)


def settle_steps(bench: Bench) -> Iterator[None]:
    """Relocate and swap until nothing gains, pausing after each chunk."""
    chunk = _fewer(CHUNK, bench)
    while bench.journal.span[1] > 0:
        settle(bench.grouping, bench.journal, bench.k, chunk, bench.trifle)
        forget(bench.journal)
        yield


def _fewer(steps: int, bench: Bench) -> int:
    """Return how many steps to take between two looks at the clock, fewer where records have many columns."""
    return max(1, steps * NARROW // max(NARROW, int(bench.grouping.x.shape[1])))


Sweep = Callable[[Grouping, SearchJournal, int, int, int, float], int]


def polish_steps(bench: Bench) -> Iterator[None]:
    """Polish until no kind of move gains, pausing after each chunk."""
    yield from settle_steps(bench)
    p, journal, k, trifle = bench
    sweeps: list[tuple[Sweep, int]] = [
        (dissolve_sweep, len(p.size)),
        (found_sweep, len(p.label)),
        (chain_sweep, len(p.label)),
    ]
    moves, width = 1, _fewer(SWEEP, bench)
    while moves > 0:
        moves = 0
        for sweep, stop in sweeps:
            for start in range(0, stop, width):
                moves += sweep(p, journal, k, start, min(start + width, stop), trifle)
                forget(journal)
                yield


def polish(x: Records, k: int, labels: Labels) -> Labels:
    """Return labels of no higher error, with groups of k to 2k-1 records."""
    if len(x) < 2 * k:
        return np.zeros(len(x), np.int64)
    layout = Layout.of(x, labels)
    bench = open_bench(layout.x, k, layout.labels)
    for _ in polish_steps(bench):
        pass
    return layout.in_given_order(bench.grouping.label)
