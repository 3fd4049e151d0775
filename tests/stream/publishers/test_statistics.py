"""Statistics of windows: right numbers without noise, panes that add up, sensitivities by brute force, shares of ε."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statistics_twin import ASKED, BINS, sliding, window_rows

from sfumato.errors import ParameterError
from sfumato.promise import Neighbours, ProtectRows
from sfumato.random import SecureSource, SeededSource
from sfumato.stream import CappedPersons, ClockStatistics, StatisticWindows, TimedWindows, build
from sfumato.stream.base import Published
from sfumato.stream.publishers.statistics import plan, window
from sfumato.stream.publishers.statistics.grammar import Domain, read_statistics
from sfumato.stream.publishers.statistics.measures import (
    BinCounts,
    BinRanks,
    CandidateRanks,
    CentredSum,
    CodeCounts,
    Measure,
    RankMeasure,
    RecordCount,
)
from sfumato.stream.publishers.statistics.plan import Asked, StatisticPlan, split
from sfumato.stream.publishers.statistics.reach import noise_reach

WINDOWS = 3000
COLUMNS: dict[str, Domain] = {"cost": (0.0, 100.0), "zone": ("a", "b", "c")}
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 10.0, 24.9, 25.0, 60.0, 100.0, -7.0, 1e300, float("nan")]),
        st.sampled_from([0.0, 1.0, 2.0, 5.0, float("nan")]),
    ),
    max_size=17,
)


def rows_of(publisher: Any, parts: list[Published]) -> list[dict[str, Any]]:
    """The released rows as a reader sees them."""
    found = []
    for part in parts:
        columns = publisher.columns(part, [])
        found += [
            {name: column[place] for name, column in columns.items()} | {"group": int(part.group[place])}
            for place in range(len(part))
        ]
    return found


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "add_noise", lambda _run, exact, *_: exact)
    monkeypatch.setattr(plan, "CHOICES", BINS)
    monkeypatch.setattr(window, "choose_one", lambda _run, scores, *_: scores.index(max(scores)))


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("last", [5, 15])
def test_windows_of_records_say_what_their_records_say(last: int) -> None:
    @settings(max_examples=40, deadline=None)
    @given(RECORDS)
    def check(records: list[tuple[float, float]]) -> None:
        publisher = StatisticWindows(COLUMNS, ASKED, step=5, last=last, bins=4)
        batch = np.array(records, dtype=np.float64).reshape(-1, 2)
        rows = rows_of(publisher, [publisher.push_many(batch), publisher.flush()])
        wanted = [row for one in sliding(records, 5, last) for row in window_rows(one)]
        assert [(row["column"], row["statistic"], row["at"]) for row in rows] == [row[:3] for row in wanted]
        assert [row["value"] for row in rows] == pytest.approx([row[3] for row in wanted], abs=0.02)
        ends = [min(5 * (row["group"] + 1), len(records)) for row in rows]
        assert [(row["window_start"], row["window_end"]) for row in rows] == [
            (max(0, 5 * (row["group"] + 1) - last), end) for row, end in zip(rows, ends, strict=True)
        ]

    check()


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("panes", [1, 3])
def test_windows_in_time_say_what_their_records_say_and_empty_ones_are_kept(panes: int) -> None:
    @settings(max_examples=40, deadline=None)
    @given(RECORDS, st.randoms(use_true_random=False))
    def check(records: list[tuple[float, float]], choose: Any) -> None:
        times = [choose.choice([-1.0, 0.0, 5.0, 10.0, 39.9, 40.0]) for _ in records]
        inner = ClockStatistics(COLUMNS, ASKED, panes, bins=4)
        publisher = TimedWindows(inner, start=0.0, every=10.0, until=40.0)
        batch = np.array([(*record, time) for record, time in zip(records, times, strict=True)]).reshape(-1, 3)
        rows = rows_of(publisher, [publisher.push_many(batch), publisher.flush()])
        kept = list(zip(records, times, strict=True))
        wanted = [
            row
            for end in range(4)
            for row in window_rows([one for one, time in kept if max(0, end + 1 - panes) * 10 <= time < 10 * end + 10])
        ]
        assert [row["value"] for row in rows] == pytest.approx([row[3] for row in wanted], abs=0.02)
        seconds = [(row["window_start"], row["window_end"]) for row in rows]
        first, last = max(0, 4 - panes) * 10, 40
        assert seconds[-1] == (f"1970-01-01T00:00:{first:02}Z", f"1970-01-01T00:00:{last}Z")

    check()


def test_sliding_windows_are_the_sums_of_their_panes_noise_included() -> None:
    records = np.random.default_rng(1).uniform(0, 100, 95)
    asked: dict[str, Any] = {"statistics": "sum, histogram", "step": 10, "bins": 4, "epsilon": 0.5}
    alone = StatisticWindows({"cost": (0, 100)}, **asked, rng=SeededSource(3))
    slides = StatisticWindows({"cost": (0, 100)}, **asked, last=40, rng=SeededSource(3))
    panes = np.concatenate([alone.push_many(records).values, alone.flush().values])[:, 0].reshape(10, 5)
    windows = np.concatenate([slides.push_many(records).values, slides.flush().values])[:, 0].reshape(10, 5)
    for number in range(10):
        assert windows[number] == pytest.approx(panes[max(0, number - 3) : number + 1].sum(axis=0))


MEASURES: list[Measure] = [
    RecordCount(),
    CentredSum("sum", 0, (-3.0, 9.0), 3.0),
    CentredSum("sum", 0, (-3.0, 9.0), 0.0),
    BinCounts("bins", 0, (-3.0, 0.0, 5.0, 9.0)),
    CodeCounts("codes", 0, ("a", "b", "c")),
    BinRanks("quantile", 0, (-3.0, 0.0, 5.0, 9.0), Fraction(1, 4)),
    CandidateRanks("quantile", 0, (-3.0, 9.0), (0.0, 2.0, 5.0), Fraction(9, 10)),
]
VALUES = (-3.0, 0.0, 1.0, 2.0, 7.0, 9.0, float("nan"), 1e300)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: f"{type(measure).__name__} {measure.label}")
def test_a_record_moves_no_more_than_is_said_and_as_much(measure: Measure, neighbours: Neighbours) -> None:
    def told(values: tuple[float, ...]) -> list[int]:
        counts = measure.tally(np.array(values, dtype=np.float64).reshape(-1, 1))
        return measure.scores(counts) if isinstance(measure, RankMeasure) else counts.tolist()

    moved = []
    for count in range(4):
        for rest in itertools.combinations_with_replacement(VALUES, count):
            for value in VALUES:
                others = [(*rest, other) for other in VALUES] if neighbours is Neighbours.VALUE else [rest]
                for other in others:
                    far = [abs(one - two) for one, two in zip(told((*rest, value)), told(other), strict=True)]
                    moved.append(max(far) if isinstance(measure, RankMeasure) else sum(far))
    allowed = measure.sensitivity(neighbours)
    assert max(moved) <= allowed
    if not (isinstance(measure, RecordCount) and neighbours is Neighbours.VALUE):
        assert max(moved) == allowed


def test_the_tallies_of_two_panes_add_up() -> None:
    draw = np.random.default_rng(2)
    for measure in MEASURES:
        one, two = draw.uniform(-5, 12, (7, 1)), draw.uniform(-5, 12, (3, 1))
        assert (measure.tally(one) + measure.tally(two)).tolist() == measure.tally(np.concatenate([one, two])).tolist()


@given(st.integers(1, 10**6), st.lists(st.tuples(st.integers(1, 50), st.integers(1, 60)), min_size=1, max_size=6))
def test_shares_never_cost_more_than_the_whole(millionths: int, asked: list[tuple[int, int]]) -> None:
    epsilon, looks = Fraction(millionths, 10**6), [count for _, count in asked]
    parts = split(epsilon, [Fraction(share) for share, _ in asked], looks)
    spent = sum(part * count for part, count in zip(parts, looks, strict=True))
    assert spent <= epsilon
    assert epsilon - spent < Fraction(1, 10**15)
    if 1 in looks:
        assert spent == epsilon


@pytest.mark.parametrize(
    "epsilon, panes, quantiles", [(1.0, 1, "choice"), (0.7, 6, "choice"), (1 / 3, 7, "choice"), (2.5, 6, "histogram")]
)
def test_the_promise_is_the_epsilon_that_was_asked_for(epsilon: float, panes: int, quantiles: Any) -> None:
    inner = ClockStatistics(COLUMNS, "count, mean, quantile 0.9:3, histogram", panes, epsilon, quantiles=quantiles)
    promise = inner.promise()
    assert promise is not None
    assert float(promise.cost.epsilon) == epsilon
    assert promise.cost_for(ProtectRows(3), Neighbours.PRESENCE).epsilon == 3 * promise.cost.epsilon
    capped = CappedPersons(TimedWindows(inner, 0.0, 10.0, 50.0), limit=4, person="house").promise()
    assert capped is not None
    assert capped.cost.epsilon == 4 * promise.cost.epsilon


def test_quantiles_pay_for_every_window_where_they_are_chosen_and_once_where_they_are_read() -> None:
    asked = Asked({"cost": (0, 10)}, "median, quantile 0.9", 8, chosen=True)
    chosen = StatisticPlan(asked, 1.2, Neighbours.PRESENCE, panes=6)
    assert [(float(share.epsilon), share.looks) for share in chosen.shares] == [(0.1, 6), (0.1, 6)]
    read = StatisticPlan(Asked(asked.domains, asked.statistics, 8, chosen=False), 1.2, Neighbours.PRESENCE, panes=6)
    assert [(float(share.epsilon), share.looks) for share in read.shares] == [(1.2, 1)]


def test_persons_with_several_columns_are_capped_before_windows() -> None:
    records = np.array([[10.0, 1, 7], [20.0, 2, 7], [30.0, 0, 8]])
    values = CappedPersons(StatisticWindows(COLUMNS, "mean", step=3), limit=1)
    assert values.counted(records).tolist()[0] == [10.0, 1.0]
    assert np.isnan(values.counted(records)).all()  # every limit is reached by now
    timed = CappedPersons(TimedWindows(ClockStatistics(COLUMNS), 0.0, 10.0, 50.0), limit=1)
    with_times = np.column_stack([records, [1.0, 2.0, 3.0]])
    assert timed.counted(with_times).tolist() == [[10.0, 1.0, 1.0], [30.0, 0.0, 3.0]]


def test_an_interval_of_one_draw_is_the_exact_one() -> None:
    for scale in (Fraction(1), Fraction(7, 2), Fraction(250)):
        ratio = np.exp(-1 / float(scale))
        for outside in (0.05, 0.01):
            reach = noise_reach(scale, 1, outside)
            assert 2 * ratio ** (reach + 1) / (1 + ratio) <= outside < 2 * ratio**reach / (1 + ratio)


@pytest.mark.parametrize("draws", [1, 2, 6, 60])
def test_a_coarse_interval_is_hardly_wider_than_a_fine_one(draws: int) -> None:
    fine, coarse = noise_reach(Fraction(256), draws, 0.05), noise_reach(Fraction(256_000), draws, 0.05)
    assert 1000 * (fine - 1) <= coarse <= 1010 * (fine + 1)


def test_an_interval_of_several_draws_is_that_of_the_convolved_law() -> None:
    ratio = np.exp(-1 / 3)
    one = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-120, 121))
    law = np.convolve(np.convolve(one, one), one)
    middle = len(law) // 2
    reach = noise_reach(Fraction(3), 3, 0.05)
    inside = [law[middle - far : middle + far + 1].sum() for far in (reach - 1, reach)]
    assert inside[0] < 0.95 <= inside[1]


@pytest.mark.long
def test_intervals_hold_what_is_true_as_often_as_they_say() -> None:
    records = np.random.default_rng(4).uniform(20, 60, 30)
    truth = {"count": 90.0, "sum": 3 * records.sum(), "mean": records.mean(), "histogram": 3.0 * (records < 50).sum()}
    publisher = ClockStatistics({"cost": (0, 100)}, "count, sum, mean, histogram", 3, 2.0, 2, rng=SecureSource())
    held, nearer = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for number in range(3 * WINDOWS):
        publisher.push_many(records)
        part = publisher.tick()
        if number % 3 == 2:  # windows that share no pane
            for row in rows_of(publisher, [part])[:4]:
                name, middle = row["statistic"], (row["low"] + row["high"]) / 2
                held[name] += bool(row["low"] <= truth[name] <= row["high"])
                nearer[name] += bool(abs(truth[name] - middle) <= 0.35 * (row["high"] - row["low"]))
    for name, count in held.items():
        assert stats.binomtest(count, WINDOWS, 0.95, alternative="less").pvalue > 1e-6, name
    for name in ("count", "histogram"):  # intervals that are 30 % shorter do not; those of two numbers are wider
        assert stats.binomtest(nearer[name], WINDOWS, 0.95, alternative="less").pvalue < 1e-6, name


@pytest.mark.parametrize(
    "asked, sentence",
    [
        ("cuont", "statistic 'cuont' is not understood; give count, or sum"),
        ("count of cost", "records are counted"),
        ("quantile of cost", "give its level"),
        ("mean 0.5 of cost", "only a quantile has a level"),
        ("quantile 1 of cost", "give one above 0 and below 1"),
        ("mean of zone", "column 'zone' holds categories; ask for their histogram"),
        ("mean of fare", "there is no column 'fare'"),
        ("mean, mean of cost", "ask for 'mean of cost' twice"),
        ("mean:0", "its share is 0"),
        ("histogram of cost at 5 3", "give rising numbers between the bounds 0 and 100"),
        ("histogram of cost at 0 3", "give rising numbers between the bounds 0 and 100"),
        ("median of cost at 3", "at least two candidates"),
        ("histogram of zone at 3", "'at' gives the edges"),
        ("mean at 3", "'at' gives the edges"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(asked: str, sentence: str) -> None:
    with pytest.raises(ParameterError, match="statistic") as refused:
        read_statistics(asked, COLUMNS)
    assert sentence in str(refused.value)


def test_a_count_alone_costs_nothing_where_it_is_public_so_that_nothing_is_promised() -> None:
    with pytest.raises(ParameterError, match="public count"):
        StatisticWindows({"cost": (0, 9)}, "count")


def test_a_window_that_is_no_whole_number_of_steps_is_refused() -> None:
    for options in (
        {"delay": 10, "last": "25"},
        {"every": "10s", "from_": "0", "time": "t", "late": "1s", "last": "25s"},
    ):
        with pytest.raises(ParameterError, match="no whole number of steps"):
            build("statistics", ["cost"], bounds=(0, 9), **options)
    with pytest.raises(ParameterError, match="--last is '1h'; give a number of records, or --every too"):
        build("statistics", ["cost"], bounds=(0, 9), last="1h")


@pytest.mark.parametrize("options", [{"bins": 2**20 + 1}, {"bins": 2**19, "panes": 17}, {"panes": 10**9}])
def test_what_would_not_fit_into_memory_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="fewer"):
        ClockStatistics({"cost": (0, 9)}, **options)


def test_a_mean_of_what_may_be_nobody_says_so() -> None:
    publisher = ClockStatistics({"cost": (0, 100)}, "count, mean", epsilon=20.0, rng=SeededSource(1))
    assert publisher.tick().values[1, 1:].tolist() == [0.0, 100.0]
    publisher.push_many(np.full(200, 30.0))
    low, high = publisher.tick().values[1, 1:].tolist()
    assert 25 < low < 30 < high < 35


def test_the_card_says_which_part_pays_for_what() -> None:
    timed = TimedWindows(ClockStatistics(COLUMNS, "count, mean of cost:2, median of cost", 6), 0.0, 600.0, 7200.0)
    card = timed.card()
    told = " ".join(card.assumptions)
    assert "count: noise at ε = 0.25; sum of cost: noise at ε = 0.5" in told
    assert "quantile 0.5 of cost: choice at ε = 0.04167 in each of 6 windows" in told
    assert "With each of them a window of the last 3600 seconds ends" in told
    assert [column.name for column in card.released.columns][-2:] == ["window_start", "window_end"]
    assert json.loads(card.to_json())["released"]["settings"]["panes"] == 6


@pytest.mark.parametrize("kind", [StatisticWindows, ClockStatistics])
def test_records_may_come_as_texts(kind: type[StatisticWindows | ClockStatistics]) -> None:
    publisher = kind(COLUMNS, "histogram of zone", epsilon=500.0, rng=SeededSource(1))
    publisher.push((5.0, "c"))
    publisher.push_many([(5.0, "a"), (5.0, "c"), (5.0, "nowhere")])
    assert publisher.flush().values[:, 0].tolist() == [2.0, 0.0, 2.0]
