from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from sfumato.errors import ParameterError
from sfumato.local import OptimizedUnary, SymmetricUnary
from sfumato.local.probabilities import SCALE, exp_below, log_above, threshold_above, threshold_below


@pytest.mark.parametrize("epsilon", [1e-6, 0.008, 0.1, 1.0, 2.251, 13.814, 40.0])
def test_the_power_is_below_the_true_one_and_close_to_it(epsilon: float) -> None:
    with localcontext(prec=120):
        true = Fraction(Decimal(epsilon).exp())
    assert exp_below(epsilon) < true
    assert (true - exp_below(epsilon)) / true < Fraction(1, 10**45)


@pytest.mark.parametrize("ratio", [Fraction(2), Fraction(3, 2), Fraction(10**40, 7), 1 + Fraction(1, 2**60)])
def test_the_logarithm_is_not_below_the_true_one_and_the_next_float_down_is(ratio: Fraction) -> None:
    with localcontext(prec=120):
        true = Fraction(Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln())
    found = Fraction(log_above(ratio))
    assert true <= found <= true * (1 + Fraction(1, 2**52))


def test_chances_round_to_the_side_they_say() -> None:
    third = Fraction(1, 3)
    assert Fraction(threshold_below(third), SCALE) < third < Fraction(threshold_above(third), SCALE)
    assert threshold_below(Fraction(1, 2)) == threshold_above(Fraction(1, 2)) == 2**63


@pytest.mark.parametrize("p, epsilon", [(0.501, 0.008), (0.755, 2.251), (0.999, 13.814)])
def test_the_chances_of_source_002_cost_what_it_says(p: float, epsilon: float) -> None:
    protocol = SymmetricUnary.from_p(["a", "b", "c"], p)
    assert round(protocol.epsilon, 3) == epsilon
    assert round(protocol.spent, 3) == epsilon
    assert float(protocol.support[0]) == pytest.approx(p, abs=1e-15)
    assert sum(protocol.bits) == SCALE


@pytest.mark.parametrize("p", [0.5, 1.0, 0.2, 7])
def test_a_chance_that_is_no_unary_encoding_is_refused(p: float) -> None:
    with pytest.raises(ParameterError, match="must be above 0"):
        SymmetricUnary.from_p(["a", "b"], p)


def test_a_threshold_one_lower_would_cost_more_than_was_asked() -> None:
    own, other = OptimizedUnary(["a", "b"], 1.0).bits
    assert own == 2**63
    assert Fraction(SCALE - other, other) <= exp_below(1)
    assert Fraction(SCALE - other + 1, other - 1) > exp_below(1)
