"""Every installed mechanism passes the suite that ships with the library, and the suite finds what is broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import pytest

from sfumato import plugins
from sfumato.checks import Check, ConformanceError, mechanism_checks
from sfumato.checks.mechanisms import UNLIKELY, law_misfit
from sfumato.core.parameters import Rule
from sfumato.dp.mechanisms import Laplace, Mechanism, Trial, number_pairs
from sfumato.dp.mechanisms.base import Number, Positive, exact
from sfumato.random import SeededSource, Source, discrete_laplace

INSTALLED = plugins.every("mechanisms", Mechanism)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}: {check.name}")
        for name, kind in INSTALLED.items()
        for check in mechanism_checks(kind)
    ],
)
def test_mechanism_conforms(check: Check) -> None:
    check.run()


def test_a_class_answers_to_the_name_of_its_entry_point() -> None:
    assert not plugins.failures("mechanisms", Mechanism)
    assert {name: kind.name for name, kind in INSTALLED.items()} == {name: name for name in INSTALLED}


@dataclass(frozen=True)
class Geometric(Mechanism):
    """A stranger's mechanism: discrete Laplace noise, with ways to break it."""

    scale: Fraction

    RULES: ClassVar[dict[str, Rule]] = {"scale": Positive()}
    EXACT: ClassVar[tuple[str, ...]] = ("scale",)
    name: ClassVar[str] = "geometric"
    words: ClassVar[str] = "two-sided geometric"
    sentence: ClassVar[str] = "Two-sided geometric noise is added to every number."
    promised: ClassVar[Fraction] = Fraction(1)

    @classmethod
    def sample(cls, epsilon: Number = 1) -> Self:
        return cls(cls.promised / exact(epsilon))

    def source(self, source: Source) -> Source:
        return source

    def trial(self) -> Trial:
        def run(value: int, count: int, source: Source) -> Any:
            return value + discrete_laplace(count, self.scale, self.source(source))

        return Trial(run, list(number_pairs()))

    def law(self, value: int) -> Mapping[int, float]:
        return Laplace(self.scale).law(value)


class Half(Geometric):
    """Half the scale that its ε needs."""

    promised: ClassVar[Fraction] = Fraction(1, 2)


class SameSeed(Geometric):
    """A seed that is set anew in every call."""

    def source(self, source: Source) -> Source:
        del source
        return SeededSource(7)


class OtherLaw(Geometric):
    """A law with a scale that the draws do not have."""

    def law(self, value: int) -> Mapping[int, float]:
        return Laplace(self.scale * Fraction(13, 10)).law(value)


class NoScale(Geometric):
    """A law that says nothing about the scale."""

    def law(self, value: int) -> Mapping[int, float]:
        return {value: Laplace(Fraction(1)).law(value)[value]}


class Nameless(Geometric):
    """A class without a sentence."""

    sentence: ClassVar[str] = ""


def broken_checks(kind: type[Mechanism]) -> set[str]:
    found = set()
    for check in mechanism_checks(kind):
        try:
            check.run()
        except ConformanceError:
            found.add(check.name)
    return found


def test_a_mechanism_of_ones_own_conforms() -> None:
    assert broken_checks(Geometric) == set()


@pytest.mark.parametrize(
    "kind, check",
    [
        (Half, "is not refuted at the ε it claims"),
        (SameSeed, "draws from the given source alone"),
        (OtherLaw, "follows the law that it states"),
        (NoScale, "does not follow a law 30 % off"),
        (Nameless, "says who it is"),
    ],
)
def test_what_is_broken_does_not_conform(kind: type[Mechanism], check: str) -> None:
    assert check in broken_checks(kind)


@pytest.mark.parametrize("scale, fits", [("1", True), ("1.3", False), ("0.7", False)])
def test_the_test_of_a_law_has_power(scale: str, fits: bool) -> None:
    draws = discrete_laplace(20_000, Fraction(10), SeededSource(3)).tolist()
    assert (law_misfit(draws, Laplace(10 * exact(scale)).law(0)) < UNLIKELY) is fits


def test_outputs_that_a_law_does_not_know_do_not_fit() -> None:
    assert law_misfit(["a"] * 900 + ["c"] * 100, {"a": 0.9999}) > UNLIKELY
    assert law_misfit(["c"] * 1000, {"a": 1.0}) > UNLIKELY
    assert law_misfit(["a"] * 1000, {"a": 1.0}) < UNLIKELY
