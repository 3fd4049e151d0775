"""Adaptive histograms: kernels against twins, what the proof needs, and the goals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.evaluate.stream import histogram_intersection, window_distance
from sfumato.random import SeededSource
from sfumato.stream.publishers.adaptive import AdaptiveHistogram
from sfumato.stream.publishers.adaptive.cells_kernel import (
    bin_sums,
    cut_bins,
    exceed,
    finer_bins,
    fix_total,
    follow_stream,
    hand_out,
    long_run,
    quantile_rows,
    remember,
    replace_tails,
    root_of,
    sharpen_counts,
    spread_counts,
    top_rows,
)
from sfumato.stream.publishers.adaptive.kernel import bin_counts, emissions, forward_backward, moments
from sfumato.stream.publishers.adaptive.model import CELLS, CountingBins, HistogramModel, NoiseScales, tables
from sfumato.stream.state import pack

Numbers = npt.NDArray[np.float64]
SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=30).filter(lambda shares: sum(shares) > 0.1)


def normal(shares: list[float]) -> Numbers:
    return np.array(shares) / sum(shares)


def test_tables_hold_the_law_of_noisy_poisson_counts() -> None:
    scale, most = 2.0, 30
    made = tables(scale, most)
    fade = math.exp(-1 / scale)
    for rate in (0.5, 3.0, 20.0):
        row = int(made.rows(np.array([rate]))[0])
        exact = 0.02 * 2 ** (row / 4)
        prior = [math.exp(-exact) * exact**count / math.factorial(count) for count in range(most + 1)]
        for noisy in (0, 3, 25, most):
            noise = [(1 - fade) / (1 + fade) * fade ** abs(noisy - count) for count in range(most + 1)]
            joint = np.array(prior) * noise
            column = noisy
            assert made.likelihood[row, column] == pytest.approx(joint.sum(), rel=1e-9)
            mean = joint @ np.arange(most + 1) / joint.sum()
            assert made.mean[row, column] == pytest.approx(mean, rel=1e-9)
            spread = joint @ (np.arange(most + 1) - mean) ** 2 / joint.sum()
            assert made.variance[row, column] == pytest.approx(spread, rel=1e-6, abs=1e-9)
    assert made.mean[made.zero, 5] == 0


@given(seed=st.integers(0, 10**6), bins=st.integers(1, 5), states=st.integers(2, 3))
def test_forward_backward_agrees_with_all_paths(seed: int, bins: int, states: int) -> None:
    draw = np.random.default_rng(seed)
    chance, jump, stay = draw.random((bins, states)) + 0.01, draw.dirichlet(np.ones(states)), draw.random(states)
    posterior, stays, leaves, jumps = np.zeros((bins, states)), *np.zeros((3, states))
    total = 0.0
    for path in itertools.product(range(states), repeat=bins):
        for jumped in itertools.product((False, True), repeat=bins - 1):
            steps = list(zip(itertools.pairwise(path), jumped, strict=True))
            weight = jump[path[0]] * math.prod(chance[place, state] for place, state in enumerate(path))
            for (one, other), gone in steps:
                weight *= (1 - stay[one]) * jump[other] if gone else stay[one] * (one == other)
            total += weight
            for place, state in enumerate(path):
                posterior[place, state] += weight
            for (one, other), gone in steps:
                stays[one] += weight * (not gone)
                leaves[one] += weight * gone
                jumps[other] += weight * gone
    for found, wanted in zip(forward_backward(chance, stay, jump), (posterior, stays, leaves, jumps), strict=True):
        assert found == pytest.approx(wanted / total, abs=1e-9)


def test_emissions_follow_the_tables_and_markov() -> None:
    made = tables(2.0, 50)
    rates = np.array([1.0, 10.0])
    rows = made.rows(rates)
    noisy, expected = np.array([-3, 12]), np.array([0.05, 30.0])
    chance, used, columns = emissions(noisy, expected, made.rows(expected), rates, rows, 0.0, made.likelihood)
    assert columns.tolist() == [0, 12]
    assert used[:, 0].tolist() == [made.zero] * 2
    assert chance[0, 3] == pytest.approx(made.likelihood[rows[1], columns[0]] * 0.05 / 10)
    assert chance[1, 3] == made.likelihood[rows[1], columns[1]]
    certain = np.array([[0.0, 0.0, 0.0, 1.0]] * 2)
    means, variances = moments(certain, used, columns, noisy, made.mean, made.variance, made.beyond)
    assert means.tolist() == [made.mean[rows[1], column] for column in columns]
    assert np.all(variances > 0)


@given(shares=SHARES, count=st.integers(1, 12), shift=st.floats(0, 1), even=st.floats(0.01, 1))
def test_bins_part_the_cells(shares: list[float], count: int, shift: float, even: float) -> None:
    edges, of_cell = cut_bins(normal(shares), even, count, shift)
    assert edges[0] == 0
    assert edges[-1] == len(shares)
    assert np.all(np.diff(edges) > 0)
    assert len(edges) - 1 <= count + 1
    assert of_cell.tolist() == np.repeat(np.arange(len(edges) - 1), np.diff(edges)).tolist()


@given(shares=SHARES, reach=st.integers(1, 40))
def test_roots_of_smoothed_shares(shares: list[float], reach: int) -> None:
    near = [sum(normal(shares)[max(0, place - reach) : place + reach + 1]) for place in range(len(shares))]
    wanted = np.sqrt(near) / np.sqrt(near).sum()
    assert root_of(normal(shares), reach) == pytest.approx(wanted, abs=1e-6)


def long_run_twin(raw: Numbers) -> Numbers:
    summed = np.cumsum(raw)
    summed[-1] = 1.0
    rising = np.minimum(np.maximum.accumulate(summed), 1.0)
    rising = np.maximum(rising, 0.0)
    late = np.maximum(np.minimum.accumulate(summed[::-1])[::-1], 0.0)
    late = np.minimum(late, 1.0)
    middle = int(np.argmax(rising >= 0.5))
    return np.diff(np.maximum.accumulate(np.concatenate([late[:middle], rising[middle:]])), prepend=0.0)


@given(raw=st.lists(st.floats(-0.3, 0.5), min_size=2, max_size=30))
def test_the_long_run_is_a_distribution(raw: list[float]) -> None:
    found = long_run(np.array(raw))
    assert found == pytest.approx(long_run_twin(np.array(raw)), abs=1e-12)
    assert np.all(found >= 0)
    assert found.sum() == pytest.approx(1)


def test_noise_around_nothing_does_not_lengthen_the_tails() -> None:
    raw = np.zeros(100)
    raw[40:60] = 0.05
    raw += np.random.default_rng(1).normal(0, 0.002, 100)
    raw += (1 - raw.sum()) / 100
    assert long_run(raw)[:35].sum() + long_run(raw)[65:].sum() < 0.02


@given(shares=SHARES, means=st.lists(st.floats(0, 50), min_size=1, max_size=10), seed=st.integers(0, 99))
def test_counts_spread_over_cells_add_up(shares: list[float], means: list[float], seed: int) -> None:
    cells = len(shares)
    inner = np.random.default_rng(seed).choice(np.arange(1, cells), min(len(means), cells) - 1, replace=False)
    edges = np.concatenate([[0], np.sort(inner), [cells]])
    counts = np.array(means[: len(edges) - 1])
    assert bin_sums(spread_counts(counts, edges, normal(shares)), edges) == pytest.approx(counts, abs=1e-9)
    fix_total(counts, np.ones(len(counts)), np.ones(len(counts)), 20)
    assert counts.sum() == pytest.approx(20)
    assert np.all(counts >= 0)


def test_a_window_is_averaged_as_it_was_counted() -> None:
    edges = np.array([0, 2, 4])
    raw, shape = np.full(4, 0.25), np.full(4, 0.25)
    remember(raw, shape, np.full(4, 0.25), np.array([30, 10]), edges, np.array([30.0, 0, 5, 5]), 40, 0.5, 0.5)
    assert raw.tolist() == [0.3125, 0.3125, 0.1875, 0.1875]
    assert shape.tolist() == [0.5, 0.125, 0.1875, 0.1875]


@given(st.lists(st.floats(-10, 110) | st.just(math.nan), max_size=40), st.integers(1, 8))
def test_counting_is_exact(values: list[float], bins: int) -> None:
    of_cell = np.repeat(np.arange(bins), 5)
    cells = [2 if math.isnan(value) else min(max(int(value), 0), 5 * bins - 1) for value in values]
    wanted = np.bincount(of_cell[cells], minlength=bins) if cells else np.zeros(bins)
    assert bin_counts(np.array(values), 0.0, 1.0, 2, of_cell, bins).tolist() == wanted.tolist()


def test_more_is_given_where_more_is_due() -> None:
    cells = np.array([10.0, 10.0, 10.0, 0.0])
    found = follow_stream(cells, np.array([45.0, 30.0, 15.0, 50.0]), np.full(4, 20.0), 0.0)
    wanted = np.array([1.5**3, 1.0, 0.5**3, 0.0])
    assert found == pytest.approx(30 * wanted / wanted.sum())
    assert follow_stream(cells, np.array([-9.0, 1e9, 30.0, 50.0]), np.full(4, 20.0), 0.0)[:2] == pytest.approx(
        30 * np.array([1 / 8, 8]) / (1 / 8 + 8 + 1)
    )
    assert follow_stream(cells, np.array([45.0, 30.0, 15.0, 50.0]), np.full(4, 20.0), 1e12) == pytest.approx(cells)


def test_rows_are_counted_where_they_are() -> None:
    given_before = np.array([1.0, 0.0, 2.0])
    hand_out(np.array([0.0, 0.5, 1.0, 2.9, 3.0]), given_before)
    assert given_before.tolist() == [3.0, 1.0, 4.0]


def behind(values: Numbers, calm: float | None) -> float:
    """The share of all rows that lie elsewhere than all counts say, in 128 equal bins."""
    publisher = AdaptiveHistogram((0, 100), window=500, rng=SeededSource(5))
    model = publisher._model
    model._calm = model._calm if calm is None else calm
    publisher.push_many(values)
    assert model._given.sum() == len(values)
    due, released = (array.reshape(128, -1).sum(axis=1) for array in (model._due, model._given))
    return float(np.abs(due - released).sum() / due.sum())


def test_all_rows_follow_all_counts() -> None:
    values = np.random.default_rng(5).gamma(3, 10, 100_000)
    assert behind(values, None) < 0.75 * behind(values, 1e15)


def test_quantiles_and_tails() -> None:
    cells = np.array([0.0, 2.0, 0.0, 1.0])
    assert quantile_rows(cells, 3).tolist() == [1.25, 1.75, 3.5]
    assert exceed(2.0, 2.0, 3) == pytest.approx([1 - math.exp(-2) * share for share in (1, 3, 5)])
    size, fail = 2.0**2 / (5.0 - 2.0), 2.0 / (2.0**2 / (5.0 - 2.0) + 2.0)
    mass = [
        math.gamma(k + size) / math.gamma(size) / math.factorial(k) * (1 - fail) ** size * fail**k for k in range(3)
    ]
    assert exceed(2.0, 5.0, 3) == pytest.approx(1 - np.cumsum(mass))


def test_tails_leave_as_expectations() -> None:
    edges = np.array([0.0, 10.0, 20.0, 100.0])
    means, variances = np.array([500.0, 500.0, 0.05]), np.array([1e-9, 1e-9, 0.05])
    top = top_rows(means, variances, edges, 2)
    seldom = 1 - math.exp(-0.05)
    assert top[0] == pytest.approx(20 + 80 * seldom / 2 - 5 * (1 - seldom), abs=6)
    rows = np.linspace(0, 99, 1000)
    replace_tails(rows, means, variances, edges, 5)
    assert np.all(np.diff(rows) >= 0)


@given(seed=st.integers(0, 10**6), records=st.floats(1, 50))
def test_finer_bins_part_crowded_ones(seed: int, records: float) -> None:
    draw = np.random.default_rng(seed)
    edges = np.array([0, 7, 8, 30])
    cells = draw.gamma(0.3, 20, 30)
    means = bin_sums(cells, edges)
    finer, of_cell = finer_bins(means, edges, cells, records)
    assert set(edges) <= set(finer.tolist())
    assert of_cell.tolist() == np.repeat(np.arange(len(finer) - 1), np.diff(finer)).tolist()
    noisy = draw.integers(-20, 60, len(finer) - 1)
    counts = sharpen_counts(means, edges, cells, finer, noisy, 100.0)
    assert np.all(counts >= 0)
    places = np.searchsorted(edges, finer[:-1], side="right") - 1
    assert np.bincount(places, weights=counts, minlength=3) == pytest.approx(means)


def test_finer_counts_are_followed_where_there_is_little_noise() -> None:
    edges, finer = np.array([0, 4]), np.array([0, 1, 2, 3, 4])
    counts = sharpen_counts(np.array([100.0]), edges, np.full(4, 25.0), finer, np.array([70, 10, 10, 10]), 1e-6)
    assert counts == pytest.approx([70, 10, 10, 10], abs=1e-3)


@given(place=st.integers(0, 49), other=st.floats(-5, 120), seed=st.integers(0, 50))
def test_replacing_a_record_moves_two_counts_by_one(place: int, other: float, seed: int) -> None:
    model = HistogramModel((0.0, 100.0), 50, 20, NoiseScales(2.0, 2.5, 10.0))
    values = np.random.default_rng(seed).gamma(2, 10, 50)
    neighbour = values.copy()
    neighbour[place] = other
    bins = model.bins()
    assert np.abs(model.count(values, bins) - model.count(neighbour, bins)).sum() <= 2


class Spy(HistogramModel):
    """A model that keeps what the publisher gives it: everything it can learn from."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.told: list[tuple[str, npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []

    def read(self, noisy: npt.NDArray[np.int64], bins: CountingBins, size: int) -> object:  # type: ignore[override]
        self.told.append(("twice" if self.twice else "once", noisy.copy(), bins.of_cell.copy()))
        return super().read(noisy, bins, size)

    def sharpen(self, reading: object, noisy: npt.NDArray[np.int64], finer: CountingBins) -> object:  # type: ignore[override]
        self.told.append(("finer", noisy.copy(), finer.of_cell.copy()))
        return super().sharpen(reading, noisy, finer)  # type: ignore[arg-type]


def spied(values: Numbers, seed: int) -> Spy:
    publisher = AdaptiveHistogram((0, 100), window=500, bins=60, epsilon=1.0, rng=SeededSource(seed))
    publisher._model = Spy((0, 100), 500, 60, publisher._model._scales)
    publisher.push_many(values)
    assert isinstance(publisher._model, Spy)
    return publisher._model


@pytest.mark.parametrize("moving", [False, True])
def test_every_count_has_noise_of_the_scale_that_epsilon_asks_for(moving: bool) -> None:
    draw = np.random.default_rng(2)
    centres = draw.uniform(5, 95, 60) if moving else np.full(60, 50.0)
    values = np.concatenate([draw.normal(centre, 0.5 if moving else 15, 500) for centre in centres])
    model = spied(values, 7)
    noises: dict[str, list[int]] = {"once": [], "twice": [], "finer": []}
    windows = iter(values.reshape(60, 500))
    window = next(windows)
    for number, (kind, noisy, of_cell) in enumerate(model.told):
        if kind != "finer" and number:
            window = next(windows)
        cells = np.clip((window / (100 / CELLS)).astype(int), 0, CELLS - 1)
        noises[kind] += (noisy - np.bincount(of_cell[cells], minlength=len(noisy))).tolist()
    assert (len(noises["finer"]) > 500) == moving
    for kind, share in (("once", 1), ("twice", Fraction(17, 20)), ("finer", Fraction(3, 20))):
        if len(noises[kind]) < 500:
            continue
        size = np.abs(noises[kind]).mean()
        scale = 2 / float(share)
        wanted = 2 * math.exp(-1 / scale) / (1 - math.exp(-2 / scale))
        error = 5.5 * size / math.sqrt(len(noises[kind]))
        assert abs(size - wanted) < error
        assert min(abs(size - 0.7 * wanted), abs(size - 1.3 * wanted)) > error


def test_all_that_is_learnt_comes_from_noisy_counts() -> None:
    values = np.random.default_rng(3).normal(50, 15, 5000)
    first = spied(values, 8)
    replayed = HistogramModel((0, 100), 500, 60, first._scales)
    for kind, noisy, _ in first.told:
        assert kind == "once"
        replayed.rows(replayed.read(noisy, replayed.bins(), 500))
    for name, array in first.arrays().items():
        assert np.array_equal(array, replayed.arrays()[name]), name


@pytest.mark.parametrize("beyond", [-1, -40, 31, 90])
def test_counts_out_of_reach_say_no_more_than_the_last(beyond: int) -> None:
    scale, most = 5.0, 30
    counts = np.arange(most + 1)
    prior = np.exp(-4.0) * 4.0**counts / np.array([math.factorial(count) for count in range(most + 1)])
    posteriors = [prior * np.exp(-np.abs(noisy - counts) / scale) for noisy in (beyond, min(max(beyond, 0), most))]
    first, second = (posterior / posterior.sum() for posterior in posteriors)
    assert first == pytest.approx(second)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 50.0, 5000.0])
def test_any_epsilon_gives_rows(epsilon: float) -> None:
    draw = np.random.default_rng(4)
    values = np.concatenate([draw.normal(centre, 1, 300) for centre in draw.uniform(0, 100, 20)])
    rows = AdaptiveHistogram((0, 100), window=300, epsilon=epsilon, rng=SeededSource(1)).push_many(values).values
    assert np.all((rows >= 0) & (rows <= 100))
    if epsilon >= 50:
        assert window_distance(values, rows, 300) < 1


def test_counts_beyond_the_tables_stand_as_they_are() -> None:
    publisher = AdaptiveHistogram((0, 100), window=20_000, epsilon=1.0, rng=SeededSource(1))
    rows = publisher.push_many(np.repeat([20.0, 80.0], 10_000)).values
    assert abs(np.mean(rows < 50) - 0.5) < 0.01
    assert np.median(rows[:10_000]) == pytest.approx(20, abs=2)


def test_the_card_says_what_is_promised() -> None:
    card = AdaptiveHistogram((0, 100), epsilon=0.25, rng=SeededSource(1)).card("hours")
    assert card.guarantee.parameters == {"epsilon": 0.25}
    assert any("85 % and 15 %" in entry for entry in card.assumptions)
    assert any("seed" in entry for entry in card.warnings)


def readings(path: Path) -> Numbers:
    return pl.read_parquet(path)["smart_9_raw"].to_numpy().astype(np.float64)


@pytest.mark.parametrize(
    "order, distance, overlap",
    [pytest.param("random", 3.2e5, 0.989, id="random order"), pytest.param("file", 6e5, 0.98, id="file order")],
)
def test_the_goals_are_reached(data: Callable[[str], Path], order: str, distance: float, overlap: float) -> None:
    found = []
    for seed in (201, 202, 203):  # none of those on which the constants were tuned; the benchmark takes thirty
        values = readings(data("backblaze_smart9_201609.parquet"))
        if order == "random":
            values = np.random.default_rng(seed).permutation(values)
        publisher = AdaptiveHistogram((0, 99618), rng=SeededSource(seed))
        rows = np.concatenate([publisher.push_many(values).values, publisher.flush().values])
        found.append((window_distance(values, rows, 1000), histogram_intersection(values, rows)))
    distances, overlaps = zip(*found, strict=True)
    assert np.mean(distances) <= distance
    assert np.mean(overlaps) >= overlap


def test_a_window_that_is_counted_twice_is_first_counted_in_few_bins_of_which_more_lie_evenly() -> None:
    model = HistogramModel((0.0, 100.0), 500, 160, NoiseScales(2.0, 2.5, 10.0))
    model._seen[:], model._raw[:] = 400, 0.0
    model._raw[1000:2000] = 0.001
    found = {}
    for crowd in (0.4, 0.6):
        model._crowd[:] = crowd
        assert model.twice == (crowd > 0.5)
        edges = model.bins().edges
        inside = np.count_nonzero((edges > 980) & (edges < 2020))
        found[model.twice] = (len(edges) - 1, 1 - inside / len(edges))
    assert found[False][0] <= 161
    assert found[True][0] <= 41
    assert found[True][1] > found[False][1]


def test_the_shape_within_bins_follows_newer_windows_than_the_long_run_does() -> None:
    model = HistogramModel((0.0, 100.0), 500, 160, NoiseScales(2.0, 2.5, 10.0))
    model._seen[:] = 1000
    model._crowd[:] = 0.0
    reading = model.read(model.count(np.full(500, 50.0), model.bins()), model.bins(), 500)
    raw, shape = model._raw.copy(), model._shape.copy()
    model.rows(reading)
    moved, fresh = np.abs(model._raw - raw).sum(), np.abs(model._shape - shape).sum()
    whole = np.abs(reading.cells / 500 - shape).sum()
    assert fresh == pytest.approx(whole / 50)
    assert moved < fresh


def test_a_state_of_the_version_before_is_refused() -> None:
    publisher = AdaptiveHistogram((0, 100), window=50, rng=SeededSource(1))
    arrays = {"shape" if name == "within" else name: array for name, array in publisher.learnt_arrays().items()}
    old = pack(publisher.name, publisher.parameters(), {"waiting": np.zeros(0), **arrays}, publisher.counters())
    with pytest.raises(InputError, match="another version saved it"):
        AdaptiveHistogram((0, 100), window=50, rng=SeededSource(2)).restore(old)
