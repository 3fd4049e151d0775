"""What is computed, kept and renamed by a question: the same numbers as from the rows themselves, paid for once."""

# ruff: noqa: S608  # questions are made of parts

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.session import Session
from sfumato.errors import InputError, SchemaError

TOML = """
[columns.rider]
role = "identifier"
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 3]
[columns.minutes]
role = "other"
type = "number"
bounds = [0, 60]
[columns.sex]
role = "other"
type = "category"
categories = ["F", "M", "X"]
[columns.order]
role = "other"
type = "integer"
bounds = [1, 3]
[columns.day]
role = "other"
type = "date"
bounds = [2025-01-01, 2025-01-31]
[columns.station]
role = "other"
type = "category"
"""
HUGE = 10**6  # an ε at which the noise is 0 with overwhelming probability: answers must then be exact
ROWS = pl.DataFrame(
    {
        "rider": ["a", "a", "b", "c", "c", "c", "d"],
        "hour": [0, 0, 1, 2, 2, 2, 3],
        "minutes": [10.0, 20.0, 30.0, 40.0, 50.0, 55.0, None],
        "sex": ["F", "F", "M", "F", "F", "F", "M"],
        "order": [1, 2, 3, 1, 2, 3, 1],
        "day": ["2025-01-05"] * 3 + ["2025-01-09"] * 4,
        "station": ["x", "x", "x", "x", "y", "y", "z"],
    }
)
Make = Callable[..., Session]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(rows: pl.DataFrame = ROWS, protect: str = "rows") -> Session:
        rows.write_csv(tmp_path / "rides.csv")
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.ledger"
        budget = sf.Budget(epsilon=Decimal(10**9), delta=Decimal("0.1"))
        terms = Terms(deadline=0, least_share=Decimal(0))
        schema = sf.Schema.from_text(TOML)
        return Session.create(path, tmp_path / "rides.csv", schema, budget, protect=protect, terms=terms)

    return build


@pytest.fixture
def session(make: Make) -> Session:
    return make()


def numbers(session: Session, text: str) -> list[tuple[Any, ...]]:
    """Keys and values of an answer that has practically no noise."""
    frame: pl.DataFrame = session.sql(text, HUGE).rows
    return frame.select(name for name in frame.columns if not name.endswith(("_low", "_high", "_error"))).rows()


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("SELECT SUM(minutes * 2) FROM rides", 410),
        ("SELECT SUM(hour - 1) FROM rides", 3),
        ("SELECT COUNT(minutes * 2) FROM rides", 6),
        ("SELECT MEDIAN(hour * hour) FROM rides", 4),
        ("SELECT AVG(minutes / 10) FROM rides", 205 / 60),
        ("SELECT SUM(double) FROM (SELECT minutes * 2 AS double FROM rides WHERE sex = 'F') AS t", 350),
        ("SELECT SUM(double) FROM (SELECT *, minutes * 2 AS double FROM rides) AS t WHERE sex = 'F'", 350),
        ("WITH f AS (SELECT * FROM rides WHERE sex = 'F') SELECT COUNT(*) FROM f WHERE f.hour > 0", 3),
        ('SELECT SUM("order") FROM rides r WHERE r."order" < 3', 7),
        ("SELECT SUM(order) FROM rides WHERE order < 3", 7),
    ],
)
def test_what_is_computed_of_a_row_is_what_is_aggregated(session: Session, text: str, wanted: float) -> None:
    ((found,),) = numbers(session, text)
    assert found == pytest.approx(wanted, rel=1e-4)


def test_groups_are_of_what_is_computed(session: Session) -> None:
    slow = {double: sum(2 * hour == double for hour in ROWS["hour"]) for double in range(0, 7, 2)}
    assert dict(numbers(session, "SELECT hour * 2 AS double, COUNT(*) FROM rides GROUP BY double")) == slow
    assert dict(numbers(session, "SELECT COUNT(*), 2 * HOUR FROM rides GROUP BY 2")) == slow
    bins = numbers(session, "SELECT HISTOGRAM(minutes * 2, 3) AS bin, COUNT(*) FROM rides GROUP BY bin")
    assert bins == [(0.0, 1), (40.0, 2), (80.0, 3)]


def test_a_persons_rows_are_bounded_by_the_computed_keys(make: Make) -> None:
    """Person c has rows in one group of the computed key, and one of them counts."""
    counts = dict(numbers(make(protect="person:rider:1:1"), "SELECT hour - 1 AS h, COUNT(*) FROM rides GROUP BY h"))
    assert counts == {-1: 1, 0: 1, 1: 1, 2: 1}


def test_the_same_computed_question_is_paid_once_whatever_its_names(session: Session) -> None:
    first = session.sql("SELECT hour * 2 AS h, SUM(minutes * 2) AS s FROM rides WHERE hour < 3 GROUP BY h", 1)
    for text in (
        "SELECT Hour*2, SUM((minutes*2)) FROM rides WHERE rides.hour < 3 GROUP BY 1",
        "SELECT k AS key, SUM(m) FROM (SELECT hour * 2 AS k, minutes * 2 AS m FROM rides WHERE hour < 3) t GROUP BY k",
        "WITH t AS (SELECT * FROM rides WHERE hour < 3) SELECT SUM(minutes * 2) AS x FROM t GROUP BY hour * 2",
    ):
        again = session.sql(text, 1)
        assert str(again.spent) == "nothing"
        assert again.frame.rows() == first.frame.rows()
    assert first.frame.columns == ["h", "s", "s_low", "s_high"]
    assert again.frame.columns == ["hour_times_2", "x", "x_low", "x_high"]
    assert str(session.sql("SELECT hour * 2 AS h, SUM(minutes * 3) AS s FROM rides GROUP BY h", 1).spent) != "nothing"


def test_the_card_says_what_is_computed_and_how_it_is_clipped(session: Session) -> None:
    card = session.sql("SELECT hour * 2 AS h, SUM(minutes * 2) AS s FROM rides GROUP BY h", 1).card
    assert card.released.settings["question"] == "sum(minutes * 2) by hour * 2"
    assert card.released.settings["clipped_to"] == {"minutes * 2": [0.0, 120.0]}
    assert [column.name for column in card.released.columns] == ["h", "s"]


@pytest.mark.parametrize(
    "text, error, wanted",
    [
        ("SELECT AVG(minutes / hour) FROM rides", SchemaError, "'minutes / hour' has no public bounds"),
        ("SELECT COUNT(*) FROM rides GROUP BY minutes * 2", SchemaError, "no separate values to group by"),
        ("SELECT AVG(minuts * 2) FROM rides", InputError, "did you mean 'minutes'"),
        ("SELECT AVG(sex * 2) FROM rides", InputError, "arithmetic needs numbers"),
        ("SELECT SUM(x) AS x FROM (SELECT hour AS y FROM rides) AS t", InputError, "no column 'x'"),
        ("SELECT AVG(minutes * 1e300) FROM rides", InputError, "numbers lie within"),
        ("SELECT hour AS count, COUNT(*) FROM rides GROUP BY hour", sf.SfumatoError, "two columns of the answer"),
    ],
)
def test_what_cannot_be_computed_is_refused_and_costs_nothing(
    session: Session, text: str, error: type[Exception], wanted: str
) -> None:
    with pytest.raises(error, match=wanted):
        session.sql(text, 1)
    assert session.left == session.budget.total


def test_what_is_shown_of_an_answer_costs_nothing_and_changes_no_number(session: Session) -> None:
    plain = session.sql("SELECT hour, COUNT(*) FROM rides GROUP BY hour", 1)
    for clauses in ("HAVING COUNT(*) > 0", "ORDER BY 2 DESC", "ORDER BY count LIMIT 2", "LIMIT 1 OFFSET 3", "LIMIT 0"):
        seen = session.sql(f"SELECT hour AS h, COUNT(*) AS n FROM rides GROUP BY h {clauses.replace('count', 'n')}", 1)
        assert str(seen.spent) == "nothing"
        assert set(seen.frame.rows()) <= set(plain.frame.rows())
    assert seen.frame.height == 0
    before = session.left
    assert session.sql("SELECT sex, COUNT(*) FROM rides GROUP BY sex ORDER BY 2", 1).frame.height == 3
    assert session.sql("SELECT sex, COUNT(*) FROM rides GROUP BY sex", 1).left == session.left
    assert (before.epsilon - session.left.epsilon) == 1


def test_the_largest_groups_come_first_and_the_card_says_so(session: Session) -> None:
    query = sf.count().by("hour").top(2)
    answer = session.ask(query, HUGE)
    assert answer.frame["hour"].to_list() == [2, 0]
    assert session.sql("SELECT hour, COUNT(*) FROM rides GROUP BY hour ORDER BY 2 DESC LIMIT 2", HUGE).frame.equals(
        answer.frame
    )
    words = ["sorted by count, descending", "the first 2 kept"]
    card = answer.card
    assert card.released.settings["postprocessing"] == words
    assert card.released.order == words[0]
    assert card.released.rows == 2
    assert any("noisy numbers decided" in note for note in answer.notes)
    assert any(", ".join(words) in change for change in card.changes)


def test_having_sees_the_numbers_after_other_post_processing(session: Session) -> None:
    answer = session.ask(sf.count().by("hour").having("count < 0"), "0.01", post=("nonnegative",))
    assert answer.frame.height == 0


def test_unknown_keys_are_shown_in_the_same_way(make: Make) -> None:
    session = make(pl.concat([ROWS] * 40))
    text = "SELECT station, COUNT(*) FROM rides GROUP BY station"
    plain = session.sql(text, HUGE, delta="0.01")
    seen = session.sql(f"{text} HAVING station <> 'y' ORDER BY count LIMIT 1", HUGE, delta="0.01")
    assert str(seen.spent) == "nothing"
    assert plain.frame["station"].to_list() == ["x", "y", "z"]
    assert seen.frame["station"].to_list() == ["z"]


def test_questions_asked_together_are_shown_as_they_want(session: Session) -> None:
    pytest.importorskip("dp_accounting")
    first, second = session.ask_together([sf.count().by("hour").top(1), sf.count().by("sex")], 1, "0.01")
    assert (first.frame.height, second.frame.height) == (1, 3)


def test_what_cannot_be_shown_is_refused_before_it_is_paid(session: Session) -> None:
    for text in ("HAVING count = 'x'", "HAVING hour = 9 + x", "ORDER BY station"):
        with pytest.raises(InputError):
            session.sql(f"SELECT hour, COUNT(*) FROM rides GROUP BY hour {text}", 1)
    assert session.left == session.budget.total


def test_keys_given_by_the_analyst_take_the_place_of_others(session: Session) -> None:
    answer = session.ask(sf.count().by("station", keys=["y", "x", "nowhere"]), HUGE)
    assert answer.frame.select("station", "count").rows() == [("nowhere", 0), ("x", 4), ("y", 2)]
    assert answer.stored.threshold is None
    said = "keys of station were given by the analyst, without looking at the rows"
    assert said in answer.card.assumptions
    again = session.ask(
        session.question("SELECT station AS s, COUNT(*) FROM rides GROUP BY s").with_keys({"S": ["x", "nowhere", "y"]}),
        HUGE,
    )
    assert str(again.spent) == "nothing"
    declared = session.ask(sf.count().by("sex"), HUGE)
    assert said.replace("station", "sex") not in declared.card.assumptions
    assert session.ask(sf.count().by("sex", keys=["F", "X"]), HUGE).frame["count"].to_list() == [5, 0]


def test_keys_are_given_for_what_is_computed_too(session: Session) -> None:
    double = (sf.col("minutes") * 2).named("double")
    answer = session.ask(sf.count().by(double, keys=[20, 40.0, 0.5]), HUGE)
    assert answer.frame.select("double", "count").rows() == [(0.5, 0), (20.0, 1), (40.0, 1)]
    days = session.ask(sf.count().by("day", keys=sf.dates("2025-01-01", "2025-01-31", step="week")), HUGE)
    assert days.frame["count"].to_list() == [0, 0, 0, 0, 0]
    assert days.frame["day"].to_list()[:2] == ["2025-01-01", "2025-01-08"]


def test_persons_are_bounded_among_given_keys_alone(make: Make) -> None:
    """Person c has rows in two stations; where one of them is given, a row there counts."""
    session = make(protect="person:rider:3:1")
    counts = session.ask(sf.count().by("station", keys=["y"]), HUGE).frame["count"].to_list()
    assert counts == [2]


def test_given_keys_that_do_not_fit_cost_nothing(session: Session) -> None:
    for column, keys in (("hour", [4]), ("sex", ["f"]), ("day", ["2026-01-01"]), ("station", [1])):
        with pytest.raises(InputError):
            session.ask(sf.count().by(column, keys=keys), 1)
    assert session.left == session.budget.total


def slow_choices(values: list[float], level: float, candidates: list[float]) -> set[float]:
    """Return the candidates whose rank is nearest to the wanted one: the twin of the scores."""
    wanted = level * len(values)
    distance = {
        one: max(0.0, sum(v < one for v in values) - wanted, wanted - sum(v <= one for v in values))
        for one in candidates
    }
    return {one for one in candidates if distance[one] == min(distance.values())}


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("candidates", [[0, 15, 35, 52, 100], [-5, 20.0, 55.0], [30], [40.0, 40.5, 41], [1000, 2000]])
def test_a_quantile_is_the_candidate_nearest_in_rank(session: Session, level: float, candidates: list[float]) -> None:
    values = [value for value in ROWS["minutes"] if value is not None]
    found = session.ask(sf.quantile("minutes", level, candidates=candidates), HUGE).value
    assert found in slow_choices(values, level, candidates)


def test_candidates_need_no_bounds_and_say_what_they_are(session: Session) -> None:
    answer = session.ask(sf.median(sf.col("minutes") / sf.col("hour"), candidates=[5, 26, 99]), HUGE)
    assert answer.value == 26  # of 20, 25, 27.5 and 30
    assert "clipped_to" not in answer.card.released.settings
    (said,) = [one for one in answer.card.assumptions if "candidates" in one]
    assert said.startswith("candidates for median_minutes_over_hour were given by the analyst")
    assert any("of the best candidate's rank" in note for note in answer.notes)
    days = session.ask(sf.quantile("day", "0.1", candidates=["2024-12-31", "2025-01-06", "2025-01-05"]), HUGE)
    assert days.value == "2025-01-05"
    assert session.ask(sf.min("hour", candidates=[0.5, 1.5]), HUGE).value in {0.5, 1.5}


def test_other_candidates_are_another_question(session: Session) -> None:
    first = session.ask(sf.median("minutes", candidates=[10, 20]), 1)
    assert str(session.ask(sf.median("minutes", candidates=[20.0, 10, 10]), 1).spent) == "nothing"
    assert str(session.ask(sf.median("minutes", candidates=[10, 21]), 1).spent) != "nothing"
    assert str(session.ask(sf.median("minutes"), 1).spent) != "nothing"
    assert first.stored.question == "quantile(minutes, 1/2 among 2 candidates)"
