"""kAnonyMeans*: breed sets of first centres for kAnonyMeans.

Stoldt, "Datenbankanonymisierung auf Basis von k-means-Algorithmen" (slides, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from sfumato.core.compiling import working_time
from sfumato.core.parameters import Optional, Real, Whole
from sfumato.core.progress import tell
from sfumato.errors import ParameterError
from sfumato.tabular.microaggregation.algorithms.kanonymeans import (
    Merging,
    Seeding,
    draw_centres,
    from_centres,
)
from sfumato.tabular.microaggregation.base import SEARCH_OPTIONS, SEARCH_RULES, Microaggregator, refuse_endless
from sfumato.tabular.microaggregation.loss import Labels, Records

if TYPE_CHECKING:
    from sfumato.tabular.microaggregation.random_kernel import State


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
    from sfumato.tabular.microaggregation.random_kernel import next_below

    both = np.union1d(mother, father)
    for i in range(min(len(mother), len(both))):
        j = i + next_below(state, len(both) - i)
        both[i], both[j] = both[j], both[i]
    return both[: len(mother)]


def mutate(centres: Labels, n: int, strength: float, state: State) -> Labels:
    """Return the centres with a share of them replaced by random records."""
    from sfumato.tabular.microaggregation.random_kernel import next_below

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
        self.pace = 0.0  # how long the last individual took to grow

    def individual_from(self, centres: Labels) -> Individual:
        """Return the individual that grows from first centres."""
        begun = working_time()
        labels, error = from_centres(self.x, self.k, self.x[centres], self.merging, self.rounds)
        self.pace = working_time() - begun
        return Individual(centres, labels, error)

    def has_time(self, deadline: float) -> bool:
        """Return whether another individual can grow before the deadline."""
        return working_time() + self.pace <= deadline

    def add_random(self, count: int, seeding: Seeding) -> None:
        """Add an individual of ``count`` drawn centres."""
        self.people.append(self.individual_from(draw_centres(self.x, count, seeding, self.state)))

    def child(self, parents: list[Individual], *, mutant: bool) -> Individual:
        """Return a child of two random parents."""
        from sfumato.tabular.microaggregation.random_kernel import next_below

        mother = parents[next_below(self.state, len(parents))].centres
        father = parents[next_below(self.state, len(parents))].centres
        centres = cross(mother, father, self.state)
        if mutant:
            centres = mutate(centres, len(self.x), self.breeding.strength, self.state)
        return self.individual_from(centres)

    def advance(self, deadline: float = np.inf) -> None:
        """Replace all but the fittest by their children, as many as there is time for."""
        self.people = sorted(self.people, key=lambda one: one.error)[: self.breeding.survivors]
        parents = list(self.people)
        for number in range(self.breeding.population - len(parents)):
            if not self.has_time(deadline):
                return
            self.people.append(self.child(parents, mutant=number < self.breeding.mutants))

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
    deadline = working_time() + seconds if seconds is not None else np.inf
    count = min(max(kappa or len(x) // k, 1), len(x))
    evolution = Evolution(x, k, breeding or Breeding(), merging or Merging(), rounds, seed)
    evolution.add_random(count, seeding)
    generation = 0
    try:
        while len(evolution.people) < evolution.breeding.population and evolution.has_time(deadline):
            evolution.add_random(count, seeding)
        while (generations is None or generation < generations) and evolution.has_time(deadline):
            evolution.advance(deadline)
            generation += 1
            if on_generation is not None:
                on_generation(generation, evolution.fittest().error)
    except KeyboardInterrupt:
        pass
    return evolution.fittest().labels


@dataclass(frozen=True)
class KAnonyMeansStar(Microaggregator):
    """kAnonyMeans from first centres that are bred for generations or seconds (Stoldt 2019).

    Of `population` sets of centres the best `survivors` breed the others; in `mutants` of the children the share
    `strength` of the centres is replaced by random rows. With `seconds`, generations do not
    count; without, the seed reproduces the result. Ctrl-C keeps the best so far.

    >>> KAnonyMeansStar(generations=3).algorithm
    'kanonymeans*'
    """

    population: int = 20
    survivors: int = 5
    mutants: int = 8
    strength: float = 0.05
    generations: int | None = 50
    seconds: float | None = None
    seed: int = 0
    keep_order: bool = False

    RULES: ClassVar = {
        "population": Whole(2),
        "survivors": Whole(1),
        "mutants": Whole(0),
        "strength": Real(0, 1),
        "generations": Optional(Whole(1)),
        **SEARCH_RULES,
    }
    OPTIONS: ClassVar = SEARCH_OPTIONS
    algorithm: ClassVar = "kanonymeans*"
    aliases: ClassVar = ("kanonymeans-star",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.survivors >= self.population:
            raise ParameterError(
                f"The 'survivors' parameter of KAnonyMeansStar must be below its population of {self.population}. "
                f"Got {self.survivors} instead."
            )
        refuse_endless(self, "generations", self.generations, self.seconds)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(generations=2),)

    def groups(self, points: Records, k: int) -> Labels:
        spread, begun = float(np.square(points).sum()), working_time()
        generations = self.generations if self.seconds is None else None

        def report_generation(generation: int, error: float) -> None:
            done, whole = (generation, generations) if generations else (working_time() - begun, self.seconds)
            tell(min(1.0, done / (whole or 1)), f"loss {100 * error / spread if spread else 0:.3f} %")

        return kanonymeans_star(
            points,
            k,
            breeding=Breeding(self.population, self.survivors, self.mutants, self.strength),
            generations=generations,
            seconds=self.seconds,
            seed=self.seed,
            on_generation=report_generation,
        )
