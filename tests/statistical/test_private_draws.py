"""The draws behind private tables follow their laws, and tests tell them from laws that are 30 % off."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sfumato as sf
from sfumato.random import SecureSource, SeededSource
from sfumato.tabular.private.safepub.sampling import sample_rows

UNLIKELY = 1e-6


def test_a_sample_has_its_rate() -> None:
    for source in (SecureSource(), SeededSource(8)):
        for rate in (Fraction(1, 10), Fraction(1719, 10_000), Fraction(1, 3)):
            kept = int(sample_rows(200_000, rate, source).sum())
            assert stats.binomtest(kept, 200_000, float(rate)).pvalue > UNLIKELY
            assert stats.binomtest(kept, 200_000, float(rate) * 1.3).pvalue < UNLIKELY
            assert stats.binomtest(kept, 200_000, float(rate) * 0.7).pvalue < UNLIKELY


def test_a_word_on_the_edge_is_decided_exactly() -> None:
    class Edge:
        """A source whose first words all lie on the edge; the next ones are random."""

        secure = False

        def __init__(self) -> None:
            self.rest, self.calls = SeededSource(4), 0

        def words(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
            self.calls += 1
            return np.full(count, 2**32 // 3, dtype=np.uint32) if self.calls == 1 else self.rest.words(count)

    kept = int(sample_rows(20_000, Fraction(1, 3), Edge()).sum())
    rest = (Fraction(2**32, 3)) % 1
    assert stats.binomtest(kept, 20_000, float(rest)).pvalue > UNLIKELY
    assert stats.binomtest(kept, 20_000, float(rest) * 0.7).pvalue < UNLIKELY


@pytest.mark.parametrize("runs", [1200, pytest.param(3000, marks=pytest.mark.long)])
def test_the_released_class_has_the_law_that_delta_is_worked_out_from(runs: int) -> None:
    sex = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M"))
    table, schema = sf.Table(pl.DataFrame({"sex": ["F"] * 30})), sf.Schema({"sex": sex})
    chosen = sf.SafePub(epsilon=2, delta=0.01, beta=0.3, scheme={"sex": 0})
    k = chosen.plan().k
    source = SeededSource(12)
    found = [chosen.anonymize(table, schema, rng=source, audit=False).table.rows for _ in range(runs)]
    shown = np.bincount(found, minlength=31)
    law = stats.binom.pmf(np.arange(31), 30, 0.3)
    law = np.concatenate([[law[:k].sum()], np.zeros(k - 1), law[k:]])
    assert shown[1:k].sum() == 0
    kept = law * runs > 5
    pooled = stats.chisquare([*shown[kept], shown[~kept].sum()], [*(law * runs)[kept], (law * runs)[~kept].sum()])
    assert pooled.pvalue > UNLIKELY
    wrong = stats.binom.pmf(np.arange(31), 30, 0.39)
    wrong = np.concatenate([[wrong[:k].sum()], np.zeros(k - 1), wrong[k:]]) * runs
    other = stats.chisquare([*shown[kept], shown[~kept].sum()], [*wrong[kept], wrong[~kept].sum()])
    assert other.pvalue < UNLIKELY


@pytest.mark.parametrize("runs", [1500, pytest.param(4000, marks=pytest.mark.long)])
def test_the_whole_count_has_the_noise_of_its_price(runs: int) -> None:
    one = sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F",))
    table, schema = sf.Table(pl.DataFrame({"sex": ["F"] * 5000})), sf.Schema({"sex": one})
    source = SeededSource(5)
    chosen = sf.PrivateMondrian(epsilon=0.1, depth=1)
    found = (
        np.array([chosen.anonymize(table, schema, rng=source, audit=False).table.rows for _ in range(runs)]) - 5000.0
    )
    first, rest = (2 / float(price) ** 2 for price in (chosen.spending.counts[0], chosen.spending.left(0)))
    expected = 1 / (1 / first + 1 / rest)
    assert abs(found.mean()) < 6 * (expected / runs) ** 0.5
    for factor, fits in ((1.0, True), (1.3**2, False), (0.7**2, False)):
        gap = found.var() / (expected * factor) - 1
        assert bool(abs(gap) < 0.2) is fits
