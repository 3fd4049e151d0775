"""Anatomy's groups over random tables."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import UnsatisfiableError
from sfumato.random import SeededSource
from sfumato.tabular.anatomy import Anatomy

SCHEMA = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])


@given(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=40), st.integers(2, 5), st.integers(0, 99))
def test_groups_have_l_different_values_and_nothing_is_lost(ill: list[str], l: int, seed: int) -> None:
    table = sf.Table(pl.DataFrame({"age": range(len(ill)), "ill": ill}))
    models = [sf.LDiversity(l, "ill")]
    if max(Counter(ill).values()) * l > len(ill):
        with pytest.raises(UnsatisfiableError, match="possible"):
            Anatomy().anonymize(table, SCHEMA, models)
        return
    release = Anatomy().anonymize(table, SCHEMA, models, rng=SeededSource(seed))
    exact, second = release.table.frame, release.companions["sensitive"].frame
    assert sorted(exact["age"].to_list()) == list(range(len(ill)))
    assert Counter(dict(second.group_by("ill").agg(pl.col("count").sum()).iter_rows())) == Counter(ill)
    assert second["count"].to_list() == [1] * len(ill)
    assert second.group_by("group").len()["len"].min() >= l  # type: ignore[operator]
    truth = pl.DataFrame({"age": range(len(ill)), "ill": ill}).join(exact, on="age")
    assert sorted(truth.select("group", "ill").rows()) == sorted(second.select("group", "ill").rows())
