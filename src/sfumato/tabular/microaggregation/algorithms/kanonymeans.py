"""kAnonyMeans: k-means, then merge clusters under k and split clusters of 2k or more.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from sfumato.core.parameters import OneOf, Optional, Whole
from sfumato.tabular.microaggregation.base import SEED_OPTIONS, SEED_RULES, Microaggregator
from sfumato.tabular.microaggregation.loss import Labels, Records, group_sums, squared_error

if TYPE_CHECKING:
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
    from sfumato.tabular.microaggregation.algorithms.kanonymeans_kernel import forgy, plus_plus

    if seeding == "forgy":
        return forgy(len(x), count, state)
    return plus_plus(x, count, state)


def from_centres(x: Records, k: int, centres: Records, merging: Merging, rounds: int) -> tuple[Labels, float]:
    """Return the best labels of ``rounds`` passes, each from the group means of the last.

    The number of rounds is bounded because merging and splitting can undo k-means for ever.
    """
    from sfumato.tabular.microaggregation.algorithms.kanonymeans_kernel import one_pass

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


@dataclass(frozen=True)
class KAnonyMeans(Microaggregator):
    """k-means, then clusters under k merged and those of 2k or more split, repeated (Stoldt 2019).

    `kappa` is the first number of clusters (n // k unless given); `rounds` bounds the repetition.

    >>> KAnonyMeans(seeding="forgy").rounds
    20
    """

    kappa: int | None = None
    seeding: Seeding = "plus_plus"
    loop: MergeLoop = "inner"
    candidate: Candidate = "growth"
    rounds: int = 20
    seed: int = 0
    keep_order: bool = False

    RULES: ClassVar = {
        "kappa": Optional(Whole(1)),
        "seeding": OneOf(("plus_plus", "forgy")),
        "loop": OneOf(tuple(LOOPS)),
        "candidate": OneOf(("growth", "centroid")),
        "rounds": Whole(1),
        **SEED_RULES,
    }
    OPTIONS: ClassVar = SEED_OPTIONS
    algorithm: ClassVar = "kanonymeans"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(seeding="forgy", loop="outer", rounds=3),)

    def groups(self, points: Records, k: int) -> Labels:
        merging = Merging(self.loop, self.candidate)
        return kanonymeans(
            points, k, self.kappa, seeding=self.seeding, merging=merging, rounds=self.rounds, seed=self.seed
        )
