"""Sensitivities and δ of the private tables, against slow and obvious twins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import CrowdBlending
from sfumato.tabular.private.mondrian.tree import cut_score
from sfumato.tabular.private.public_columns import public_columns
from sfumato.tabular.private.safepub.sampling import divergence, exact_delta, li_bound
from sfumato.tabular.private.safepub.scheme import GRAINS, SLOPE, Schemes


@given(st.lists(st.integers(0, 29), max_size=40), st.integers(0, 29), st.integers(1, 29))
def test_one_row_moves_a_cut_score_by_at_most_one(rows: list[int], extra: int, at: int) -> None:
    before, after = (np.array(values, dtype=np.int64) for values in (rows, [*rows, extra]))
    assert abs(cut_score(before, 0, 29, at) - cut_score(after, 0, 29, at)) <= 1


SCHEMA = sf.Schema(
    {
        "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 15)),
        "sex": sf.Attribute("sex", sf.Role.SENSITIVE, sf.Kind.CATEGORY, categories=("F", "M")),
    }
)


def scores(rows: list[tuple[int, str]]) -> list[int]:
    table = sf.Table(pl.DataFrame(rows, schema=["age", "sex"], orient="row"))
    coded = [column.as_column() for column in public_columns(table, SCHEMA)]
    schemes = Schemes.of(table, SCHEMA, coded, 2, Fraction(1, 2))
    return [schemes.score(levels) for levels in schemes.candidates()]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from("FMX")), min_size=1, max_size=25), st.data())
def test_one_row_more_raises_every_scheme_by_at_most_two_rows(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    extra = data.draw(st.one_of(st.sampled_from(rows), st.tuples(st.integers(0, 20), st.sampled_from("FMX"))))
    gaps = [after - before for before, after in zip(scores(rows), scores([*rows, extra]), strict=True)]
    assert min(gaps) >= 0
    assert max(gaps) <= SLOPE * GRAINS


def law(size: int, k: int, beta: Fraction) -> list[Fraction]:
    """P of every outcome of a class of `size` rows: the sampled count, or 0 where it is below k."""
    shares = [math.comb(size, j) * beta**j * (1 - beta) ** (size - j) for j in range(size + 1)]
    return [sum(shares[:k], Fraction(0)) if j == 0 else shares[j] if j >= k else Fraction(0) for j in range(size + 1)]


def apart(size: int, k: int, beta: Fraction, grown: Fraction) -> float:
    """The larger of the two hockey-stick divergences between a class and the same with one row less."""
    more, less = law(size, k, beta), [*law(size - 1, k, beta), Fraction(0)]
    ways = ((more, less), (less, more))
    return float(max(sum(max(Fraction(0), a - grown * b) for a, b in zip(*way, strict=True)) for way in ways))


@settings(max_examples=30)
@given(st.integers(2, 8), st.sampled_from([0.05, 0.1, 0.25, 0.4]), st.sampled_from([0.55, 0.7, 1.0, 2.0]))
def test_delta_is_the_largest_divergence_both_ways(k: int, beta: float, epsilon: float) -> None:
    grown = Fraction(math.exp(epsilon))
    every = [apart(size, k, Fraction(str(beta)), grown) for size in range(1, 60)]
    assert exact_delta(k, beta, epsilon) == pytest.approx(max(every), rel=1e-7)
    assert exact_delta(k, beta, epsilon) <= li_bound(k, beta, epsilon) * (1 + 1e-7)
    assert divergence(k - 1, k, beta, epsilon) == 0


@given(st.integers(2, 6), st.lists(st.integers(0, 12), min_size=1, max_size=8))
def test_suppression_blends_and_a_lower_threshold_does_not(k: int, counts: list[int]) -> None:
    blending = CrowdBlending(k)
    assert not blending.check(blending.suppressed, [counts]).refuted
    weaker = [count if count >= k - 1 else 0 for count in counts]
    found = blending.check(lambda given: [count if count >= k - 1 else 0 for count in given], [counts])
    assert found.refuted == (k - 1 in counts and weaker[counts.index(k - 1)] > 0)
