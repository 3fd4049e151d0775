"""Every public protocol of the local door passes the suite that ships with the library, and the suite has teeth."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from sfumato import local, plugins
from sfumato.checks import Check, ConformanceError, mean_protocol_checks, protocol_checks
from sfumato.checks.protocol_laws import CRITICAL, follows_law
from sfumato.core.arrays import Codes, Integers, Payload, Reals
from sfumato.errors import SfumatoError
from sfumato.local.base import LocalProtocol
from sfumato.local.protocol_choice import every_mean, every_protocol
from sfumato.local.protocols.rappor import Rappor
from sfumato.random import SeededSource, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOUR = ("north", "south", "east", "west")
PROTOCOLS: list[LocalProtocol] = [
    local.WarnerResponse(("no", "yes"), 1.1),
    local.GeneralizedResponse(FOUR, 0.7),
    local.GeneralizedResponse(tuple(range(300)), 3.0),
    local.SymmetricUnary(FOUR, 2.251),
    local.SymmetricUnary(tuple(range(9)), 0.008),
    local.OptimizedUnary(FOUR, 1.0),
    local.OptimizedUnary((3, 1, 2), 13.814),
    local.LocalHashing(FOUR, 1.0),
    local.LocalHashing(tuple(range(50)), 2.0),
    local.SubsetSelection(tuple(range(10)), 0.5),
    local.SubsetSelection(FOUR, 3.0),
    local.HadamardResponse(FOUR, 1.0),
    local.HadamardResponse(tuple(range(7)), 0.2),
    Rappor(FOUR, 2.0, bits=6, hashes=1, cohorts=2),
]
SAMPLES = [kind.sample(FOUR, 1.3) for kind in every_protocol().values()]


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(c, id=f"{p.name}-{len(p.domain)}-{p.epsilon}: {c.name}")
        for p in [*PROTOCOLS, *SAMPLES]
        for c in protocol_checks(p)
    ],
)
def test_protocol_conforms(check: Check) -> None:
    check.run()


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}: {check.name}")
        for name, kind in every_mean().items()
        for check in mean_protocol_checks(kind.sample(-3, 5, 1.5))
    ],
)
def test_protocol_for_means_conforms(check: Check) -> None:
    check.run()


@dataclass(frozen=True)
class Shifted(local.Duchi):
    def draw_many(self, steps: Integers, source: Source) -> Integers:
        return np.abs(super().draw_many(steps, source))


def test_the_suite_catches_a_mean_that_is_biased_in_bulk() -> None:
    failed = set()
    for check in mean_protocol_checks(Shifted(0, 1, 2.0)):
        try:
            check.run()
        except ConformanceError:
            failed.add(check.name)
    assert failed == {"means are unbiased and no noisier than stated"}


@pytest.mark.long
def test_every_protocol_is_tallied_alike_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Tally folders of packed and written reports, some of them spoilt, on both engines."""
    from sfumato.engines.spark.local import tally_files

    for number, protocol in enumerate(PROTOCOLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        codes = np.random.default_rng(number).integers(0, len(protocol.domain), 900)
        files = [folder / name for name in ("a.bin", "b.jsonl", "c.bin.gz")]
        for place, file in enumerate(files):
            form = "lines" if file.suffix == ".jsonl" else "packed"
            local.write_reports(file, protocol, protocol.report_many(codes[place::3]), form=form)
        files[0].write_bytes(files[0].read_bytes()[:-1])
        total = local.aggregate_file(files[0])
        for file in files[1:]:
            total += local.aggregate_file(file)
        assert total.users == 600
        assert total.rejected
        assert tally_files(spark, [folder]) == total


def test_every_public_protocol_is_checked() -> None:
    public = set(every_protocol().values())
    checked = {type(protocol) for protocol in [*PROTOCOLS, *SAMPLES]}
    named = {
        value
        for value in (getattr(local, name) for name in dir(local))
        if inspect.isclass(value) and issubclass(value, LocalProtocol) and not inspect.isabstract(value)
    }
    assert public | named == checked
    assert {kind.name for kind in public} == set(plugins.names("protocols"))
    assert plugins.failures("protocols", LocalProtocol) == []


def failing(protocol: LocalProtocol) -> set[str]:
    names = set()
    for check in protocol_checks(protocol):
        try:
            check.run()
        except (ConformanceError, SfumatoError):
            names.add(check.name)
    return names


@dataclass(frozen=True)
class TellsMore(local.OptimizedUnary):
    @property
    def bits(self) -> tuple[int, int]:
        own, other = super().bits
        return own, other - 1


@dataclass(frozen=True)
class SkewedDevice(local.GeneralizedResponse):
    def draw(self, code: int) -> bytes:
        return super().draw(code if np.random.default_rng().random() < 0.8 else 0)


@dataclass(frozen=True)
class WrongSupport(local.SubsetSelection):
    @property
    def support(self) -> tuple[Fraction, Fraction]:
        own, other = super().support
        return own, other * Fraction(101, 100)


@dataclass(frozen=True)
class WrongOrder(local.GeneralizedResponse):
    def likelihood(self, payload: Payload, codes: Codes) -> Reals:
        return -super().likelihood(payload, codes)


@dataclass(frozen=True)
class WithoutWords(local.GeneralizedResponse):
    words: ClassVar[str] = ""


def test_the_suite_catches_an_attack_that_looks_the_wrong_way() -> None:
    assert "likelihoods order the values" in failing(WrongOrder(FOUR, 1.0))


def test_the_suite_catches_a_class_that_does_not_say_what_it_is() -> None:
    assert "the class says what it is" in failing(WithoutWords(FOUR, 1.0))


@pytest.mark.parametrize("protocol", PROTOCOLS[1:], ids=lambda protocol: f"{protocol.name}-{protocol.epsilon}")
def test_the_plain_likelihood_orders_values_like_ours(protocol: LocalProtocol) -> None:
    """What a protocol without a likelihood of its own inherits is right for every pure protocol."""
    if not protocol.pure:
        return
    codes = np.arange(len(protocol.domain))
    payload = next(protocol.report_many(codes, SeededSource(3))).payload
    assert np.array_equal(LocalProtocol.likelihood(protocol, payload, codes), protocol.likelihood(payload, codes))


def test_the_suite_catches_a_threshold_that_is_one_too_generous() -> None:
    assert "ε holds exactly" in failing(TellsMore(FOUR, 1.0))


def test_the_suite_catches_a_device_that_draws_otherwise() -> None:
    assert "reports of a device follow their law" in failing(SkewedDevice(FOUR, 2.0))


def test_the_suite_catches_a_wrong_chance_of_support() -> None:
    assert "reports support values as stated" in failing(WrongSupport(tuple(range(10)), 1.0))


def shape(protocol: LocalProtocol) -> list[int]:
    return [protocol.thresholds.get(name, 0) for name in ("groups", "size")]


def louder(protocol: LocalProtocol) -> LocalProtocol:
    return replace(protocol, epsilon=protocol.epsilon * 1.3)


COMPARABLE = [p for p in PROTOCOLS if 0.5 <= p.epsilon < 5 and shape(p) == shape(louder(p))]


@pytest.mark.parametrize("protocol", COMPARABLE, ids=lambda protocol: f"{protocol.name}-{protocol.epsilon}")
def test_the_law_has_power(protocol: LocalProtocol) -> None:
    """Reports drawn at an ε that is 30 % off do not pass for this protocol's."""
    chunks = louder(protocol).report_many(np.zeros(40_000, dtype=np.int64))
    assert follows_law(protocol, 0, (row.tobytes() for chunk in chunks for row in chunk.payload)) > CRITICAL


def test_power_was_shown_for_most_protocols() -> None:
    assert {protocol.name for protocol in COMPARABLE} >= {"rr", "grr", "sue", "oue", "ss", "hr"}
