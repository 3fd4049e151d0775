"""Several records of one person: only the first few over a horizon count, later ones become a public value in place.

Bounding what a person can contribute turns event level into a promise about persons (group privacy, Dwork & Roth 2014,
theorem 2.2): replacing all values of one person moves at most c counted records, which costs c·ε over the horizon.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, replace
from typing import Any, ClassVar

import msgspec
import numpy as np

from sfumato.core.parameters import Optional, Real, Whole
from sfumato.random import Source
from sfumato.release import Card
from sfumato.stream.base import Numbers, Published, Publisher
from sfumato.stream.promise import EVENT
from sfumato.stream.state import pack, unpack


@dataclass(frozen=True)
class AnyPublisher:
    """The rule of a publisher whose records are plain numbers under an ε."""

    wanted: str = "a differentially private publisher of one number"

    def accepts(self, value: object) -> bool:
        return isinstance(value, Publisher) and "epsilon" in value.card("value").guarantee.parameters

    def refused(self) -> list[object]:
        return ["rank", 3, None]


@dataclass(eq=False)
class CappedPersons(Publisher):
    """A publisher before which only the first `limit` records of a person count, over each horizon.

    A record is (value, person, time) or (value, person), all numbers; `horizon` is in the unit of time, None being the
    whole stream. What does not count becomes NaN, for which every private publisher has a public default.

    >>> from sfumato.random import SeededSource
    >>> from sfumato.stream.publishers.rank import RankWindows
    >>> inner = RankWindows(bounds=(0, 10), window=4, epsilon=0.5)
    >>> publisher = CappedPersons(inner, limit=2, rng=SeededSource(1))
    >>> publisher.counted(np.array([[1.0, 7], [2.0, 7], [3.0, 7], [4.0, 8]])).tolist()
    [1.0, 2.0, nan, 4.0]
    >>> publisher.card("hours").guarantee.parameters
    {'epsilon': 1.0, 'per_record': 0.5}
    """

    publisher: Publisher
    limit: int = 1
    horizon: float | None = None
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "publisher": AnyPublisher(),
        "limit": Whole(1),
        "horizon": Optional(Real(0, above=True)),
    }
    name: ClassVar[str] = "capped"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        if rng is not None:
            self.publisher = replace(self.publisher, rng=rng)  # type: ignore[type-var]
        self.linked = self.publisher.linked  # type: ignore[misc]  # as the one behind it
        self._given: dict[float, int] = {}
        self._period = -1

    @property
    def delay(self) -> int:
        return self.publisher.delay

    @property
    def held(self) -> int:
        return self.publisher.held

    def push(self, record: Any) -> Published:
        return self.publisher.push(float(self.counted(np.array([record], dtype=np.float64))[0]))

    def push_many(self, batch: Any) -> Published:
        return self.publisher.push_many(self.counted(np.asarray(batch, dtype=np.float64)))

    def flush(self) -> Published:
        return self.publisher.flush()

    def counted(self, records: Numbers) -> Numbers:
        """Return the records' values, NaN for those beyond a person's limit."""
        values = records[:, 0].copy() if len(records) else np.empty(0)
        persons = records[:, 1].tolist() if len(records) else []
        timed = self.horizon is not None and persons
        periods = (records[:, 2] // (self.horizon or 1)).tolist() if timed else [0.0] * len(persons)
        for place, (person, period) in enumerate(zip(persons, periods, strict=True)):
            if period > self._period:
                self._given, self._period = {}, int(period)
            given = self._given.get(person, 0)
            if given >= self.limit:
                values[place] = np.nan
            else:
                self._given[person] = given + 1
        return values

    def parameters(self) -> dict[str, Any]:
        inner = {"name": self.publisher.name, **self.publisher.parameters()}
        return {"publisher": inner, "limit": self.limit, "horizon": self.horizon}

    def state(self) -> bytes:
        arrays: dict[str, Any] = {
            "persons": np.array(list(self._given), dtype=np.float64),
            "given": np.array(list(self._given.values()), dtype=np.int64),
            "inner": np.frombuffer(self.publisher.state(), dtype=np.uint8),
        }
        return pack(self.name, self.parameters(), arrays, {"period": self._period})

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        self.publisher.restore(saved.arrays["inner"].tobytes())
        persons, given = saved.arrays["persons"].tolist(), saved.arrays["given"].tolist()
        self._given, self._period = dict(zip(persons, given, strict=True)), int(saved.plain["period"])

    def card(self, *names: str) -> Card:
        card = self.publisher.card(*names)
        epsilon = card.guarantee.parameters["epsilon"]
        span = "the whole stream" if self.horizon is None else f"every horizon of {self.horizon:g}"
        promise = msgspec.structs.replace(
            card.guarantee,
            parameters={"epsilon": self.limit * epsilon, "per_record": epsilon},
            unit=f"person (all records of one, over {span})",
            neighbours="streams with the same arrivals and persons that differ in the values of one person",
        )
        capped = (
            f"Only the first {self.limit} records of a person count over {span}; later ones are a public default.",
            "The promise is that limit times the ε of a record, once more for each further horizon.",
            "That a person is in the stream, and when their records come, is not protected; their values are.",
        )
        kept = [entry for entry in card.assumptions if entry not in EVENT[:2]]
        released = msgspec.structs.replace(card.released, settings=self.parameters())
        return msgspec.structs.replace(
            card, algorithm=self.name, guarantee=promise, assumptions=[*capped, *kept], released=released
        )
