"""One till: every price comes from a promise, and no other code debits; the same rows have one ledger."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.statement import statement
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.ledger.till import Purchase, list_outside, pay, price
from sfumato.errors import InputError, ParameterError
from sfumato.promise import (
    Accountant,
    Budget,
    CapPersons,
    Cost,
    Excess,
    Input,
    Metric,
    Neighbours,
    PerRow,
    Promise,
    ProtectPersons,
    ProtectRows,
)

PRESENCE, VALUE = Neighbours.PRESENCE, Neighbours.VALUE
EVENT = Promise(Metric(ProtectRows(), VALUE, Input.RECORDS), (), PerRow(Cost(epsilon="0.1"), VALUE))
ROW = Promise(Metric(ProtectRows(), PRESENCE), (), PerRow(Cost(epsilon="0.1"), PRESENCE))
CAP = CapPersons("drive", 3, excess=Excess.REPLACED)
DRIVE = Promise(Metric(ProtectPersons("drive"), VALUE, Input.RECORDS), (CAP,), PerRow(Cost(epsilon="0.1"), VALUE))


def ledger_of(path: Path, protect: str, neighbours: str, **terms: Any) -> Ledger:
    facts = {"table": "drives", "protect": protect, "neighbours": neighbours}
    return Ledger.create(path / "l", Budget(10), facts, terms=Terms(**terms))


@pytest.mark.parametrize(
    "promise, protect, neighbours, cost",
    [
        (EVENT, "rows", "value", "0.1"),
        (EVENT, "rows:3", "value", "0.3"),
        (ROW, "rows", "presence", "0.1"),
        (ROW, "rows", "value", "0.2"),
        (DRIVE, "person:drive:30:1", "value", "0.3"),
        (DRIVE, "rows", "value", "0.3"),
    ],
)
def test_a_release_costs_what_its_promise_costs_in_the_ledgers_terms(
    tmp_path: Path, promise: Promise, protect: str, neighbours: str, cost: str
) -> None:
    ledger = ledger_of(tmp_path, protect, neighbours)
    pay(ledger, promise, Purchase("stream", "hours", "drives.csv"), analyst="feed")
    assert ledger.spent == Cost(epsilon=cost)
    (entry,) = ledger.entries()
    assert (entry.door, entry.data, entry.outside) == ("stream", "drives.csv", False)


@pytest.mark.parametrize(
    "promise, protect, neighbours, why",
    [
        (EVENT, "rows", "presence", "the number of records is public"),
        (EVENT, "person:drive:30:1", "presence", "the number of records is public"),
        (EVENT, "person:drive:30:1", "value", "does not bound how many records of a person count"),
        (DRIVE, "person:owner:1:1", "value", "not the same persons"),
        (ROW, "person:drive:30:1", "presence", "does not bound how many rows"),
    ],
)
def test_what_cannot_be_priced_is_refused_and_nothing_is_charged(
    tmp_path: Path, promise: Promise, protect: str, neighbours: str, why: str
) -> None:
    ledger = ledger_of(tmp_path, protect, neighbours)
    before = ledger.head
    with pytest.raises(ParameterError, match=why):
        pay(ledger, promise, Purchase("stream", "hours"))
    assert (ledger.spent, ledger.head) == (Cost(), before)


def test_a_promise_within_a_horizon_needs_a_ledger_of_that_horizon(tmp_path: Path) -> None:
    daily = Promise(DRIVE.metric, (CAP,), DRIVE.mechanism, horizon=86400)
    with pytest.raises(ParameterError, match="for ever"):
        pay(ledger_of(tmp_path, "person:drive:3:1", "value"), daily, Purchase("stream", "hours"))
    (tmp_path / "d").mkdir()
    assert price(ledger_of(tmp_path / "d", "person:drive:3:1", "value", horizon=86400), daily) == Cost("0.3")


def test_the_coin_is_the_ledgers(tmp_path: Path) -> None:
    zcdp = Ledger.create(tmp_path / "z", Budget(1, "1e-6", Accountant.ZCDP), {})
    assert price(zcdp, ROW) == Cost(rho="0.005")
    gaussian = Promise(ROW.metric, (), PerRow(Cost(rho="0.01"), PRESENCE))
    assert price(zcdp, gaussian) == Cost(rho="0.01")
    approximate = Promise(ROW.metric, (), PerRow(Cost(epsilon="0.1", delta="1e-7"), PRESENCE))
    with pytest.raises(ParameterError, match="counts rho"):
        price(zcdp, approximate)
    with pytest.raises(ParameterError, match="counts epsilon and delta"):
        price(Ledger.create(tmp_path / "p", Budget(1), {}), gaussian)


def test_a_price_below_the_least_share_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", Budget(1), {}, terms=Terms(least_share=Decimal("0.2")))
    with pytest.raises(ParameterError, match=r"the price is epsilon 0\.1; the ledger asks for at least 0\.2"):
        pay(ledger, ROW, Purchase("query", "count"))
    assert not list(ledger.entries())


def test_what_has_no_price_is_listed_outside_the_bound_once(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, "rows", "presence", population="drives of 2016")
    for _ in range(2):
        words = list_outside(ledger, "k-anonymity", Purchase("table", "mondrian of drives", "drives.csv"))
    pay(ledger, ROW, Purchase("table", "safepub of drives", "drives.csv"))
    found = statement(ledger)
    assert "outside the bound" in words
    assert (found["population"], found["outside_the_bound"], found["doors"]) == ("drives of 2016", [1], ["table"])
    assert found["spent"]["epsilon"] == 0.1


def debits() -> list[str]:
    """Return the modules that call `.debit(…)`."""
    source = Path(sfumato.__file__).parent
    found = []
    for file in sorted(source.rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        if any(isinstance(call.func, ast.Attribute) and call.func.attr == "debit" for call in calls):
            found.append(file.relative_to(source).as_posix())
    return found


def test_the_till_alone_debits() -> None:
    assert debits() == ["dp/ledger/till.py"]


def test_a_second_ledger_over_the_same_rows_is_refused_wherever_it_lies(tmp_path: Path) -> None:
    facts = {"fingerprint": "ab" * 32, "data": str(tmp_path / "rides.csv")}
    first = tmp_path / "first" / "a.ledger"
    first.parent.mkdir()
    Ledger.create(first, Budget(1), facts)
    (tmp_path / "second").mkdir()
    second = tmp_path / "second" / "b.ledger"
    with pytest.raises(InputError, match=r"a\.ledger' knows these rows already"):
        Ledger.create(second, Budget(1), facts)
    assert not second.exists()
    Ledger.create(second, Budget(1), {**facts, "fingerprint": "cd" * 32})
    third = tmp_path / "second" / "c.ledger"
    Ledger.create(third, Budget(1), facts, terms=Terms(other_people=True))
    assert statement(Ledger.open(third))["other_people"] is True


def test_a_ledger_beside_the_rows_is_found_without_any_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")  # where nothing can be written
    facts = {"fingerprint": "ab" * 32, "data": str(tmp_path / "rides.csv")}
    Ledger.create(tmp_path / "a.ledger", Budget(1), facts)
    (tmp_path / "away").mkdir()
    with pytest.raises(InputError, match="knows these rows already"):
        Ledger.create(tmp_path / "away" / "b.ledger", Budget(1), facts)


def test_of_several_ledgers_made_at_once_over_the_same_rows_one_is_made(tmp_path: Path) -> None:
    facts = {"fingerprint": "ab" * 32}

    def refusal(number: int) -> str:
        try:
            Ledger.create(tmp_path / f"{number}.ledger", Budget(1), facts)
        except InputError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        refusals = list(pool.map(refusal, range(8)))
    assert sum("knows these rows already" in text for text in refusals) == 7
    assert len(list(tmp_path.glob("*.ledger"))) == 1


def test_a_new_version_with_the_rows_of_another_ledger_is_refused(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "a.ledger", Budget(1), {"fingerprint": "ab" * 32})
    other = Ledger.create(tmp_path / "b.ledger", Budget(1), {"fingerprint": "cd" * 32})
    with pytest.raises(InputError, match=r"a\.ledger' knows these rows already"):
        other.declare_version({"fingerprint": "ab" * 32})
    assert other.version == 1
