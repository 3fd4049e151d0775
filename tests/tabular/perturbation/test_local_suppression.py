"""Local suppression: the result is what it says, counted by definition, and few cells are lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, UnsatisfiableError
from sfumato.evaluate import check
from sfumato.tabular.perturbation.local_suppression import suppress
from sfumato.tabular.perturbation.matching import STAR, Cases, coded_texts, match_counts

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=3, max_size=25)
STARRED = st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=20)


def agrees(left: tuple[object, ...], right: tuple[object, ...], star: object = STAR) -> bool:
    return all(a == b or star in (a, b) for a, b in zip(left, right, strict=True))


def slow_matches(rows: list[tuple[int, ...]]) -> list[int]:
    return [sum(agrees(row, other) for other in rows) for row in rows]


def starred(row: tuple[int, ...], bits: int) -> tuple[int, ...]:
    return tuple(STAR if bits >> place & 1 else value for place, value in enumerate(row))


def columns_of(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*rows, strict=True)]


def slow_suppress(cases: Cases, k: int, prices: np.ndarray) -> np.ndarray:
    """The definition, row by row: the cheapest set of stars with which enough rows agree, then the most, the first."""
    width = len(cases.cells)
    shown = [tuple(case) for case in cases.cells.T.tolist()]
    for case in np.argsort(cases.times, kind="stable").tolist():
        if cases.times[case] >= k:
            continue
        best = None
        for bits in range(2**width):
            tried = starred(shown[case], bits)
            count = sum(t for other, t in zip(shown, cases.times.tolist(), strict=True) if agrees(tried, other))
            if count >= k and (best is None or (prices[bits], -count) < best[:2]):
                best = (prices[bits], -count, tried)
        assert best is not None
        shown[case] = best[2]
    return np.array(shown).T


@given(STARRED)
def test_matches_are_counted_by_definition(rows: list[tuple[int, ...]]) -> None:
    cases = Cases.of(columns_of(rows))
    assert match_counts(cases)[cases.rows].tolist() == slow_matches(rows)
    asked = np.array([[0], [1], [2]], dtype=np.int32)
    assert match_counts(cases, asked).tolist() == [sum(agrees((0, 1, 2), row) for row in rows)]


@given(ROWS, st.integers(2, 3), st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=3, max_size=3))
def test_the_kernel_is_its_slow_twin(rows: list[tuple[int, ...]], k: int, weights: list[float]) -> None:
    cases = Cases.of(columns_of(rows))
    prices = np.array([sum(w for c, w in enumerate(weights) if bits >> c & 1) for bits in range(8)])
    assert suppress(cases, k, prices).tolist() == slow_suppress(cases, k, prices).tolist()


@given(ROWS, st.integers(2, 3))
def test_a_release_has_what_its_card_says(rows: list[tuple[int, ...]], k: int) -> None:
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").cast(pl.String)
    schema = sf.Schema.from_roles(quasi=["a", "b", "c"])
    release = sf.LocalSuppression().anonymize(sf.Table(frame), schema, [sf.KAnonymity(k)])
    shown = release.table.frame.rows()
    matched = [sum(agrees(row, other, "*") for other in shown) for row in shown]
    own = [shown.count(row) for row in shown]
    assert min(matched) >= k
    asked, takes_for_value = release.card.released.models
    assert (asked.asked, asked.measured, takes_for_value.measured) == (k, min(matched), min(own))
    for row in shown:  # every row is some original one with cells left out
        assert any(all(cell in ("*", value) for cell, value in zip(row, old, strict=True)) for old in frame.rows())
    stars = sum(cell == "*" for row in shown for cell in row)
    assert release.card.released.measures["cells_suppressed"] == stars
    found = check(release.table, ["a", "b", "c"])
    assert (found.k, found.k_matching or found.k) == (min(own), min(matched))
    few = [old for old in frame.rows() if sum(agrees(old, row, "*") for row in shown) < k]
    assert release.steward.get("rows_with_fewer_candidates_than_k", 0) == len(few)


def test_important_columns_keep_their_cells() -> None:
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({name: draw.integers(0, 8, 300).astype(str) for name in ("age", "job", "zip")})
    schema = sf.Schema.from_roles(quasi=["age", "job", "zip"])

    def stars(importance: str | None) -> dict[str, int]:
        release = sf.LocalSuppression(importance).anonymize(sf.Table(frame), schema, [sf.KAnonymity(3)])
        return {name: int((release.table.column(name) == "*").sum()) for name in frame.columns}

    plain, weighed = stars(None), stars("age=10")
    assert weighed["age"] < plain["age"] / 2
    assert sum(plain.values()) < 300  # of 900 cells; whole rows would be more


def test_few_cells_are_lost_beside_the_least_possible() -> None:
    """On tables so small that every way to star them can be tried, the greedy loses little."""
    draw = np.random.default_rng(1)
    lost = least = 0
    for _ in range(25):
        rows = [tuple(row) for row in draw.integers(0, 2, (5, 2)).tolist()]
        frame = pl.DataFrame(rows, schema=["a", "b"], orient="row").cast(pl.String)
        release = sf.LocalSuppression().anonymize(
            sf.Table(frame), sf.Schema.from_roles(quasi=["a", "b"]), [sf.KAnonymity(2)]
        )
        lost += int(release.card.released.measures["cells_suppressed"])
        least += min(
            sum(bits.bit_count() for bits in way)
            for way in itertools.product(range(4), repeat=5)
            if min(slow_matches([starred(row, bits) for bits, row in zip(way, rows, strict=True)])) >= 2
        )
    assert least <= lost <= 1.3 * least + 2


def test_adult_loses_the_cells_that_the_page_says(data: Callable[[str], Path]) -> None:
    quasi = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
    schema = sf.Schema.from_roles(quasi=quasi, sensitive=["income"], other="drop")
    release = sf.LocalSuppression().anonymize(sf.read(data("adult_train.csv.gz")), schema, [sf.KAnonymity(5)])
    page = (Path(__file__).parents[3] / "docs/algorithms/perturbation.md").read_text(encoding="utf-8")
    cells = int(release.card.released.measures["cells_suppressed"])
    rows = int(release.steward["rows_with_fewer_candidates_than_k"])
    assert f"it suppresses {cells:,} of {8 * release.table.rows:,} cells" in page
    assert f"that is {rows:,} rows, and the fewest is {release.steward['fewest_candidates']:g}" in page


def test_a_file_that_breaks_the_promise_is_refuted() -> None:
    frame = pl.DataFrame({"a": ["1", "1", "2"], "b": ["x", "x", "x"]})
    schema = sf.Schema.from_roles(quasi=["a", "b"])
    release = sf.LocalSuppression().anonymize(sf.Table(frame), schema, [sf.KAnonymity(2)])
    (kept,) = sf.LocalSuppression.claims(release.card, release.table)
    (broken,) = sf.LocalSuppression.claims(release.card, sf.Table(frame))
    assert (kept.verdict, kept.bound, broken.verdict, broken.bound) == ("NOT_REFUTED", 3, "REFUTED", 1)


def test_values_that_are_written_in_several_ways_count_once_and_leave_in_one() -> None:
    frame = pl.DataFrame({"pay": ["1.50", "1.5", "2", "2.0", "", "?"], "sex": ["F"] * 6})
    pay = sf.Attribute("pay", sf.Role.QUASI, sf.Kind.NUMBER, missing=("", "?"))
    schema = sf.Schema({"pay": pay, "sex": sf.Attribute("sex", sf.Role.QUASI)})
    release = sf.LocalSuppression().anonymize(sf.Table(frame), schema, [sf.KAnonymity(2)])
    assert sorted(release.table.column("pay")) == ["", "", "1.5", "1.5", "2", "2"]
    assert not sf.LocalSuppression.claims(release.card, release.table)[0].refuted
    assert check(release.table, ["pay", "sex"]).k == 2


def test_a_star_in_the_data_is_no_suppressed_cell() -> None:
    frame = pl.DataFrame({"a": ["*", "x", "x"]})
    release = sf.LocalSuppression().anonymize(sf.Table(frame), sf.Schema.from_roles(quasi=["a"]), [sf.KAnonymity(2)])
    assert sorted(release.table.column("a")) == ["*", "x", "x"]
    two = sf.LocalSuppression().anonymize(
        sf.Table(pl.DataFrame({"a": ["*", "*", "x", "x"]})), sf.Schema.from_roles(quasi=["a"]), [sf.KAnonymity(2)]
    )
    assert sorted(two.table.column("a")) == ['"*"', '"*"', "x", "x"]
    assert coded_texts([pl.Series(['"*"', "*"])])[0].tolist() == [0, -1]


def test_what_cannot_be_had_is_refused() -> None:
    table, schema = sf.Table(pl.DataFrame({"a": ["1", "2"]})), sf.Schema.from_roles(quasi=["a"])
    with pytest.raises(UnsatisfiableError, match="at most k=2 is possible"):
        sf.LocalSuppression().anonymize(table, schema, [sf.KAnonymity(3)])
    with pytest.raises(ParameterError, match="cannot promise"):
        sf.LocalSuppression().anonymize(table, schema, [sf.LDiversity(2, "a")])
    with pytest.raises(ParameterError, match="needs k-anonymity once"):
        sf.LocalSuppression().anonymize(table, schema, [])
    with pytest.raises(SchemaError, match="'b' has an importance"):
        sf.LocalSuppression("b=2").anonymize(table, schema, [sf.KAnonymity(2)])
    wide = pl.DataFrame({f"c{number}": ["1", "2"] for number in range(13)})
    with pytest.raises(SchemaError, match="there may be 12; found 13"):
        sf.LocalSuppression().anonymize(
            sf.Table(wide), sf.Schema.from_roles(quasi=list(wide.columns)), [sf.KAnonymity(2)]
        )
