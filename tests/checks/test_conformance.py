"""Every public anonymizer and model passes the suite that ships with the library."""

from __future__ import annotations

import inspect

import pytest

import sfumato as sf
from sfumato import models, plugins, tabular
from sfumato.checks import Check, ConformanceError, anonymizer_checks, model_checks
from sfumato.checks.base import parameter_checks
from sfumato.models import Groups, Model
from sfumato.tabular import Anonymizer

EXEMPT = {
    tabular.Anatomy: "promises l-diversity of two tables, not a k-anonymous one: its own unit and property tests",
    tabular.Univariate: "takes one number, the suite's tables have six columns: property tests on one column",
}
OFFERED = plugins.every("anonymizers", Anonymizer)
ANONYMIZERS = [one for kind in OFFERED.values() if kind not in EXEMPT for one in kind.sample()]
MODELS = [one for kind in plugins.every("models", Model).values() for one in kind.sample()]
BLENDING = models.CrowdBlending(3)  # speaks of mechanisms, not of classes: its own property tests


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=f"{a}: {check.name}") for a in ANONYMIZERS for check in anonymizer_checks(a)]
)
def test_anonymizer_conforms(check: Check) -> None:
    check.run()


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=f"{m}: {check.name}") for m in MODELS for check in model_checks(m)]
)
def test_model_conforms(check: Check) -> None:
    check.run()


def test_every_public_class_is_offered() -> None:
    for package, kind, offered in ((tabular, Anonymizer, OFFERED), (models, Model, plugins.every("models", Model))):
        public = {
            value
            for value in vars(package).values()
            if inspect.isclass(value) and issubclass(value, kind) and not inspect.isabstract(value)
        }
        assert public <= set(offered.values())


def test_names_are_those_of_the_entry_points() -> None:
    assert {name: kind.algorithm for name, kind in OFFERED.items()} == {name: name for name in OFFERED}
    offered = plugins.every("models", Model)
    assert {name: kind.called for name, kind in offered.items()} == {name: name for name in offered}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{one}: {check.name}")
        for one in (*(k() for k in EXEMPT), BLENDING)
        for check in parameter_checks(one)
    ],
)
def test_an_exempt_class_validates_its_parameters(check: Check) -> None:
    check.run()


class ForgetsRows(sf.Mondrian):
    def anonymize(self, *args: object, **kwargs: object) -> sf.Release:
        release = super().anonymize(*args, **kwargs)  # type: ignore[arg-type]
        return sf.Release(sf.Table(release.table.frame.head(1)), release.card)


class Generous(sf.KAnonymity):
    def __post_init__(self) -> None:
        """Accept anything."""


class Backwards(sf.KAnonymity):
    def measure(self, groups: Groups) -> float:
        return -super().measure(groups)


def failing(checks: object) -> set[str]:
    names = set()
    for check in checks:  # type: ignore[attr-defined]
        try:
            check.run()
        except ConformanceError:
            names.add(check.name)
    return names


def test_the_suite_catches_an_anonymizer_that_loses_rows() -> None:
    assert any(name.startswith("no row is lost") for name in failing(anonymizer_checks(ForgetsRows())))


def test_the_suite_catches_a_model_that_does_not_validate() -> None:
    assert "k refuses 1" in failing(model_checks(Generous(3)))


def test_the_suite_catches_a_model_that_is_not_monotone() -> None:
    assert any(name.startswith("merging") for name in failing(model_checks(Backwards(3))))


class ClaimsEvenness(sf.TCloseness):
    evenness_monotone = True


def test_the_suite_catches_a_model_whose_worst_part_is_another_one() -> None:
    assert any(name.startswith("no part breaks") for name in failing(model_checks(ClaimsEvenness(0.2, "income"))))
