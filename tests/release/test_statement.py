"""The statement: made from the card alone, in words that are true, and in files that appear with the card."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import polars as pl
import pytest

from sfumato import Card, KAnonymity, LDiversity, Mondrian, Schema, Table
from sfumato.core.clock import today
from sfumato.errors import InputError, ParameterError
from sfumato.promise import Cost, Metric, Neighbours, PerRow, ProtectRows, derive
from sfumato.promise.chain import Input
from sfumato.release.card import Guarantee, Released, ReleasedColumn
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.release.naming import Naming
from sfumato.release.statement import Statement, beside_card

DAY = "2031-02-03"
SECONDS = "1927843200"
PRESENT = "presence: one unit is there or not"


def private(*, unit: str = "row", door: str = "query", neighbours: str = PRESENT, **parameters: float) -> Card:
    guarantee = Guarantee(model="differential privacy", parameters=parameters, unit=unit, neighbours=neighbours)
    released = Released(rows=3, columns=[ReleasedColumn(name="count", role="answer")])
    return Card(version="0", door=door, algorithm="laplace", guarantee=guarantee, assumptions=[], released=released)


def words(card: Card) -> str:
    return " ".join(Statement.of(card).text().split())


class Tags(HTMLParser):
    """Reads a page as a browser does: which tags open, which close, and what the text is."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.stack: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        assert not any(name in {"src", "href"} or name.startswith("on") for name, _ in attrs)
        if tag != "meta":
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Card:
    """The card of a table of sixty people."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", SECONDS)
    people = pl.DataFrame({"age": list(range(60)), "ill": ["flu", "gout", "cold"] * 20})
    schema = Schema.from_roles(quasi=["age"], sensitive=["ill"])
    return Mondrian().anonymize(Table(people), schema, [KAnonymity(10), LDiversity(2, "ill")]).card


def test_k_is_told_as_a_crowd(release: Card) -> None:
    said = words(release)
    assert "Every row looks like at least 9 others on age." in said
    assert "a guess is right at most once in 10" in said
    assert "Among the rows that share a combination, ill has at least 2 different values." in said
    assert "A table of 60 rows with the columns age and ill." in said


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_epsilon_is_told_as_a_bet(epsilon: float) -> None:
    said = words(private(epsilon=epsilon))
    most = 100 * math.exp(epsilon) / (1 + math.exp(epsilon))
    assert f"at most {most:.1f} % and at least {100 - most:.1f} %" in said
    assert f"by a factor of at most {math.exp(epsilon):,.3g} (ε = {epsilon:g})" in said
    assert "protects little" not in said


def test_a_weak_promise_is_called_one() -> None:
    assert "this promise protects little" in words(private(epsilon=8.0))
    assert "more than a million" in words(private(epsilon=1000.0))


def test_delta_and_rho_are_told() -> None:
    assert "with a probability of at most 1e-06, about once in 1,000,000 releases" in words(
        private(epsilon=1, delta=1e-6)
    )
    said = words(private(rho=0.0243559703595))
    assert "(ρ = 0.02436, told as ε = 1)" in said
    assert "about once in 1,000,000" in said


def test_what_several_events_lose_is_what_the_promise_costs() -> None:
    card = private(
        unit="record (event level)", door="stream", epsilon=0.02, neighbours="value: one unit's values are others"
    )
    metric = Metric(ProtectRows(), Neighbours.VALUE, Input.RECORDS)
    promise = derive(metric, [], PerRow(Cost(epsilon="0.02"), Neighbours.VALUE))
    said = words(card)
    for number in (10, 100, 1000):
        epsilon = float(promise.cost_for(ProtectRows(number), Neighbours.VALUE).epsilon)
        assert f"with {number:,} records ε = {epsilon:.6g}, and 50 % can become" in said
    assert "What is protected is one event" in said
    assert "which value any one record has" in said
    assert "with 3 records ε = 0.06, and 50 % can become 51.5 %" in said  # as many as there are rows
    assert "with 1,000 records" not in words(private(unit="person (drive): all records of one", epsilon=1))


def test_what_cannot_be_promised_to_many_is_said() -> None:
    assert "with 1,000 rows nothing that could be promised" in words(private(epsilon=1, delta=1e-6))


def test_nothing_promised_is_said() -> None:
    guarantee = Guarantee(model="none", parameters={}, unit="none")
    card = Card(
        version="0",
        door="stream",
        algorithm="doca",
        guarantee=guarantee,
        assumptions=[],
        released=Released(rows=0, columns=[]),
    )
    assert "Nothing is promised." in words(card)


def test_refuted_claims_come_first_and_an_unattacked_card_says_so(release: Card) -> None:
    assert "No attack is recorded" in words(msgspec.structs.replace(release, audits=[]))
    broken = Finding(claim="k is 10", verdict=REFUTED, bound=3, evidence={"reason": "a class has 3"})
    fine = Finding(claim="l is 2", verdict=NOT_REFUTED)
    said = words(msgspec.structs.replace(release, audits=[fine, broken]))
    assert said.index("REFUTED: k is 10 (found: 3): a class has 3.") < said.index("Not refuted: l is 2.")


def test_the_page_is_whole_escaped_and_needs_nothing(release: Card) -> None:
    evil = msgspec.structs.replace(
        release, title="<script>alert(1)</script>", dataset='a "b" & c', changes=["x < y\n\x00", "<img src=z>"]
    )
    page = Statement.of(evil).html()
    tags = Tags(page)
    assert tags.stack == []
    assert not {"script", "img", "link"} & set(tags.opened)
    assert "url(" not in page
    assert "x < y" in "".join(tags.text)
    for needed in ("prefers-color-scheme: dark", "@media print", "width=device-width"):
        assert needed in page
    spoken = " ".join("".join(tags.text).split())
    for part in Statement.of(evil).parts:
        assert part.question in spoken
        assert all(sentence in spoken for sentence in part.sentences)


def test_the_statement_is_a_function_of_the_card_alone(release: Card) -> None:
    again = Card.from_json(release.to_json())
    assert Statement.of(again) == Statement.of(release)
    assert max(map(len, Statement.of(release).text().splitlines())) <= 78


def test_names_and_day_go_on_card_and_statement(release: Card) -> None:
    named = Naming("Visits", "Clinic", "Ada Lovelace").name(release)
    assert (named.title, named.dataset, named.signed_by, named.date) == ("Visits", "Clinic", "Ada Lovelace", DAY)
    text = Statement.of(named).text()
    assert text.startswith("Visits\n======\n")
    assert re.search(r"Name: +Ada Lovelace", text)
    assert "Data set: not named" in Statement.of(release).text()
    with pytest.raises(ParameterError, match="is no name"):
        Naming(title="two\nlines")
    with pytest.raises(ParameterError, match="seconds since 1970"):
        _read_day("soon")


def _read_day(text: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", text)
        return today()


def test_a_statement_in_the_way_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    people = Table(pl.DataFrame({"age": [1, 2, 3, 4]}))
    release = Mondrian().anonymize(people, Schema.from_roles(quasi=["age"]), [KAnonymity(2)])
    first, *_ = beside_card(tmp_path / "out.csv.card.json")
    first.write_text("mine")
    with pytest.raises(InputError, match=r"out.csv.statement.txt' exists"):
        release.save(tmp_path / "out.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv.statement.txt"]
