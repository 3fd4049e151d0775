"""Running totals against dense matrices, the reach that the proof claims, noise of its size, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.promise import Neighbours, ProtectRows
from sfumato.random import SeededSource
from sfumato.stream import CappedPersons, ClockTotals, RunningTotals, TimedWindows
from sfumato.stream.publishers.totals import factor
from sfumato.stream.publishers.totals.engine import Noise
from sfumato.stream.publishers.totals.factor import UNIT, RootFactor, RootPlan
from sfumato.stream.publishers.totals.measure import KINDS, Measure
from sfumato.stream.publishers.totals.prefix import RootPrefixes, TreePrefixes, tree_variances

Matrix = npt.NDArray[Any]


def toeplitz(column: Matrix) -> Matrix:
    """Return the lower triangular matrix of that first column."""
    size = len(column)
    return np.array([[column[row - place] if row >= place else 0 for place in range(size)] for row in range(size)])


class Spied:
    """Noise that is given, and a record of all that noise was added to."""

    def __init__(self, noise: Iterator[int] | None = None) -> None:
        self.noise, self.covered = noise, list[int]()

    def __call__(self, exact: Any, first: int, what: str) -> Any:
        del first, what
        self.covered += exact.ravel().tolist()
        if self.noise is None:
            return exact.copy()
        return exact + np.array([next(self.noise) for _ in range(exact.size)]).reshape(exact.shape)


def prefixes(kind: str, windows: int, spy: Any) -> RootPrefixes | TreePrefixes:
    return TreePrefixes(windows, 1, 1, spy) if kind == "tree" else RootPrefixes(RootPlan(windows), 1, spy)


@pytest.fixture(params=["root", "blocks", "tree"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "blocks":
        monkeypatch.setattr(factor, "LARGEST", 3)
    return str(request.param)


def covered(kind: str, windows: int, place: int) -> list[int]:
    """Return all that noise is added to where one record of value 1 is in a window."""
    spy = Spied()
    prefixes(kind, windows, spy).extend((np.arange(windows) == place).astype(np.int64)[:, None])
    return spy.covered


@pytest.mark.parametrize("windows", [1, 2, 5, 16, 23])
def test_no_record_moves_more_than_the_reach(kind: str, windows: int) -> None:
    images = [covered(kind, windows, place) for place in range(windows)]
    if kind == "tree":
        assert max(sum(image) for image in images) == windows.bit_length() == sum(images[0])
        return
    longest = max(sum(moved**2 for moved in image) for image in images)
    plan = RootPlan(windows)
    assert longest <= plan.reach
    full = plan.block * plan.top.size == windows  # else the plan has room for windows that do not come
    assert longest == plan.reach or not full


@pytest.mark.parametrize("windows", [1, 2, 5, 16, 23])
def test_variances_are_those_of_the_matrix_that_noise_goes_through(kind: str, windows: int) -> None:
    count = len(covered(kind, windows, 0))
    zeros, columns = np.zeros((windows, 1), dtype=np.int64), []
    for place in range(count):
        unit = iter((UNIT if at == place else 0) for at in range(count))
        columns.append(prefixes(kind, windows, Spied(unit)).extend(zeros)[:, 0] / UNIT)
    found = (np.array(columns) ** 2).sum(axis=0)
    wanted = tree_variances(windows) if kind == "tree" else RootPlan(windows).variances()
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_the_factors_make_prefix_sums(size: int) -> None:
    chosen = RootFactor(size)
    product = toeplitz(chosen.inverse) @ toeplitz(chosen.weights)
    np.testing.assert_allclose(product, np.tri(size), atol=1e-11)
    exact = [math.comb(2 * place, place) / 4**place for place in range(size)]
    assert np.abs(chosen.weights / UNIT - exact).max() <= 0.5 / UNIT


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_without_noise_totals_are_prefix_sums_through_any_cuts(values: list[int], cuts: list[int]) -> None:
    rows = np.array(values)[:, None]
    for kind in ("root", "tree"):
        sums = prefixes(kind, 40, Spied())
        parts = [sums.extend(part) for part in np.split(rows, sorted(cuts)) if len(part)]
        np.testing.assert_allclose(np.concatenate(parts), np.cumsum(rows, axis=0), rtol=1e-9, atol=1e-2)


def test_the_square_root_beats_the_tree_at_a_million_windows() -> None:
    """The exact errors, from which `make bench` makes its rows: mean and largest, at the same ρ."""
    plan, windows = RootPlan(10**6), 10**6
    root = plan.variances() * plan.reach
    tree = tree_variances(windows) * windows.bit_length()
    assert math.sqrt(root.mean() / tree.mean()) < 0.45
    assert math.sqrt(root.max() / tree.max()) < 0.35


STREAM = np.random.default_rng(5).uniform(0, 100, 240)


def wanted(total: str, values: Matrix, last: int | None, window: int) -> Matrix:
    """Return the exact totals behind each window, bin by bin for a histogram."""
    ends = range(window, len(values) + 1, window)
    spans = [values[0 if last is None else max(0, end - last * window) : end] for end in ends]
    if total == "histogram":
        return np.array([np.histogram(span, 5, (0, 100))[0] for span in spans])
    read: Any = {"sum": np.sum, "mean": np.mean}[total]
    return np.array([[read(span)] for span in spans])


@pytest.mark.parametrize("total", ["sum", "mean", "histogram"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("windows, last", [(None, None), (7, None), (100, None), (None, 4), (None, 1)])
def test_next_to_no_noise_gives_the_totals(total: Any, delta: float, windows: int | None, last: int | None) -> None:
    publisher = RunningTotals((0, 100), 10, 1e6, delta, total, windows, last, 5, rng=SeededSource(1))
    out = np.concatenate([publisher.push_many(STREAM[:95]).values, publisher.push_many(STREAM[95:]).values])
    np.testing.assert_allclose(
        out, wanted(total, STREAM, last, 10), atol={"sum": 4, "mean": 0.1, "histogram": 0}[total]
    )


def test_by_the_clock_counts_sums_and_means_leave_together() -> None:
    times = np.repeat([100.0, 120.0, 130.0], [30, 0, 50])
    records = np.column_stack([STREAM[: len(times)], times])
    inner = ClockTotals((0, 100), 1e6, total="mean")
    publisher = TimedWindows(inner, start=100.0, every=10.0, until=140.0, rng=SeededSource(1))
    publisher.push_many(records)
    out = publisher.flush()
    table = publisher.columns(out, ["watts"])
    assert list(table) == ["watts_count", "watts_sum", "watts_mean", "window_start"]
    assert list(table["watts_count"]) == [30, 30, 30, 80]  # an empty window leaves a row too
    np.testing.assert_allclose(list(table["watts_mean"]), [STREAM[:30].mean()] * 3 + [STREAM[:80].mean()], atol=0.01)


def test_a_short_last_window_is_counted_as_short() -> None:
    publisher = RunningTotals((0, 100), 10, 1e6, 1e-6, total="mean", rng=SeededSource(1))
    publisher.push_many(STREAM[:13])
    assert publisher.flush().values[0, 0] == pytest.approx(STREAM[:13].mean(), abs=0.1)


@pytest.mark.long
@pytest.mark.parametrize("windows, delta", [(60, 1e-6), (None, 1e-6), (60, 0.0)])
def test_noise_has_the_size_that_the_proof_says(windows: int | None, delta: float) -> None:
    """Many streams of a value in the middle: the spread behind the last window, and not one 30 % off."""
    runs, length = 2500, 60
    publishers = (
        RunningTotals((-1, 1), 1, 1.0, delta, windows=windows, rng=SeededSource(seed)) for seed in range(runs)
    )
    errors = np.array([publisher.push_many(np.zeros(length)).values[-1, 0] for publisher in publishers])
    measure = Measure("sum", (-1.0, 1.0), 2, Neighbours.VALUE)
    rho = RunningTotals((-1, 1), 1, 1.0, delta)._plan.rho
    noise = Noise(1.0, rho, endless=windows is None).stretch(windows or 1024, measure.moves)
    if delta and windows:
        spread = math.sqrt(float(noise.scale) * RootPlan(windows).variances()[length - 1])
    else:
        one = math.sqrt(float(noise.scale)) / UNIT if delta else math.sqrt(2) * float(noise.scale)
        spread = one * math.sqrt(tree_variances(length)[-1])
    found = float(errors.std()) / (spread * measure._step)
    assert abs(found - 1) < 0.1
    assert all(abs(found / wrong - 1) > 0.1 for wrong in (0.7, 1.3))
    assert abs(errors.mean()) < 5 * errors.std() / math.sqrt(runs)


def test_the_price_follows_from_the_noise() -> None:
    """At ε = 1 and δ = 1e-6 the promise is the ρ that keeps them, a hair below since the spread is a whole number."""
    for further in ({"windows": 10**6}, {"last": 30}, {}):
        promise = RunningTotals((0, 100), delta=1e-6, **further).promise()  # type: ignore[arg-type]
        assert promise is not None
        assert Decimal("0.02435") < promise.cost.rho <= Decimal("0.0243559703595")
        assert promise.told_at == Decimal("1e-06")
        assert promise.cost_for(ProtectRows(3), Neighbours.VALUE).rho == 9 * promise.cost.rho


def test_persons_cost_the_square_of_their_limit() -> None:
    inner = RunningTotals((0, 100), delta=1e-6, windows=50)
    alone, capped = inner.promise(), CappedPersons(inner, limit=3).promise()
    assert alone is not None
    assert capped is not None
    assert capped.cost.rho == 9 * alone.cost.rho
    card = CappedPersons(inner, limit=3).card("watts")
    assert card.guarantee.parameters["per_record"] == float(alone.cost.rho)
    assert any("squared, times the ρ" in note for note in card.assumptions)


def test_moves_are_those_of_the_worst_neighbours() -> None:
    """Every measure of a window, before and after its worst change, against what it claims to move."""
    for neighbours in Neighbours:
        for total in KINDS:
            measure = Measure(total, (-3.0, 5.0), 4, neighbours)
            worst = [0, 0]
            ends = [-3.0, 5.0, 1.0, 4.9, -2.9, 1e300, -1e300, math.nan, math.inf]
            for one in ends:
                plain = measure.of_windows(np.array([[2.0, one]]))[0]
                others = [[2.0]] if neighbours is Neighbours.PRESENCE else [[2.0, end] for end in ends]
                for other in others:
                    move = np.abs(plain - measure.of_windows(np.array([other]))[0])
                    worst = [max(worst[0], int(move.sum())), max(worst[1], int((move**2).sum()))]
            if total != "count" or neighbours is Neighbours.PRESENCE:
                assert tuple(worst) == measure.moves, (total, neighbours)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"total": "count"}, "is public where windows count arrivals; give --every"),
        ({"windows": 5, "last": 5}, "give one of the two"),
        ({"total": "histogram", "bins": 5000}, "5000 bins are more than 4096"),
        ({"epsilon": 1e-8, "delta": 1e-9}, "give a larger ε"),
    ],
)
def test_what_cannot_be_kept_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        RunningTotals((0, 100), **options)


def test_the_card_tells_of_the_matrix_and_of_post_processing() -> None:
    rooted = RunningTotals((0, 100), delta=1e-6, total="mean", windows=50).card("watts")
    assert "square root of the prefix sums; ρ keeps ε = 1 at δ = 1e-06" in rooted.assumptions[1]
    assert any("post-processing" in note for note in rooted.assumptions)
    assert rooted.guarantee.model == "zero-concentrated differential privacy"
    assert "binary tree" in RunningTotals((0, 100)).card("watts").assumptions[1]
    assert [column.name for column in ClockTotals((0, 4), total="histogram", bins=2).card("w").released.columns] == [
        "w_0_to_2",
        "w_2_to_4",
    ]


def test_rows_beyond_what_fits_are_clamped_and_move_no_further(kind: str) -> None:
    """One record on top of sums at the edge of 64 bits: no product wraps, and none moves further than its weight."""
    for full in (2**62, -(2**62), 2**43, 0):
        images = []
        for more in (0, 1):
            spy = Spied()
            made = prefixes(kind, 9, spy)
            made.extend(np.array([[full]] * 4 + [[full + more if full < 2**62 else full - more]] + [[full]] * 4))
            images.append(spy.covered)
        plan = RootPlan(9)
        weights = max([1, *plan.top.weights.tolist()])
        assert all(abs(a - b) <= weights for a, b in zip(*images, strict=True))
        assert all(abs(number) <= 2**62 for image in images for number in image)
