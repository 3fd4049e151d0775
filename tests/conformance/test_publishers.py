"""Every public stream publisher passes the suite that ships with the library."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

from sfumato import stream
from sfumato.attribute import Attribute
from sfumato.checks import Check, ConformanceError, publisher_checks
from sfumato.checks.tables import JOBS
from sfumato.kinds import Kind
from sfumato.roles import Role
from sfumato.schema import Schema
from sfumato.stream import CASTLE, DOCA, NaiveLaplace, Published, Publisher
from sfumato.stream.base import Numbers

QUASI = [
    Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 99)),
    Attribute("job", Role.QUASI, Kind.CATEGORY, hierarchy=JOBS),
]
DISEASE = Attribute("disease", Role.SENSITIVE, Kind.CATEGORY, categories=("flu", "gout", "ulcer"))
PATIENTS = Schema({column.name: column for column in (*QUASI, DISEASE, Attribute("id", Role.IDENTIFIER))}, person="id")
JOBLESS = Schema({"age": QUASI[0]})


def patients(seed: int, rows: int) -> Numbers:
    draw = np.random.default_rng(seed)
    columns = [draw.integers(0, limit, rows) for limit in (100, 5, 3, max(1, rows // 3))]
    return np.column_stack(columns).astype(float)


def ages(seed: int, rows: int) -> Numbers:
    return patients(seed, rows)[:, :1].copy()


def numeric() -> list[Publisher]:
    return [
        NaiveLaplace(bounds=(0, 1000), epsilon=0.5),
        NaiveLaplace(sensitivity=100),
        DOCA(sensitivity=1000, delay=37, beta=6, m=5),
        DOCA(sensitivity=1000, delay=37, beta=6, m=5, strict=True),
        DOCA(sensitivity=1000, delay=600),
    ]


def tuples() -> list[Publisher]:
    return [
        CASTLE(PATIENTS, k=4, delay=40, beta=5, mu=6),
        CASTLE(PATIENTS, k=3, delay=40, beta=5, mu=6, l=2),
    ]


def every_check() -> Iterator[tuple[Publisher, Check]]:
    for publisher in numeric():
        yield from ((publisher, check) for check in publisher_checks(publisher))
    for publisher in tuples():
        yield from ((publisher, check) for check in publisher_checks(publisher, patients))
    single = CASTLE(JOBLESS, k=5, delay=30, beta=4)
    yield from ((single, check) for check in publisher_checks(single, ages))


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{type(publisher).__name__} {number}: {check.name}")
        for number, (publisher, check) in enumerate(every_check())
    ],
)
def test_publisher_conforms(check: Check) -> None:
    check.run()


def test_every_public_publisher_has_a_suite() -> None:
    public = {
        value
        for value in (getattr(stream, name) for name in stream.__all__)
        if inspect.isclass(value) and issubclass(value, Publisher) and value is not Publisher
    }
    assert public == {type(publisher) for publisher, _ in every_check()}


class Forgetful(DOCA):
    def flush(self) -> Published:
        super().flush()
        return Published.empty(linked=True)


class Late(DOCA):
    @property
    def held(self) -> int:
        return super().held + self.delay


class Restless(DOCA):
    """Publishes at the end of every batch."""

    def push_many(self, batch: Numbers) -> Published:
        super().push_many(batch)
        return self.flush()


class Amnesiac(DOCA):
    def restore(self, state: bytes) -> None:
        super().restore(state)
        self._seq = 0


def failing(publisher: Publisher) -> set[str]:
    names = set()
    for check in publisher_checks(publisher):
        try:
            check.run()
        except ConformanceError:
            names.add(check.name.partition(" (")[0])
    return names


@pytest.mark.parametrize(
    "broken, caught",
    [
        (Forgetful, "no record is lost"),
        (Late, "the delay is kept"),
        (Restless, "batches change nothing"),
        (Amnesiac, "a restored state goes on"),
    ],
)
def test_the_suite_catches_a_publisher_that(broken: type[DOCA], caught: str) -> None:
    assert caught in failing(broken(sensitivity=10, delay=30, beta=4))
