"""Record sets: published ones, and generated ones with the ties and shapes that break grouping algorithms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import strategies as st

from sfumato.tabular.microaggregation.loss import Labels, Records, standardize

Finder = Callable[[str], Path]
LEFT_OUT = ["UTILNAME", "STATE", "YEAR", "MONTH"]  # what the papers leave out of EIA


def loaded(data: Finder, name: str) -> Records:
    """A published data set, z-scored."""
    frame = pl.read_csv(data(f"{name}.csv")).drop(LEFT_OUT, strict=False)
    return standardize(frame.to_numpy().astype(np.float64))


@st.composite
def record_sets(draw: st.DrawFn, least: int = 1, most: int = 60) -> Records:
    """Records from a small grid (many ties), a Gaussian, or copies of few records."""
    n = draw(st.integers(least, most))
    d = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from(["grid", "normal", "copies", "constant"]))
    if shape == "grid":
        return standardize(rng.integers(0, 4, (n, d)).astype(np.float64))
    if shape == "normal":
        return standardize(rng.normal(size=(n, d)))
    if shape == "copies":
        return standardize(rng.normal(size=(4, d))[rng.integers(0, 4, n)])
    return standardize(np.full((n, d), 3.7))


def sim_u(seed: int, n: int = 1000) -> Records:
    """Uniform records in [-10000, 10000], ten columns."""
    return standardize(np.random.default_rng(seed).uniform(-10_000, 10_000, (n, 10)))


def sim_c(seed: int, n: int = 1000) -> Records:
    """Natural groups of three to five records in [-10000, 10000], ten columns."""
    rng = np.random.default_rng(seed)
    rows: list[Records] = []
    while sum(map(len, rows)) < n:
        centre = rng.uniform(-10_000, 10_000, 10)
        rows.append(centre + rng.normal(0, 500, (int(rng.integers(3, 6)), 10)))
    return standardize(np.clip(np.concatenate(rows)[:n], -10_000, 10_000))


def assert_grouped(labels: Labels, n: int, k: int, most: int | None = None) -> None:
    """Check that no record is lost, ids are dense, and sizes lie between k and ``most``."""
    assert labels.shape == (n,)
    sizes = np.bincount(labels)
    assert sizes.min() >= min(k, n)
    if most is not None:
        assert sizes.max() <= max(most, n if n < 2 * k else 0)
