"""The minimality attack on Adult: Mondrian with l-diversity makes a few people certain, blind Mondrian nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.tabular import PartitionAnonymizer

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]


@pytest.mark.long
@pytest.mark.parametrize("anonymizer, certain", [(sf.Mondrian(), 7), (sf.BlindMondrian(), 0)], ids=repr)
def test_people_that_the_page_counts(
    data: Callable[[str], Path], anonymizer: PartitionAnonymizer, certain: int
) -> None:
    schema = sf.Schema.from_roles(quasi=QUASI, sensitive=["occupation"], other="drop")
    models = [sf.KAnonymity(5), sf.LDiversity(2, "occupation")]
    [finding] = sf.audit.minimality(sf.read(data("adult_train.csv.gz")), schema, models, anonymizer)
    assert finding.evidence["persons broken"] == certain
    assert all(person["share"] == 1.0 for person in finding.evidence["persons"] if certain)
