"""One stream through one publisher, with every parameter named: DOCA, what it was measured against, and ours.

DOCA and naive noise are Leal, Vidal & Machado (2018); the window mean is a rank window of one block, whose rows are all
the same and can therefore be tied to records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.experiments.data import Data
from sfumato.experiments.doca.streams import STREAMS, records
from sfumato.random import SeededSource
from sfumato.stream import DOCA, AdaptiveHistogram, LinkedResponse, NaiveLaplace, Publisher, RankWindows
from sfumato.stream.base import Integers, Numbers

LINKED = ("doca", "laplace", "mean", "linked")
PUBLISHERS = (*LINKED[:3], "rank", "adaptive", "linked")


@dataclass(frozen=True)
class Setting:
    """All that decides a release; the defaults are the source's parameters and the publishers' own.

    `sensitivity` is Δf of DOCA and of naive noise; None stands for the width of the stream's public bounds.

    >>> Setting("rank").made().name
    'rank'
    """

    publisher: str
    stream: str = "smart"
    order: str = "random"
    readings: int | None = None
    delay: int = 1000
    beta: int = 50
    m: int = 100
    epsilon: float = 1.0
    sensitivity: float | None = None
    block: int = 50
    bins: int = 160
    seed: int = 0

    def values(self, data: Data) -> Numbers:
        """Return the stream's true values in the order of their arrival."""
        return records(data, self.stream, self.order, self.readings, self.seed)

    @property
    def span(self) -> float:
        """The sensitivity Δf."""
        return self.sensitivity or STREAMS[self.stream].width

    def made(self) -> Publisher:
        """Return the publisher, its noise drawn from the seed."""
        bounds, span, rng = STREAMS[self.stream].bounds, self.span, SeededSource(self.seed)
        match self.publisher:
            case "doca":
                return DOCA(span, self.delay, self.beta, self.m, self.epsilon, rng=rng)
            case "laplace":
                return NaiveLaplace(span, self.epsilon, rng=rng)
            case "mean":
                return RankWindows(bounds, self.delay, self.epsilon, block=self.delay, rng=rng)
            case "rank":
                return RankWindows(bounds, self.delay, self.epsilon, self.block, rng=rng)
            case "adaptive":
                return AdaptiveHistogram(bounds, self.delay, self.epsilon, self.bins, rng=rng)
            case "linked":
                return LinkedResponse(bounds, self.delay, self.epsilon, rng=rng)
        raise ParameterError(f"the publisher is '{self.publisher}'; give one of {', '.join(PUBLISHERS)}")


@dataclass(frozen=True, eq=False)
class Release:
    """What left: values in the order of their records where they are tied to any, and the size of each one's group.

    >>> release(np.zeros(2000), Setting("mean")).groups
    2
    """

    values: Numbers
    sizes: Integers
    groups: int
    linked: bool


def release(values: Numbers, setting: Setting) -> Release:
    """Return what a publisher makes of a whole stream."""
    publisher = setting.made()
    parts = [publisher.push_many(values), publisher.flush()]
    rows, sizes, groups = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "size", "group")
    )
    count = 1 + int(groups[-1]) if len(groups) else 0
    if publisher.linked:
        order = np.argsort(np.concatenate([part.position for part in parts if part.position is not None]))
        rows, sizes = rows[order], sizes[order]
    return Release(rows, sizes, count, setting.publisher in LINKED)
