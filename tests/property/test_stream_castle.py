"""CASTLE against its twin, and its promise on what it publishes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
from castle_twin import Group, Twin
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attribute import Attribute
from sfumato.checks.publishers import joined, run
from sfumato.hierarchy import Hierarchy
from sfumato.kinds import Kind
from sfumato.random import SeededSource
from sfumato.roles import Role
from sfumato.schema import Schema
from sfumato.stream.base import Numbers
from sfumato.stream.castle import CASTLE

JOBS = Hierarchy.from_rows(
    [
        ("cook", "food", "*"),
        ("baker", "food", "*"),
        ("nurse", "care", "*"),
        ("doctor", "care", "*"),
        ("clerk", "x", "*"),
    ]
)
AGE = Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 40))
JOB = Attribute("job", Role.QUASI, Kind.CATEGORY, hierarchy=JOBS)
DISEASE = Attribute("disease", Role.SENSITIVE, Kind.CATEGORY, categories=("flu", "gout", "ulcer"))


def schema(*, sensitive: bool, person: bool) -> Schema:
    columns = [AGE, JOB, *([DISEASE] if sensitive else []), *([Attribute("id", Role.IDENTIFIER)] if person else [])]
    return Schema({column.name: column for column in columns}, person="id" if person else None)


def rows(seed: int, count: int, *, sensitive: bool, person: bool) -> Numbers:
    draw = np.random.default_rng(seed)
    columns = [draw.integers(0, 41, count), draw.integers(0, 5, count)]
    columns += [draw.integers(0, 3, count)] if sensitive else []
    columns += [draw.integers(0, max(1, count // 3), count)] if person else []
    return np.column_stack(columns).astype(float)


def picker(seed: int) -> Callable[[int], int]:
    """Uniform integers from the words that the publisher reads, by multiplication and rejection."""
    words = iter(SeededSource(seed).words(20_000).tolist())

    def pick(bound: int) -> int:
        if bound == 1:
            return 0
        while True:
            product: int = next(words) * bound
            if product % 2**32 >= (2**32 - bound) % bound:
                return product >> 32

    return pick


SETTINGS = st.fixed_dictionaries(
    {
        "k": st.integers(2, 4),
        "delay": st.integers(4, 30),
        "beta": st.integers(1, 6),
        "mu": st.integers(1, 5),
        "l": st.integers(1, 3),
    }
)


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, 90),
    settings=SETTINGS,
    person=st.booleans(),
    cuts=st.lists(st.integers(0, 90), max_size=4),
)
def test_groups_are_those_of_the_twin(
    seed: int, count: int, settings: dict[str, int], person: bool, cuts: list[int]
) -> None:
    batch = rows(seed, count, sensitive=True, person=person)
    publisher = CASTLE(schema(sensitive=True, person=person), **settings, rng=SeededSource(seed))
    values, group, size, _, _ = joined(run(publisher, batch, [min(cut, count) for cut in cuts]))
    twin = Twin([(0.0, 40.0), JOBS], picker(seed), **settings, sensitive=1, person=person)
    wanted: list[Group] = [left for record in batch.tolist() for left in twin.push(record)] + twin.flush()
    assert group.tolist() == [number for number, left in enumerate(wanted) for _ in left.places]
    assert size.tolist() == [len(left.places) for left in wanted for _ in left.places]
    expected = [
        [np.nan] * 5 if left.bounds is None else [*left.bounds[0], *left.bounds[1], batch[place, 2]]
        for left in wanted
        for place in left.places
    ]
    np.testing.assert_array_equal(values, np.array(expected).reshape(-1, 5))


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("l", [1, 3])
def test_k_persons_and_l_values_share_every_published_tuple(person: bool, l: int) -> None:
    batch = rows(7, 3000, sensitive=True, person=False)
    persons = np.random.default_rng(7).integers(0, 500, 3000).astype(float)
    if person:
        batch = np.column_stack([batch, persons])
    batch[:, 2] = np.where(batch[:, 0] > 20, batch[:, 2], 0)  # the young all have flu
    publisher = CASTLE(schema(sensitive=True, person=person), k=5, delay=60, beta=8, l=l, rng=SeededSource(1))
    owners: dict[tuple[float, ...], set[float]] = defaultdict(set)
    found: dict[tuple[float, ...], set[float]] = defaultdict(set)
    fresh = 0
    for start in range(0, 3000, 50):
        part = publisher.push_many(batch[start : start + 50])
        for number in np.unique(part.group):
            of_group = part.values[part.group == number]
            bounds = tuple(of_group[0, :4])
            if np.isnan(bounds[0]):
                assert np.isnan(of_group).all()
                continue
            fresh += len(of_group) >= 5
            assert len(of_group) >= 5 or (len(of_group) == 1 and bounds in found)
            found[bounds] |= set(of_group[:, 4].tolist())
            assert len(found[bounds]) >= l
            owners[bounds] |= {float(len(owners[bounds]) + row) for row in range(len(of_group))}
    assert fresh > 100
