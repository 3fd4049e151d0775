"""Categories, several attributes, clock windows, capped persons, the choice of a publisher, and the measures."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.stream import histogram_intersection, squared_error, window_distance
from sfumato.random import SeededSource
from sfumato.random.random_words import WordRun
from sfumato.stream.noise import laplace_draws, noise_scale
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.auto import PublisherChoice, auto
from sfumato.stream.publishers.clock import ClockWindows
from sfumato.stream.publishers.counts import CategoryWindows, CellHistogram, Shares, apportion, simplex
from sfumato.stream.publishers.doca import DOCA
from sfumato.stream.publishers.linked import LinkedResponse
from sfumato.stream.publishers.rank import RankedAttributes, RankWindows
from sfumato.stream.wrappers import CappedPersons


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=12))
def test_the_simplex_point_is_the_nearest(values: list[float]) -> None:
    array = np.array(values)
    found = simplex(array)
    assert found.sum() == pytest.approx(1)
    assert np.all(found >= 0)
    gaps = array - found
    assert np.all(gaps[found == 0] <= gaps[found > 0].max() + 1e-9)  # the Karush-Kuhn-Tucker conditions
    assert np.ptp(gaps[found > 0]) < 1e-9


@given(st.lists(st.floats(0, 9), min_size=1, max_size=9))
def test_whole_numbers_add_up(shares: list[float]) -> None:
    total = round(sum(shares))
    array = np.array(shares) * (total / sum(shares) if sum(shares) > 0 else 0)
    if total:
        found = apportion(array, total)
        assert found.sum() == total
        assert np.all(np.abs(found - array) < 1 + 1e-6)


def test_shares_are_filtered_over_windows() -> None:
    draw = np.random.default_rng(1)
    truth = np.array([0.6, 0.3, 0.08, 0.02])
    shares = Shares(4, 20.0)
    errors, noises = [], []
    for _ in range(200):
        counts = draw.multinomial(1000, truth)
        noise = laplace_draws(WordRun(SeededSource(int(draw.integers(2**31)))), 4, Fraction(20))
        errors.append(np.abs(shares.learn(counts + noise, 1000) - counts).mean())
        noises.append(np.abs(noise).mean())
    assert np.mean(errors[100:]) < 0.6 * np.mean(noises[100:])


def test_categories_leave_as_texts_and_unknown_ones_as_the_first() -> None:
    publisher = CategoryWindows(("a", "b", "c"), window=300, epsilon=5.0, rng=SeededSource(1))
    out = publisher.push_many(["a"] * 100 + ["c"] * 150 + ["nowhere"] * 50)
    texts = publisher.columns(out, ["x"])["x"]
    assert isinstance(texts, list)
    assert abs(texts.count("a") - 150) < 10
    assert abs(texts.count("c") - 150) < 10
    assert publisher.card("x").released.columns[0].type == "text"


def test_ordered_categories_are_ranked() -> None:
    publisher = CategoryWindows(("low", "mid", "high"), window=400, epsilon=5.0, ordered=True, rng=SeededSource(1))
    out = publisher.push_many(["low"] * 200 + ["high"] * 200)
    texts = publisher.columns(out, ["x"])["x"]
    assert texts[:100] == ["low"] * 100
    assert texts[-100:] == ["high"] * 100


def test_attributes_are_ranked_apart() -> None:
    publisher = RankedAttributes(((0, 10), (0, 1000)), window=500, epsilon=20.0, rng=SeededSource(1))
    draw = np.random.default_rng(1)
    records = np.column_stack([draw.uniform(0, 10, 500), draw.uniform(0, 1000, 500)])
    out = publisher.push_many(records)
    for place in range(2):
        assert np.sort(records[:, place]) == pytest.approx(out.values[:, place], abs=0.06 * (10, 1000)[place])
    assert [grid.scale / grid.steps for grid in publisher._grids] == [Fraction(2, 20)] * 2
    assert any("do not belong together" in entry for entry in publisher.card("x", "y").assumptions)


def test_cells_keep_what_attributes_have_to_do_with_each_other() -> None:
    publisher = CellHistogram(((0, 10), (0, 10)), cells=2, window=1000, rng=SeededSource(1))
    records = np.repeat([[1.0, 9.0], [9.0, 1.0]], 500, axis=0)
    out = publisher.push_many(records)
    assert np.mean((out.values[:, 0] - 5) * (out.values[:, 1] - 5)) < -6
    with pytest.raises(ParameterError, match="more than 2"):
        CellHistogram(((0, 1),) * 8, cells=8)


def test_a_clock_window_hides_its_count() -> None:
    values = np.full(400, 5.0)
    sizes = []
    for seed in range(300):
        publisher = ClockWindows((0, 10), epsilon=1.0, rng=SeededSource(seed))
        publisher.push_many(values)
        sizes.append(len(publisher.tick()))
    error = np.abs(np.array(sizes) - 400).mean()
    wanted = 2 * math.exp(-0.1) / (1 - math.exp(-0.2))
    assert abs(error - wanted) < 5.5 * error / math.sqrt(300)
    assert abs(error - 0.7 * wanted) > 0.2 * wanted


def test_nothing_leaves_before_the_clock_says_so() -> None:
    publisher = ClockWindows((0, 10), kind="adaptive", rng=SeededSource(1))
    assert len(publisher.push_many(np.full(5000, 5.0))) == 0
    assert publisher.held == 5000
    first = publisher.tick()
    assert abs(len(first) - 5000) < 100
    assert publisher.held == 0
    assert set(first.group.tolist()) == {0}


def test_a_clock_window_counts_its_first_records_only() -> None:
    publisher = ClockWindows((0, 10), most=100, epsilon=50.0, rng=SeededSource(1))
    for _ in range(3):
        publisher.push_many(np.full(60, 5.0))
    assert publisher.held == 100
    assert len(publisher.tick()) <= 100


@given(st.lists(st.floats(0, 10), max_size=20), st.floats(0, 10), st.integers(0, 20), st.integers(1, 30))
def test_one_record_more_moves_a_padded_window_as_a_replacement_would(
    values: list[float], extra: float, place: int, size: int
) -> None:
    """The step of the proof: padded or cut to the same size, neighbours differ in one place of the multiset."""
    longer = [*values[:place], extra, *values[place:]]
    padded = [sorted(([*stream, *[5.0] * size])[:size]) for stream in (values, longer)]
    moved = np.array(padded[1]) - np.array(padded[0])
    assert np.abs(moved).sum() <= 10 + 1e-9


def test_clock_windows_say_add_or_remove() -> None:
    card = ClockWindows((0, 10)).card("x")
    assert card.guarantee.neighbours == "streams that differ in one record, which is there or not"
    assert any("noisy count" in entry for entry in card.assumptions)


def test_clock_noise_splits_epsilon() -> None:
    publisher = ClockWindows((0, 65536), epsilon=1.0)
    assert publisher._count_scale == 10
    assert publisher._grid.scale == Fraction(65536) / Fraction(9, 10)
    assert publisher._bin_scale == 1


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


def test_a_new_horizon_counts_anew() -> None:
    inner = RankWindows((0, 100), window=6)
    publisher = CappedPersons(inner, limit=1, horizon=10.0)
    times = np.array([[1.0, 7, 0], [2, 7, 9], [3, 7, 10], [4, 7, 5], [5, 7, 19], [6, 7, 20]])
    assert np.isnan(publisher.counted(times)).tolist() == [False, True, False, True, True, False]
    state = publisher.state()
    again = CappedPersons(RankWindows((0, 100), window=6), limit=1, horizon=10.0)
    again.restore(state)
    assert np.isnan(again.counted(np.array([[7.0, 7, 21]]))).all()


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


def test_the_choice_follows_public_numbers() -> None:
    assert isinstance(auto((0, 100)), AdaptiveHistogram)
    assert isinstance(auto((0, 100), keep="order"), LinkedResponse)
    assert isinstance(auto((0, 100), epsilon=0.02, delay=30), RankWindows)
    assert auto((0, 100), epsilon=30.0, keep="order").name == "laplace"
    assert "predicted mean squared error" in PublisherChoice((0, 100)).reason()
    for name, value in (("bounds", (1, 0)), ("epsilon", 0), ("delay", 0), ("keep", "both")):
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of PublisherChoice"):
            PublisherChoice(**{"bounds": (0, 1), name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon, delay", [(0.05, 100), (1.0, 1000)])
def test_the_better_prediction_is_the_better_publisher(epsilon: float, delay: int) -> None:
    choice = PublisherChoice((0, 1000), epsilon, delay)
    values = np.random.default_rng(1).uniform(0, 1000, 100 * delay)
    measured = {
        "rank": RankWindows((0, 1000), delay, epsilon, choice.block, rng=SeededSource(1)),
        "adaptive": AdaptiveHistogram((0, 1000), delay, epsilon, choice.bins, rng=SeededSource(1)),
    }
    found = {name: window_distance(values, made.push_many(values).values, delay) for name, made in measured.items()}
    assert min(found, key=lambda name: found[name]) == choice.best() or math.isclose(*found.values(), rel_tol=0.5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 123.456])
def test_scales_are_never_below_what_epsilon_asks_for(epsilon: float) -> None:
    for sensitivity in (1, 2, 99618):
        scale = noise_scale(sensitivity, epsilon)
        exact = Fraction(sensitivity) / Fraction(repr(epsilon))
        assert exact <= scale <= exact * Fraction(1_000_001, 1_000_000) + Fraction(1, 2**20)


def test_distances_of_windows() -> None:
    true, given_rows = np.array([3.0, 1, 2, 9, 7]), np.array([1.0, 2, 3, 8, 8])
    assert window_distance(true, given_rows, 3) == pytest.approx((0 + 0 + 0 + 1 + 1) / 5)
    assert histogram_intersection(true, true) == 1
    assert histogram_intersection(true, np.full(5, 100.0)) == 0
    with pytest.raises(InputError, match="5 true values and 4 released"):
        window_distance(true, given_rows[:4], 3)
    with pytest.raises(InputError, match="not linked"):
        squared_error(true, RankWindows((0, 10), window=5, rng=SeededSource(1)).push_many(true))
