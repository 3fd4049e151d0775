from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.local.probabilities import SCALE, exp_below
from sfumato.local.protocol_choice import rank

EPSILON = st.floats(1e-6, 40)
SIZE = st.integers(2, 400)


@given(EPSILON, SIZE)
def test_no_protocol_spends_more_than_was_asked_or_much_less(epsilon: float, size: int) -> None:
    for _, protocol in rank(range(size), epsilon, 1000):
        assert protocol.ratio <= exp_below(epsilon)
        assert protocol.spent <= epsilon
        if 1e-3 < epsilon < 30:
            assert protocol.spent > epsilon * 0.999


@given(EPSILON, SIZE)
def test_chances_are_proper(epsilon: float, size: int) -> None:
    for variance, protocol in rank(range(size), epsilon, 1000):
        own, other = protocol.support
        assert 0 < other < own < 1
        assert variance > 0
        assert all(0 < chance < SCALE for chance in protocol.thresholds.values())


@given(st.floats(0.01, 8), st.integers(3, 400))
def test_subset_selection_is_never_worse(epsilon: float, size: int) -> None:
    """Its variance is the lowest of all, up to the whole numbers in it (Ye & Barg 2018)."""
    ranked = rank(range(size), epsilon, 1000)
    best = next(variance for variance, protocol in ranked if protocol.name == "ss")
    assert best <= ranked[0][0] * (1 + 1e-6)
