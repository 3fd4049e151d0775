"""Sessions: declared data, prices first, answers that repeat, and refusals that do not depend on the rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.questions.computed import DerivedColumn
from sfumato.dp.questions.keys import HistogramKey
from sfumato.dp.questions.query import Query
from sfumato.dp.session import Session
from sfumato.errors import BudgetExceeded, InputError, ParameterError, SchemaError, SfumatoError, UnsatisfiableError
from sfumato.promise.cost import Accountant, amount
from sfumato.random import SeededSource

TOML = """
[columns.rider]
role = "identifier"
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 3]
[columns.sex]
role = "other"
type = "category"
categories = ["F", "M", "X"]
[columns.minutes]
role = "other"
type = "number"
bounds = [0, 60]
[columns.age]
role = "other"
type = "integer"
bounds = [0, 99]
[columns.day]
role = "other"
type = "date"
bounds = [2025-01-01, 2025-01-31]
[columns.station]
role = "other"
type = "category"
[columns.note]
role = "other"
public = false
"""
HUGE = 10**6  # an ε at which the noise is 0 with overwhelming probability: answers must then be exact
ROWS = pl.DataFrame(
    {
        "rider": ["a", "a", "b", "c", "c", "c"],
        "hour": [0, 0, 1, 2, 2, 2],
        "sex": ["F", "F", "M", "F", "F", "F"],
        "minutes": [10.0, 20.0, 30.0, 40.0, 50.0, 90.0],
        "age": [20, 20, 30, 41, 41, 41],
        "day": ["2025-01-05"] * 3 + ["2025-01-09"] * 3,
        "station": ["x", "x", "x", "x", "y", "y"],
        "note": ["p", "q", "r", "s", "t", "u"],
    }
)
Maker = Callable[..., Session]


@pytest.fixture
def schema() -> sf.Schema:
    return sf.Schema.from_text(TOML)


@pytest.fixture
def make(tmp_path: Path, schema: sf.Schema) -> Maker:
    def build(epsilon: float = 10**9, delta: str = "0.1", rows: pl.DataFrame = ROWS, **options: object) -> Session:
        accountant = Accountant(str(options.pop("accountant", "pure")))
        options.setdefault("terms", Terms(deadline=0, least_share=Decimal(0)))
        budget = sf.Budget(epsilon=amount(epsilon), delta=amount(delta), accountant=accountant)
        rows.write_csv(tmp_path / "rides.csv")
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.ledger"
        session = Session.create(path, tmp_path / "rides.csv", schema, budget, **options)  # type: ignore[arg-type]
        session.deadline = 0
        return session

    return build


@pytest.mark.parametrize(
    "query, wanted",
    [
        (sf.count(), 6),
        (sf.count().where("sex = 'F'"), 5),
        (sf.count().where("minutes > 35 AND hour = 2"), 3),
        (sf.sum("age"), 20 + 20 + 30 + 3 * 41),
        (sf.sum("minutes"), 210.0),
        (sf.mean("minutes"), 35.0),
        (sf.mean("age"), 193 / 6),
        (sf.min("age"), 20),
        (sf.max("age"), 41),
        (sf.quantile("age", 0.75), 41),
        (sf.quantile("age", 0.3), 20),
        (sf.min("day"), "2025-01-05"),
    ],
)
def test_without_noise_answers_are_exact(make: Maker, query: sf.Query, wanted: float | str) -> None:
    found = make().ask(query, epsilon=HUGE).value
    assert found == wanted if isinstance(wanted, str) else found == pytest.approx(wanted, rel=1e-4)


def test_the_variance_is_the_population_variance(make: Maker) -> None:
    values = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]  # 90 is clamped to 60
    middle = 35.0
    wanted = sum((value - middle) ** 2 for value in values) / 6
    assert make().ask(sf.variance("minutes"), epsilon=HUGE).value == pytest.approx(wanted, rel=1e-3)


def test_every_declared_group_is_answered_in_declared_order(make: Maker) -> None:
    frame = make().ask(sf.count().by("sex", "hour"), epsilon=HUGE).frame
    assert frame.rows()[:5] == [
        ("F", 0, 2, 2, 2),
        ("F", 1, 0, 0, 0),
        ("F", 2, 3, 3, 3),
        ("F", 3, 0, 0, 0),
        ("M", 0, 0, 0, 0),
    ]
    assert frame.height == 12


def test_a_histogram_counts_in_equal_bins(make: Maker) -> None:
    frame = make().ask(sf.histogram("minutes", 3), epsilon=HUGE).frame
    assert frame["count"].to_list() == [1, 2, 2]  # 90 minutes lie outside the bounds, in no bin
    assert frame["minutes"].to_list() == [0.0, 20.0, 40.0]


def test_unknown_groups_need_a_delta_and_pass_a_threshold(make: Maker) -> None:
    crowd = pl.concat([ROWS] * 40)
    session = make(rows=crowd)
    with pytest.raises(ParameterError, match="'station' are not declared"):
        session.ask(sf.count().by("station"), epsilon=1)
    frame = session.ask(sf.count().by("station"), epsilon=HUGE, delta="0.01").frame
    assert frame.rows() == [("x", 160, 160, 160), ("y", 80, 80, 80)]
    both = session.ask(sf.count().also(sf.mean("age")).by("station"), epsilon=HUGE, delta="0.01").frame
    assert both["mean_age"].to_list() == pytest.approx([111 / 4, 41.0], rel=1e-3)


def test_a_key_of_one_person_does_not_leave(make: Maker) -> None:
    session = make(protect="person:rider:10:1")
    assert session.ask(sf.count().by("station"), epsilon=1, delta="1e-6").frame.height == 0


def test_persons_are_counted_and_bounded(make: Maker) -> None:
    session = make(protect="person:rider:2:1")
    assert session.ask(sf.count_distinct("rider"), epsilon=HUGE).value == 3
    assert session.ask(sf.count(), epsilon=HUGE).value == 5  # c has three rows, of which two count
    assert session.ask(sf.count(), epsilon=1).scale == pytest.approx(2, rel=1e-9)
    others = make(terms=Terms(deadline=0, least_share=Decimal(0), other_people=True))
    assert others.ask(sf.count_distinct("rider"), epsilon=HUGE).value == 3  # here a rider is a value like any other


@pytest.mark.parametrize(
    "rows, column, derived, wanted",
    [
        (3, "station", None, 2),
        (3, "minutes", None, 6),
        (2, "minutes", None, 5),  # two of three values of c
        (1, "age", None, 3),
        (1, "day", None, 2),
        (3, "decade", "age / 10", 3),
        (3, "half", "CAST(minutes / 40 AS INTEGER)", 3),
    ],
)
def test_different_values_are_counted(make: Maker, rows: int, column: str, derived: str | None, wanted: int) -> None:
    asked = sf.count_distinct(column)
    asked = asked if derived is None else replace(asked, derived=(DerivedColumn(column, derived),))
    assert make(protect=f"person:rider:{rows}:1").ask(asked, epsilon=HUGE).value == wanted


@pytest.mark.parametrize(
    "options, query, factor",
    [
        ({}, sf.count(), 1),
        ({}, sf.count().by("hour"), 1),
        ({"neighbours": "value"}, sf.count(), 1),
        ({"neighbours": "value"}, sf.count().by("hour"), 2),
        ({"protect": "person:rider:3:2"}, sf.count(), 3),
        ({"protect": "person:rider:3:2"}, sf.count().by("hour"), 6),
        ({"protect": "person:rider:3:2", "neighbours": "value"}, sf.count().by("hour"), 12),
        ({"protect": "person:rider:3:2"}, sf.count_distinct("rider").by("hour"), 2),
        ({"protect": "person:rider:3:2"}, sf.count_distinct("station").by("hour"), 6),
        ({"protect": "person:rider:3:2"}, sf.count_distinct("station"), 3),
        ({"neighbours": "value"}, sf.count_distinct("station").by("hour"), 2),
        ({}, sf.count_distinct("rider"), 1),
        ({}, sf.sum("age"), 99),
    ],
)
def test_noise_is_as_wide_as_the_unit_and_its_neighbours_ask(
    make: Maker, options: dict[str, str], query: sf.Query, factor: int
) -> None:
    scale = make(**options).ask(query, epsilon="0.001").scale
    assert scale == pytest.approx(1000 * factor, rel=1e-9)


def test_the_same_question_costs_once_and_answers_the_same(make: Maker) -> None:
    session = make(epsilon=1)
    first = session.sql("SELECT hour, COUNT(*) FROM rides WHERE sex = 'F' GROUP BY hour", epsilon="0.6")
    again = session.ask(sf.count().where("sex='F'").by("hour"), epsilon=0.6)
    assert again.frame.equals(first.frame)
    assert [first.spent.epsilon, again.spent.epsilon, again.left.epsilon] == [
        Decimal(text) for text in ("0.6", "0", "0.4")
    ]
    with pytest.raises(BudgetExceeded):
        session.ask(sf.count(), epsilon="0.41")
    assert session.ledger.left.epsilon == Decimal("0.4")


def test_another_analyst_pays_and_sees_the_same(make: Maker) -> None:
    session = make(epsilon=1, analysts={"ana": "0.5", "bob": "0.2"})
    first = session.ask(sf.count(), epsilon="0.2", analyst="ana")
    second = session.ask(sf.count(), epsilon="0.2", analyst="bob")
    assert first.value == second.value
    assert session.ledger.spent.epsilon == Decimal("0.2")
    with pytest.raises(BudgetExceeded):
        session.ask(sf.count().by("sex"), epsilon="0.1", analyst="bob")
    with pytest.raises(ParameterError, match="not named"):
        session.ask(sf.count(), epsilon="0.1", analyst="eve")


def test_a_changed_file_is_refused_until_it_is_declared(make: Maker, tmp_path: Path) -> None:
    session = make(epsilon=1)
    session.ask(sf.count(), epsilon="0.2")
    ROWS.head(2).write_csv(tmp_path / "rides.csv")
    with pytest.raises(InputError, match="new-version"):
        session.ask(sf.count().by("sex"), epsilon="0.2")
    assert session.new_version(tmp_path / "rides.csv") == 2
    session.ask(sf.count(), epsilon="0.2")
    assert session.ledger.spent.epsilon == Decimal("0.4")


def test_a_session_opens_again(make: Maker, tmp_path: Path) -> None:
    session = make(epsilon=1)
    value = session.ask(sf.count(), epsilon="0.2").value
    again = Session.open(next(tmp_path.glob("*.ledger")), deadline=0)
    assert again.ask(sf.count(), epsilon="0.2").value == value
    assert again.ledger.left.epsilon == Decimal("0.8")


def test_a_dataframe_has_to_be_given_again(tmp_path: Path, schema: sf.Schema) -> None:
    path = tmp_path / "frame.ledger"
    Session.create(path, ROWS, schema, sf.Budget(epsilon=1))
    with pytest.raises(InputError, match="data=…"):
        Session.open(path)
    assert Session.open(path, data=ROWS, deadline=0).ask(sf.count(), epsilon="0.2").left.epsilon == Decimal("0.8")
    with pytest.raises(InputError, match="new-version"):
        Session.open(path, data=ROWS.head(3), deadline=0).ask(sf.count(), epsilon="0.1")


def test_zcdp_spends_the_square(make: Maker) -> None:
    session = make(epsilon=1, delta="1e-6", accountant="zcdp")
    answer = session.ask(sf.count(), epsilon="0.02")
    assert answer.spent.rho == Decimal("0.0002")
    assert answer.card.guarantee.model == "zero-concentrated differential privacy"
    assert answer.scale == pytest.approx(50, rel=0.01)
    assert session.ask(sf.count().by("sex"), rho="0.0002").spent.rho == Decimal("0.0002")
    with pytest.raises(ParameterError, match="needs no delta; leave it out"):
        session.ask(sf.count(), epsilon="0.02", delta="1e-9")
    with pytest.raises(ParameterError, match=r"this budget has none \(make one with --delta-keys\), or declare"):
        session.ask(sf.count().by("station"), epsilon="0.02", delta="1e-9")


@pytest.mark.parametrize(
    "query, error",
    [
        (sf.mean("sex"), "no public bounds"),
        (sf.sum("day"), "no sum"),
        (sf.count().by("minutes"), "histogram"),
        (sf.count().by("houre"), "did you mean 'hour'"),
        (sf.count().where("speed > 3"), "speed"),
        (sf.count().also(sf.count()), "two columns"),
        (sf.mean("note"), "no public bounds"),
    ],
)
def test_questions_that_make_no_sense_cost_nothing(make: Maker, query: sf.Query, error: str) -> None:
    session = make(epsilon=1)
    with pytest.raises(SfumatoError, match=error):
        session.ask(query, epsilon="0.5")
    assert session.ledger.spent.epsilon == 0


@pytest.mark.parametrize(
    "price", [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": "x"}, {}, {"rho": 1}, {"epsilon": 1, "rho": 1}]
)
def test_a_price_is_checked(make: Maker, price: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        make().ask(sf.count(), **price)  # type: ignore[arg-type]


def test_a_delta_without_need_is_refused(make: Maker) -> None:
    with pytest.raises(ParameterError, match="needs no delta"):
        make().ask(sf.count(), epsilon=1, delta="1e-9")


def test_post_processing_is_marked_and_free(make: Maker) -> None:
    session = make(epsilon=1)
    plain = session.ask(sf.count().by("hour"), epsilon="0.1")
    made = session.ask(sf.count().by("hour"), epsilon="0.1", post=("consistent", "integer"))
    assert made.stored.postprocessing == ["consistent", "integer"]
    assert made.card.released.settings["postprocessing"] == ["consistent", "integer"]
    assert min(made.frame["count"].to_list()) >= 0
    assert made.spent.epsilon == 0
    assert plain.stored.postprocessing == []
    with pytest.raises(ParameterError, match="nonsense"):
        session.ask(sf.count(), epsilon="0.1", post=("nonsense",))


def test_a_seeded_answer_says_so_on_its_card(make: Maker) -> None:
    session = make(epsilon=1)
    session.rng = SeededSource(3)
    assert any("seed" in warning for warning in session.ask(sf.count(), epsilon="0.1").card.warnings)


def test_plans_reach_the_error_they_promise(make: Maker) -> None:
    session = make(epsilon=100)

    plan = session.plan(sf.count().by("hour"), error=15)
    assert plan.error is not None
    assert plan.error <= 15
    assert plan.epsilon == pytest.approx(Decimal("0.2"), rel=Decimal("0.05"))
    answer = session.ask(sf.count().by("hour"), epsilon=plan.epsilon)
    low, high = answer.frame["count_low"][0], answer.frame["count_high"][0]
    assert high - low <= 30
    assert 0.9 < (session.plan("SELECT AVG(minutes) FROM rides", error=1, rows=1000).error or 0) <= 1
    assert 0 < (session.plan(sf.median("age"), error=5, rows=1000).error or 0) <= 5
    with pytest.raises(ParameterError, match="public guess"):
        session.plan(sf.mean("minutes"), error=1)
    with pytest.raises(UnsatisfiableError):
        session.plan(sf.mean("minutes"), error=1e-9, rows=10)
    assert not session.plan(sf.count(), error=0.4).affordable or session.plan(sf.count(), error=0.4).epsilon <= 100
    assert session.ledger.spent.epsilon == answer.spent.epsilon


def test_an_answer_is_a_release_with_a_card(make: Maker, tmp_path: Path) -> None:
    answer = make(epsilon=1).ask(sf.count().by("sex"), epsilon="0.3")
    card = answer.save(tmp_path / "answer.csv")
    assert pl.read_csv(tmp_path / "answer.csv").columns == ["sex", "count", "count_low", "count_high"]
    assert card.guarantee.parameters == {"epsilon": 0.3}
    assert card.guarantee.unit == "row"
    assert sf.Card.from_json((tmp_path / "answer.csv.card.json").read_text(encoding="utf-8")) == card


def test_an_inferred_schema_answers_nothing_numeric(tmp_path: Path) -> None:
    inferred = sf.Schema.infer(sf.Table.from_frame(ROWS))
    session = Session.create(tmp_path / "l", ROWS, inferred, sf.Budget(epsilon=1))
    with pytest.raises(SchemaError, match="no public bounds"):
        session.ask(sf.mean("minutes"), epsilon="0.1")


def test_a_broken_line_is_refused_when_the_data_are_declared(make: Maker, tmp_path: Path) -> None:
    session = make(epsilon=1)
    (tmp_path / "rides.csv").write_text("rider,hour\na,1\nb,2,3,4\n", encoding="utf-8")
    with pytest.raises(InputError):
        session.new_version(tmp_path / "rides.csv")


def test_a_password_never_enters_a_ledger(tmp_path: Path, schema: sf.Schema) -> None:
    with pytest.raises(InputError, match="PGPASSWORD"):
        Session.create(tmp_path / "l", "postgresql://me:secret@localhost/city#rides", schema, sf.Budget(epsilon=1))
    assert list(tmp_path.iterdir()) == []


POINT = """
[columns.born]
role = "other"
type = "date"
[columns.five]
role = "other"
type = "number"
bounds = [5, 5]
"""


def made(folder: Path, text: str, rows: pl.DataFrame, **options: Any) -> Session:
    rows.write_parquet(folder / "made.parquet")
    budget = sf.Budget(epsilon=10**9, delta="0.9")
    schema = sf.Schema.from_text(text)
    session = Session.create(folder / "made.ledger", folder / "made.parquet", schema, budget, **options)
    session.deadline = 0
    return session


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that cannot say what became of their cells, such as a stranger's: nothing is refused before a question."""
    monkeypatch.setattr("sfumato.dp.tables.declared_cells", lambda *_: None)


def test_a_column_that_is_stored_as_another_type_is_refused_before_there_is_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column 'born' holds numbers"):
        made(tmp_path, POINT, pl.DataFrame({"born": [2000], "five": [5.0]}))
    assert not (tmp_path / "made.ledger").exists()


@pytest.mark.parametrize(
    "query, delta",
    [
        (sf.histogram("five", 2), "0"),  # no room for two bins
        (sf.count().by("born"), "0.7"),  # no threshold has such a delta
        (sf.count().where("born > '2020-01-01'"), "0"),  # declared as dates, stored as numbers
    ],
)
@pytest.mark.usefixtures("unread")
def test_a_refusal_costs_nothing_whatever_finds_it(tmp_path: Path, query: sf.Query, delta: str) -> None:
    session = made(tmp_path, POINT, pl.DataFrame({"born": [2000], "five": [5.0]}))
    with pytest.raises(SfumatoError):
        session.ask(query, epsilon=1, delta=delta)
    assert session.ledger.spent == sf.dp.Cost()


@pytest.mark.usefixtures("unread")
def test_questions_together_are_checked_before_they_are_paid(tmp_path: Path) -> None:
    session = made(tmp_path, POINT, pl.DataFrame({"born": [2000], "five": [5.0]}))
    with pytest.raises(InputError, match="holds numbers"):
        session.ask_together([sf.count().where("born > '2020-01-01'")], epsilon=1, delta="1e-6")
    assert session.ledger.spent == sf.dp.Cost()


@pytest.mark.parametrize("query", [sf.mean("five"), sf.sum("five"), sf.variance("five"), sf.median("five")])
def test_bounds_may_be_a_single_point(tmp_path: Path, query: sf.Query) -> None:
    session = made(tmp_path, POINT, pl.DataFrame({"born": [None], "five": [5.0]}, schema_overrides={"born": pl.Date}))
    found = session.ask(query, epsilon=HUGE).value
    assert found == (0 if query == sf.variance("five") else 5)


def test_a_date_beyond_the_calendar_is_missing_and_fails_nothing(tmp_path: Path) -> None:
    days = pl.Series("born", [10**7, -(10**6), 18_000], dtype=pl.Int32).cast(pl.Date)
    session = made(tmp_path, "failed = 1\n" + POINT, pl.DataFrame({"born": days, "five": [5.0] * 3}))
    assert session.ask(sf.count().where("born IS NULL"), epsilon=HUGE).value == 2
    session.ask(sf.count().by("born"), epsilon=HUGE, delta="0.4")


def test_the_person_must_be_a_declared_column(make: Maker, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="did you mean 'rider'"):
        make(protect="person:ridr:1:1")
    assert not list(tmp_path.glob("*.ledger"))


def test_a_column_is_called_as_this_question_calls_it(make: Maker) -> None:
    session = make()
    first = session.sql("SELECT COUNT(*) AS rides FROM rides", epsilon=1)
    second = session.sql("SELECT COUNT(*) AS trips FROM rides", epsilon=1)
    assert second.frame.columns[0] == "trips"
    assert first.value == second.value
    assert second.spent == sf.dp.Cost()
    together = [session.ask_together([query], 1, "1e-6")[0] for query in (sf.count(), sf.count())]
    assert together[0].frame.equals(together[1].frame)


def test_names_that_cannot_be_written_cost_nothing(make: Maker) -> None:
    session = make()
    with pytest.raises(InputError, match="UTF-8"):
        session.sql('SELECT COUNT(*) AS "\udcff" FROM rides', epsilon=1)
    for name in ("\udcff", "a\0b", "two\nlines", "", 5):
        with pytest.raises(ParameterError, match="the analyst"):
            session.ask(sf.count(), epsilon=1, analyst=name)  # type: ignore[arg-type]
    assert session.ledger.spent == sf.dp.Cost()


@pytest.mark.parametrize(
    "bins", [[0, float("inf")], [float("nan"), 1], [-1e308, 1e308], ["x", "y"], [3, 2], 0, 2.5, True]
)
def test_bins_are_a_number_or_rising_edges(bins: Any) -> None:
    with pytest.raises(ParameterError, match="the bins of 'age'"):
        sf.histogram("age", bins)


def test_bins_of_dates_begin_on_whole_days(make: Maker) -> None:
    session = make()
    found = session.ask(sf.histogram("day", 7), epsilon=HUGE).frame
    assert found["day"].to_list() == [f"2025-01-{day:02}" for day in (1, 5, 10, 14, 18, 22, 27)]
    assert found["count"].to_list() == [0, 6, 0, 0, 0, 0, 0]
    edges = [dt.date(2025, 1, 5), dt.date(2025, 1, 9), dt.date(2025, 1, 31)]
    assert session.ask(sf.histogram("day", edges), epsilon=HUGE).frame["count"].to_list() == [3, 3]
    with pytest.raises(ParameterError, match="no room for 31 bins"):
        session.ask(sf.histogram("day", 31), epsilon=HUGE)


def test_a_frame_holds_noise_of_any_size(make: Maker) -> None:
    frame = make().ask(sf.count(), epsilon="1e-50").frame
    assert frame["count_high"].is_null().sum() == 0
    assert frame["count_high"][0] - frame["count_low"][0] > 1e49


def test_a_question_is_made_by_the_functions_for_it(make: Maker) -> None:
    with pytest.raises(ParameterError, match="give SQL to"):
        make().ask("SELECT COUNT(*) FROM rides", epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="the condition is 3"):
        sf.count().where(3)  # type: ignore[arg-type]


def test_a_line_that_no_question_could_read_is_refused_when_it_is_declared(make: Maker, tmp_path: Path) -> None:
    session = make()
    long = ROWS.with_columns(note=pl.when(pl.col("hour") == 1).then(pl.lit("x" * 3_000_000)).otherwise("note"))
    long.write_csv(tmp_path / "rides.csv")
    with pytest.raises(InputError, match="1 of 6 lines cannot be read"):
        session.new_version(tmp_path / "rides.csv")


def test_quantiles_in_too_many_groups_are_refused(make: Maker) -> None:
    session = make()
    with pytest.raises(ParameterError, match="ask for fewer groups"):
        session.ask(Query(sf.median("minutes").aggregates, None, (HistogramKey("minutes", 100_000), "hour")), epsilon=1)
    assert session.ledger.spent == sf.dp.Cost()


def test_a_plan_knows_what_the_whole_price_buys(make: Maker) -> None:
    session = make()
    assert session.plan(sf.count().by("station"), error=10).cost == session.plan(sf.count(), error=10).cost
    with pytest.raises(ParameterError, match="rows is -5"):
        session.plan(sf.mean("minutes"), error=1, rows=-5)


def test_the_card_says_in_what_the_scale_of_a_quantile_counts(make: Maker) -> None:
    settings = make().ask(sf.median("age").also(sf.count()), epsilon=1).card.released.settings
    assert settings["unit_of_scale"] == {"median_age": "rows by which the rank may be off, with 95 % confidence"}


def test_sql_does_not_tell_upper_from_lower_case(make: Maker) -> None:
    session = make(epsilon=1)
    first = session.sql("SELECT hour, AVG(minutes) FROM rides WHERE sex = 'F' GROUP BY hour", epsilon="0.5")
    again = session.sql("select HOUR, avg(Minutes) from Rides where SEX = 'F' group by HOUR", epsilon="0.5")
    assert again.frame.rows() == first.frame.rows()
    assert again.spent.epsilon == 0
