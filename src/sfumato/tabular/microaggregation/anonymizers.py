"""Microaggregation as anonymizers: groups of at least k near rows, each shown as its centroid.

Domingo-Ferrer & Mateo-Sanz 2002; each class cites its own paper. A seed steers a search and is no secret.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from sfumato.core.parameters import OneOf, Option, Optional, Real, Rule, Whole
from sfumato.core.progress import tell
from sfumato.errors import ParameterError, SchemaError
from sfumato.table.distinct import Numbering
from sfumato.tabular.base import KEEP_ORDER as ORDER_OPTION
from sfumato.tabular.base import Partition, PartitionAnonymizer
from sfumato.tabular.microaggregation.loss import Labels, Records
from sfumato.tabular.problem import Problem

CENTROIDS = (
    "Quasi-identifiers are shown as their group's centroid (mean, middle, commonest word or common node), "
    "not as the persons' own values."
)
KEEP_ORDER: dict[str, Rule] = {"keep_order": OneOf((False, True))}
TIMES: dict[str, Rule] = {"seconds": Optional(Real(0, above=True)), "seed": Whole(0), **KEEP_ORDER}
ORDER: dict[str, Option] = {"keep_order": ORDER_OPTION}
SEED: dict[str, Option] = {"seed": Option("Steers a search; it is no secret."), **ORDER}
SECONDS: dict[str, Option] = {"seconds": Option("How long to search."), **SEED}


class Microaggregator(PartitionAnonymizer):
    """Finds groups of near rows; what they are shown as is the same for all.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [20, 22, 70, 74]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> sf.MDAV(keep_order=True).anonymize(people, schema, [sf.KAnonymity(2)]).frame["age"].to_list()
    [21.0, 21.0, 72.0, 72.0]
    """

    notes: ClassVar = (CENTROIDS,)

    @abstractmethod
    def groups(self, points: Records, k: int) -> Labels:
        """Return the group of every point; each group has at least k of them, or there is one."""

    def partition(self, problem: Problem) -> Partition:
        """Return the groups, merged where a model beyond k asks for it, with their centroids."""
        from sfumato.tabular.microaggregation.centroids import centroid
        from sfumato.tabular.microaggregation.loss import information_loss
        from sfumato.tabular.microaggregation.records import records
        from sfumato.tabular.microaggregation.repair import repaired

        points = records(list(problem.quasi))
        labels = repaired(problem, points, self.groups(points, max(2, problem.least_units)))
        count = int(labels.max()) + 1
        rows = problem.table.rows
        return Partition(
            Numbering(np.arange(rows), np.ones(rows, dtype=np.int64)),
            labels,
            count,
            {column.name: [centroid(column, labels, count)] for column in problem.quasi},
            steward={"information_loss": information_loss(points, labels)},
        )


@dataclass(frozen=True)
class MDAV(Microaggregator):
    """Maximum distance to average vector: groups of k at opposite ends (Domingo-Ferrer & Torra 2005).

    >>> MDAV().algorithm
    'mdav'
    """

    keep_order: bool = False

    RULES: ClassVar = KEEP_ORDER
    OPTIONS: ClassVar = ORDER
    algorithm: ClassVar = "mdav"

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.mdav import mdav

        return mdav(points, k)


@dataclass(frozen=True)
class MDAVPlus(Microaggregator):
    """MDAV with one fixed centroid: groups peeled off from the outside (Stoldt 2019).

    >>> MDAVPlus().algorithm
    'mdav+'
    """

    keep_order: bool = False

    RULES: ClassVar = KEEP_ORDER
    OPTIONS: ClassVar = ORDER
    algorithm: ClassVar = "mdav+"
    aliases: ClassVar = ("mdav-plus",)

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.mdav_plus import mdav_plus

        return mdav_plus(points, k)


@dataclass(frozen=True)
class MDAVStar(Microaggregator):
    """MDAV+ whose groups grow where that is cheaper than another group (Thaeter & Reischuk 2018, in our reading).

    >>> MDAVStar().algorithm
    'mdav*'
    """

    keep_order: bool = False

    RULES: ClassVar = KEEP_ORDER
    OPTIONS: ClassVar = ORDER
    algorithm: ClassVar = "mdav*"
    aliases: ClassVar = ("mdav-star",)

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.mdav_star import mdav_star

        return mdav_star(points, k)


@dataclass(frozen=True)
class VMDAV(Microaggregator):
    """MDAV with groups of k to 2k-1 (Solanas & Martínez-Ballesté 2006); a larger gamma grows them more readily.

    >>> VMDAV(gamma=1.1).gamma
    1.1
    """

    gamma: float = 0.2
    keep_order: bool = False

    RULES: ClassVar = {"gamma": Real(0), **KEEP_ORDER}
    OPTIONS: ClassVar = ORDER
    algorithm: ClassVar = "vmdav"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(gamma=1.1),)

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.vmdav import vmdav

        return vmdav(points, k, self.gamma)


@dataclass(frozen=True)
class Univariate(Microaggregator):
    """The optimum for a single number (Hansen & Mukherjee 2003; Stamm & Schaub 2024).

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [1, 2, 9, 10, 11]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> Univariate(keep_order=True).anonymize(people, schema, [sf.KAnonymity(2)]).frame["age"].to_list()
    [1.5, 1.5, 10.0, 10.0, 10.0]
    """

    keep_order: bool = False

    RULES: ClassVar = KEEP_ORDER
    OPTIONS: ClassVar = ORDER
    algorithm: ClassVar = "univariate"

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.univariate import univariate

        if points.shape[1] != 1:
            raise SchemaError(
                "univariate microaggregation takes one quasi-identifier, a number without missing values; "
                f"found {points.shape[1]} coordinates, so choose another algorithm, for example mdav"
            )
        return univariate(points, k)


@dataclass(frozen=True)
class KAnonyMeans(Microaggregator):
    """k-means, then clusters under k merged and those of 2k or more split, repeated (Stoldt 2019).

    `kappa` is the first number of clusters (n // k unless given); `rounds` bounds the repetition.

    >>> KAnonyMeans(seeding="forgy").rounds
    20
    """

    kappa: int | None = None
    seeding: Literal["plus_plus", "forgy"] = "plus_plus"
    loop: Literal["inner", "outer", "none"] = "inner"
    candidate: Literal["growth", "centroid"] = "growth"
    rounds: int = 20
    seed: int = 0
    keep_order: bool = False

    RULES: ClassVar = {
        "kappa": Optional(Whole(1)),
        "seeding": OneOf(("plus_plus", "forgy")),
        "loop": OneOf(("inner", "outer", "none")),
        "candidate": OneOf(("growth", "centroid")),
        "rounds": Whole(1),
        "seed": Whole(0),
        **KEEP_ORDER,
    }
    OPTIONS: ClassVar = SEED
    algorithm: ClassVar = "kanonymeans"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(seeding="forgy", loop="outer", rounds=3),)

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.kanonymeans import Merging, kanonymeans

        merging = Merging(self.loop, self.candidate)
        return kanonymeans(
            points, k, self.kappa, seeding=self.seeding, merging=merging, rounds=self.rounds, seed=self.seed
        )


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
        **TIMES,
    }
    OPTIONS: ClassVar = SECONDS
    algorithm: ClassVar = "kanonymeans*"
    aliases: ClassVar = ("kanonymeans-star",)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(generations=2),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.survivors >= self.population:
            raise ParameterError(
                f"The 'survivors' parameter of KAnonyMeansStar must be below its population of {self.population}. "
                f"Got {self.survivors} instead."
            )
        _refuse_endless(self, "generations", self.generations, self.seconds)

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import Breeding, kanonymeans_star

        spread, begun = float(np.square(points).sum()), time.monotonic()
        generations = self.generations if self.seconds is None else None

        def news(generation: int, error: float) -> None:
            done, whole = (generation, generations) if generations else (time.monotonic() - begun, self.seconds)
            tell(min(1.0, done / (whole or 1)), f"loss {100 * error / spread if spread else 0:.3f} %")

        return kanonymeans_star(
            points,
            k,
            breeding=Breeding(self.population, self.survivors, self.mutants, self.strength),
            generations=generations,
            seconds=self.seconds,
            seed=self.seed,
            on_generation=news,
        )


def _refuse_endless(search: Microaggregator, name: str, count: int | None, seconds: float | None) -> None:
    if count is None and seconds is None:
        raise ParameterError(f"{type(search).__name__} would never stop; give '{name}', 'seconds' or both")


@dataclass(frozen=True)
class Grouping:
    """A rule for parameters: another microaggregator.

    >>> Grouping().accepts(MDAV()), Grouping().accepts("mdav")
    (True, False)
    """

    wanted: str = "a microaggregator, for example MDAV()"

    def accepts(self, value: object) -> bool:
        """Return whether the value finds groups."""
        return isinstance(value, Microaggregator)

    def refused(self) -> list[object]:
        """Return values that must be refused."""
        return ["mdav", MDAV, None]


@dataclass(frozen=True)
class Improve(Microaggregator):
    """The lowest loss: any start polished and then searched for as long as you give it (iterated local search).

    Stops after `seconds`, after `iterations`, or at whichever comes first; with `iterations` alone the seed reproduces
    the result. Ctrl-C keeps the best so far.

    >>> Improve(seconds=2).algorithm
    'best'
    """

    start: Microaggregator = MDAV()
    seconds: float | None = 60.0
    iterations: int | None = None
    seed: int = 0
    keep_order: bool = False

    RULES: ClassVar = {"start": Grouping(), "iterations": Optional(Whole(1)), **TIMES}
    OPTIONS: ClassVar = SECONDS
    algorithm: ClassVar = "best"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(iterations=50, seconds=None),)

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_endless(self, "iterations", self.iterations, self.seconds)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "start": self.start.algorithm}

    def groups(self, points: Records, k: int) -> Labels:
        from sfumato.tabular.microaggregation.search.improve import improve

        return improve(
            points,
            k,
            self.start.groups(points, k),
            seconds=self.seconds,
            iterations=self.iterations,
            seed=self.seed,
            on_progress=lambda news: tell(news.share, f"loss {news.loss:.3f} %"),
        )
