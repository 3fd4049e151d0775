"""What a device is promised, against laws that are worked out report by report."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.local import (
    Attributes,
    Axis,
    Crossing,
    GeneralizedResponse,
    LaplaceMean,
    Rappor,
    Survey,
    View,
    with_memory,
)
from sfumato.local.probabilities import SCALE, asked_loss
from sfumato.local.promise import person_promise, stated_loss
from sfumato.local.protocol_choice import every_mean, every_protocol
from sfumato.promise import Neighbours, ProtectPersons, ProtectRows
from sfumato.promise.ratio import loss_above

EPSILONS = [1e-6, 0.1, 0.3, 1, 2.251, 7.123456789012345, 40]


def exp_below(loss: Decimal) -> Fraction:
    with localcontext(prec=150) as context:
        return Fraction(loss.exp().next_minus(context))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", list(every_protocol()))
def test_the_price_of_a_report_is_above_its_loss_and_not_above_what_was_asked(name: str, epsilon: float) -> None:
    protocol = every_protocol()[name].sample(("a", "b", "c"), epsilon)
    price = protocol.promise.cost.epsilon
    assert protocol.ratio <= exp_below(price) * (1 + Fraction(1, 10**100))
    assert price <= Decimal(repr(epsilon))
    assert protocol.card(1).guarantee.parameters["epsilon"] == float(price)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", list(every_mean()))
def test_the_price_of_a_mean_is_above_its_loss(name: str, epsilon: float) -> None:
    protocol = every_mean()[name](0, 1, epsilon)
    price = protocol.promise.cost.epsilon
    assert Fraction(protocol.loss) <= Fraction(price) <= Fraction(repr(float(epsilon)))
    if isinstance(protocol, LaplaceMean):
        assert Fraction(protocol.loss) >= 2 * 2**16 / protocol.scale


def test_a_number_asks_for_the_smaller_of_its_two_readings() -> None:
    assert asked_loss(0.1) == Fraction(1, 10) < Fraction(0.1)
    assert asked_loss(0.3) == Fraction(0.3) < Fraction(3, 10)
    assert asked_loss(2) == 2
    assert stated_loss(loss_above(Fraction(3))) == Decimal("1.09861228867")


def worst(laws: list[dict[Any, Fraction]]) -> Fraction:
    pairs = itertools.permutations(laws, 2)
    return max(left[key] / right[key] for left, right in pairs for key in left)


def test_two_fresh_reports_of_a_person_cost_twice() -> None:
    protocol = GeneralizedResponse(("a", "b", "c"), 0.7)
    payloads = [bytes([code]) for code in range(3)]
    held = list(itertools.product(range(3), repeat=2))  # what a person holds at two times
    laws = [
        {
            sent: protocol.probability(sent[0], first) * protocol.probability(sent[1], second)
            for sent in itertools.product(payloads, repeat=2)
        }
        for first, second in held
    ]
    promise = person_promise(protocol.promise, "rider", 2)
    found = worst(laws)
    assert found == protocol.ratio**2
    assert found <= exp_below(promise.cost.epsilon) * (1 + Fraction(1, 10**100))
    assert promise.cost.epsilon == Decimal("1.4")


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_any_number_of_reports_from_one_permanent_answer_costs_once(reports: int) -> None:
    protocol = Rappor(("a", "b", "c"), 2, bits=3, hashes=1, cohorts=1)
    flip, (there, elsewhere) = Fraction(protocol.flip, SCALE), protocol.again
    every = list(itertools.product((0, 1), repeat=3))

    def chance(bits: tuple[int, ...], odds: list[Fraction]) -> Fraction:
        result = Fraction(1)
        for bit, odd in zip(bits, odds, strict=True):
            result *= odd if bit else 1 - odd
        return result

    def law(value: str) -> dict[Any, Fraction]:
        own = protocol.bloom(value, 0)
        found: dict[Any, Fraction] = dict.fromkeys(itertools.product(every, repeat=reports), Fraction(0))
        for kept in every:
            permanent = chance(kept, [1 - flip if bit in own else flip for bit in range(3)])
            odds = [Fraction(there if bit else elsewhere, SCALE) for bit in kept]
            for sent in found:
                product = permanent
                for bits in sent:
                    product *= chance(bits, odds)
                found[sent] += product
        return found

    laws = [law(value) for value in ("a", "b", "c")]
    assert worst(laws) <= exp_below(protocol.promise.cost.epsilon)
    assert reports > 1 or worst(laws) <= exp_below(Decimal(protocol.spent_once)) * (1 + Fraction(1, 10**100))


def test_several_attributes_cost_the_dearest_or_the_sum() -> None:
    domains: dict[str, Sequence[str | int]] = {"hour": range(24), "sex": ["f", "m"], "town": ["a", "b", "c"]}
    sampled = Attributes.choose(domains, epsilon=1.5, users=1000)
    split = Attributes.choose(domains, epsilon=1.5, users=1000, mode="split")
    for plan in (sampled, split):
        assert plan.promise.cost.epsilon == Decimal("1.5")
    fresh = Attributes({name: sampled.protocols[name] for name in domains}, "split")
    assert fresh.promise.cost.epsilon == Decimal("4.5")
    views = (View(("sex",), 0.5), View(("hour",), 0.5))
    survey = Survey(Crossing([Axis("sex", ("f", "m")), Axis("hour", ("8", "17"))]), views, 0.3, 1000)
    assert survey.promise.cost.epsilon == Decimal("0.3")


def test_what_others_are_promised() -> None:
    promise = GeneralizedResponse(("a", "b", "c"), 0.5).promise
    assert promise.cost_for(ProtectRows(3), Neighbours.VALUE).epsilon == Decimal("1.5")
    with pytest.raises(ParameterError, match="the number of reports is public"):
        promise.cost_for(ProtectRows(), Neighbours.PRESENCE)
    with pytest.raises(ParameterError, match="does not bound how many reports of a person count"):
        promise.cost_for(ProtectPersons("rider"), Neighbours.VALUE)
    assert person_promise(promise, "rider", 4).cost_for(ProtectPersons("rider"), Neighbours.VALUE).epsilon == 2


@pytest.mark.parametrize("budget, epsilon", [(1, 1.0), (2.5, 2.0), (0.5, 1.0)])
def test_a_device_with_a_memory_spends_at_most_its_budget(budget: float, epsilon: float) -> None:
    card = with_memory(GeneralizedResponse(("a", "b", "c"), 1).card(5), budget)
    assert card.guarantee.parameters["epsilon"] == epsilon
    assert card.guarantee.parameters["epsilon_value"] == 1


def test_a_memory_charges_the_price_of_the_promise(tmp_path: Path) -> None:
    protocol = GeneralizedResponse(("a", "b", "c"), 0.1)
    memory = sf.local.Memory(tmp_path / "device.json", budget=0.2)
    for value in ("a", "b", "a"):
        memory.report(protocol, value, period="June")
    assert memory.spent == Decimal("0.2")
