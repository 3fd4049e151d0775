"""CASTLE against its twin, and its promise on what it publishes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
from castle_twin import Group, Twin
from hypothesis import given
from hypothesis import strategies as st

from sfumato.checks.publishers import join_rows, run
from sfumato.hierarchy import Hierarchy
from sfumato.random import SeededSource
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream.base import Integers, Numbers, Published
from sfumato.stream.publishers.castle import CASTLE
from sfumato.stream.publishers.castle.state import Outgoing

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
    values, group, size, _, _ = join_rows(run(publisher, batch, [min(cut, count) for cut in cuts]))
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


class Watched(CASTLE):
    """Keeps which records each published row stands for; the release itself does not say."""

    places: list[int]

    def _publish_left(self, out: Outgoing, cursor: Integers) -> Published:
        self.places = [*getattr(self, "places", []), *out.positions[: cursor[0]].tolist()]
        return super()._publish_left(out, cursor)


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("l", [1, 3])
def test_k_persons_and_l_values_share_every_published_tuple(person: bool, l: int) -> None:
    batch = rows(7, 3000, sensitive=True, person=True)
    batch[:, 2] = np.where(batch[:, 0] > 20, batch[:, 2], 0)  # the young all have flu
    publisher = Watched(schema(sensitive=True, person=person), k=5, delay=60, beta=8, l=l, rng=SeededSource(1))
    values, group, _, _, _ = join_rows(run(publisher, batch if person else batch[:, :3], list(range(0, 3000, 70))))
    behind = batch[publisher.places]
    owners: dict[tuple[float, ...], set[float]] = defaultdict(set)
    found: dict[tuple[float, ...], set[float]] = defaultdict(set)
    alone = 0
    for number in np.unique(group):
        left, records = values[group == number], behind[group == number]
        if np.isnan(left[0, 0]):
            assert np.isnan(left).all()
            continue
        assert (left[:, [0, 2]] <= records[:, :2]).all()
        assert (records[:, :2] <= left[:, [1, 3]]).all()
        bounds = tuple(left[0, :4])
        alone += len(left) == 1
        owners[bounds] |= set((records[:, 3] if person else np.flatnonzero(group == number)).tolist())
        found[bounds] |= set(left[:, 4].tolist())
        assert len(owners[bounds]) >= 5
        assert len(found[bounds]) >= l
    assert alone > 0
    assert len(owners) > 30
