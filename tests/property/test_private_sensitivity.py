"""Sensitivities and δ of the private tables, against slow and obvious twins."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import CrowdBlending
from sfumato.tabular.private.mondrian.tree import cut_score
from sfumato.tabular.private.public_columns import public_columns
from sfumato.tabular.private.safepub.delta import exact_delta, worst_size
from sfumato.tabular.private.safepub.scheme import GRAINS, SLOPE, SchemeChoice, Schemes


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
    table = sf.Table(pl.DataFrame(rows, schema={"age": pl.Int64, "sex": pl.String}, orient="row"))
    coded = [column.as_column() for column in public_columns(table, SCHEMA)]
    schemes = Schemes.of(table, SCHEMA, SchemeChoice.of(coded), 2, Fraction(1, 2))
    return [schemes.score(levels) for levels in schemes.choice.candidates]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from("FMX")), max_size=25), st.data())
def test_one_row_more_raises_every_scheme_by_at_most_two_rows(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    anybody = st.tuples(st.integers(0, 20), st.sampled_from("FMX"))
    extra = data.draw(st.one_of(st.sampled_from(rows), anybody) if rows else anybody)
    gaps = [after - before for before, after in zip(scores(rows), scores([*rows, extra]), strict=True)]
    assert min(gaps) >= 0
    assert max(gaps) <= SLOPE * GRAINS


def law(size: int, k: int, beta: Fraction) -> list[Fraction]:
    """P of every outcome of a class of `size` rows: the sampled count, or 0 where it is below k."""
    shares = [math.comb(size, j) * beta**j * (1 - beta) ** (size - j) for j in range(size + 1)]
    return [sum(shares[:k], Fraction(0)) if j == 0 else shares[j] if j >= k else Fraction(0) for j in range(size + 1)]


def apart(size: int, k: int, beta: Fraction, grown: Fraction) -> Fraction:
    """The larger of the two hockey-stick divergences between a class and the same with one row less."""
    more, less = law(size, k, beta), [*law(size - 1, k, beta), Fraction(0)]
    ways = ((more, less), (less, more))
    gaps = [[max(Fraction(0), a - grown * b) for a, b in zip(*way, strict=True)] for way in ways]
    return max(sum(gap, Fraction(0)) for gap in gaps)


def growth(epsilon: Fraction) -> Fraction:
    """A fraction of e^epsilon to 100 digits."""
    with localcontext(prec=100, Emax=10**6):
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


@settings(max_examples=30)
@given(st.integers(1, 8), st.sampled_from(["0.05", "0.1", "0.25", "0.4"]), st.sampled_from(["0.55", "0.7", "1", "2"]))
def test_delta_is_the_largest_divergence_both_ways(k: int, beta: str, epsilon: str) -> None:
    rate, loss = Fraction(beta), Fraction(epsilon)
    every = [apart(size, k, rate, growth(loss)) for size in range(1, 40)]
    found = Fraction(exact_delta(k, rate, loss))
    assert max(every) <= found <= max(every) * (1 + Fraction(1, 10**11))
    assert found <= li_bound(k, rate, loss)


def li_bound(k: int, beta: Fraction, epsilon: Fraction) -> Fraction:
    """The bound of Li, Qardaji & Su 2012: the largest P[Bin(n, β) > γn] over n of at least ⌈k/γ - 1⌉."""
    gamma = 1 - (1 - beta) / growth(epsilon)
    sizes = range(max(1, math.ceil(k / gamma - 1)), 80)
    return max(sum(law(size, 0, beta)[math.floor(gamma * size) + 1 :], Fraction(0)) for size in sizes)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 50), st.floats(-6, 3), st.floats(1e-3, 1), st.data())
def test_delta_is_right_for_every_epsilon(k: int, power: float, share: float, data: st.DataObject) -> None:
    """The slow twin works the two laws out at the worst size and beside it, and at the least size, in fractions."""
    loss = Fraction(10**power).limit_denominator(10**9)
    most = min(Fraction(999, 1000), 1 - 1 / growth(loss))
    beta = Fraction(most * Fraction(share)).limit_denominator(10**9)
    assume(0 < beta < most)
    found = Fraction(exact_delta(k, beta, loss))
    assert beta**k <= found <= 1
    worst = worst_size(k, beta, growth(loss))
    anywhere = data.draw(st.integers(k, 2 * worst + 50))
    sizes = {k, k + 1, worst, worst + 1, max(k, worst - 1), anywhere}
    every = [tail_apart(size, k, beta, growth(loss)) for size in sizes]
    assert max(every) <= found <= max(every) * (1 + Fraction(1, 10**11))


def tail_apart(size: int, k: int, beta: Fraction, grown: Fraction) -> Fraction:
    """At most the divergence of `size` rows from one less, by the sizes of the tail from k on, to 40 places."""
    more, total = Fraction(math.comb(size, k)) * beta**k, Fraction(0)
    kept = power_below(1 - beta, size - k)
    for count in range(k, min(size, k + 400) + 1):
        total += more * kept * max(Fraction(0), 1 - grown * Fraction(size - count, size) / (1 - beta))
        more *= beta / (1 - beta) * Fraction(size - count, count + 1)
        more = Fraction(math.floor(more * 10**400), 10**400)
    return total


def power_below(base: Fraction, exponent: int) -> Fraction:
    with localcontext(prec=120, rounding=ROUND_FLOOR, Emin=-(10**9)):
        return Fraction((Decimal(base.numerator) / Decimal(base.denominator)) ** exponent) * (1 - Fraction(1, 10**100))


@given(st.integers(2, 6), st.lists(st.integers(0, 12), min_size=1, max_size=8))
def test_suppression_blends_and_a_lower_threshold_does_not(k: int, counts: list[int]) -> None:
    blending = CrowdBlending(k)
    assert not blending.check(blending.suppressed, [counts]).refuted
    weaker = [count if count >= k - 1 else 0 for count in counts]
    found = blending.check(lambda given: [count if count >= k - 1 else 0 for count in given], [counts])
    assert found.refuted == (k - 1 in counts and weaker[counts.index(k - 1)] > 0)
