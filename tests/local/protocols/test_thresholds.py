"""The whole numbers that decide a report keep ε exactly, for every protocol and every accepted (ε, d).

Worst ratios are worked out here from the thresholds alone, as fractions, and compared with a fraction below e^ε.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.local import GeneralizedResponse, Rappor
from sfumato.local.base import EPSILON, LocalProtocol
from sfumato.local.domain import LARGEST_DOMAIN
from sfumato.local.means.base import MeanProtocol
from sfumato.local.protocol_choice import choose, every_mean, every_protocol
from sfumato.local.protocols.randomized_response import response_thresholds

SCALE = 2**64
Numbers = dict[str, int]
EPSILONS = [1e-6, 1.5e-6, 1e-5, 1e-4, 0.01, 0.1, 0.3, 0.61, 0.62, 1, 2.251, 7, 11.5, 22, 33.3, 39.99, 40]
SIZES = [2, 3, 5, 10, 100, 255, 256, 257, 65_535, 65_537, 10**6, 5 * 10**6, 12_345_678, 2**24 - 1, 2**24]


def either(one: Fraction) -> Fraction:
    return max(one, 1 / one)


def response(numbers: Numbers, _size: int) -> Fraction:
    return either(Fraction(numbers["own"], numbers["other"]))


def whole_response(numbers: Numbers, size: int) -> Fraction:
    assert numbers["own"] + (size - 1) * numbers["other"] == SCALE
    return response(numbers, size)


def hashed_response(numbers: Numbers, _size: int) -> Fraction:
    return whole_response(numbers, numbers["groups"])


def bits(numbers: Numbers, _size: int) -> Fraction:
    own, other = numbers["own"], numbers["other"]
    return either(Fraction(own * (SCALE - other), (SCALE - own) * other))


def signs(numbers: Numbers, _size: int) -> Fraction:
    return either(Fraction(numbers["plus"], SCALE - numbers["plus"]))


def subsets(numbers: Numbers, size: int) -> Fraction:
    held, members = numbers["held"], numbers["size"]
    return either(Fraction(held * (size - members), (SCALE - held) * members))


def bloom_bits(numbers: Numbers, _size: int) -> Fraction:
    """What any number of reports tells is told by the permanent bits; two values differ in 2·`hashes` of them."""
    return either(Fraction(SCALE - numbers["flip"], numbers["flip"])) ** (2 * numbers["hashes"])


def ends(numbers: Numbers) -> Fraction:
    return either(Fraction(numbers["truth"], SCALE - numbers["truth"]))


def windows(numbers: Numbers) -> Fraction:
    width = 2 * numbers["half"] + 1
    return either(Fraction(numbers["inside"] * 2 * numbers["steps"], (SCALE - numbers["inside"]) * width))


def both(numbers: Numbers) -> Fraction:
    return max(ends(numbers), windows(numbers)) if numbers["coin"] else ends(numbers)


WORST: dict[str, Callable[[Numbers, int], Fraction]] = {
    "grr": whole_response,
    "rr": whole_response,
    "olh": hashed_response,
    "oue": bits,
    "sue": bits,
    "hr": signs,
    "ss": subsets,
    "rappor": bloom_bits,
}
WORST_MEANS: dict[str, Callable[[Numbers], Fraction]] = {"duchi": ends, "piecewise": windows, "hybrid": both}


def exp_below(epsilon: float) -> Fraction:
    with localcontext(prec=150) as context:
        return Fraction(Decimal(epsilon).exp().next_minus(context))


def bare(kind: type[LocalProtocol], size: int, epsilon: float) -> Any:
    """A protocol over the first numbers, which are not listed: only their number matters here."""
    protocol = object.__new__(kind)
    for entry in fields(kind):
        if entry.default is not MISSING:
            object.__setattr__(protocol, entry.name, entry.default)
    object.__setattr__(protocol, "domain", range(size))
    object.__setattr__(protocol, "epsilon", epsilon)
    return protocol


def ours() -> list[str]:
    return [name for name, kind in every_protocol().items() if kind.__module__.startswith("sfumato.")]


def check(name: str, size: int, epsilon: float) -> bool:
    """Hold one protocol to its ε; return whether it took these parameters at all."""
    protocol = bare(every_protocol()[name], 2 if name == "rr" else size, epsilon)
    try:
        numbers = protocol.thresholds
    except ParameterError:
        return False
    assert all(0 < number <= SCALE for number in numbers.values())
    worst = WORST[name](numbers, len(protocol.domain))
    assert 1 < worst <= exp_below(epsilon)
    assert protocol.ratio == worst
    assert Fraction(protocol.spent_once) <= Fraction(protocol.spent) <= Fraction(epsilon)
    assert protocol.support[0] > protocol.support[1]
    return True


def test_every_protocol_of_ours_is_looked_at() -> None:
    assert sorted(ours()) == sorted(WORST)
    found = {name for name, kind in every_mean().items() if kind.__module__.startswith("sfumato.")}
    assert found == {*WORST_MEANS, "laplace"}
    assert (EPSILON.least, EPSILON.most, LARGEST_DOMAIN) == (min(EPSILONS), max(EPSILONS), max(SIZES))


@pytest.mark.parametrize("name", sorted(WORST))
@pytest.mark.parametrize("size", SIZES)
def test_thresholds_keep_epsilon(name: str, size: int) -> None:
    taken = [check(name, size, epsilon) for epsilon in EPSILONS]
    assert all(taken) or (name == "grr" and size > 4 * 10**6 and all(taken[4:]))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(WORST)), st.integers(2, LARGEST_DOMAIN), st.floats(-6, 1.602))
def test_thresholds_keep_any_epsilon(name: str, size: int, power: float) -> None:
    check(name, size, min(40.0, max(1e-6, 10**power)))


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 65_536), st.floats(-6, 1.602), st.floats(0.001, 0.998), st.floats(0.001, 0.1), st.integers(1, 8))
def test_rappor_keeps_epsilon_once_and_for_ever(bits: int, power: float, p: float, more: float, hashes: int) -> None:
    epsilon, q = min(40.0, max(1e-6, 10**power)), min(0.999, p + more)
    protocol = Rappor(("a", "b"), epsilon, bits=bits, hashes=hashes, cohorts=1, p=p, q=q)
    numbers = protocol.thresholds
    assert bloom_bits(numbers, 2) == protocol.ratio <= exp_below(epsilon)
    flip, set_there, set_here = (Fraction(numbers[name], SCALE) for name in ("flip", "q", "p"))
    own, other = (1 - flip) * set_there + flip * set_here, flip * set_there + (1 - flip) * set_here
    once = either(own * (1 - other) / (other * (1 - own))) ** hashes
    assert once <= protocol.ratio
    assert once <= exp_below(protocol.spent_once) * (1 + Fraction(1, 10**100))


@pytest.mark.parametrize("name", [*WORST_MEANS, "laplace"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_means_keep_epsilon(name: str, epsilon: float) -> None:
    kind: type[MeanProtocol] = every_mean()[name]
    protocol = kind(0, 1, epsilon)
    numbers = protocol.thresholds
    if name == "laplace":
        loss = Fraction(2 * numbers["steps"] * numbers["scale_bottom"], numbers["scale_top"])
        assert loss <= Fraction(repr(float(epsilon)))
        assert loss <= Fraction(repr(protocol.spent))
        return
    worst = WORST_MEANS[name](numbers)
    assert 1 < worst <= exp_below(epsilon)
    assert worst <= exp_below(protocol.spent) * (1 + Fraction(1, 10**100))


@pytest.mark.parametrize("size, epsilon", [(12_345_678, 1e-6), (2**24, 1e-6), (15_000_001, 5e-6)])
def test_response_over_too_many_values_is_refused(size: int, epsilon: float) -> None:
    """No whole number of parts lies between an equal share and what ε allows."""
    with pytest.raises(ParameterError, match=f"over {size} values cannot keep epsilon {epsilon:g} in probabilities"):
        response_thresholds(epsilon, size)


def test_a_refused_protocol_is_not_made_and_not_chosen() -> None:
    many = range(5_000_000)
    with pytest.raises(ParameterError, match="give a larger epsilon, a smaller domain or another protocol"):
        GeneralizedResponse(many, 1e-6)
    assert choose(many, 1e-6, 1000).name != "grr"
