"""What an attacker believes of each person after worlds were compared with the release, put to a model.

A model speaks of the shares of values in a class; here it is asked of the shares of worlds in which a person has each
value: at least l values, no value above α, and so on (Wong, Fu, Wang & Pei 2007 ask for shares of at most 1/m).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.audit.epsilon.bounds import lower_limit, upper_limit
from sfumato.audit.minimality.worlds import Scene
from sfumato.core.progress import tell
from sfumato.models.base import Model
from sfumato.models.groups import ClassCounts

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
FINE = 10**9  # shares are put to a model as so many units
HALVINGS = 60
EVERY = 256  # worlds between two words about progress


@dataclass(frozen=True, eq=False)
class Belief:
    """How often each row has each combination of values, in the worlds that give the same release.

    `complete` says that every world was tried; otherwise they were drawn.
    """

    scene: Scene
    held: Int64s
    tried: int
    agreeing: int
    complete: bool

    @classmethod
    def after(
        cls, scene: Scene, worlds: Iterable[Int64s], *, complete: bool, work: tuple[float, float] = (0.0, 1e-4)
    ) -> Belief:
        """Return the belief after some worlds; `work` is the share of it that is done, and what a world adds."""
        held = np.zeros((len(scene.rows), scene.tuples.count), dtype=np.int64)
        places, tried, agreeing = np.arange(len(scene.rows)), 0, 0
        for world in worlds:
            tried += 1
            if scene.gives_same_release(world):
                agreeing += 1
                held[places, world] += 1
            if tried % EVERY == 0:
                tell(min(1.0, work[0] + work[1] * tried), f"{tried} worlds, {agreeing} give this release")
        return cls(scene, held, tried, agreeing, complete)

    def counts(self, column: str) -> Int64s:
        """In how many agreeing worlds each row has each value of a column."""
        found = self.scene.problem.sensitive[column]
        counts = np.zeros((found.size, len(self.held)), dtype=np.int64)
        np.add.at(counts, found.codes[self.scene.tuples.examples], self.held.T)
        return counts.T

    def shown(self, column: str) -> Floats:
        """The share of each value in the class of each row, as the release shows it."""
        found = self.scene.problem.sensitive[column]
        shares = np.zeros((len(self.held), found.size))
        for rows in self.scene.members:
            shares[rows] = np.bincount(found.codes[rows], minlength=found.size) / len(rows)
        return shares


@dataclass(frozen=True)
class Suspicion:
    """What is believed of one row: its likeliest value, or the one that gains most where the model holds.

    `share` lies between `low` and `high`; `shown` is the value's share in the class, `measured` the model's measure.
    """

    row: int
    code: int
    share: float
    low: float
    high: float
    shown: float
    measured: float
    broken: bool

    @property
    def gain(self) -> float:
        """How many times likelier, at least, the value is to whoever knows the algorithm."""
        return self.low / self.shown


def suspicions(belief: Belief, model: Model, outside: float) -> Iterator[Suspicion]:
    """Yield what is believed of every released row; nothing where no world was found that gives the same release.

    Of drawn worlds a model counts as broken only if it is so wherever the true shares may lie; `outside` is how often
    one of them may lie beyond its limits.
    """
    column = str(model.sensitive)
    counts, shown = belief.counts(column), belief.shown(column)
    for row in np.concatenate(belief.scene.members).tolist() if belief.agreeing else []:
        kindest = counts[row]
        if not belief.complete:
            kindest = _kindest(counts[row], shown[row] > 0, belief.agreeing, outside)
        one = _as_class(belief, model, kindest)
        broken = not model.satisfied(one) and (belief.complete or model.evenness_monotone)
        gains = counts[row] / np.where(shown[row] > 0, shown[row], np.inf)  # a value that is not shown cannot gain
        code = int(np.argmax(counts[row] if broken else gains))
        hits = int(counts[row, code])
        share = hits / belief.agreeing
        low, high = (share, share) if belief.complete else limits(hits, belief.agreeing, outside)
        yield Suspicion(
            row=int(belief.scene.rows[row]),
            code=code,
            share=share,
            low=low,
            high=high,
            shown=float(shown[row, code]),
            measured=float(model.class_value(one)),
            broken=broken,
        )


def _as_class(belief: Belief, model: Model, counts: Int64s) -> ClassCounts:
    """Return a belief as a class that is never too small: what matters are shares."""
    enough = counts * max(1, model.least_units)
    column = str(model.sensitive)
    problem = belief.scene.problem
    units = int(enough.sum())
    return ClassCounts(units, units, enough, problem.shares[column], problem.sensitive[column])


def _kindest(counts: Int64s, possible: npt.NDArray[np.bool_], agreeing: int, outside: float) -> Int64s:
    """Return the most even belief that drawn worlds allow: the one that a model of evenness minds least."""
    codes = np.flatnonzero(possible)
    bounds = np.array([limits(int(counts[code]), agreeing, outside) for code in codes.tolist()])
    kindest = np.zeros(len(counts), dtype=np.int64)
    kindest[codes] = np.round(FINE * most_even(bounds[:, 0], bounds[:, 1])).astype(np.int64)
    return kindest


def most_even(low: Floats, high: Floats) -> Floats:
    """Return the shares between limits that add up to 1 and are majorised by all others: one level, cut at the limits.

    >>> most_even(np.array([0.5, 0.0, 0.0]), np.array([0.9, 0.1, 0.8])).round(6).tolist()
    [0.5, 0.1, 0.4]
    """
    below, above = 0.0, 1.0
    for _ in range(HALVINGS):
        level = (below + above) / 2
        below, above = (level, above) if np.clip(level, low, high).sum() < 1 else (below, level)
    return np.asarray(np.clip(above, low, high))


@lru_cache(maxsize=1 << 16)
def limits(hits: int, trials: int, outside: float) -> tuple[float, float]:
    """Return where a share may lie that was met so often among drawn worlds (Clopper & Pearson 1934).

    >>> [round(limit, 3) for limit in limits(9, 10, 0.05)]
    [0.606, 0.995]
    """
    return lower_limit(hits, trials, outside), upper_limit(hits, trials, outside)
