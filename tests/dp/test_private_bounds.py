"""Private bounds: the ladder, what a row moves, what is chosen, and how the bounds are used afterwards."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.questions.compiled import compile_query
from sfumato.dp.questions.people import per_person
from sfumato.dp.questions.private_bounds import BoundChoice, bound_scores, rows_on_rungs, rungs_of
from sfumato.dp.questions.sql import parse_sql
from sfumato.dp.session import Session
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows, Unit
from sfumato.schema import Attribute, Kind, Role, Schema

SCHEMA = Schema(
    {
        "rider": Attribute("rider", Role.IDENTIFIER),
        "zone": Attribute("zone", Role.OTHER, Kind.CATEGORY, categories=("x", "y")),
        "fare": Attribute("fare", Role.OTHER, Kind.NUMBER),
        "age": Attribute("age", Role.OTHER, Kind.INTEGER),
        "day": Attribute("day", Role.OTHER, Kind.DATE),
        "note": Attribute("note", Role.OTHER),
    }
)


ROWS = (ProtectRows(), Neighbours.PRESENCE)


def made(folder: Path, rows: int, **options: Any) -> Session:
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "rider": [f"r{n % 7}" for n in range(rows)],
            "zone": ["x"] * rows,
            "fare": draw.uniform(-3.0, 50.0, rows),
            "age": draw.integers(18, 90, rows),
            "day": [dt.date(2019, 6, 1) + dt.timedelta(days=n % 500) for n in range(rows)],
            "note": ["n"] * rows,
        }
    )
    budget = sf.Budget(epsilon=1000)
    return Session.create(folder / "L", frame, SCHEMA, budget, terms=Terms(deadline=0), **options)


# The slow twin: ranks of rows counted one by one.


def slow_scores(rows: Sequence[float], rungs: Sequence[float], margin: int, *, upper: bool) -> list[int]:
    """Each rung's score: how far the wanted row is from those that stand on it, counted from the end."""

    def rung(value: float) -> int:
        fitting = [place for place, one in enumerate(rungs) if (one >= value if upper else one <= value)]
        return (fitting[0] if upper else fitting[-1]) if fitting else (len(rungs) - 1 if upper else 0)

    places = [rung(value) for value in rows]
    rank = min(max(margin, len(rows) // 100), (len(rows) + 1) // 2)
    scores = []
    for place in range(len(rungs)):
        outside = sum(other > place if upper else other < place for other in places)
        inside = outside + places.count(place)
        scores.append(-max(0, outside - rank, rank - inside))
    return scores


NUMBERS = st.floats(-9, 9) | st.sampled_from([-4.0, -2.0, 0.0, 1.0, 2.0, 1e15, -1e16])
RUNGS = (-4.0, -2.0, 0.0, 1.0, 2.0, 4.0)


def counts_of(rows: Sequence[float]) -> list[int]:
    counts = [0] * (2 * len(RUNGS) + 1)
    for value in rows:
        below = sum(rung < value for rung in RUNGS)
        counts[2 * below + (value in RUNGS)] += 1
    return counts


@settings(max_examples=300)
@given(st.lists(NUMBERS, max_size=30), st.integers(1, 8), st.booleans())
def test_scores_are_those_of_the_slow_reading(rows: list[float], margin: int, upper: bool) -> None:
    on_rungs = rows_on_rungs(counts_of(rows), upper=upper)
    assert on_rungs.sum() == len(rows)
    assert bound_scores(on_rungs, margin, upper=upper) == slow_scores(rows, RUNGS, margin, upper=upper)


@settings(max_examples=300)
@given(st.lists(NUMBERS, max_size=30), st.integers(1, 8), st.booleans(), st.data())
def test_a_row_moves_every_score_by_at_most_one(
    rows: list[float], margin: int, upper: bool, data: st.DataObject
) -> None:
    """One row more, which is one row less the other way round, and one that changes its value."""
    scores = slow_scores(rows, RUNGS, margin, upper=upper)
    more = slow_scores([*rows, data.draw(NUMBERS)], RUNGS, margin, upper=upper)
    assert max(abs(a - b) for a, b in zip(scores, more, strict=True)) <= 1
    if rows:
        other = slow_scores([*rows[1:], data.draw(NUMBERS)], RUNGS, margin, upper=upper)
        assert max(abs(a - b) for a, b in zip(scores, other, strict=True)) <= 1


@pytest.mark.parametrize("rows", [1, 99, 100, 199, 200, 1000])
def test_the_wanted_rank_grows_with_the_rows_by_no_more_than_one(rows: int) -> None:
    for upper in (False, True):
        fewer, more = ([0.5] * count for count in (rows - 1, rows))
        pairs = zip(*(slow_scores(some, RUNGS, 1, upper=upper) for some in (fewer, more)), strict=True)
        assert max(abs(a - b) for a, b in pairs) <= 1


UNITS: list[tuple[Unit, Neighbours, Fraction]] = [
    (ProtectRows(), Neighbours.PRESENCE, Fraction(2)),
    (ProtectRows(), Neighbours.VALUE, Fraction(2)),
    (ProtectPersons("rider", 3, 2), Neighbours.PRESENCE, Fraction(6)),
]


@pytest.mark.parametrize("unit, neighbours, scale", UNITS)
def test_the_mechanism_is_scaled_to_the_rows_of_a_unit(unit: Unit, neighbours: Neighbours, scale: Fraction) -> None:
    from sfumato.dp.budget_split import whole_share
    from sfumato.promise import Cost

    compiled = compile_query(sf.bounds("fare"), SCHEMA, unit, neighbours)
    (lower, upper) = compiled.estimators
    assert isinstance(lower, BoundChoice)
    assert isinstance(upper, BoundChoice)
    share = whole_share(compiled, Cost(epsilon=1))
    assert lower._mechanism(share).scale == scale
    assert lower.spent(share, compiled.norms) == 1


# What is chosen.


def test_bounds_hold_almost_all_values_and_few_rungs_more(tmp_path: Path) -> None:
    session = made(tmp_path, 4000)
    answer = session.ask(sf.bounds("fare").also(sf.bounds("age")).also(sf.bounds("day")), epsilon=6)
    (row,) = answer.rows.to_dicts()
    assert (row["lower_bound_fare"], row["upper_bound_fare"]) == (-4, 64)
    assert (row["lower_bound_age"], row["upper_bound_age"]) == (16, 128)
    assert (row["lower_bound_day"], row["upper_bound_day"]) == ("2019-01-01", "2021-01-01")
    assert "lower_bound_fare aims to leave 1 % of the values below it, or 16 rows where that is more" in answer.notes
    assert any("upper_bound_age aims" in warning for warning in answer.card.warnings)
    assert answer.spent.epsilon == 6


def test_a_resolution_is_the_first_rung() -> None:
    assert rungs_of(SCHEMA, "age", 10).grid.values[-3] < 1e15
    values = rungs_of(SCHEMA, "fare", 0.1).grid.values
    middle = len(values) // 2
    assert values[middle - 2 : middle + 4] == (-0.2, -0.1, 0.0, 0.1, 0.2, 0.4)
    for wrong in (0.0, -1.0, math.nan, 1e300):
        with pytest.raises(ParameterError, match="the resolution of 'fare'"):
            rungs_of(SCHEMA, "fare", wrong)
    with pytest.raises(ParameterError, match="bounds are years"):
        rungs_of(SCHEMA, "day", 10)
    with pytest.raises(SchemaError, match="column 'note' has no type"):
        rungs_of(SCHEMA, "note", None)


def test_rungs_reach_as_far_as_numbers_and_the_calendar() -> None:
    for name in ("fare", "age"):
        values = rungs_of(SCHEMA, name, None).grid.values
        assert values[0] == -(2.0**50)
        assert values[-1] == 2.0**50 > 1e15
        assert list(values) == sorted(set(values))
    days = rungs_of(SCHEMA, "day", None)
    assert [days.show(days.grid.values[place]) for place in (0, -1)] == ["0001-01-01", "9900-01-01"]


@pytest.mark.parametrize("upper", [False, True])
def test_choices_follow_the_law_of_the_mechanism(tmp_path: Path, upper: bool) -> None:
    """The true scale fits, ±30 % does not: many groups of one made-up table, each with a choice of its own."""
    groups, counts = 3000, [2, 0, 1, 3, 0, 1]
    schema = Schema(
        {
            "cell": Attribute("cell", Role.OTHER, Kind.INTEGER, bounds=(1, groups)),
            "fare": Attribute("fare", Role.OTHER, Kind.INTEGER),
        }
    )
    values = [value for value, count in zip((-2, 0, 1, 2, 4, 8), counts, strict=True) for _ in range(count)]
    frame = pl.DataFrame({"cell": np.repeat(np.arange(1, groups + 1), len(values)), "fare": values * groups})
    session = Session.create(tmp_path / "L", frame, schema, sf.Budget(epsilon=100), terms=Terms(deadline=0))
    side = "upper" if upper else "lower"
    found = session.sql(f"SELECT cell, {side}_bound(fare) AS x FROM rows GROUP BY cell", epsilon=2)  # noqa: S608
    chosen = found.rows["x"].to_list()
    line = rungs_of(schema, "fare", None)
    places = [line.grid.values.index(value) for value in chosen]
    margin = math.ceil(math.log(len(line.grid.values) / 0.05))
    scores = np.array(slow_scores(values, line.grid.values, margin, upper=upper))
    fits = []
    for factor in (1.0, 0.7, 1.3):
        weights = np.exp(scores * factor)
        expected = weights / weights.sum() * groups
        many = expected >= 5
        observed = np.bincount(places, minlength=len(weights))
        rest = [~many] if (~many).any() else []
        pooled = [[*numbers[many], *(numbers[few].sum() for few in rest)] for numbers in (observed, expected)]
        fits.append(bool(stats.chisquare(*pooled).pvalue > 1e-7))
    assert fits == [True, False, False]


# How bounds are used.


def test_a_clip_takes_the_place_of_declared_bounds(tmp_path: Path) -> None:
    session = made(tmp_path, 400)
    with pytest.raises(SchemaError, match="no public bounds"):
        session.ask(sf.mean("fare"), epsilon=1)
    answer = session.ask(sf.mean("fare").clip(0, 32), epsilon=500)
    assert answer.notes == ["values of fare in mean are clipped to [0, 32]"]
    true = np.clip(np.random.default_rng(5).uniform(-3.0, 50.0, 400), 0, 32).mean()
    assert abs(answer.value - true) < 0.01
    same = session.sql("SELECT AVG(CLIP(fare, 0, 32.0)) FROM rows", epsilon=500)
    assert str(same.spent) == "nothing"
    latest = session.ask(sf.max("day").clip("2019-01-01", dt.date(2021, 1, 1)), epsilon=100).value
    assert latest is not None
    assert "2020-06-01" < str(latest) < "2020-07-10"


def test_clips_are_part_of_the_question() -> None:
    asked = [sf.sum("age"), sf.sum("age").clip(0, 64), sf.sum("age").clip(0, 64.0), sf.sum("age").clip(0, 32)]
    texts = [compile_query(query, bounded(), ProtectRows(), Neighbours.PRESENCE).text for query in asked]
    assert len(set(texts)) == 3
    assert texts[1] == texts[2]


def bounded() -> Schema:
    return Schema({"age": Attribute("age", Role.OTHER, Kind.INTEGER, bounds=(0, 99))})


def test_a_clip_bounds_the_features_of_persons() -> None:
    people = per_person(total=sf.sum("fare").clip(0, 8))
    compiled = compile_query(sf.sum("total").of(people), SCHEMA, ProtectPersons("rider", 3, 1), Neighbours.PRESENCE)
    (stage,) = compiled.stages
    assert stage.makes[0].bounds == (0, 24)
    assert "clipped to [0, 8]" in stage.text


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: sf.count().clip(0, 1), ParameterError),
        (lambda: sf.mean("fare").clip(3, 1), ParameterError),
        (lambda: sf.mean("fare").clip(0, "2020-01-01"), ParameterError),
        (lambda: sf.mean("fare").clip(math.nan, 1), ParameterError),
        (lambda: compile_query(sf.mean("note").clip(0, 1), SCHEMA, ProtectRows(), Neighbours.PRESENCE), SchemaError),
        (lambda: compile_query(sf.sum("age").clip("2020-01-01", "2021-01-01"), SCHEMA, *ROWS), SchemaError),
        (lambda: parse_sql("SELECT AVG(CLIP(x, 1)) FROM t", "t"), InputError),
        (lambda: parse_sql("SELECT UPPER_BOUND(x, y) FROM t", "t"), InputError),
    ],
)
def test_clips_that_say_nothing_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
