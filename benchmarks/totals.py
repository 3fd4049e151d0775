"""Running totals at a million windows: their error beside the binary tree's at the same ρ, and their speed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import polars as pl
from measure import Part, Row, data_folder, once

from sfumato.promise import LinearNoise
from sfumato.promise.zcdp import rho_of
from sfumato.random import SeededSource
from sfumato.random.random_words import WordRun
from sfumato.stream.noise import add_gaussian_to_rows
from sfumato.stream.publishers.totals import RunningTotals
from sfumato.stream.publishers.totals.engine import Noise
from sfumato.stream.publishers.totals.factor import UNIT, root_plan
from sfumato.stream.publishers.totals.prefix import RootPrefixes, TreePrefixes, tree_variances

WINDOWS = 10**6
SEEDS = 8
EPSILON, DELTA = 1.0, 1e-6
GOAL = 0.7  # of the tree's error
AT_ONCE = 5000
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """One way to make totals of a count: the noise it draws, the error it must have, and the error it has."""

    tree: bool

    @property
    def noise(self) -> LinearNoise:
        """The noise for a record that moves one window by 1."""
        return Noise(EPSILON, rho_of(Decimal(repr(EPSILON)), Decimal(repr(DELTA))), self.tree).stretch(WINDOWS, (1, 1))

    def variances(self) -> Numbers:
        """Return the exact variance of the total behind each window."""
        if self.tree:
            return tree_variances(WINDOWS) * float(self.noise.scale) / UNIT**2
        return root_plan(WINDOWS).variances() * float(self.noise.scale)

    def drawn(self, seed: int) -> Numbers:
        """Return the error of every total of a stream of nothing."""
        run, sigma = WordRun(SeededSource(seed), "benchmark"), math.isqrt(int(self.noise.scale))

        def add_noise(exact: npt.NDArray[np.int64], first: int, what: str) -> npt.NDArray[np.int64]:
            return add_gaussian_to_rows(run, exact, sigma, first, what)

        prefixes: TreePrefixes | RootPrefixes = RootPrefixes(root_plan(WINDOWS), 1, add_noise)
        if self.tree:
            prefixes = TreePrefixes(WINDOWS, 1, UNIT, add_noise)
        zeros = np.zeros((AT_ONCE, 1), dtype=np.int64)
        return np.concatenate([prefixes.extend(zeros)[:, 0] for _ in range(WINDOWS // AT_ONCE)])


ROOT, TREE = Method(tree=False), Method(tree=True)


def error_rows() -> Iterator[Row]:
    """Yield the errors, exact and drawn, mean and largest over the windows, each beside the tree's."""
    costs = float(ROOT.noise.cost.rho), float(TREE.noise.cost.rho)
    if abs(costs[0] / costs[1] - 1) > 1e-3:  # spreads are whole numbers, rounded up
        raise AssertionError(f"the two are compared at different rho: {costs}")
    root, tree = ROOT.variances(), TREE.variances()
    yield _row("exact root mean squared error", math.sqrt(root.mean()), math.sqrt(tree.mean()))
    yield _row("exact largest error", math.sqrt(root.max()), math.sqrt(tree.max()))
    ours, theirs = (_measured(method) for method in (ROOT, TREE))
    name = f"running totals, 10^6 windows: error over {SEEDS} seeds, against the binary tree"
    ratio = float(ours.mean() / theirs.mean())
    yield Row(name, _spread(ours), f"tree, {_spread(theirs)}", ratio, GOAL, at_most=True)


def _row(what: str, ours: float, theirs: float) -> Row:
    name = f"running totals, 10^6 windows: {what}, against the binary tree"
    return Row(name, f"{ours:.4g}", f"tree, {theirs:.4g}", ours / theirs, GOAL, at_most=True)


def _spread(errors: Numbers) -> str:
    return f"{errors.mean():.4g} ± {errors.std(ddof=1):.2g}"


def _measured(method: Method) -> Numbers:
    """Return the root mean squared error of each seed."""
    return np.array([math.sqrt(float((method.drawn(seed) ** 2).mean())) for seed in range(SEEDS)])


def feed_rows() -> Iterator[Row]:
    """Yield the errors on real feeds, which nothing was tuned on, beside those of totals that declare no end."""
    power = pl.read_csv(data_folder() / "household_power_20061216_20061230.csv")["Global_active_power"]
    trips = pl.read_csv(data_folder() / "citibike_jersey_city_201509_201607.csv.gz")["tripduration"]
    for name, column, bounds, window in (
        ("household power, hours", power, (0.0, 11.0), 60),
        ("bicycle trips, a hundred each", trips, (0.0, 3600.0), 100),
    ):
        values = column.cast(pl.Float64).fill_null(bounds[0]).to_numpy().clip(*bounds)
        windows = len(values) // window
        values = values[: windows * window]
        exact = np.add.reduceat(values, np.arange(0, windows * window, window)).cumsum()
        ours, theirs = (_feed_errors(values, exact, bounds, window, end) for end in (windows, None))
        said = f"running totals, {name}, {windows} windows: error over {SEEDS} seeds, against no declared end"
        yield Row(
            said,
            f"{_spread(ours)} of {exact[-1]:.5g}",
            _spread(theirs),
            float(ours.mean() / theirs.mean()),
            GOAL,
            at_most=True,
        )


def _feed_errors(values: Numbers, exact: Numbers, bounds: tuple[float, float], window: int, end: int | None) -> Numbers:
    found = []
    for seed in range(SEEDS):
        publisher = RunningTotals(bounds, window, EPSILON, DELTA, windows=end, rng=SeededSource(seed))
        totals = publisher.push_many(values).values[:, 0]
        found.append(math.sqrt(float(((totals - exact) ** 2).mean())))
    return np.array(found)


def speed_rows() -> Iterator[Row]:
    """Yield how many windows a second leave, of one record each."""
    publisher = RunningTotals((0, 1), window=1, epsilon=EPSILON, delta=DELTA, windows=WINDOWS, rng=SeededSource(1))
    publisher.push_many(np.zeros(AT_ONCE))
    rate = AT_ONCE * 40 / once(lambda: [publisher.push_many(np.zeros(AT_ONCE)) for _ in range(40)])
    name = "running totals of up to 10^6 windows of one record"
    yield Row(name, f"{rate:,.0f} windows/s", "limit, 100,000/s", rate / 1e5, 1, at_most=False)


PARTS = (
    Part("running totals, error at a million windows", error_rows),
    Part("running totals on real feeds", feed_rows),
    Part("running totals, speed", speed_rows),
)
