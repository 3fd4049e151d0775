"""Lower the error of any groups by polishing and iterated local search, for as long as wanted.

Lourenço, Martin & Stützle, "Iterated local search" (2003); acceptance after Kirkpatrick,
Gelatt & Vecchi, "Optimization by simulated annealing" (1983).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sfumato.core.compiling import working_time
from sfumato.core.parameters import Optional, Whole
from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.algorithms.mdav import MDAV
from sfumato.tabular.microaggregation.base import SEARCH_OPTIONS, SEARCH_RULES, Microaggregator, refuse_endless
from sfumato.tabular.microaggregation.loss import Labels, Records

if TYPE_CHECKING:
    from sfumato.tabular.microaggregation.search.polish import Bench

# Temperatures as shares of the mean error of a group, cooled geometrically.
HOT, COLD = 0.1, 0.001
# Kicks per group that a full annealing takes; with fewer, it starts cooler.
FULL = 100.0
# Kicks between two looks at the clock, few enough for large groups to answer at once.
CHUNK = 200
# Where a search starts unless another algorithm is given.
START = MDAV()


@dataclass(frozen=True)
class SearchProgress:
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

    @property
    def end(self) -> float | None:
        """The moment at which the time is over, by `working_time`; None where only kicks count."""
        return None if self.seconds is None else self.begun + self.seconds

    def share(self) -> float:
        """Return how much of the limit is used up, from 0 to 1 or above."""
        spent = 0.0
        if self.seconds is not None:
            spent = (working_time() - self.begun) / max(self.seconds, 1e-9)
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


def search_steps(bench: Bench, limit: Limit, seed: int) -> Iterator[None]:
    """Polish and then kick until the limit is reached, pausing after each chunk."""
    from sfumato.tabular.microaggregation.search.annealing_kernel import search
    from sfumato.tabular.microaggregation.search.grouping_kernel import total_error
    from sfumato.tabular.microaggregation.search.polish import polish_steps

    for _ in polish_steps(bench):
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


def improve(  # noqa: PLR0913  # every limit of a search
    x: Records,
    k: int,
    labels: Labels,
    *,
    seconds: float | None = None,
    iterations: int | None = None,
    seed: int = 0,
    begun: float | None = None,
    on_progress: Callable[[SearchProgress], None] | None = None,
) -> Labels:
    """Return labels of no higher error, with groups of k to 2k-1 records.

    The same seed and ``iterations`` give the same labels. Ctrl-C keeps the best so far. The seconds count from
    ``begun`` (by `working_time`), so that they can cover what went before.
    """
    from sfumato.tabular.microaggregation.search.grouping_kernel import total_error
    from sfumato.tabular.microaggregation.search.polish import REACH, Layout, near_records, open_bench, without_large

    if seconds is None and iterations is None:
        message = "A search needs a limit: seconds, iterations or both."
        raise ParameterError(message)
    limit = Limit(seconds, iterations, working_time() if begun is None else begun)
    if len(x) < 2 * k:
        return np.zeros(len(x), np.int64)
    if limit.share() >= 1.0:
        return without_large(x, labels, k)
    layout = Layout.of(x, labels)
    try:
        near = near_records(layout.x, min(REACH, len(x) - 1), limit.end)
    except TimeoutError:
        return without_large(x, labels, k)
    bench = open_bench(layout.x, k, layout.labels, near)
    best, least = bench.grouping.label.copy(), total_error(bench.grouping)
    spread = float(np.square(x - x.mean(axis=0)).sum())
    try:
        for _ in search_steps(bench, limit, seed):
            error = total_error(bench.grouping)
            if error < least:
                least = error
                best[:] = bench.grouping.label
            if on_progress is not None:
                loss = 100.0 * least / spread if spread > 0.0 else 0.0
                on_progress(SearchProgress(min(limit.share(), 1.0), loss))
    except KeyboardInterrupt:
        pass
    return layout.in_given_order(best)


@dataclass(frozen=True)
class AnyMicroaggregator:
    """A rule for parameters: another microaggregator.

    >>> AnyMicroaggregator().accepts(MDAV()), AnyMicroaggregator().accepts("mdav")
    (True, False)
    """

    wanted: str = "a microaggregator, for example MDAV()"

    def accepts(self, value: object) -> bool:
        """Return whether the value finds groups."""
        return isinstance(value, Microaggregator)

    def bad_values(self) -> list[object]:
        """Return values that must be refused."""
        return ["mdav", MDAV, None]


@dataclass(frozen=True)
class Improve(Microaggregator):
    """The lowest loss: any start polished and then searched for as long as you give it (iterated local search).

    Stops after `seconds` (the start included, compiling not; where they are too few for the start, the rest of it is
    grouped quickly and nothing is searched), after `iterations`, or at whichever comes first; with
    `iterations` alone the seed reproduces the result. Ctrl-C keeps the best so far.

    >>> Improve(seconds=2).algorithm
    'best'
    """

    start: Microaggregator = START
    seconds: float | None = 60.0
    iterations: int | None = None
    seed: int = 0
    keep_order: bool = False

    RULES: ClassVar = {"start": AnyMicroaggregator(), "iterations": Optional(Whole(1)), **SEARCH_RULES}
    OPTIONS: ClassVar = SEARCH_OPTIONS
    algorithm: ClassVar = "best"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_endless(self, "iterations", self.iterations, self.seconds)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(iterations=50, seconds=None),)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "start": self.start.algorithm}

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.search import polish  # noqa: F401  # loading Numba is no search

        begun = working_time()
        tell(0.0, f"by {self.start.algorithm}")
        until = None if self.seconds is None else begun + self.seconds
        return improve(
            points,
            k,
            self.start.groups_until(points, k, until),
            seconds=self.seconds,
            iterations=self.iterations,
            seed=self.seed,
            begun=begun,
            on_progress=lambda progress: tell(progress.share, f"loss {progress.loss:.3f} %"),
        )
