"""The query door on Spark: the same answers, prices, cards and refusals as on the single machine."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.session import Session
from sfumato.engines.spark.queries import SparkRows
from sfumato.errors import BudgetExceeded, InputError, SfumatoError
from sfumato.promise.cost import Accountant
from sfumato.random import SeededSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
[columns.day]
role = "other"
type = "date"
bounds = [2025-01-01, 2025-01-31]
[columns.station]
role = "other"
type = "category"
"""
ROWS = pl.DataFrame(
    {
        "rider": [f"r{place % 40}" for place in range(300)],
        "hour": [place * 7 % 5 for place in range(300)],
        "sex": ["FMX?"[place * 3 % 4] for place in range(300)],
        "minutes": [place * 31 % 70 + 0.25 for place in range(300)],
        "day": [f"2025-01-{1 + place % 31:02}" for place in range(300)],
        "station": ["xyz"[place * place % 3] for place in range(300)],
    }
)
QUESTIONS: dict[str, dict[str, Any]] = {
    "SELECT sex, hour, COUNT(*), SUM(minutes) FROM rides WHERE minutes / hour < 30 OR day > '2025-01-20' "
    "GROUP BY sex, hour": {},
    "SELECT AVG(minutes), VAR_POP(minutes), MIN(hour), MEDIAN(minutes) FROM rides": {},
    "SELECT station, COUNT(*) FROM rides WHERE station LIKE '%' GROUP BY station": {"delta": "0.01"},
}
BY_PERSON: dict[str, dict[str, Any]] = {
    "SELECT COUNT(DISTINCT rider), COUNT(*) FROM rides": {},
    "SELECT hour, SUM(minutes), MAX(minutes) FROM rides GROUP BY hour": {},
}
Maker = Callable[..., dict[str, Session]]


@pytest.fixture
def make(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """Return a function that opens the same rows on both engines, with the same noise and the same secret."""
    monkeypatch.setattr(Ledger, "secret", lambda _: b"secret")
    folder = tmp_path / "rides"
    folder.mkdir()
    for place in range(3):
        ROWS[place::3].write_parquet(folder / f"{place}.parquet")
    ROWS.write_parquet(tmp_path / "rides.parquet")
    schema = sf.Schema.from_text(TOML)

    def build(epsilon: int = 10, accountant: Accountant = Accountant.PURE, **options: Any) -> dict[str, Session]:
        budget = sf.Budget(epsilon=epsilon, delta="0.1", accountant=accountant)
        options.setdefault("terms", Terms(deadline=0, other_people=True))
        places = {
            "single": tmp_path / "rides.parquet",
            "spark": SparkRows.of_folder(folder, schema, spark.sparkContext.master),
        }
        made = {}
        for name, data in places.items():
            made[name] = Session.create(tmp_path / f"{name}.ledger", data, schema, budget, **options)
            made[name].deadline, made[name].rng = 0, SeededSource(7)
        return made

    return build


@pytest.mark.parametrize(
    "questions, options",
    [(QUESTIONS, {}), (BY_PERSON, {"protect": "person:rider:3:2"})],
    ids=["rows", "persons"],
)
def test_answers_prices_and_cards_are_those_of_the_single_machine(
    make: Maker, questions: dict[str, dict[str, Any]], options: dict[str, Any]
) -> None:
    sessions = make(**options)
    for question, price in questions.items():
        single, spark = (session.sql(question, "0.5", **price) for session in sessions.values())
        assert spark.stored == single.stored
        assert (spark.spent, spark.left) == (single.spent, single.left)
        assert spark.card.for_ledger("") == single.card.for_ledger("")  # each ledger has a chain of its own
    question, price = next(iter(questions.items()))
    again = sessions["spark"].sql(question, "0.5", **price)
    assert again.spent.epsilon == 0
    assert again.frame.equals(sessions["single"].sql(question, "0.5", **price).frame)
    assert sessions["spark"].ledger.spent == sessions["single"].ledger.spent


def test_refusals_are_those_of_the_single_machine_and_cost_nothing(make: Maker) -> None:
    sessions = make(epsilon=1)
    refused: list[Callable[[Session], object]] = [
        lambda session: session.sql("SELECT COUNT(*) FROM elsewhere", "0.1"),
        lambda session: session.sql("SELECT station, COUNT(*) FROM rides GROUP BY station", "0.1"),
        lambda session: session.ask(sf.mean("sex"), "0.1"),
        lambda session: session.ask(sf.count().where("speed > 3"), "0.1"),
        lambda session: session.ask(sf.count().by("minutes"), "0.1"),
        lambda session: session.ask(sf.count_distinct("no such column"), "0.1"),
        lambda session: session.ask(sf.count(), "1.5"),
        lambda session: session.ask(sf.count(), "0"),
    ]
    for ask in refused:
        said = []
        for session in sessions.values():
            with pytest.raises(SfumatoError) as error:
                ask(session)
            said.append((type(error.value), str(error.value)))
        assert said[0] == said[1]
        assert sessions["spark"].ledger.spent.epsilon == 0


@pytest.mark.long
def test_zcdp_spends_the_square_on_spark_too(make: Maker) -> None:
    single, spark = (session.ask(sf.count(), "0.5") for session in make(accountant=Accountant.ZCDP).values())
    assert (spark.stored, spark.spent, spark.left) == (single.stored, single.spent, single.left)
    assert spark.spent.rho == Decimal("0.125")


@pytest.mark.long
def test_a_changed_folder_is_refused_until_it_is_declared(make: Maker, tmp_path: Path, spark: SparkSession) -> None:
    session = make(epsilon=1)["spark"]
    session.ask(sf.count(), "0.2")
    ROWS.head(2).write_parquet(tmp_path / "rides" / "more.parquet")
    with pytest.raises(InputError, match="new-version"):
        session.ask(sf.count().by("sex"), "0.2")
    assert session.ledger.spent.epsilon == Decimal("0.2")
    rows = SparkRows.of_folder(tmp_path / "rides", session.schema, spark.sparkContext.master)
    assert session.new_version(rows) == 2
    session.ask(sf.count(), "0.2")
    assert session.ledger.spent.epsilon == Decimal("0.4")


def test_a_ledger_of_spark_plans_without_rows_and_asks_with_them(make: Maker, tmp_path: Path) -> None:
    first = make(epsilon=1)["spark"].ask(sf.count(), "0.2")
    without = Session.open(tmp_path / "spark.ledger", deadline=0)
    assert without.plan("SELECT COUNT(*) FROM rides", error=15).affordable
    with pytest.raises(InputError, match="ask with --engine spark"):
        without.ask(sf.count().by("sex"), "0.2")
    assert without.ledger.spent.epsilon == Decimal("0.2")
    assert without.ledger.facts["engine"] == "spark"
    rows = SparkRows.of_folder(without.ledger.facts["data"], without.schema)
    again = Session.open(tmp_path / "spark.ledger", data=rows, deadline=0).ask(sf.count(), "0.2")
    assert again.value == first.value
    assert again.spent.epsilon == 0


def test_a_folder_that_changes_between_the_check_and_the_read_is_refused(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, true_debit = make(epsilon=1)["spark"], Ledger.debit

    def debit(self: Ledger, *arguments: Any, **options: Any) -> Any:
        ROWS.head(5).write_parquet(tmp_path / "rides" / "0.parquet")
        return true_debit(self, *arguments, **options)

    monkeypatch.setattr(Ledger, "debit", debit)
    with pytest.raises(InputError, match="changed while it was read"):
        session.ask(sf.count(), "0.2")


@pytest.mark.long
def test_a_spark_dataframe_is_asked_like_any_other(spark: SparkSession, tmp_path: Path) -> None:
    schema = sf.Schema.from_text(TOML)
    frame = spark.createDataFrame(ROWS.rows(), ROWS.columns)
    rows = SparkRows.of_frame(frame, schema)
    session = Session.create(tmp_path / "l", rows, schema, sf.Budget(epsilon=10**9), terms=Terms(deadline=0))
    assert session.sql("SELECT COUNT(*) FROM rows WHERE hour < 2", 10**6).value == 120
    assert session.ledger.facts["data"] is None
    with pytest.raises(BudgetExceeded):
        session.ask(sf.count(), 10**9)


def test_the_command_line_asks_a_folder(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make()
    monkeypatch.chdir(tmp_path)
    Path("rides.toml").write_text(TOML, encoding="utf-8")
    engine = ["--engine", "spark", "--master", "local[2]"]
    create = ["budget", "create", "L", "--data", "rides", "--schema", "rides.toml", "--epsilon", "1000000"]
    create += ["--deadline", "0", "--other-people"]
    assert run([*create, *engine]) == 0
    question = "SELECT COUNT(*) FROM rides WHERE hour < 2"
    ask = ["query", "L", question, "--epsilon", "100000"]
    assert run([*ask, *engine]) == 0
    assert "120,120,120" in capsys.readouterr().out
    assert run(["plan", "L", question, "--error", "10"]) == 0
    assert run(["query", "L", f"{question} AND hour < 1", "--epsilon", "1"]) == 2
    assert "ask with --engine spark" in capsys.readouterr().err
    ROWS.head(5).write_parquet("rides/more.parquet")
    assert run(["budget", "new-version", "L", "--data", "rides", *engine]) == 0
    assert run([*ask, *engine]) == 0
    assert "122,122,122" in capsys.readouterr().out
    assert run(["query", "single.ledger", question, "--epsilon", "1", *engine]) == 2
    assert "leave --engine out" in capsys.readouterr().err
