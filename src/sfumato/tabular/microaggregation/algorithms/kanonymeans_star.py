"""kAnonyMeans*: breed sets of first centres for kAnonyMeans.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.tabular.microaggregation.algorithms.kanonymeans import (
    Merging,
    Seeding,
    draw_centres,
    from_centres,
)
from sfumato.tabular.microaggregation.loss import Labels, Records
from sfumato.tabular.microaggregation.random_kernel import State, next_below


@dataclass(frozen=True)
class Breeding:
    """Sizes of the population, of its surviving part, and of the mutations.

    ``strength`` is the share of a mutant's centres that is replaced.
    """

    population: int = 20
    survivors: int = 5
    mutants: int = 8
    strength: float = 0.05


@dataclass(frozen=True)
class Individual:
    """A set of first centres with the labels and error it leads to."""

    centres: Labels
    labels: Labels
    error: float


def cross(mother: Labels, father: Labels, state: State) -> Labels:
    """Return as many centres as the mother has, drawn from both parents without repetition.

    Where mutations drew the same record twice, there can be a few less.
    """
    both = np.union1d(mother, father)
    for i in range(min(len(mother), len(both))):
        j = i + next_below(state, len(both) - i)
        both[i], both[j] = both[j], both[i]
    return both[: len(mother)]


def mutate(centres: Labels, n: int, strength: float, state: State) -> Labels:
    """Return the centres with a share of them replaced by random records."""
    changed = centres.copy()
    for _ in range(max(1, round(strength * len(centres)))):
        changed[next_below(state, len(centres))] = next_below(state, n)
    return changed


class Evolution:
    """A population of centre sets for one table."""

    def __init__(self, x: Records, k: int, breeding: Breeding, merging: Merging, rounds: int, seed: int) -> None:
        """Start without individuals."""
        self.x, self.k, self.rounds = x, k, rounds
        self.breeding, self.merging = breeding, merging
        self.state = np.array([seed], np.uint64)
        self.people: list[Individual] = []

    def raised(self, centres: Labels) -> Individual:
        """Return the individual that grows from first centres."""
        labels, error = from_centres(self.x, self.k, self.x[centres], self.merging, self.rounds)
        return Individual(centres, labels, error)

    def settle(self, count: int, seeding: Seeding) -> None:
        """Add an individual of ``count`` drawn centres."""
        self.people.append(self.raised(draw_centres(self.x, count, seeding, self.state)))

    def child(self, parents: list[Individual], *, mutant: bool) -> Individual:
        """Return a child of two random parents."""
        mother = parents[next_below(self.state, len(parents))].centres
        father = parents[next_below(self.state, len(parents))].centres
        centres = cross(mother, father, self.state)
        if mutant:
            centres = mutate(centres, len(self.x), self.breeding.strength, self.state)
        return self.raised(centres)

    def advance(self) -> None:
        """Replace all but the fittest by their children."""
        parents = sorted(self.people, key=lambda one: one.error)[: self.breeding.survivors]
        births = range(self.breeding.population - len(parents))
        children = [self.child(parents, mutant=number < self.breeding.mutants) for number in births]
        self.people = parents + children

    def fittest(self) -> Individual:
        """Return the individual of least error."""
        return min(self.people, key=lambda one: one.error)


def kanonymeans_star(  # noqa: PLR0913  # every limit and choice of the slides
    x: Records,
    k: int,
    kappa: int | None = None,
    *,
    breeding: Breeding | None = None,
    seeding: Seeding = "plus_plus",
    merging: Merging | None = None,
    rounds: int = 1,
    generations: int | None = 50,
    seconds: float | None = None,
    seed: int = 0,
    on_generation: Callable[[int, float], None] | None = None,
) -> Labels:
    """Return the labels of the fittest individual; stops at the first limit that is reached.

    Ctrl-C ends the evolution and keeps the best so far.
    """
    deadline = time.monotonic() + seconds if seconds is not None else np.inf
    count = min(max(kappa or len(x) // k, 1), len(x))
    evolution = Evolution(x, k, breeding or Breeding(), merging or Merging(), rounds, seed)
    evolution.settle(count, seeding)
    generation = 0
    try:
        while len(evolution.people) < evolution.breeding.population and time.monotonic() < deadline:
            evolution.settle(count, seeding)
        while (generations is None or generation < generations) and time.monotonic() < deadline:
            evolution.advance()
            generation += 1
            if on_generation is not None:
                on_generation(generation, evolution.fittest().error)
    except KeyboardInterrupt:
        pass
    return evolution.fittest().labels
