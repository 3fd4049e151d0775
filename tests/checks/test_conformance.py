"""Every public anonymizer and model passes the suite that ships with the library."""

from __future__ import annotations

import inspect

import pytest

import sfumato as sf
from sfumato import models, tabular
from sfumato.checks import Check, ConformanceError, anonymizer_checks, model_checks
from sfumato.checks.base import parameter_checks
from sfumato.core.parameters import Validated
from sfumato.models import Groups, Model
from sfumato.tabular import Anonymizer

ANONYMIZERS: list[Anonymizer] = [
    sf.Mondrian(),
    sf.Mondrian(relaxed=True),
    sf.Mondrian(keep_order=True),
    tabular.Datafly(suppress=0.1),
    tabular.Incognito(metric="discernibility"),
    tabular.Optimal(suppress=0.1, local=True),
    sf.MDAV(),
    sf.MDAVPlus(),
    sf.MDAVStar(),
    sf.VMDAV(gamma=1.1),
    sf.KAnonyMeans(seeding="forgy", loop="outer", rounds=3),
    sf.KAnonyMeansStar(generations=2),
    sf.Improve(iterations=50, seconds=None),
]
EXEMPT = {
    tabular.Anatomy: "promises l-diversity of two tables, not a k-anonymous one: its own unit and property tests",
    tabular.Univariate: "takes one number, the suite's tables have six columns: property tests on one column",
}
PRIVATE: list[tuple[Validated, str]] = [
    (sf.SafePub(epsilon=1), "samples rows, so rows are lost on purpose, also all of a small table: its own tests"),
    (sf.PrivateMondrian(epsilon=1), "releases noisy counts, not rows, and takes no model: its own tests"),
    (models.CrowdBlending(3), "speaks of mechanisms, not of classes: its own property tests"),
]
MODELS: list[Model] = [
    sf.KAnonymity(3),
    sf.LDiversity(2, "disease"),
    sf.LDiversity(2.5, "disease", kind="entropy"),
    sf.LDiversity(3, "income", kind="recursive"),
    sf.TCloseness(0.2, "disease"),
    sf.TCloseness(0.2, "income"),
    sf.AlphaK(0.5, 3, "disease"),
]


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


def test_every_public_class_is_checked() -> None:
    for package, kind, instances in ((tabular, Anonymizer, ANONYMIZERS), (models, Model, MODELS)):
        public = {
            value
            for value in vars(package).values()
            if inspect.isclass(value) and issubclass(value, kind) and not inspect.isabstract(value)
        }
        assert public - EXEMPT.keys() <= {type(instance) for instance in instances}


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=f"{kind.__name__}: {check.name}") for kind in EXEMPT for check in parameter_checks(kind())],
)
def test_an_exempt_class_validates_its_parameters(check: Check) -> None:
    check.run()


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=f"{one}: {check.name}") for one, _ in PRIVATE for check in parameter_checks(one)],
)
def test_a_private_algorithm_validates_its_parameters(check: Check) -> None:
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
