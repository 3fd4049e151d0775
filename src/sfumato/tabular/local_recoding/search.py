"""The search: classes rebuilt a few at a time, from warm to cold, for as long as wanted; the best so far is kept.

Iterated as in Lourenço, Martin & Stützle 2003, cooled as in Kirkpatrick, Gelatt & Vecchi 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from sfumato.core.compiling import working_time
from sfumato.tabular.class_test import ClassTest
from sfumato.tabular.local_recoding.cells import Cells
from sfumato.tabular.local_recoding.open_kernel import NEIGHBOURS, Site, open_and_close
from sfumato.tabular.local_recoding.penalties import Penalties
from sfumato.tabular.local_recoding.rebuild_kernel import MOST_CLASSES, Classes, Scratch, rebuild
from sfumato.tabular.local_recoding.start import Start
from sfumato.tabular.local_recoding.strata import Strata
from sfumato.tabular.microaggregation.loss import dense_labels
from sfumato.tabular.microaggregation.search.improve import Limit

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
HOT, COLD = 0.8, 0.05  # temperatures as shares of the mean penalty of a row
FULL = 130.0  # attempts per row that a full annealing takes; with fewer, it starts cooler
CHUNK = 1_000  # attempts between two looks at the clock
REACH = 24  # near cells whose classes are rebuilt together
COSTLY = (0.06, 0.15, 0.35)  # shares of the costliest rows, whose cells have near ones among themselves
MOST_COSTLY = 30_000
LOOKS = 5  # times that the costliest rows are looked up
DEAREST_LOOK = 0.05  # share of the time that such a look may take if more are to follow
LONGEST_LOOK = 0.3  # share of the time left after which what was not looked up is left out
PER_OPENING = 7  # rows of a class for each class that is opened or closed beside one rebuilding
POOL = 128, 4_096, 16_384  # rows that are rebuilt at once: at least room for, and at most


class Bench:
    """Classes of rows on the workbench, with what their search needs."""

    def __init__(
        self,
        cells: Cells,
        penalties: Penalties,
        start: Start,
        least: int,
        test: ClassTest | None,
        seed: int,
        strata: Strata | None = None,
    ) -> None:
        self.cells, self.penalties, self.least, self.test, self.strata = cells, penalties, least, test, strata
        labels = start.labels if test is not None else without_large(start.labels, cells, least)
        self.classes = classes_of(cells, penalties, labels, least)
        room = max(3 * MOST_CLASSES * least, 0 if test is None else 2 * int(self.classes.size.max()))
        self.scratch = _scratch(max(POOL[0], min(POOL[1], room)), penalties.width)
        self.openings = 0.0 if strata is not None else least / PER_OPENING
        self.site = _site(max(POOL[0], min(POOL[2], 2 * NEIGHBOURS * max(least, room // 4))), penalties.width)
        self.state = np.array([seed * 2 + 1], dtype=np.uint64)
        self.total = float(self.classes.size @ self.classes.cost)
        every = np.arange(cells.count)
        self.layers = [] if start.near is None else [_with_itself(every, start.near)]
        self.near = np.stack(self.layers or [every[:, None].astype(np.int32)])

    @property
    def count(self) -> int:
        """The number of classes."""
        return int(np.count_nonzero(self.classes.size))

    def attempt(self, steps: int, heat: float) -> None:
        """Rebuild so many times at a temperature."""
        facts, nodes, costs, _ = self.penalties
        cells = self.cells
        self.total += rebuild(
            facts,
            nodes,
            costs,
            cells.codes,
            self.near,
            cells.rows,
            cells.first,
            self.classes,
            self.scratch,
            self.state,
            steps,
            heat,
            self.least,
            self.test,
            self.strata,
        )

    def open_and_close(self, steps: int, heat: float) -> None:
        """Open or close classes so many times at a temperature."""
        facts, nodes, costs, _ = self.penalties
        cells = self.cells
        self.total += open_and_close(
            facts,
            nodes,
            costs,
            cells.codes,
            self.near,
            cells.rows,
            cells.first,
            self.classes,
            self.site,
            self.state,
            steps,
            heat,
            self.least,
            self.test,
        )

    def look_at_costly(self, until: float | None = None) -> bool:
        """Look up the near cells of costly rows among costly rows: they do best in classes of their own.

        Return whether all of that was done by `until`, a moment by `working_time`; what was not is left out.
        """
        each = self.classes.cost[self.classes.label]
        order = np.argsort(-each, kind="stable")
        layers = list(self.layers)
        for share in COSTLY:
            rows = order[: min(MOST_COSTLY, int(share * len(order)))]
            places = np.unique(self.cells.of_row[rows])
            layer = np.full((self.cells.count, REACH), -1, dtype=np.int32)
            if len(places) > 1:
                try:
                    near = self.cells.near(self.penalties, places, REACH, until)
                except TimeoutError:
                    break
                layer[places] = _with_itself(places, near)
            layers.append(layer)
        if layers:
            self.near = np.stack(layers)
        return len(layers) == len(self.layers) + len(COSTLY)


def _with_itself(places: Int64s, near: Int32s) -> Int32s:
    """Return the near cells, each cell itself first: its rows may be in several classes."""
    return np.concatenate([places[:, None].astype(np.int32), near[:, : REACH - 1]], axis=1)


def search(bench: Bench, limit: Limit, on_progress: Callable[[float, float], None]) -> Int64s:
    """Return the class of every row in the best partition met until the limit; Ctrl-C keeps the best so far."""
    best, least = bench.classes.label.copy(), bench.total
    try:
        for share in steps_to(limit, bench):
            if bench.total < least:
                best[:], least = bench.classes.label, bench.total
            on_progress(min(share, 1.0), least)
    except KeyboardInterrupt:
        pass
    return dense_labels(best)


def steps_to(limit: Limit, bench: Bench) -> Iterator[float]:
    """Rebuild until the limit is reached, pausing after each chunk with the share of the limit that is used up."""
    mean = bench.total / len(bench.classes.label)
    begun, looked, dear = limit.share(), 0, False
    while bench.total > 0 and (share := limit.share()) < 1.0:
        if share * LOOKS >= looked and not dear:
            moment = working_time()
            in_time = bench.look_at_costly(None if limit.end is None else moment + (limit.end - moment) * LONGEST_LOOK)
            looked += 1
            dear = limit.seconds is not None and working_time() - moment > DEAREST_LOOK * limit.seconds
            dear |= not in_time
        expected = limit.done * (1.0 - begun) / max(share - begun, 1e-9)
        if limit.iterations is not None and limit.seconds is None:
            expected = float(limit.iterations)
        steps = CHUNK if limit.iterations is None else min(CHUNK, limit.iterations - limit.done)
        heat = mean * temperature(share, expected * (1 + bench.openings) / len(bench.classes.label))
        bench.attempt(steps, heat)
        bench.open_and_close(int(steps * bench.openings), heat)
        limit.done += steps
        yield limit.share()


def temperature(share: float, attempts_per_row: float) -> float:
    """Return the temperature after a share of a search of so many attempts per row in all.

    >>> temperature(0.0, 1e9), round(temperature(1.0, 1e9), 6)
    (0.8, 0.05)
    """
    warmth = min(1.0, attempts_per_row / FULL) * (1.0 - min(share, 1.0))
    return float(COLD * (HOT / COLD) ** warmth)


def without_large(labels: Int64s, cells: Cells, least: int) -> Int64s:
    """Return the classes, those of at least 2k rows split into near rows: no part costs more than the whole."""
    order = np.lexsort((cells.of_row, labels))
    sizes = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    parts = np.maximum(1, sizes // least)[labels[order]]
    part = np.minimum(place // least, parts - 1)
    starts = np.diff(labels[order], prepend=-1) != 0
    starts |= np.diff(part, prepend=0) != 0
    found = np.empty_like(labels)
    found[order] = np.cumsum(starts) - 1
    return found


def classes_of(cells: Cells, penalties: Penalties, labels: Int64s, least: int) -> Classes:
    """Return the classes of labels as chains, with room for as many as there can be of at least so many rows."""
    from sfumato.tabular.local_recoding.classes_kernel import class_penalties, fill_covers

    facts, nodes, costs, width = penalties
    rows, count = len(labels), int(labels.max()) + 1
    cost = np.zeros(rows)
    cost[:count] = class_penalties(facts, nodes, costs, cells.codes, cells.of_row, labels, count, width)
    most = max(count, rows // least) + 1  # one is opened before others are closed
    covers, sizes = np.zeros((most, width), dtype=np.int64), np.zeros(rows, dtype=np.int64)
    fill_covers(facts, nodes, cells.codes, cells.of_row, labels, covers, sizes, np.zeros(rows, dtype=np.int64))
    order = np.argsort(labels, kind="stable")
    after = np.full(rows, -1, dtype=np.int64)
    same = labels[order[1:]] == labels[order[:-1]]
    after[order[:-1][same]] = order[1:][same]
    head = np.full(rows, -1, dtype=np.int64)
    head[labels[order[::-1]]] = order[::-1]
    unused = np.zeros(rows + 1, dtype=np.int64)
    unused[: rows - count] = np.arange(rows - 1, count - 1, -1)
    unused[-1] = rows - count
    return Classes(cells.of_row, labels.copy(), head, after, sizes, cost, unused, covers)


def _scratch(rows: int, width: int) -> Scratch:
    numbers = [np.zeros(rows, dtype=np.int64) for _ in range(6)]
    left, cells, label, tags, sizes, taken = numbers
    return Scratch(
        taken,
        left,
        cells,
        label,
        np.zeros((rows, width), np.int64),
        sizes,
        np.zeros(rows),
        tags,
        np.zeros(rows, np.int64),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
    )


def _site(rows: int, width: int) -> Site:
    near = NEIGHBOURS + 1
    groups, sizes, gives = (np.zeros(near, dtype=np.int64) for _ in range(3))
    gone, lost, grown = (np.zeros(near, dtype=np.bool_) for _ in range(3))
    places = [np.zeros(rows, dtype=np.int64) for _ in range(5)]
    covers = np.zeros((near + 1, width), dtype=np.int64)
    return Site(groups, sizes, np.zeros(near), covers, gone, lost, grown, gives, *places)
