"""Attacks on local reports: protocols as they are stand, broken ones and false headers fall."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.local.header import RATIOS, header_finding
from sfumato.core.arrays import Codes, Payload
from sfumato.errors import InputError
from sfumato.local import (
    GeneralizedResponse,
    HadamardResponse,
    LocalHashing,
    LocalProtocol,
    OptimizedUnary,
    Rappor,
    SubsetSelection,
    SymmetricUnary,
    WarnerResponse,
    write_reports,
)
from sfumato.local.protocols.bulk import as_bytes, respond_many
from sfumato.local.reports.files import to_header
from sfumato.random import SeededSource, Source

VALUES = tuple("abcdef")
PROTOCOLS = [
    WarnerResponse(("no", "yes"), 1.5),
    GeneralizedResponse(VALUES, 1.5),
    SymmetricUnary(VALUES, 1.5),
    OptimizedUnary(VALUES, 1.5),
    SubsetSelection(VALUES, 0.5),
    LocalHashing(VALUES, 1.5),
    HadamardResponse(VALUES, 1.5),
    Rappor(VALUES, 4.0, bits=16, hashes=2, cohorts=4),
]
NAMES = [protocol.name for protocol in PROTOCOLS]


@dataclass(frozen=True)
class Doubled(GeneralizedResponse):
    """Says ε and draws with 2ε."""

    def draw_many(self, codes: Codes, source: Source) -> Payload:
        chances = GeneralizedResponse(self.domain, 2 * self.epsilon)._thresholds
        return as_bytes(respond_many(codes, *chances, source), self.report_bytes)


@dataclass(frozen=True)
class Honest(GeneralizedResponse):
    """Draws well in bulk, and sends the truth from a device."""

    name: ClassVar[str] = "grr"

    def draw(self, code: int) -> bytes:
        return bytes([code])


def reports(path: Path, protocol: LocalProtocol, codes: Codes) -> Path:
    write_reports(path, protocol, protocol.report_many(codes, SeededSource(5)), form="lines")
    return path


def refuted(findings: list[sf.Finding]) -> list[str]:
    return [finding.claim for finding in findings if finding.refuted]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=NAMES)
def test_every_protocol_stands_and_the_attack_comes_near(protocol: LocalProtocol, tmp_path: Path) -> None:
    file = reports(tmp_path / "reports.jsonl", protocol, np.arange(3000) % len(protocol.domain))
    found = sf.audit.local(file, trials=20_000, rng=SeededSource(1))
    assert refuted(found) == []
    stated, belonging, _, bulk, device, guess = found
    assert stated.bound == protocol.spent
    assert belonging.bound == 0
    once = protocol.spent_once
    for finding in (bulk, device):
        assert finding.bound is not None
        assert (0.2 if isinstance(protocol, Rappor) else 0.6) * once < finding.bound <= once
    assert (
        guess.evidence["blind"] < guess.evidence["right"] / guess.evidence["trials"] < guess.evidence["at most"] + 0.01
    )


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=NAMES)
def test_likelihoods_rise_with_the_probability_of_the_report(protocol: LocalProtocol) -> None:
    codes = np.arange(len(protocol.domain))
    payload = np.concatenate([batch.payload for batch in protocol.report_many(codes.repeat(20), SeededSource(2))])
    for row, score in zip(payload, protocol.likelihood(payload, codes), strict=True):
        exact = [protocol.probability(row.tobytes(), code) for code in codes.tolist()]
        for first in codes:
            for second in codes:
                assert (score[first] > score[second] + 1e-9) == (exact[first] > exact[second])


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=NAMES)
def test_the_ratio_is_worked_out_twice(protocol: LocalProtocol) -> None:
    assert RATIOS[protocol.name](protocol.thresholds, len(protocol.domain)) == protocol.ratio


def test_generalised_response_reaches_the_bound_on_guessing() -> None:
    protocol = GeneralizedResponse(VALUES, 1.5)
    *_, guess = sf.audit.local(protocol, trials=50_000, rng=SeededSource(3))
    expected = math.exp(1.5) / (math.exp(1.5) + 5)
    assert guess.evidence["right"] / guess.evidence["trials"] == pytest.approx(expected, abs=0.012)


def test_a_step_that_draws_with_twice_the_epsilon_falls() -> None:
    bulk, device, guess = sf.audit.local(Doubled(VALUES, 1.0), trials=20_000, rng=SeededSource(4))
    assert bulk.refuted
    assert bulk.bound is not None
    assert 1.5 < bulk.bound <= 2
    assert not device.refuted
    assert guess.refuted


def test_a_device_that_sends_the_truth_falls() -> None:
    bulk, device, _ = sf.audit.local(Honest(VALUES, 1.0), trials=5000, rng=SeededSource(4))
    assert (bulk.refuted, device.refuted) == (False, True)


@pytest.mark.parametrize("protocol", PROTOCOLS[1:4], ids=NAMES[1:4])
def test_reports_that_were_never_perturbed_fall(protocol: LocalProtocol, tmp_path: Path) -> None:
    codes = np.repeat([0, 1], 500)
    rows = codes[:, None] if protocol.name == "grr" else 1 << codes[:, None]
    write_reports(tmp_path / "true.bin", protocol, [protocol.packed(rows.astype(np.uint8))])
    found = sf.audit.local(tmp_path / "true.bin", trials=2000, rng=SeededSource(6))
    assert refuted(found) == ["the reports were drawn with the chances of the header"]
    assert "reports support counter" in found[2].evidence["reason"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=NAMES)
def test_a_header_that_promises_too_much_falls(protocol: LocalProtocol, tmp_path: Path) -> None:
    file = reports(tmp_path / "reports.jsonl", protocol, np.zeros(20, dtype=np.int64))
    first, _, rest = file.read_text().partition("\n")
    header = json.loads(first)
    file.write_text(json.dumps(header | {"epsilon": header["epsilon"] / 2}) + "\n" + rest)
    stated, consistent = sf.audit.local(file)
    assert (stated.refuted, stated.bound) == (True, protocol.spent)
    assert consistent.refuted
    kept = stated.evidence
    assert math.log(Fraction(kept["ratio"])) == pytest.approx(protocol.spent)


def test_chances_that_give_more_than_the_header_says_fall() -> None:
    told = to_header(OptimizedUnary(VALUES, 1.0))
    wide = told | {"chances": {**told["chances"], "other": str(int(told["chances"]["other"]) // 2)}}
    finding = header_finding(wide, where="here")
    assert finding.refuted
    assert finding.bound is not None
    assert finding.bound > 1.5


def test_foreign_and_damaged_reports_are_counted(tmp_path: Path) -> None:
    protocol = GeneralizedResponse(VALUES, 1.0)
    file = reports(tmp_path / "reports.jsonl", protocol, np.arange(600) % 6)
    other = reports(tmp_path / "other.jsonl", GeneralizedResponse(VALUES, 2.0), np.arange(60) % 6)
    with file.open("a") as lines:
        lines.write(other.read_text().partition("\n")[2] + "no report\n")
    belonging = sf.audit.local(file, trials=2000, rng=SeededSource(7))[1]
    assert belonging.refuted
    assert belonging.evidence["rejected"] == {"other protocol": 60, "malformed": 1}
    assert belonging.bound == pytest.approx(61 / 661)


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.bin").write_bytes(b"SFLR\x01\x04\0\0\0{}{}")
    for content in (b"SFLR\x01\x04\0\0\0{}{}", b"", b"age\n31\n", b'{"format": "x"}\n', b"[1]\n"):
        (tmp_path / "no.bin").write_bytes(content)
        with pytest.raises(InputError, match="does not begin with the header of a report file"):
            sf.audit.local(tmp_path / "no.bin")
    with pytest.raises(InputError, match="chances or domain cannot be read"):
        header_finding({"protocol": "x", "epsilon": 1, "domain": [], "chances": {}}, where="here")
