"""The dissertation's attack on its own table: a class of ten gone, a ratio of e, and how often classes change."""

from __future__ import annotations

import math
import time

import pytest

import sfumato as sf
from sfumato.audit import composition


@pytest.mark.long
def test_the_attack_on_census_10k_is_met_in_kind() -> None:
    table = sf.Table.from_frame(sf.samples.census_10k())
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    start = time.monotonic()
    finding = composition(table, schema, [sf.KAnonymity(10)], epsilon=0.1)
    assert time.monotonic() - start < 60
    vanished = finding.evidence["class of k"]
    assert finding.refuted
    assert (vanished["before"], vanished["after"]) == (10, 0)  # Pereira 2014, chapter 3: 10 and 0
    assert vanished["density ratio"] == pytest.approx(math.e)  # found there by sampling: 2.73, against e^0.1 = 1.105
    for name in ("removals", "additions"):  # about 35 % there, by another implementation on other rows
        assert finding.evidence[name]["trials"] == 1000
        assert 0.1 < finding.evidence[name]["share changed"] < 0.45
        assert finding.evidence[name]["most classes"] > 10


def test_overlap_on_census_10k_is_met_in_kind() -> None:
    table = sf.Table.from_frame(sf.samples.census_10k())
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    finding = composition(table, schema, [sf.KAnonymity(10)], epsilon=0.1, query="overlap", trials=0)
    vanished = finding.evidence["class of k"]
    assert vanished["before"] == 10
    assert vanished["after"] >= 24  # 24 there
    assert vanished["density ratio"] >= 4.05  # 4.07 there
