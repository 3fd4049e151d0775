"""Coefficients before and after: overlaps by hand, identity, order of rows, stars, and every kind of term."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InputError
from sfumato.evaluate.regression import Coefficient, ComparedCoefficient, regression
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY),
        "cost": Attribute("cost", Role.SENSITIVE, Kind.NUMBER),
        "ill": Attribute("ill", Role.OTHER),
    }
)
ENDS = st.tuples(st.floats(-10, 10), st.floats(0.1, 10)).map(lambda ends: (ends[0], ends[0] + ends[1]))


def people(rows: int = 300) -> Table:
    draw = np.random.default_rng(11)
    age, sex = draw.integers(20, 70, rows), draw.integers(0, 2, rows)
    return Table(
        pl.DataFrame(
            {
                "age": age,
                "sex": np.where(sex == 1, "F", "M"),
                "cost": 10 + 2.0 * age + 5 * sex + draw.normal(size=rows),
                "ill": np.where(draw.random(rows) < age / 80, "yes", "no"),
            }
        )
    )


def interval(low: float, high: float) -> Coefficient:
    return Coefficient((low + high) / 2, (high - low) / 4, low, high)


def test_overlap_by_hand() -> None:
    wide, narrow = interval(0, 4), interval(3, 5)
    assert ComparedCoefficient("x", wide, narrow).overlap == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert ComparedCoefficient("x", wide, wide).overlap == 1
    assert ComparedCoefficient("x", interval(0, 1), interval(2, 3)).overlap == 0
    assert ComparedCoefficient("x", wide, None).overlap == 0
    assert ComparedCoefficient("x", None, wide).overlap is None
    assert ComparedCoefficient("x", interval(0, 8), interval(2, 4)).overlap == pytest.approx((2 / 8 + 1) / 2)
    assert ComparedCoefficient("x", wide, narrow).difference == pytest.approx(2)
    assert ComparedCoefficient("x", wide, None).difference is None


@given(ENDS, ENDS)
def test_overlap_against_sampling_both_intervals(one: tuple[float, float], other: tuple[float, float]) -> None:
    found = ComparedCoefficient("x", interval(*one), interval(*other)).overlap
    inside = [
        np.mean((points >= ends[0]) & (points <= ends[1]))
        for points, ends in ((np.linspace(*one, 4001), other), (np.linspace(*other, 4001), one))
    ]
    assert found == pytest.approx(np.mean(inside), abs=1e-3)


@pytest.mark.parametrize("formula", ["cost ~ age + sex", "ill ~ age + sex + cost", "sex ~ age", "age ~ sex + ill"])
def test_the_original_itself_overlaps_wholly_in_any_order(formula: str) -> None:
    shuffled = Table(people().frame.sample(fraction=1.0, shuffle=True, seed=1))
    for released in (people(), shuffled):
        found = regression(people(), SCHEMA, released, formula)
        assert found.mean_overlap == pytest.approx(1)
        assert all(each.difference == pytest.approx(0, abs=1e-6) for each in found.coefficients)


def test_true_coefficients_are_found() -> None:
    found = regression(people(), SCHEMA, people(), "cost ~ age + sex")
    values = {each.name: each.original for each in found.coefficients}
    assert found.method == "least squares"
    [word] = found.references.values()
    sign = 1 if word == "M" else -1
    other = values[f"sex = {'F' if word == 'M' else 'M'}"]
    age = values["age"]
    assert age is not None
    assert other is not None
    assert age.low < 2 < age.high
    assert other.low < 5 * sign < other.high


def test_logistic_regression_models_the_second_value() -> None:
    found = regression(people(), SCHEMA, people(), "ill ~ age")
    slope = found.coefficients[1].original
    assert (found.method, found.modelled) == ("logistic", "yes")
    assert slope is not None
    assert slope.low > 0


def test_ranges_count_at_their_middle() -> None:
    frame = people().frame
    low = (frame["age"] // 10) * 10
    released = Table(frame.with_columns(age=pl.format("[{}-{}]", low, low + 9)))
    found = regression(people(), SCHEMA, released, "cost ~ age").coefficients[1].released
    assert found is not None
    assert found.value == pytest.approx(np.polyfit((low + 4.5).to_numpy(), frame["cost"].to_numpy(), 1)[0])


def test_stars_and_missing_values_are_left_out() -> None:
    frame = people().frame.with_columns(pl.col("age").cast(pl.String))
    half = Table(frame.with_columns(age=pl.when(pl.int_range(300) < 100).then(pl.lit("*")).otherwise(pl.col("age"))))
    found = regression(people(), SCHEMA, half, "cost ~ age + sex")
    assert (found.rows_original, found.rows_released) == (300, 200)
    assert 0 < (found.mean_overlap or 0) < 1
    gone = regression(people(), SCHEMA, Table(frame.with_columns(age=pl.lit("*"))), "cost ~ age + sex")
    assert (gone.mean_overlap, gone.rows_released) == (0, 0)
    assert all(each.released is None for each in gone.coefficients)


def test_a_constant_column_of_the_release_tells_no_coefficient() -> None:
    frame = people().frame.with_columns(age=pl.lit("[30-39]"))
    found = regression(people(), SCHEMA, Table(frame), "cost ~ age + sex")
    told = {each.name: each.released is not None for each in found.coefficients}
    assert told["age"] is False
    assert sum(told.values()) == 2
    age = next(each for each in found.coefficients if each.name == "age")
    assert age.overlap == 0


def test_sets_are_shares_of_words() -> None:
    frame = people().frame.with_columns(
        sex=pl.when(pl.int_range(300) < 150).then(pl.lit("{F, M}")).otherwise(pl.col("sex"))
    )
    found = regression(people(), SCHEMA, Table(frame), "cost ~ age + sex")
    assert found.rows_released == 150  # a set of all words says nothing
    ages = ["young"] * 100 + ["middle"] * 100 + ["old"] * 100
    table = Table(people().frame.with_columns(group=pl.Series(ages)))
    schema = Schema({**SCHEMA.columns, "group": Attribute("group", Role.QUASI, Kind.CATEGORY)})
    shown = pl.when(pl.int_range(300) < 50).then(pl.lit("{young, old}")).otherwise(pl.col("group"))
    some = regression(table, schema, Table(table.frame.with_columns(group=shown)), "cost ~ group")
    assert some.rows_released == 300
    assert [each.released is not None for each in some.coefficients] == [True, True, True]


def test_dates_count_in_days() -> None:
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=each) for each in range(50)]
    costs = [3.0 * each + (-1) ** each for each in range(50)]
    for kind, cells in ((Kind.DATE, days), (Kind.TIMESTAMP, [f"{day} 00:00:00" for day in days])):
        schema = Schema({"day": Attribute("day", Role.QUASI, kind), "cost": SCHEMA.columns["cost"]})
        table = Table(pl.DataFrame({"day": cells, "cost": costs}))
        found = regression(table, schema, table, "cost ~ day").coefficients[1].original
        assert found is not None
        assert found.value == pytest.approx(3, abs=0.02)


@pytest.mark.parametrize(
    "formula, words",
    [
        ("cost ~ agee", "did you mean 'age'"),
        ("name ~ age", "target 'name' has 300 values; a regression's target is a number or has two"),
        ("cost ~ name", "term 'name' has 300 words; a regression takes at most 50"),
        ("one ~ age", "target 'one' has 1 values"),
    ],
)
def test_refusals(formula: str, words: str) -> None:
    table = Table(people().frame.with_columns(name=pl.Series([f"n{row}" for row in range(300)]), one=pl.lit("x")))
    schema = Schema({**SCHEMA.columns, "name": Attribute("name", Role.OTHER), "one": Attribute("one", Role.OTHER)})
    with pytest.raises(InputError, match=words):
        regression(table, schema, table, formula)


def test_too_few_rows_are_refused() -> None:
    table = Table(pl.DataFrame({"age": [20, 31, 47], "sex": ["F", "M", "F"], "cost": [1.0, 2.0, 5.0]}))
    schema = Schema({name: SCHEMA.columns[name] for name in ("age", "sex", "cost")})
    with pytest.raises(InputError, match="cannot be fitted: the 3 original rows that tell all columns are too few"):
        regression(table, schema, table, "cost ~ age + sex")


def test_releases_of_finer_classes_say_more() -> None:
    fine, coarse = (
        regression(people(), SCHEMA, sf.Mondrian().anonymize(people(), SCHEMA, [sf.KAnonymity(k)]).table, "cost ~ age")
        for k in (2, 100)
    )
    assert fine.mean_overlap is not None
    assert coarse.mean_overlap is not None
    assert fine.mean_overlap > coarse.mean_overlap
