"""kAnonyMeans: k-means, then merge clusters under k and split clusters of 2k or more.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.tabular.microaggregation.algorithms.kanonymeans_kernel import one_pass
from sfumato.tabular.microaggregation.algorithms.kmeans_kernel import forgy, plus_plus
from sfumato.tabular.microaggregation.loss import Labels, Records, group_sums, squared_error
from sfumato.tabular.microaggregation.random_kernel import State

MergeLoop = Literal["inner", "outer", "none"]
Candidate = Literal["centroid", "growth"]
Seeding = Literal["forgy", "plus_plus"]

LOOPS: dict[MergeLoop, int] = {"inner": 0, "outer": 1, "none": 2}


@dataclass(frozen=True)
class Merging:
    """In which order small clusters are merged, and with whom."""

    loop: MergeLoop = "inner"
    candidate: Candidate = "growth"


def draw_centres(x: Records, count: int, seeding: Seeding, state: State) -> Labels:
    """Return the records that serve as first centres."""
    if seeding == "forgy":
        return forgy(len(x), count, state)
    return plus_plus(x, count, state)


def from_centres(x: Records, k: int, centres: Records, merging: Merging, rounds: int) -> tuple[Labels, float]:
    """Return the best labels of ``rounds`` passes, each from the group means of the last.

    The number of rounds is bounded because merging and splitting can undo k-means for ever.
    """
    best, least = np.zeros(len(x), np.int64), np.inf
    loop, growth = LOOPS[merging.loop], merging.candidate == "growth"
    last = best
    for _ in range(rounds):
        labels = one_pass(x, k, centres, loop, growth)
        error = squared_error(x, labels)
        if error < least:
            best, least = labels, error
        if np.array_equal(labels, last):
            break
        sums, sizes = group_sums(x, labels)
        last, centres = labels, sums / sizes[:, None]
    return best, least


def kanonymeans(
    x: Records,
    k: int,
    kappa: int | None = None,
    *,
    seeding: Seeding = "plus_plus",
    merging: Merging | None = None,
    rounds: int = 20,
    seed: int = 0,
) -> Labels:
    """Return group labels; ``kappa`` is the first number of clusters, n // k unless given."""
    count = min(max(kappa or len(x) // k, 1), len(x))
    state = np.array([seed], np.uint64)
    centres = x[draw_centres(x, count, seeding, state)]
    return from_centres(x, k, centres, merging or Merging(), rounds)[0]
