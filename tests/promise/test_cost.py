"""Amounts are exact, budgets promise something, and ρ converts to the safe side."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount
from sfumato.promise.zcdp import epsilon_of, rho_of, rho_of_pure


def test_a_number_counts_as_its_shortest_text() -> None:
    assert amount(0.1) == amount(np.float64(0.1)) == amount("0.10") == Decimal("0.1")
    assert str(amount("1e-6")) == "0.000001"
    assert str(amount(10)) == "10"


@pytest.mark.parametrize("value", ["-0.1", "nan", "inf", "x", "", "1e-61", 1e12, True, None, [1]])
def test_an_amount_that_cannot_be_exact_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="not usable"):
        amount(value)  # type: ignore[arg-type]  # what a caller without a type checker may give


@given(st.lists(st.decimals(min_value=0, max_value=1000, places=40), max_size=30))
def test_sums_are_exact(values: list[Decimal]) -> None:
    total = Cost()
    for value in values:
        total = total + Cost(epsilon=value)
    assert Fraction(total.epsilon) == sum(map(Fraction, values))


@pytest.mark.parametrize("rho", ["0.001", "0.02", "0.5", "3"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-3"])
def test_the_conversion_lies_between_the_exact_gaussian_and_a_peer_over_many_orders(rho: str, delta: str) -> None:
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import pld, rdp

    orders = 1 + np.exp(np.linspace(-8, 10, 4000))
    peer, _ = rdp.compute_epsilon(orders, orders * float(rho), float(delta))
    ours = float(epsilon_of(Decimal(rho), Decimal(delta)))
    gaussian = accounting.GaussianDpEvent((2 * float(rho)) ** -0.5)
    exact = pld.PLDAccountant(value_discretization_interval=1e-3).compose(gaussian).get_epsilon(float(delta))
    assert peer * (1 - 1e-4) < ours <= peer
    assert exact < ours
    bun_steinke = float(rho) + 2 * (float(rho) * -np.log(float(delta))) ** 0.5
    assert ours < bun_steinke


@given(
    st.decimals(min_value="0.0001", max_value=50, places=4),
    st.sampled_from([Decimal(text) for text in ("1e-30", "1e-9", "1e-6", "0.01", "0.3")]),
)
def test_going_to_rho_and_back_never_gains_privacy_loss(epsilon: Decimal, delta: Decimal) -> None:
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + Decimal("1e-9")), delta) > epsilon


def test_a_pure_answer_costs_half_its_square_exactly() -> None:
    assert rho_of_pure(Decimal("0.1")) == Decimal("0.005")
    long = Decimal("0.12345678901234567890123456789")
    assert Fraction(rho_of_pure(long)) == Fraction(long) ** 2 / 2


@pytest.mark.parametrize(
    "epsilon, delta, accountant, rho",
    [
        (0, 0, Accountant.PURE, None),
        (1, 1, Accountant.PURE, None),
        (1, 0, Accountant.PURE, 1),
        (1, 0, Accountant.ZCDP, None),
        (1, "1e-6", Accountant.ZCDP, "0.03"),
    ],
)
def test_a_budget_that_promises_nothing_is_refused(
    epsilon: float, delta: float, accountant: Accountant, rho: float | None
) -> None:
    with pytest.raises(ParameterError):
        Budget(epsilon, delta, accountant, rho)


def test_a_hundred_small_questions_cost_what_the_guide_says() -> None:
    epsilon = epsilon_of(100 * rho_of_pure(Decimal("0.1")), Decimal("1e-6"))
    assert round(epsilon, 1) == Decimal("5.2")
