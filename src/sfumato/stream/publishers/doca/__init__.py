"""DOCA as published: clusters of near values, each leaving as its mean plus one Laplace draw when a record expires.

Leal, Vidal & Machado (2018), "Anonimização de Streaming de Dados em DOCA". The paper claims ε-differential privacy;
the claim does not hold (`docs/algorithms/doca.md` gives two streams that tell it apart), and the card says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfumato.core.parameters import OneOf, Option, Real, Whole
from sfumato.errors import InputError, ParameterError
from sfumato.random import Source
from sfumato.release.card import Card, Guarantee, ReleasedColumn
from sfumato.stream.base import (
    AUDITED,
    DELAY,
    EPSILON,
    Integers,
    Numbers,
    PublicBounds,
    Published,
    Publisher,
    Sample,
)
from sfumato.stream.card import make_card
from sfumato.stream.noise import run_of, scaled_noise, step_for
from sfumato.stream.publishers.laplace import SENSITIVITY
from sfumato.stream.state import pack, unpack

STEPS = 2**28
LARGEST = 1e300
PAPER_WIDTH = 1.5  # the paper's Δf: one and a half times the range
ARRIVED, OPEN, BORN, PUBLISHED, OLDEST = range(5)
NO_GUARANTEE = (
    "no differential privacy guarantee, whatever epsilon says: all records of a group leave with the same value, so "
    "equal values show who was grouped with whom, and the groups depend on the records without any noise; sizes, times "
    "and the running minimum and maximum tell more. Use rank, adaptive or linked for a release with a proof."
)


class Clusters(NamedTuple):
    """The open clusters, one per slot; a free slot has size 0 and lies infinitely far from every record."""

    low: Numbers
    high: Numbers
    total: Numbers
    size: Integers
    born: Integers
    first: Integers
    last: Integers


class Window(NamedTuple):
    """The last delay+1 records in a ring: the slot of each one's cluster, and the next record of that cluster."""

    cluster: Integers
    following: Integers


class LeavingGroups(NamedTuple):
    """What left: the places of all records, group by group, and each group's mean and size."""

    positions: Integers
    means: Numbers
    sizes: Integers


@dataclass(eq=False)
class DOCA(Publisher):
    """Paper mode: at most `beta` clusters, at most `delay` records of waiting, thresholds from the last `m` groups.

    `sensitivity` is the paper's Δf, of which a group's noise has the scale Δf/(size·ε). `strict` takes the paper's `<`
    against the threshold; the default `<=` lets equal values share a cluster from the start.

    >>> from sfumato.random import SeededSource
    >>> publisher = DOCA(sensitivity=10, delay=2, beta=2, rng=SeededSource(1))
    >>> out = publisher.push_many(np.array([5.0, 90.0, 5.0]))
    >>> out.position.tolist(), out.size.tolist()
    ([0, 2], [2, 2])
    >>> [group.size for group in publisher.flush()]
    [1]
    """

    sensitivity: float
    delay: int = 1000
    beta: int = 50
    m: int = 100
    epsilon: float = 1.0
    strict: bool = False
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "sensitivity": Real(0, above=True),
        "delay": Whole(1),
        "beta": Whole(1),
        "m": Whole(1),
        "epsilon": Real(0, above=True),
        "strict": OneOf((False, True)),
    }
    OPTIONS: ClassVar = {
        "epsilon": EPSILON,
        "sensitivity": SENSITIVITY,
        "delay": DELAY,
        "beta": Option("The most clusters held."),
        "m": Option("How many published clusters the threshold looks back on."),
        "strict": Option("Test against the threshold with <, as the paper writes it."),
    }
    name: ClassVar[str] = "doca"
    linked: ClassVar[bool] = True

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        scale = Fraction(self.sensitivity) / Fraction(self.epsilon)
        self._step = step_for(scale, STEPS)
        self._scale = int(scale / Fraction(self._step))
        self._run = run_of(self, rng)
        self._clusters = Clusters(
            np.full(self.beta, np.inf), np.full(self.beta, -np.inf), np.zeros(self.beta), *_zeros(4, self.beta)
        )
        self._window = Window(np.full(self.delay + 1, -1), np.zeros(self.delay + 1, dtype=np.int64))
        self._losses = np.zeros(self.m)
        self._counts = np.zeros(5, dtype=np.int64)
        self._span = np.array([np.inf, -np.inf, 0.0])
        self._seq = 0
        self._waiting: list[float] = []
        self._due = self.delay + 1

    @property
    def held(self) -> int:
        return int(self._counts[ARRIVED]) + len(self._waiting) - self._seq

    @property
    def clusters(self) -> int:
        """How many clusters are open."""
        self._settle()
        return int(self._counts[OPEN])

    def push(self, record: float) -> Published:
        if not -LARGEST <= record <= LARGEST:
            self._refuse(record, self._counts[ARRIVED] + len(self._waiting))
        self._waiting.append(record)
        if len(self._waiting) < self._due:  # nothing can expire yet, so that the clustering may wait
            return NOTHING
        return self._settle()

    def push_many(self, batch: Numbers) -> Published:
        values = np.ascontiguousarray(batch, dtype=np.float64)
        fits = np.abs(values) <= LARGEST
        if not fits.all():
            wrong = int(np.argmin(fits))
            self._refuse(values[wrong], self._counts[ARRIVED] + len(self._waiting) + wrong)
        if self._waiting:
            values = np.concatenate([self._waiting, values])
            self._waiting = []
        return self._take(values)

    def flush(self) -> Published:
        from sfumato.stream.publishers.doca.kernel import flush_all

        self._settle()
        out = self._room(0)
        left = flush_all(self._clusters, self._window, self._losses, self._counts, self._span, out)
        return self._publish_left(out, *left)

    def _settle(self) -> Published:
        values = np.array(self._waiting, dtype=np.float64)
        self._waiting = []
        return self._take(values)

    def _take(self, values: Numbers) -> Published:
        from sfumato.stream.publishers.doca.kernel import push_all

        out = self._room(len(values))
        parts = self._clusters, self._window, self._losses, self._counts, self._span
        return self._publish_left(out, *push_all(values, *parts, self.strict, out))

    def _room(self, count: int) -> LeavingGroups:
        most = count + self.held
        return LeavingGroups(np.empty(most, dtype=np.int64), np.empty(most), np.empty(most, dtype=np.int64))

    def _publish_left(self, out: LeavingGroups, rows: int, groups: int) -> Published:
        self._due = int(self._counts[OLDEST] - self._counts[ARRIVED]) + self.delay + 1
        if rows == 0:
            return NOTHING
        sizes = out.sizes[:groups]
        first = int(self._counts[PUBLISHED]) - groups
        means, scales = out.means[:groups], np.maximum(self._scale // sizes, 1)
        covered = np.column_stack([means, sizes.astype(np.float64)])
        values = means + scaled_noise(self._run, covered, scales, first) * self._step
        seq = np.arange(self._seq, self._seq + rows)
        self._seq += rows
        which = np.repeat(np.arange(groups), sizes)
        return Published(values[which], which + first, sizes[which], seq, out.positions[:rows].copy())

    def _refuse(self, record: float, place: int) -> None:
        raise InputError(
            f"record {place}: {record} is not a finite number up to {LARGEST:g}; clean it or map it to a default"
        )

    def state(self) -> bytes:
        self._settle()
        self._run.forget()
        return pack(self.name, self.parameters(), self._arrays(), {"seq": self._seq})

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        for name, array in self._arrays().items():
            array[:] = saved.arrays[name]
        self._seq = int(saved.plain["seq"])
        self._waiting = []
        self._due = int(self._counts[OLDEST] - self._counts[ARRIVED]) + self.delay + 1
        self._run.forget()

    def _arrays(self) -> dict[str, Numbers | Integers]:
        named = {**self._clusters._asdict(), **self._window._asdict()}
        return {**named, "losses": self._losses, "counts": self._counts, "span": self._span}

    def card(self, *names: str) -> Card:
        return make_card(
            self,
            Guarantee(model="none", parameters={}, unit="none"),
            [ReleasedColumn(name=name, role="sensitive", type="number") for name in names],
            warnings=[NO_GUARANTEE],
            source=self._run.source,
        )

    @classmethod
    def for_number(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> Publisher:
        if bounds is None and "sensitivity" not in given:
            raise ParameterError(f"{cls.name} needs --bounds LOW HIGH, or --sensitivity")
        width = {} if bounds is None else {"sensitivity": bounds[1] - bounds[0]}
        return cls.from_options({**width, **given}, called=cls.name)

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> Publisher:
        return cls(PAPER_WIDTH * AUDITED[1], delay, epsilon=epsilon, rng=rng)

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        loose, strict = (cls(sensitivity=1000, delay=37, beta=6, m=5, strict=strict) for strict in (False, True))
        return Sample(loose), Sample(strict), Sample(cls(sensitivity=1000, delay=600))


def _zeros(count: int, size: int) -> list[Integers]:
    return [np.zeros(size, dtype=np.int64) for _ in range(count)]


NOTHING = Published.empty(linked=True)
