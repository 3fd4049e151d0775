"""Plans: both ways, in the unit of the answer, from public facts alone; answers are then as exact as planned."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.dataset import LedgerRows
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.mechanisms.selection import quantile_scores
from sfumato.dp.questions.estimators import Choosing
from sfumato.dp.questions.grids import ladder_of
from sfumato.dp.rehearsal import made_up_counts, rehearsed_error
from sfumato.dp.session import Session
from sfumato.dp.share import Norms, Share
from sfumato.errors import ParameterError, UnsatisfiableError
from sfumato.promise.cost import Accountant
from sfumato.promise.unit import Neighbours
from sfumato.random import SeededNoise, SeededSource

TOML = """
[columns.age]
role = "other"
type = "integer"
bounds = [0, 99]
[columns.cost]
role = "other"
type = "number"
bounds = [0, 5000]
[columns.day]
role = "other"
type = "date"
bounds = [2025-01-01, 2025-12-31]
[columns.sex]
role = "other"
type = "category"
categories = ["F", "M"]
[columns.town]
role = "other"
type = "category"
"""
SCHEMA = sf.Schema.from_text(TOML)
ROWS = 2000
DRAWS = 2000
TRIALS = 400  # tables
Opened = Callable[..., Session]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A ledger over even rows, opened again as an analyst has it; the file of the rows is then gone."""

    def build(accountant: str = "pure", **options: object) -> Session:
        random = np.random.default_rng(3)
        frame = pl.DataFrame(
            {
                "age": random.integers(0, 100, ROWS),
                "cost": random.uniform(0, 5000, ROWS),
                "day": ["2025-06-01"] * ROWS,
                "sex": ["F", "M"] * (ROWS // 2),
                "town": ["x"] * ROWS,
            }
        )
        frame.write_csv(tmp_path / "rows.csv")
        terms = Terms(deadline=0, least_share=Decimal(0))
        budget = sf.Budget(epsilon=10, delta="1e-5", accountant=Accountant(accountant))
        Session.create(tmp_path / "L", tmp_path / "rows.csv", SCHEMA, budget, terms=terms, **options)  # type: ignore[arg-type]
        return Session.open(tmp_path / "L", rng=SeededSource(5))

    return build


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
@pytest.mark.parametrize(
    "query, error",
    [(sf.count(), 20), (sf.sum("cost").by("sex"), 90_000), (sf.mean("cost"), 60), (sf.median("age"), 3)],
)
def test_both_ways_agree(opened: Opened, accountant: str, query: sf.Query, error: float) -> None:
    session = opened(accountant)
    wanted = session.plan(query, error=error, rows=ROWS)
    back = session.plan(query, epsilon=wanted.epsilon, rows=ROWS)
    assert wanted.error is not None
    assert back.error is not None
    assert back.error <= wanted.error <= error
    assert session.plan(query, epsilon=float(wanted.epsilon) / 1.5, rows=ROWS).error > error  # type: ignore[operator]
    assert session.left == session.budget.total


def test_a_plan_says_what_the_answer_then_says(opened: Opened) -> None:
    session = opened()
    query = sf.count().also(sf.sum("cost")).also(sf.max("age")).by("sex")
    plan = session.plan(query, epsilon="0.9")
    answer = session.ask(query, epsilon="0.9")
    for planned, column in zip(plan.answers[:2], answer.stored.columns[:2], strict=True):
        half = (column.high[0] - column.low[0]) / 2  # type: ignore[operator]
        assert planned.error == pytest.approx(half, rel=1e-9)
        assert planned.scale == pytest.approx(column.scale[0], rel=1e-9)
    assert (plan.answers[2].ranks, plan.answers[2].least_rows) == (
        answer.stored.columns[2].rank_error,
        answer.stored.columns[2].least_rows,
    )
    assert plan.left_after == answer.left
    assert plan.clipped == answer.stored.clipped
    assert [entry.cost.epsilon for entry in plan.answers] == [Decimal("0.3")] * 3


def test_a_plan_names_threshold_split_and_what_it_cannot_know(opened: Opened) -> None:
    session = opened()
    query = sf.count().also(sf.mean("cost")).by("town")
    plan = session.plan(query, epsilon="0.8", delta="1e-6")
    answer = session.ask(query, epsilon="0.8", delta="1e-6")
    assert (plan.threshold, plan.present_from) == (answer.stored.threshold, answer.stored.present_from)
    text = plan.to_text()
    assert "half of the price finds the keys that are not declared" in text
    assert "the other half is shared evenly by 2 aggregates" in text
    assert f"keys with fewer than about {plan.threshold} rows are withheld" in text
    assert [entry.error is None for entry in plan.answers] == [False, True]
    assert "the error of mean_cost depends on how many rows a group has" in text
    assert "values of cost are clipped to [0, 5000]" in text
    assert "give one to see the threshold" in session.plan(query, epsilon="0.8").to_text()
    with pytest.raises(ParameterError, match="needs no delta"):
        session.plan(sf.count(), epsilon=1, delta="1e-6")


def test_a_plan_spends_nothing_and_looks_at_no_row(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    (tmp_path / "rows.csv").unlink()

    def refuse(*_: object) -> None:
        raise AssertionError("the rows were opened")

    monkeypatch.setattr(LedgerRows, "look", refuse)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    session = Session.open(tmp_path / "L")
    every = sf.count().also(sf.median("cost")).also(sf.variance("cost")).by("sex")
    json.loads(session.plan(every, epsilon="0.5", rows=500).to_json())
    session.plan(sf.min("day"), error=60, rows=500)
    session.plan("SELECT town, COUNT(*) FROM rows GROUP BY town", epsilon="0.5", delta="1e-6")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert session.left == session.budget.total


def test_what_is_left_is_exact_and_each_analysts_own(opened: Opened) -> None:
    session = opened(analysts={"ana": "0.3", "bob": "9.7"})
    for _ in range(2):
        session.ask(sf.count(), epsilon="0.1", analyst="ana")  # the second time is free
    assert str(session.left.epsilon) == "9.9"
    assert str(session.left_for("ana").epsilon) == "0.2"
    assert str(session.left_for("bob").epsilon) == "9.7"
    assert session.budget.epsilon == Decimal(10)
    plan = session.plan(sf.count(), epsilon="0.25", analyst="ana")
    assert not plan.affordable
    assert json.loads(plan.to_json())["left_after"] is None
    assert "the budget left is too small" in plan.to_text()
    assert session.plan(sf.count(), epsilon="0.25", analyst="bob").affordable


@pytest.mark.parametrize(
    "price", [{}, {"error": 3, "epsilon": 1}, {"error": 3, "rho": 1}, {"epsilon": 1, "rho": 1}], ids=str
)
def test_a_plan_starts_from_one_thing(opened: Opened, price: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="give one of error, epsilon and rho"):
        opened().plan(sf.count(), **price)


def test_errors_that_no_price_reaches_are_refused(opened: Opened) -> None:
    session = opened()
    with pytest.raises(UnsatisfiableError, match="allow a larger error"):
        session.plan(sf.median("cost"), error=1, rows=1000)  # a rung of the ladder is 5 wide
    with pytest.raises(ParameterError, match="public guess"):
        session.plan(sf.median("cost"), error=100)
    with pytest.raises(ParameterError, match="is 0; give an epsilon above 0"):
        session.plan(sf.count(), epsilon=0)
    assert "you expect 20" in session.plan(sf.max("age"), epsilon=1, rows=20).to_text()


@pytest.mark.parametrize("accountant", list(Accountant))
@pytest.mark.parametrize("level", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)], ids=str)
def test_a_rehearsal_is_what_the_mechanism_does_on_even_rows(level: Fraction, accountant: Accountant) -> None:
    """The slow way: draw rows, let the mechanism itself choose, and count how often the choice is that near."""
    line = ladder_of(SCHEMA, "age")
    share = Share(accountant, Fraction(1, 5), Norms(1, 1, grouped=False, neighbours=Neighbours.PRESENCE))
    quantile = Choosing("q", line, level)
    error = rehearsed_error(quantile, share, 0.95, rows=500)
    mechanism, noise, random = quantile._mechanism(share), SeededNoise(8), np.random.default_rng(9)
    within = []
    for _ in range(TRIALS):
        ages = np.sort(random.integers(0, 100, 500))
        low, high = ages[int(level * 499)], ages[min(499, int(level * 500))]
        scores = quantile_scores(np.bincount(ages, minlength=100), level, quantile._margin(mechanism))
        chosen = np.array([mechanism.choose(scores, noise) for _ in range(DRAWS // TRIALS)])
        within.append(np.maximum(0, np.maximum(low - chosen, chosen - high)))
    far = np.concatenate(within)
    assert np.mean(far <= error) >= 0.93
    assert np.mean(far <= error - 2) < 0.97  # and it is not far too wide


def test_made_up_rows_are_even_and_always_the_same() -> None:
    assert made_up_counts.__wrapped__(50, 10_000)[0].tolist() == made_up_counts(50, 10_000)[0].tolist()
    drawn = made_up_counts(50, 10_000)[0]
    assert drawn.sum() == 10_000
    assert abs(drawn - 200).max() < 5 * 200**0.5
    laid = made_up_counts(7, 10**9)
    assert len(laid) == 1
    assert laid[0].sum() == 10**9
    assert np.ptp(laid[0]) <= 1


def test_a_rehearsal_counts_days_for_dates(opened: Opened) -> None:
    plan = opened().plan(sf.median("day"), epsilon=1, rows=1000)
    assert plan.answers[0].unit == "days"
    assert "made-up rows" in plan.to_text()
    assert 0 < plan.error < 60  # type: ignore[operator]
