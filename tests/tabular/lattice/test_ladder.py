"""Ladders: plain ones agree with the builders, and every ladder ends in one node."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.hierarchy import builders as build
from sfumato.table.coding import code
from sfumato.tabular.lattice.ladder import Ladder


def _ladder(values: list[Any], kind: sf.Kind, hierarchy: sf.Hierarchy | None = None) -> Ladder:
    return Ladder.of(
        code(pl.Series("column", values), sf.Attribute("column", sf.Role.QUASI, kind, hierarchy=hierarchy))
    )


@pytest.mark.parametrize("values", [list(range(-3, 60)), [0.25, 0.5, 1.0, 7.5, 90.0], [4], [4, 5]])
def test_plain_intervals_are_those_of_the_builder(values: list[Any]) -> None:
    whole = isinstance(values[0], int)
    plain = _ladder(values, sf.Kind.INTEGER if whole else sf.Kind.NUMBER)
    tree = build.intervals(values, build.growing_widths(values[0], values[-1]))
    built = _ladder(values, sf.Kind.INTEGER if whole else sf.Kind.NUMBER, tree)
    assert plain.labels == built.labels
    assert all((ours == theirs).all() for ours, theirs in zip(plain.nodes, built.nodes, strict=True))


@pytest.mark.parametrize("kind, values, bounds", [("integer", [31, 32, 47], (0, 120)), ("number", [0.25, 0.5], (0, 1))])
def test_widths_fit_declared_bounds_whatever_values_occur(
    kind: str, values: list[Any], bounds: tuple[int, int]
) -> None:
    attribute = sf.Attribute("column", sf.Role.QUASI, sf.Kind(kind), bounds=bounds)
    few, many = (Ladder.of(code(pl.Series("column", found), attribute)) for found in (values[:2], [*values, *bounds]))
    learnt = _ladder(values[:2], sf.Kind(kind))
    assert few.top == many.top
    assert few.labels != learnt.labels
    for level in range(1, few.top):
        assert set(few.labels[level]) <= set(many.labels[level])


def test_bounds_that_were_learnt_from_rows_are_not_declared() -> None:
    learnt = sf.Attribute("column", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(0, 120), public=False)
    series = pl.Series("column", [31, 32, 47])
    assert Ladder.of(code(series, learnt)).labels == _ladder([31, 32, 47], sf.Kind.INTEGER).labels


def test_dates_climb_the_calendar_and_missing_ones_stay_apart_below_the_top() -> None:
    ladder = _ladder([dt.date(2024, 1, 31), dt.date(2024, 2, 1), None], sf.Kind.DATE)
    assert ladder.labels[1] == ("", "2024-01", "2024-02")
    assert ladder.labels[2] == ("", "2024-Q1")
    assert ladder.labels[-1] == ("*",)


def test_losses_grow_along_every_ladder_from_0_to_1() -> None:
    ladder = _ladder([*range(20, 90), None], sf.Kind.INTEGER)
    by_code = np.stack([loss[nodes] for loss, nodes in zip(ladder.losses, ladder.nodes, strict=True)])
    assert (np.diff(by_code, axis=0) >= 0).all()
    assert (by_code[0] == 0).all()
    assert (by_code[-1] == 1).all()


def test_a_root_of_another_name_is_kept_unless_missing_values_join_it() -> None:
    tree = sf.Hierarchy.from_rows([("F", "person"), ("M", "person")])
    assert _ladder(["F", "M"], sf.Kind.CATEGORY, tree).labels[-1] == ("person",)
    assert _ladder(["F", None], sf.Kind.CATEGORY, tree).labels[-1] == ("*",)


def test_a_million_different_numbers_have_a_ladder() -> None:
    ladder = _ladder((np.arange(1_000_000) * 3.5).tolist(), sf.Kind.NUMBER)
    assert ladder.top > 2
