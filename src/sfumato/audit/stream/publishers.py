"""Stream publishers that can be audited by name, on the public range of the declared records.

DOCA and its naive beginning (Leal, Vidal & Machado 2018), CASTLE (Cao, Carminati, Ferrari & Tan 2011), and the
publishers with a proof; all are made anew for every stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.audit.stream.looks import Factory, Streaming
from sfumato.errors import InputError, suggestion
from sfumato.random import Source
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream import CASTLE, DOCA, AdaptiveHistogram, LinkedResponse, NaiveLaplace, RankWindows

BOUNDS = (0.0, 100.0)
DOCA_WIDTH = 1.5  # the paper's Δf: one and a half times the range
CROWD = 5


class Tuples:
    """CASTLE as a publisher of single numbers, which it takes as tuples of one quasi-identifier."""

    def __init__(self, publisher: Any) -> None:
        self.publisher, self.delay = publisher, publisher.delay

    def push_many(self, batch: Any) -> Any:
        """Return what leaves when a batch of numbers comes."""
        return self.publisher.push_many(np.asarray(batch, dtype=np.float64)[:, None])

    def flush(self) -> Any:
        """Return all that is still held."""
        return self.publisher.flush()


def _castle(delay: int, rng: Source) -> Streaming:
    schema = Schema({"value": Attribute("value", Role.QUASI, Kind.NUMBER, bounds=BOUNDS)})
    return Tuples(CASTLE(schema, k=min(CROWD, delay), delay=delay, rng=rng))


Maker = Callable[[float, int, Source], Streaming]
MAKERS: dict[str, Maker] = {
    "doca": lambda epsilon, delay, rng: DOCA(DOCA_WIDTH * BOUNDS[1], delay, epsilon=epsilon, rng=rng),
    "laplace": lambda epsilon, _delay, rng: NaiveLaplace(bounds=BOUNDS, epsilon=epsilon, rng=rng),
    "rank": lambda epsilon, delay, rng: RankWindows(BOUNDS, delay, epsilon, max(1, delay // 20), rng=rng),
    "adaptive": lambda epsilon, delay, rng: AdaptiveHistogram(BOUNDS, delay, epsilon, rng=rng),
    "linked": lambda epsilon, delay, rng: LinkedResponse(BOUNDS, delay, epsilon, rng=rng),
    "castle": lambda _epsilon, delay, rng: _castle(delay, rng),
}


def publisher(name: str, epsilon: float, delay: int) -> Factory:
    """Return what makes a publisher of that name for records from 0 to 100.

    >>> publisher("dcoa", 1.0, 100)
    Traceback (most recent call last):
    sfumato.errors.InputError: there is no publisher 'dcoa' to audit; did you mean 'doca'?
    """
    if name not in MAKERS:
        raise InputError(f"there is no publisher '{name}' to audit{suggestion(name, MAKERS)}")
    return lambda rng: MAKERS[name](epsilon, delay, rng)
