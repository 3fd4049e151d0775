"""Keys that are not declared, under both accountants: with declared ones, computed ones, and every aggregate."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sfumato as sf
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.mechanisms import Threshold
from sfumato.dp.questions.computed import DerivedColumn
from sfumato.dp.questions.query import Query
from sfumato.dp.session import Session
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.promise import Cost
from sfumato.promise.cost import Accountant, Budget
from sfumato.promise.group_privacy import group
from sfumato.promise.unit import Neighbours, ProtectPersons
from sfumato.promise.zcdp import delta_of, epsilon_of, rho_of

SCHEMA = sf.Schema.from_text(
    """
[columns.rider]
role = "identifier"
[columns.hour]
role = "other"
type = "integer"
bounds = [0, 1]
[columns.age]
role = "other"
type = "integer"
bounds = [0, 99]
[columns.station]
role = "other"
type = "category"
"""
)
PURE = Budget(epsilon=10**7, delta="0.1")
ZCDP = Budget(epsilon=10**7, delta="0.1", accountant=Accountant.ZCDP, keys="0.05")
BUDGETS = {"pure": PURE, "zcdp": ZCDP}
Make = Callable[..., Session]


@pytest.fixture(params=sorted(BUDGETS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Sessions over 300 riders at x, 200 at y and one at z, each with a row in either hour."""

    def build(protect: Any = ProtectPersons("rider", 2, 2), budget: Budget = BUDGETS[request.param]) -> Session:  # noqa: B008
        people = [("x", n) for n in range(300)] + [("y", n) for n in range(300, 500)] + [("z", 500)]
        rows = [
            {"rider": f"r{n}", "hour": hour, "age": n % 100, "station": where}
            for (where, n), hour in itertools.product(people, (0, 1))
        ]
        return Session.create(
            tmp_path / "L",
            pl.DataFrame(rows),
            SCHEMA,
            budget,
            protect=protect,
            terms=Terms(deadline=0, least_share=Decimal(0)),
        )

    return build


def price(session: Session) -> dict[str, Any]:
    loud = {"rho": 10**6} if session.budget.accountant is Accountant.ZCDP else {"epsilon": 10**6}
    return {**loud, "delta": "0.001"}


AGGREGATES: dict[str, tuple[Query, list[Any]]] = {
    "rows": (sf.count(), [600, 400]),
    "persons": (sf.count_distinct("rider"), [300, 200]),
    "values": (sf.count_distinct("age"), [100, 100]),
    "sum": (sf.sum("age"), [2 * 3 * 4950, 2 * 2 * 4950]),
    "mean": (sf.mean("age"), [49.5, 49.5]),
    "variance": (sf.variance("age"), [833.25, 833.25]),
    "median": (sf.median("age"), [49, 49]),
    "bounds": (sf.bounds("age"), [0, 0]),
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_is_answered_for_the_keys_that_pass(make: Make, name: str) -> None:
    query, wanted = AGGREGATES[name]
    session = make()
    answer = session.ask(query.by("station"), **price(session))
    found = answer.rows
    assert found["station"].to_list() == ["x", "y"]
    assert found[query.aggregates[0].label].to_list() == pytest.approx(wanted, abs=1.01)
    least = answer.stored.threshold
    assert least is not None
    assert f"keys with fewer than about {least} persons are withheld (threshold)" in answer.notes
    assert answer.spent.delta == Decimal("0.001")
    assert session.left.delta == session.budget.total.delta - Decimal("0.001")


def test_unknown_and_declared_keys_stand_together(make: Make) -> None:
    session = make()
    asked = sf.count().where("hour = 1 OR station = 'x'").by("station", "hour")
    found = session.ask(asked, **price(session)).rows
    assert found.rows() == [("x", 0, 300, 300, 300), ("x", 1, 300, 300, 300), ("y", 1, 200, 200, 200)]


def test_a_computed_key_without_categories_is_found(make: Make) -> None:
    session = make()
    asked = replace(sf.mean("age").by("where"), derived=(DerivedColumn("where", "station"),))
    found = session.ask(asked, **price(session)).rows
    assert found["where"].to_list() == ["x", "y"]


def test_keys_of_persons_are_found(make: Make) -> None:
    session = make()
    people = sf.per_person(rides=sf.count(), home=sf.first("station", order="hour"))
    found = session.ask(sf.sum("rides").by("home").of(people), **price(session)).rows
    assert found["sum_rides"].to_list() == [600, 400]


def test_a_key_without_delta_is_refused_and_says_what_to_do(make: Make) -> None:
    session = make()
    loud = {name: value for name, value in price(session).items() if name != "delta"}
    with pytest.raises(ParameterError, match="finding them needs a delta; give one, or declare the categories"):
        session.ask(sf.count().by("station"), **loud)
    with pytest.raises(BudgetExceeded):
        session.ask(sf.count().by("station"), **{**price(session), "delta": "0.2"})
    assert session.ledger.spent == Cost()


# A zCDP budget whose δ has two parts.


@pytest.mark.parametrize("keys", ["1e-7", "5e-7", "9.99e-7", "3.14159e-8"])
def test_what_is_set_aside_is_there_and_the_rest_bounds_rho(keys: str) -> None:
    budget = Budget(epsilon=1, delta="1e-6", accountant=Accountant.ZCDP, keys=keys)
    assert budget.total == Cost(rho=rho_of(Decimal(1), Decimal("1e-6") - Decimal(keys)), delta=keys)
    again = Budget(epsilon=1, delta="1e-6", accountant=Accountant.ZCDP, rho=budget.rho)  # as a ledger reads it
    assert again == budget
    assert again.total == budget.total
    assert delta_of(budget.rho, Decimal(1)) + budget.keys <= Decimal("1e-6")


def test_without_a_part_for_keys_the_budget_is_what_it_was() -> None:
    budget = Budget(epsilon=1, delta="1e-6", accountant=Accountant.ZCDP)
    assert budget.total == Cost(rho="0.0243559703595")
    assert budget.numbers(budget.total) == {"rho": 0.0243559703595}
    for wrong in ({"keys": "1e-6", "accountant": Accountant.ZCDP}, {"keys": "1e-7"}):
        with pytest.raises(ParameterError, match="set aside for keys"):
            Budget(epsilon=1, delta="1e-6", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("rho", ["1e-6", "0.001", "0.1", "2", "30"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "40"])
def test_delta_of_rho_is_the_other_side_of_epsilon(rho: str, epsilon: str) -> None:
    delta = delta_of(Decimal(rho), Decimal(epsilon))
    assert 0 < delta <= 1
    if Decimal("1e-59") < delta < Decimal("0.4"):
        assert abs(epsilon_of(Decimal(rho), delta) / Decimal(epsilon) - 1) < Decimal("1e-9")


def test_a_ledger_keeps_the_parts_of_its_delta(make: Make, tmp_path: Path) -> None:
    session = make()
    session.ask(sf.count().by("station"), **price(session))
    opened = Session.open(tmp_path / "L", data=pl.DataFrame({"x": [1]}))
    assert opened.budget == session.budget
    assert opened.left == session.left


def test_no_group_is_priced_from_rho_and_delta() -> None:
    assert group(Cost(rho=1, delta="1e-6"), 1).delta == Decimal("1e-6")
    with pytest.raises(ParameterError, match="protect the group"):
        group(Cost(rho=1, delta="1e-6"), 2)


# What leaks, and the noise.


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("accountant", list(Accountant))
@pytest.mark.parametrize("rows, groups", [(1, 1), (1, 4), (3, 1), (3, 2)])
def test_keys_of_one_unit_leak_with_no_more_than_delta(
    rows: int, groups: int, accountant: Accountant, neighbours: Neighbours
) -> None:
    """Every division of one unit among keys that nobody else has: the chance that any of them passes, added up."""
    delta = Fraction(1, 1000)
    threshold = Threshold(Fraction(1, 2), delta, rows, groups, neighbours, accountant)
    tail = threshold.mechanism.tail
    worst = max(
        sum(tail(threshold.least - share) for share in shares if share)
        for shares in itertools.product(range(rows + 1), repeat=rows * groups if rows > 1 else groups)
        if sum(shares) <= rows * groups
    )
    assert worst <= delta
    lower = sum(tail(threshold.least - 2 - rows) for _ in range(groups))
    assert lower > delta / 4  # a threshold that is far lower would not keep it


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_the_noise_of_found_keys_has_its_scale(accountant: str, tmp_path: Path) -> None:
    keys, each = 2000, 200
    frame = pl.DataFrame({"station": [f"s{n % keys}" for n in range(keys * each)]})
    budget = Budget(
        epsilon=100, delta="1e-3", accountant=Accountant(accountant), keys=0 if accountant == "pure" else "5e-4"
    )
    schema = sf.Schema({"station": sf.Attribute("station", sf.Role.OTHER, sf.Kind.CATEGORY)})
    session = Session.create(tmp_path / "L", frame, schema, budget, terms=Terms(deadline=0))
    asked = {"epsilon": "0.2"} if accountant == "pure" else {"rho": "0.02"}
    noise = session.ask(sf.count().by("station"), delta="1e-5", **asked).rows["count"].to_numpy() - each  # type: ignore[arg-type]
    assert len(noise) == keys
    fits = []
    for factor in (1.0, 0.7, 1.3):
        law = stats.dlaplace(0.2 / factor) if accountant == "pure" else stats.norm(scale=5 * factor)
        edges = np.unique(np.round(law.ppf(np.linspace(0.05, 0.95, 13)))) + 0.5
        chances = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
        found = np.bincount(np.searchsorted(edges, noise), minlength=len(edges) + 1)
        fits.append(bool(stats.chisquare(found, chances * keys).pvalue > 1e-7))
    assert fits == [True, False, False]
