"""Persons whose first records count: what they move, and what is promised to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.audit.twin import Pair, TwinPath
from sfumato.checks import publisher_checks
from sfumato.errors import ParameterError
from sfumato.promise import Cost, Edges, Neighbours, Promise, ProtectPersons, ProtectRows, Unit, Windows
from sfumato.random import SecureSource, SeededSource
from sfumato.stream.base import Numbers, Published, Publisher
from sfumato.stream.card import record_promise
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.publishers.doca import DOCA
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankWindows
from sfumato.stream.publishers.rank.kernel import block_sums
from sfumato.stream.timed import TimedWindows, sample_times
from sfumato.stream.wrappers import CappedPersons


def test_later_records_of_a_person_become_the_public_default() -> None:
    inner = RankWindows((0, 100), window=6, block=1, epsilon=1.0)
    records = np.array([[10.0, 1], [90, 1], [20, 2], [80, 1], [30, 3], [70, 2]])
    capped = CappedPersons(inner, limit=1, rng=SeededSource(1)).push_many(records)
    defaulted = np.array([10.0, 50, 20, 50, 30, 50])
    plain = RankWindows((0, 100), window=6, block=1, rng=SeededSource(1)).push_many(defaulted)
    assert capped.values == pytest.approx(plain.values, abs=0.01)


def test_capped_persons_are_linked_as_their_publisher_is() -> None:
    records = np.array([[10.0, 1], [90, 2]])
    out = CappedPersons(LinkedResponse((0, 100), window=2), rng=SeededSource(1))
    assert out.linked
    assert out.push_many(records).position is not None
    assert not CappedPersons(RankWindows((0, 100))).linked


def test_each_period_of_a_persons_own_time_has_its_limit() -> None:
    publisher = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0)
    times = np.array([[1.0, 7, 0], [2, 7, 9], [3, 7, 10], [4, 7, 5], [5, 7, 19], [6, 7, 20], [7, 7, np.nan]])
    assert np.isnan(publisher.counted(times)).tolist() == [False, True, False, True, True, False, True]
    again = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0)
    again.restore(publisher.state())
    assert np.isnan(again.counted(np.array([[7.0, 7, 21], [7, 8, 21], [7, 7, 3]]))).tolist() == [True, False, True]


def test_a_record_of_the_future_gives_nobody_a_second_limit() -> None:
    """The clock of periods used to be the records': one wrong time made everybody count anew."""
    publisher = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0)
    records = np.array([[1.0, 7, 0], [2, 9, 1e9], [3, 7, 1], [4, 8, 2], [5, 8, 3]])
    assert np.isnan(publisher.counted(records)).tolist() == [False, False, True, False, True]


def test_periods_are_forgotten_by_the_clock_of_arrivals() -> None:
    publisher = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0, late=5.0)
    records = np.array([[1.0, 7, 1, 1], [2, 7, 2, 14], [3, 8, 3, 14], [4, 9, 4, 15], [5, 7, 13, 15], [6, 7, 31, 15]])
    assert np.isnan(publisher.counted(records)).tolist() == [False, True, False, True, False, True]
    assert list(publisher._given) == [(7.0, 1.0)]
    again = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0, late=5.0)
    again.restore(publisher.state())
    assert np.isnan(again.counted(np.array([[4.0, 9, 4, 9]]))).all()  # forgotten, though the clock seems to go back


@pytest.mark.parametrize("kind", ["rank", "adaptive"])
def test_records_without_a_person_leave_no_trace_where_persons_are_hidden(kind: Literal["rank", "adaptive"]) -> None:
    nameless = np.array([[10.0, np.nan], [20, 3], [30, np.nan]])
    assert CappedPersons(ClockWindows((0, 100), kind=kind)).counted(nameless).tolist() == [20.0]
    shared = CappedPersons(RankWindows((0, 100))).counted(nameless)
    assert np.isnan(shared).tolist() == [False, False, True]


@given(
    persons=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    limit=st.integers(1, 4),
    chosen=st.integers(0, 4),
    seed=st.integers(0, 99),
)
def test_a_person_moves_at_most_limit_records(persons: list[int], limit: int, chosen: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, others = draw.random((2, len(persons)))
    changed = np.where(np.array(persons) == chosen, others, values)
    counted = [
        CappedPersons(RankWindows((0, 1)), limit=limit).counted(np.column_stack([column, persons]))
        for column in (values, changed)
    ]
    different = ~((counted[0] == counted[1]) | (np.isnan(counted[0]) & np.isnan(counted[1])))
    assert different.sum() <= limit


def test_capped_persons_promise_the_limit_times_epsilon() -> None:
    card = CappedPersons(AdaptiveHistogram((0, 1), epsilon=0.1), limit=3, horizon=30.0).card("hours")
    assert card.guarantee.parameters["epsilon"] == pytest.approx(0.3)
    assert "person" in card.guarantee.unit
    assert not any("30 records a month" in entry for entry in card.assumptions)
    with pytest.raises(ParameterError, match="private publisher"):
        CappedPersons(DOCA(sensitivity=1))


VALUES = [0.0, 4.0, 10.0]


def streams(most: int) -> Iterator[list[tuple[float, int]]]:
    """Yield every stream of at most so many records of three values and two persons."""
    records = list(product(VALUES, (1, 2)))
    for size in range(most + 1):
        yield from (list(stream) for stream in product(records, repeat=size))


def loss_of_bins(publisher: ClockWindows, first: Numbers, second: Numbers) -> float:
    """Return the exact privacy loss between two windows of a histogram: L1 of the bins over the scale."""
    counts = [publisher._model.count(values, publisher._bins) for values in (first, second)]
    return float(np.abs(counts[0] - counts[1]).sum() / publisher._bin_scale)


def loss_of_ranks(publisher: ClockWindows, first: Numbers, second: Numbers) -> float:
    """Return the exact loss between two windows of rank blocks: of the count, and the worst of all padded sizes."""
    grid, pad = publisher._grid, publisher._padding[0]
    worst = 0.0
    for size in range(1, 6):
        rows = [[*values[:size], *[pad] * (size - len(values))] for values in (first, second)]
        sums = [
            block_sums(np.array([row]), 0.0, grid.step, grid.steps, grid.steps // 2, grid.block).astype(np.float64)
            for row in rows
        ]
        worst = max(worst, float(np.abs(sums[0] - sums[1]).sum() / grid.scale))
    return worst + abs(len(first) - len(second)) / float(publisher._count_scale)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("kind, loss", [("adaptive", loss_of_bins), ("rank", loss_of_ranks)])
def test_a_person_who_is_gone_costs_what_the_card_says(
    limit: int,
    kind: Literal["rank", "adaptive"],
    loss: Callable[[ClockWindows, Numbers, Numbers], float],
) -> None:
    """Every stream of up to four records, with and without a person: the loss reaches limit·ε and never passes it."""
    clock = ClockWindows((0, 10), kind=kind, bins=4, expected=4, block=1, epsilon=1.0)
    promised = CappedPersons(clock, limit=limit).card("x").guarantee
    assert "there or not" in (promised.neighbours or "")
    worst = 0.0
    for stream in streams(4):
        both = [
            CappedPersons(clock, limit=limit).counted(np.array(records, dtype=np.float64).reshape(-1, 2))
            for records in (stream, [record for record in stream if record[1] != 1])
        ]
        worst = max(worst, loss(clock, both[0], both[1]))
    assert worst <= promised.parameters["epsilon"] + 1e-9
    assert worst > 0.9 * promised.parameters["epsilon"]


@pytest.mark.parametrize("share, verdict", [(1.0, "NOT_REFUTED"), (0.7, "REFUTED")])
@pytest.mark.parametrize("limit", [1, 3])
def test_the_twin_run_finds_the_epsilon_of_a_person(limit: int, share: float, verdict: str) -> None:
    clock = ClockWindows((0, 100), kind="adaptive", bins=8, expected=20)
    capped = CappedPersons(TimedWindows(clock, start=0.0, every=10.0, until=60.0), limit=limit, horizon=100.0)
    draw = np.random.default_rng(3)
    records = np.column_stack([draw.uniform(0, 100, 80), draw.integers(0, 6, 80), draw.uniform(-5, 65, 80)])

    def run(stream: Numbers) -> list[Published]:
        publisher = replace(capped, rng=SecureSource())
        return [part for part in (publisher.push_many(stream), publisher.flush()) if len(part)]

    pairs = [Pair(records, records[records[:, 1] != gone], f"person {gone} is gone") for gone in range(6)]
    cost = Cost(epsilon=share * limit)
    assert TwinPath("persons in time", run, pairs, cost, times=2).attack().verdict == verdict


def test_persons_and_windows_in_time_agree_on_what_is_late() -> None:
    timed = TimedWindows(ClockWindows((0, 10)), start=0.0, every=1.0, late=3.0)
    with pytest.raises(ParameterError, match="have another late"):
        CappedPersons(timed, limit=2)
    publisher = CappedPersons(timed, limit=1, late=3.0)
    publisher.push_many(np.array([[1.0, 5, 0.5, 0.5], [2.0, 5, 1.5, 1.5], [3.0, 6, 1.5, 1.5]]))
    assert publisher.held == 2  # the second of person 5 does not count
    assert publisher.needs_clock
    assert "window_start" in publisher.columns(publisher.push_many(np.empty((0, 4))), ["x"])


class Boastful(RankWindows):
    """Windows of so many records that claim to hide which records there are."""

    def promise(self) -> Promise | None:
        return record_promise(self.epsilon, Windows(Edges.POSITION), neighbours=Neighbours.PRESENCE)


def test_a_chain_without_a_map_cannot_be_built() -> None:
    with pytest.raises(ParameterError, match="one record more moves all later ones into other windows"):
        Boastful((0, 10))
    with pytest.raises(ParameterError, match="a differentially private publisher of one number"):
        CappedPersons(CappedPersons(RankWindows((0, 10))))


@pytest.mark.parametrize(
    "publisher, unit, neighbours, cost",
    [
        (RankWindows((0, 10), epsilon=0.1), ProtectRows(), Neighbours.VALUE, "0.1"),
        (RankWindows((0, 10), epsilon=0.1), ProtectRows(3), Neighbours.VALUE, "0.3"),
        (ClockWindows((0, 10), epsilon=0.1), ProtectRows(), Neighbours.VALUE, "0.2"),
        (CappedPersons(RankWindows((0, 10), epsilon=0.1), 3), ProtectPersons("person"), Neighbours.VALUE, "0.3"),
        (CappedPersons(ClockWindows((0, 10), epsilon=0.1), 3), ProtectPersons("person"), Neighbours.PRESENCE, "0.3"),
        (CappedPersons(ClockWindows((0, 10), epsilon=0.1), 3), ProtectPersons("person"), Neighbours.VALUE, "0.6"),
    ],
)
def test_a_promise_is_derived_and_priced(publisher: Publisher, unit: Unit, neighbours: Neighbours, cost: str) -> None:
    promise = publisher.promise()
    assert promise is not None
    assert promise.cost_for(unit, neighbours) == Cost(epsilon=cost)


def person_records(seed: int, rows: int) -> Numbers:
    draw = np.random.default_rng(seed)
    timed = sample_times(seed, rows)
    return np.column_stack([timed[:, 0], draw.integers(0, 9, rows), timed[:, 1]])


WINDOWS = TimedWindows(ClockWindows(bounds=(0, 100), epsilon=1.0, most=500), start=0.0, every=7.0, until=100.0)
CAPPED = CappedPersons(WINDOWS, limit=3, horizon=20.0)
CHECKS = {check.name: check for check in publisher_checks(CAPPED, person_records, keeps_rows=False)}


@pytest.mark.parametrize("name", CHECKS)
def test_capped_windows_in_time_conform(name: str) -> None:
    CHECKS[name].run()
