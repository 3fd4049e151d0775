"""The measures of a table from end to end: designs, weights, households, stars, refusals, and what is said."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.population import population_risk
from sfumato.evaluate.population.design import SamplingDesign, number_households, read_weights
from sfumato.evaluate.population.household import household_risks
from sfumato.evaluate.population.individual import mean_inverse
from sfumato.evaluate.starred import starred_cells
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

PEOPLE = Table(
    pl.DataFrame(
        {
            "age": ["31", "31", "40", "52", "52", "60"],
            "sex": ["F", "F", "M", "F", "M", "M"],
            "w": [10, 30, 20, 50, 50, 40],
            "home": ["a", "b", "a", "c", "c", None],
        }
    )
)


def test_a_weight_gives_each_key_its_share() -> None:
    found = population_risk(PEOPLE, ["age", "sex"], weights="w")
    assert (found.population, found.fraction) == (200, 0.03)
    assert found.each["class_size"].to_list() == [2, 2, 1, 1, 1, 1]
    assert found.each["population_size"].to_list() == pytest.approx([40, 40, 20, 50, 50, 40])
    sizes, shares = np.array([2.0, 2, 1, 1, 1, 1]), np.array([2 / 40, 2 / 40, 1 / 20, 1 / 50, 1 / 50, 1 / 40])
    assert found.each["risk"].to_list() == pytest.approx(mean_inverse(sizes, shares).tolist())
    assert found.found_again[0].expected == pytest.approx(found.each["risk"].sum())
    assert found.found_again[0].highest == pytest.approx(found.each["risk"].max())
    assert any("weights differ" in note for note in found.notes)


def test_equal_weights_are_a_fraction() -> None:
    table = Table(PEOPLE.frame.with_columns(w=pl.lit(20.0)))
    one, other = (population_risk(table, ["age", "sex"], **how) for how in ({"weights": "w"}, {"fraction": 0.05}))
    assert {**one.as_json(), "population": 0} == {**other.as_json(), "population": 0}
    assert one.each.equals(other.each)


def test_keys_lighter_than_their_rows_are_taken_as_drawn() -> None:
    design = SamplingDesign.of(np.array([0, 0, 1]), weights=np.array([0.5, 0.5, 9.0]))
    assert design.shares.tolist() == [1.0, pytest.approx(1 / 9)]
    assert any(note.startswith("Rows whose keys weigh less than they have rows: 2.") for note in design.notes)


def test_the_whole_population_has_no_uncertainty() -> None:
    found = population_risk(PEOPLE, ["age", "sex"], fraction=1.0)
    assert found.each["risk"].to_list() == [0.5, 0.5, 1, 1, 1, 1]
    assert [one.expected for one in found.found_again] == pytest.approx([5, 5])
    assert found.population_uniques.choice.value == 4
    assert found.correct_match.chance == 1


def test_members_share_the_risk_of_their_household() -> None:
    found = population_risk(PEOPLE, ["age", "sex"], fraction=0.1, household="home")
    risks = found.each["risk"].to_list()
    joined = [1 - (1 - risks[first]) * (1 - risks[second]) for first, second in ((0, 2), (3, 4))]
    assert found.each["household_risk"].to_list() == pytest.approx(
        [joined[0], risks[1], joined[0], joined[1], joined[1], risks[5]]
    )
    assert found.household is not None
    assert (found.household.households, found.household.largest) == (4, 2)
    assert found.household.expected == pytest.approx(sum(found.each["household_risk"]))
    assert found.household.unseen == pytest.approx(sum(found.each["household_pitman_risk"]))
    assert found.found_again[1].expected == pytest.approx(sum(found.each["pitman_risk"]))


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=20))
def test_household_risk_is_one_minus_the_product(rows: list[tuple[float, int]]) -> None:
    risks, homes = np.array([risk for risk, _ in rows]), np.array([home for _, home in rows])
    slow = [1 - math.prod(1 - risk for risk, home in rows if home == mine) for _, mine in rows]
    assert household_risks(risks, homes).tolist() == pytest.approx(slow, abs=1e-12)


def test_missing_households_are_alone() -> None:
    schema = Schema({"home": Attribute("home", Role.OTHER, missing=("", "?"))})
    table = Table(pl.DataFrame({"home": ["?", "a", "?", "a", None]}))
    assert number_households(table, "home", schema).tolist() == [1, 0, 2, 0, 3]
    assert number_households(Table(pl.DataFrame({"home": [None, None]})), "home").tolist() == [0, 1]


def test_starred_rows_are_one_class_and_are_told() -> None:
    table = Table(pl.DataFrame({"age": ["*", "*", "31", "*"], "sex": ["*", "*", "F", "M"]}))
    assert starred_cells(table, ["age", "sex"]).tolist() == [True, True, False, False]
    found = population_risk(table, ["age", "sex"], fraction=0.5)
    assert (found.starred, found.classes, found.uniques) == (2, 3, 2)
    assert any("They count as one class" in note and "ARX" in note for note in found.notes)
    assert found.each["suda"].to_list() == [0, 0, 2, 1]  # a star alone never makes a row special; M and F do
    measured = sf.evaluate.check(table, ["age", "sex"])
    assert (measured.starred, measured.as_json()["starred"]) == (2, 2)
    assert "starred" not in sf.evaluate.check(PEOPLE, ["age"]).as_json()


def test_ranges_in_two_columns_are_one_quasi_identifier() -> None:
    table = Table(pl.DataFrame({"age_min": [1, 1, 5], "age_max": [4, 9, 9], "sex": ["F", "F", "F"]}))
    found = population_risk(table, ["age", "sex"], fraction=0.5)
    assert found.special_uniques.columns == {"age": 1.0, "sex": 0.0}
    assert found.special_uniques.sets == [3, 0]


@pytest.mark.parametrize(
    "how, words",
    [
        ({}, "nobody said how the table was sampled; give --fraction"),
        ({"fraction": 0.1, "weights": "w"}, "a fraction and weights both say how the table was sampled"),
        ({"fraction": 0.0}, "the sampling fraction must be a number above 0 and at most 1; got 0.0"),
        ({"fraction": 1.5}, "the sampling fraction must be a number above 0 and at most 1; got 1.5"),
        ({"fraction": float("nan")}, "the sampling fraction must be"),
        ({"fraction": 0.1, "largest": 3}, "the largest set of columns has 3 and the table 2 quasi-identifiers"),
        ({"weights": "sex"}, "column 'sex' row 1: 'F' is no sampling weight; every row needs a number above 0"),
        ({"weights": "weight"}, "there is no column 'weight'"),
        ({"fraction": 0.1, "household": "hom"}, "there is no column 'hom'; did you mean 'home'"),
    ],
)
def test_refusals(how: dict[str, object], words: str) -> None:
    with pytest.raises((ParameterError, InputError), match=words):
        population_risk(PEOPLE, ["age", "sex"], **how)  # type: ignore[arg-type]  # what users may type


def test_empty_tables_and_no_columns_are_refused() -> None:
    with pytest.raises(InputError, match="the table has no rows"):
        population_risk(Table(pl.DataFrame({"age": []})), ["age"], fraction=0.1)
    with pytest.raises(ParameterError, match="no quasi-identifier was named"):
        population_risk(PEOPLE, [], fraction=0.1)


@pytest.mark.parametrize("cell, row", [("0", 2), ("-3", 2), ("inf", 2), ("nan", 2), (None, 2), ("x", 2)])
def test_a_weight_is_a_number_above_zero(cell: str | None, row: int) -> None:
    with pytest.raises(InputError, match=f"column 'w' row {row}: .* is no sampling weight"):
        read_weights(Table(pl.DataFrame({"w": ["2.5", cell]})), "w")


def test_weights_that_are_too_light_are_refused() -> None:
    with pytest.raises(InputError, match="the weights add up to 2, fewer people than the 4 rows"):
        SamplingDesign.of(np.zeros(4, dtype=np.int64), weights=np.full(4, 0.5))


def test_weights_are_read_as_the_schema_says() -> None:
    schema = Schema({"w": Attribute("w", Role.OTHER, Kind.NUMBER)}).read_as(sf.schema.Reading(decimal=","))
    assert read_weights(Table(pl.DataFrame({"w": ["2,5", "3"]})), "w", schema).tolist() == [2.5, 3.0]


def test_what_is_shown_is_the_stewards_and_holds_no_row() -> None:
    found = population_risk(PEOPLE, ["age", "sex"], fraction=0.1)
    for text in (repr(found), found._repr_html_(), str(found.as_json())):
        assert "do not publish" in text
        assert "31" not in text.replace("0.31", "").split("rows")[0]
    assert "each" not in found.as_json()


def test_one_column_one_row_and_all_alike() -> None:
    one = population_risk(Table(pl.DataFrame({"age": ["3"]})), ["age"], fraction=0.5)
    assert (one.special_uniques.sets, one.found_again[1].expected) == ([1], None)
    assert one.each["pitman_risk"].to_list() == [None]
    alike = population_risk(Table(pl.DataFrame({"age": ["3"] * 9})), ["age"], fraction=0.5)
    assert alike.population_uniques.choice.value == 0
    assert alike.correct_match.chance is None
    assert alike.each["dis_suda"].sum() == 0
