"""The promise of an answer comes from the noise it draws: it keeps the price, and halved noise cannot be sold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.dp.budget_split import share_of_each, whole_share
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.promised import batch_promise, question_promise
from sfumato.dp.questions.compiled import Compiled, compile_query
from sfumato.dp.questions.query import Query
from sfumato.dp.session import Session
from sfumato.dp.share import Share
from sfumato.errors import ParameterError
from sfumato.promise import Cost, Neighbours, ProtectPersons, ProtectRows, Unit

SCHEMA = sf.Schema.from_text(
    """
[columns.rider]
role = "identifier"
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 3]
[columns.age]
role = "other"
type = "integer"
bounds = [0, 99]
[columns.minutes]
role = "other"
type = "number"
bounds = [-5, 60]
[columns.station]
role = "other"
type = "category"
"""
)
QUESTIONS = {
    "count": sf.count(),
    "count by": sf.count().by("hour"),
    "sum": sf.sum("minutes").by("hour"),
    "mean": sf.mean("age").also(sf.variance("minutes")),
    "ends": sf.min("age").also(sf.max("age")).also(sf.quantile("minutes", "0.3")).by("hour"),
    "found": sf.count().also(sf.mean("age")).by("station"),
    "found counts": sf.count().by("station"),
}
UNITS: list[Unit] = [ProtectRows(), ProtectRows(3), ProtectPersons("rider", 2, 3)]


def compiled(query: Query, unit: Unit, neighbours: Neighbours = Neighbours.PRESENCE) -> Compiled:
    return compile_query(query, SCHEMA, unit, neighbours)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.words)
@pytest.mark.parametrize("query", QUESTIONS.values(), ids=list(QUESTIONS))
def test_the_noise_costs_the_price_and_no_less(query: Query, unit: Unit, neighbours: Neighbours) -> None:
    asked = compiled(query, unit, neighbours)
    delta = "0.001" if asked.unknown else "0"
    prices = [Cost(epsilon="0.3", delta=delta), *([] if asked.unknown else [Cost(rho="0.07")])]
    for price in prices:
        assert question_promise(asked, price).cost == price
        share = share_of_each(asked, whole_share(asked, price))
        spent = sum(entry.spent(share, asked.norms) for entry in asked.estimators)
        whole = share.amount * len(asked.estimators)
        assert whole * Fraction(999_999, 1_000_000) <= spent <= whole  # a root is rounded down


def test_noise_that_is_too_small_cannot_be_sold(monkeypatch: pytest.MonkeyPatch) -> None:
    true_noise: Callable[..., object] = Share.additive

    def halved(self: Share, most: int, swing: int) -> object:
        return true_noise(replace(self, amount=2 * self.amount), most, swing)

    monkeypatch.setattr(Share, "additive", halved)
    for query in (QUESTIONS["count"], QUESTIONS["sum"], QUESTIONS["mean"]):
        with pytest.raises(ParameterError, match="more than its price"):
            question_promise(compiled(query, ProtectRows()), Cost(epsilon="0.3"))


def test_one_unit_more_costs_a_group() -> None:
    promise = question_promise(compiled(sf.count().by("hour"), ProtectRows()), Cost(epsilon="0.1"))
    assert promise.cost_for(ProtectRows(3), Neighbours.PRESENCE).epsilon == Decimal("0.3")
    assert promise.cost_for(ProtectRows(1), Neighbours.VALUE).epsilon == Decimal("0.2")
    with pytest.raises(ParameterError, match="does not bound"):
        promise.cost_for(ProtectPersons("rider", 2, 3), Neighbours.PRESENCE)


def test_questions_together_promise_their_price() -> None:
    price = Cost(epsilon="1", delta="0.000001")
    asked = [compiled(query, ProtectPersons("rider", 2, 3)) for query in (sf.count(), sf.sum("age").by("hour"))]
    assert batch_promise(asked, price).cost == price


def test_the_card_prints_the_promise_and_the_ledgers_head(tmp_path: Path) -> None:
    rows = pl.DataFrame({"rider": ["a"], "hour": [1], "age": [30], "minutes": [5.0], "station": ["x"]})
    session = Session.create(
        tmp_path / "L", rows, SCHEMA, sf.Budget(epsilon=1), protect="person:rider:2:3", terms=Terms(deadline=0)
    )
    card = session.ask(sf.count().by("hour"), epsilon="0.1").card
    assert card.guarantee.parameters == {"epsilon": 0.1}
    assert card.guarantee.unit == "person (rider): at most 2 rows in each of at most 3 groups"
    assert card.ledger == session.ledger.head.text
    assert [entry.door for entry in session.ledger.entries()] == ["query"]
