"""Every registered class that promises differential privacy passes the twin run; one without a sample fails by name."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import ClassVar

import pytest

from sfumato.checks import Check, ConformanceError, twin_checks
from sfumato.random import Source
from sfumato.stream import NaiveLaplace, RankWindows
from sfumato.stream.base import Publisher, Sample


@pytest.mark.parametrize("check", [pytest.param(check, id=check.name) for check in twin_checks()])
def test_a_registered_class_is_not_refuted(check: Check) -> None:
    check.run()


@dataclass(eq=False)
class Sampleless(NaiveLaplace):
    """A publisher that promises an ε and has no sample."""

    rng: InitVar[Source | None] = None
    name: ClassVar[str] = "sampleless"

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        return Publisher.sample.__func__(cls)  # type: ignore[attr-defined, no-any-return]


@dataclass(eq=False)
class Leaky(RankWindows):
    """A publisher that draws half the noise."""

    rng: InitVar[Source | None] = None
    name: ClassVar[str] = "leaky"

    def prepare(self) -> None:
        super().prepare()
        self._grid.scale /= 2


@pytest.mark.parametrize("kind, sentence", [(Sampleless, "Sampleless has no sample"), (Leaky, "Leaky is refuted")])
def test_the_suite_names_what_fails(kind: type[Publisher], sentence: str) -> None:
    check = next(check for check in twin_checks([kind]) if check.name == f"publisher {kind.__name__}")
    with pytest.raises(ConformanceError, match=sentence):
        check.run()
