"""The attacks on streams at full strength: DOCA on the readings it was made for, and publishers with a proof."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.audit import stream
from sfumato.audit.stream import Hearing, guesses, named_publisher
from sfumato.audit.stream.inequality import Distribution
from sfumato.random import SeededSource, Source
from sfumato.stream import DOCA, LinkedResponse


@pytest.mark.long
@pytest.mark.parametrize("name", ["rank", "adaptive", "linked", "laplace"])
def test_publishers_with_a_proof_stand_at_full_strength(name: str) -> None:
    findings = stream(named_publisher(name, 1.0, 100), claim=1.0, rng=SeededSource(11))
    assert not any(finding.refuted for finding in findings)


@pytest.mark.long
def test_doca_on_drive_readings_is_guessed_as_well_as_designed(data: Callable[[str], Path]) -> None:
    readings = pl.read_parquet(data("backblaze_smart9_201609.parquet"))
    values = readings["smart_9_raw"].drop_nulls().cast(pl.Float64).to_numpy()
    declared = Distribution.of(values[np.random.default_rng(1).integers(0, len(values), 50_000)])
    width = 1.5 * float(declared.values[-1] - declared.values[0])
    hearing = Hearing(1.0, records=20_000, streams=20)

    def doca(rng: Source) -> DOCA:
        return DOCA(sensitivity=width, rng=rng)

    found = guesses(doca, hearing, declared, SeededSource(1))
    assert found.refuted
    assert found.evidence["allowed by"] == "sech²(ε/2)"
    assert found.evidence["values"].startswith("50000 values")
    assert found.evidence["r squared"] > 0.67  # what a first predictor, shrunk by the size of groups, reached
    assert found.bound is not None
    assert found.bound > 2.3

    def linked(rng: Source) -> LinkedResponse:
        return LinkedResponse(bounds=(0.0, width), rng=rng)

    assert not guesses(linked, hearing, declared, SeededSource(1)).refuted
