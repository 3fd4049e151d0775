"""What publishers by key promise together, and which columns may be the key."""

from __future__ import annotations

import pytest

from sfumato.engines.spark.streams.keys import ByKey
from sfumato.engines.spark.streams.stream import SparkStream
from sfumato.errors import ParameterError
from sfumato.promise import ProtectPersons
from sfumato.stream import build


def test_persons_within_a_key_are_told_epsilon_at_the_same_delta() -> None:
    setup = build("totals", ["watts"], bounds=(0, 100), delta=1e-6, person="house", per_person=2)
    alone = setup.promise
    assert alone is not None
    together = ByKey("station").together(alone)
    assert isinstance(together.metric.unit, ProtectPersons)
    assert "station" in together.metric.unit.person
    assert (together.told_at, together.cost) == (alone.told_at, alone.cost)
    assert together.told_at > 0


@pytest.mark.parametrize("publisher, key", [("statistics", "statistic"), ("totals", "watts_sum")])
def test_a_key_cannot_have_the_name_of_a_released_column(publisher: str, key: str) -> None:
    setup = build(publisher, ["watts"], bounds=(0, 100))
    with pytest.raises(ParameterError, match=f"column '{key}' cannot be the key"):
        SparkStream(setup.publisher, setup.screen, ByKey(key), order=("second",))
