"""Series of releases over random histories of people who come and go: no attack may find anybody."""

from __future__ import annotations

import tempfile
from itertools import combinations
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit import series
from sfumato.errors import UnsatisfiableError
from sfumato.random import SeededSource
from sfumato.tabular import republish

PEOPLE = 20
SIDE = 8
SCHEMA = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["ill"], person="id")
Layer = Literal["bpg", "m-invariance"]


@st.composite
def populations(draw: st.DrawFn) -> pl.DataFrame:
    rows = st.tuples(st.integers(0, SIDE - 1), st.sampled_from("FM"), st.sampled_from("abcde"))
    people = draw(st.lists(rows, min_size=PEOPLE, max_size=PEOPLE))
    return pl.DataFrame(people, schema=["age", "sex", "ill"], orient="row").with_row_index("id")


HISTORIES = st.lists(
    st.lists(st.integers(0, PEOPLE - 1), min_size=4, max_size=PEOPLE, unique=True), min_size=2, max_size=4
)


def released(people: pl.DataFrame, history: list[list[int]], layer: Layer, l: int) -> list[sf.Table]:
    """Return what is released of a history; a table of which nothing can be is passed over."""
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for present in history:
            try:
                release = republish(
                    sf.Table(people[present]),
                    SCHEMA,
                    [sf.KAnonymity(2), sf.LDiversity(l, "ill")],
                    Path(folder) / "series",
                    layer=layer,
                    rng=SeededSource(1),
                )
            except UnsatisfiableError:
                continue
            tables.append(release.table)
    return tables


def values_at(table: sf.Table, age: int, sex: str) -> set[str]:
    """Return the values of all classes that a person may be in, read from the published text by plain means."""
    found = set()
    for shown_age, shown_sex, ill in table.frame.select("age", "sex", "ill").iter_rows():
        low, _, high = shown_age.strip("[]").partition("-")
        if int(low) <= age <= int(high or low) and sex in shown_sex:
            found.add(ill)
    return found


@pytest.mark.parametrize("layer", ["bpg", "m-invariance"])
@given(populations(), HISTORIES, st.integers(2, 3))
def test_no_attack_finds_anybody(layer: Layer, people: pl.DataFrame, history: list[list[int]], l: int) -> None:
    tables = released(people, history, layer, l)
    if len(tables) >= 2:
        assert [finding.evidence for finding in series(tables, SCHEMA, l=l) if finding.refuted] == []


@pytest.mark.parametrize("layer", ["bpg", "m-invariance"])
@given(populations(), HISTORIES)
def test_nobody_anywhere_is_left_with_one_value(layer: Layer, people: pl.DataFrame, history: list[list[int]]) -> None:
    """The slow twin: every point of the domain and every choice of releases, without the attack's own code."""
    tables = released(people, history, layer, 2)
    for size in range(1, len(tables) + 1):
        for present in combinations(tables, size):
            for age in range(SIDE):
                for sex in "FM":
                    left = set.intersection(*(values_at(table, age, sex) for table in present))
                    assert len(left) != 1, (age, sex, left)


@given(populations(), HISTORIES)
def test_m_invariance_leaves_everybody_who_stays_the_same_values(
    people: pl.DataFrame, history: list[list[int]]
) -> None:
    """Whoever is in every table and published in all has m values in common, and the true one among them."""
    tables = released(people, history, "m-invariance", 2)
    if len(tables) < len(history):
        return
    staying = set(history[0]).intersection(*history[1:])
    for number, age, sex, ill in people.iter_rows():
        if number in staying and all(ill in values_at(table, age, sex) for table in tables):
            assert len(set.intersection(*(values_at(table, age, sex) for table in tables))) >= 2
