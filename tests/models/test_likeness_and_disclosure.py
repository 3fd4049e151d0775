"""β-likeness and δ-disclosure privacy: hand-worked values, slow twins, and how they behave when classes merge."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models import Groups
from sfumato.schema import Kind, Role
from sfumato.table.coding import Column, code_sensitive, only_observed

rows_of_classes = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["flu", "gout", "cold"])), min_size=2, max_size=40
)


def column(values: list[str | None]) -> Column:
    return only_observed(code_sensitive(pl.Series("s", values), sf.Attribute("s", Role.SENSITIVE, Kind.CATEGORY)))


def groups(rows: list[tuple[int, str]]) -> Groups:
    classes = np.unique([row[0] for row in rows], return_inverse=True)[1]
    return Groups.of(classes, {"s": column([row[1] for row in rows])})


def parts(rows: list[tuple[int, str]]) -> tuple[list[Counter[str]], Counter[str]]:
    by_class = [Counter(v for group, v in rows if group == wanted) for wanted in sorted({row[0] for row in rows})]
    return by_class, Counter(v for _, v in rows)


@given(rows_of_classes, st.floats(0.05, 3))
def test_enhanced_holds_exactly_where_the_definition_does(rows: list[tuple[int, str]], limit: float) -> None:
    classes, whole = parts(rows)
    total = whole.total()
    holds = all(
        (n / c.total() - whole[v] / total) / (whole[v] / total) <= min(limit, -math.log(whole[v] / total)) + 1e-9
        for c in classes
        for v, n in c.items()
        if n / c.total() > whole[v] / total
    )
    model = sf.BetaLikeness(limit, "s")
    assert model.holds(model.measure(groups(rows))) == holds
    assert not holds or sf.BetaLikeness(limit, "s", kind="basic").holds(model.measure(groups(rows)))


@given(rows_of_classes)
def test_delta_by_the_letter_minds_what_a_class_lacks(rows: list[tuple[int, str]]) -> None:
    classes, whole = parts(rows)
    found = sf.DeltaDisclosure(9, "s", absent="refused").measure(groups(rows))
    if any(set(c) != set(whole) for c in classes):
        assert found == math.inf
    else:
        assert found == sf.DeltaDisclosure(9, "s").measure(groups(rows))


@given(rows_of_classes)
def test_enhanced_likeness_keeps_every_value_of_several_from_certainty(rows: list[tuple[int, str]]) -> None:
    """p·(1 − ln p) is below 1 for every p below 1."""
    classes, whole = parts(rows)
    model = sf.BetaLikeness(1e6, "s")
    if len(whole) > 1 and model.holds(model.measure(groups(rows))):
        assert all(len(one) > 1 for one in classes)


@given(rows_of_classes, st.integers(0, 2))
def test_merging_never_makes_likeness_worse(rows: list[tuple[int, str]], merged: int) -> None:
    together = [(min(group, merged), value) for group, value in rows]
    for model in (
        sf.BetaLikeness(1, "s"),
        sf.BetaLikeness(1, "s", kind="basic"),
        sf.DeltaDisclosure(1, "s", absent="refused"),
    ):
        assert model.measure(groups(together)) <= model.measure(groups(rows)) + 1e-9


def test_merging_can_break_delta_disclosure_where_a_class_may_lack_values() -> None:
    """Gout has its share of the table in the first class; diluted by the second, it is ten times rarer."""
    first = [(0, "gout"), *[(0, "flu")] * 9]
    rows = [*first, *[(1, "flu")] * 90, *[(2, "gout")] * 11, *[(2, "flu")] * 9]
    apart = sf.DeltaDisclosure(2, "s").class_value(next(groups(rows).each("s")))
    merged = [(min(1, group), value) if group < 2 else (group, value) for group, value in rows]
    together = [(1 if group < 2 else 2, value) for group, value in merged]
    assert apart == pytest.approx(0, abs=0.01)
    assert sf.DeltaDisclosure(2, "s").class_value(next(groups(together).each("s"))) > 2
    assert not sf.DeltaDisclosure.merge_monotone


def test_leaving_rows_out_can_break_both() -> None:
    rows = [(0, "gout"), (0, "flu"), (1, "gout"), (1, "gout"), (1, "flu"), (1, "flu"), (2, "flu"), (2, "gout")]
    fewer = [(0, "gout"), (0, "flu"), (1, "gout"), (1, "gout"), (1, "gout"), (1, "flu")]
    assert sf.BetaLikeness(1, "s").measure(groups(rows)) == 0
    assert sf.BetaLikeness(1, "s").measure(groups(fewer)) > 0
    assert not sf.BetaLikeness.suppression_monotone
    assert not sf.DeltaDisclosure.suppression_monotone


def test_a_missing_value_has_a_share_like_any_other() -> None:
    found = Groups.of(np.array([0, 0, 1, 1]), {"s": column([None, None, "flu", "gout"])})
    assert sf.BetaLikeness(1, "s", kind="basic").measure(found) == 1.0


def test_words_say_the_factor() -> None:
    card = (
        sf.Mondrian()
        .anonymize(
            sf.Table.from_frame(sf.samples.patients(200)),
            sf.Schema.from_roles(quasi=["age"], sensitive=["disease"], other="drop"),
            [sf.KAnonymity(5), sf.BetaLikeness(2, "disease"), sf.DeltaDisclosure(1, "disease")],
        )
        .card
    )
    words = [entry.words or "" for entry in card.released.models]
    assert "at most 3 times that share" in words[1]
    assert "between 0.3679 and 2.718 times" in words[2]
    assert card.guarantee.parameters["beta_likeness"] == 2
