"""A curator asked over a real socket: the same questions as a session, and the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from curator_calls import COUNT, Door, listening

import sfumato as sf
from sfumato.cli.main import run
from sfumato.client import Curator
from sfumato.client.http import CuratorBudgetError, CuratorError, refusal
from sfumato.dp.session import Session
from sfumato.errors import InputError, ParameterError, UnavailableError


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Door]]:
    """Give the address of a curator that listens, and its tokens."""
    patch = pytest.MonkeyPatch()
    slow = Session.open
    patch.setattr(Session, "open", lambda path, **_: slow(path, deadline=0))
    folder = tmp_path_factory.mktemp("served")
    patch.setenv("XDG_STATE_HOME", str(folder / "state"))
    door = Door.make(folder)
    assert door.register(epsilon="100", shares={"ana": "90", "bo": "9"}).status == 201
    with listening(door) as address:
        yield address, door
    door.server.close()
    patch.undo()


@pytest.fixture
def curator(served: tuple[str, Door]) -> Curator:
    address, door = served
    return Curator(address, door.tokens["ana"])


def test_it_finds_its_data_set_and_shows_its_schema(curator: Curator) -> None:
    assert curator.data_sets() == ["rides"]
    assert curator.data_set == "rides"
    assert curator.schemas["rides"].columns["hour"].bounds == (0, 23)
    assert curator.description.protects == "row"


def test_questions_in_python_and_in_sql_are_the_same(curator: Curator) -> None:
    before = curator.left.epsilon
    first = curator.ask(sf.count().by("station"), "0.2")
    second = curator.sql(COUNT, 0.2)
    assert first.rows.equals(second.rows)
    assert (str(first.spent), str(second.spent)) == ("epsilon 0.2", "nothing")
    assert before - curator.left.epsilon == first.spent.epsilon
    assert first.left == curator.left
    assert first.card.guarantee.parameters["epsilon"] == 0.2
    assert first.card.ledger is not None
    assert "<svg" in first.plot().svg


def test_what_python_can_say_goes_over_the_wire(curator: Curator, served: tuple[str, Door]) -> None:
    hours = (sf.col("hour") / 2).named("half")
    asked = [
        sf.mean("hour").where(sf.col("station") == "A").by(sf.col("hour").floor().named("h"), keys=[8, 9]),
        sf.quantile("hour", 0.9, candidates=[6, 12, 18]).by("station").having("station = 'A'"),
        sf.sum(hours).clip(0, 5).also(sf.count()).by("station").top(1),
        sf.histogram("hour", [0, 8, 16, 23]),
    ]
    ledger = served[1].server.home.ledger_of("rides")
    for query in asked:
        answer = curator.ask(query, "0.5")
        again = Session.open(ledger).ask(query, "0.5", analyst="ana")
        assert str(again.spent) == "nothing"
        assert again.rows.equals(answer.rows)


def test_a_plan_and_a_rehearsal(curator: Curator) -> None:
    before = curator.left
    plan = curator.plan(COUNT, 10)
    assert plan.affordable
    assert plan.answers[0].name == "count"
    assert curator.plan(sf.count().by("station"), epsilon=plan.epsilon).error == pytest.approx(10, abs=1)
    assert "made up" in curator.rehearse(sf.mean("hour"), "0.1").card.warnings[0]
    assert curator.left == before


def test_refusals_are_errors_with_a_sentence(curator: Curator, served: tuple[str, Door]) -> None:
    with pytest.raises(CuratorBudgetError, match="has epsilon"):
        curator.ask(sf.count(), 95)
    with pytest.raises(CuratorError, match="SELECT of aggregates"):
        curator.sql("DROP TABLE rides", 1)
    with pytest.raises(CuratorError, match="unknown, revoked or over"):
        Curator(served[0], "sfumato_unknown").data_sets()
    with pytest.raises(CuratorError):
        Curator(f"{served[0]}/nothing", served[1].tokens["ana"]).sql(COUNT, 1)
    with pytest.raises(UnavailableError, match="cannot be reached"):
        Curator("http://127.0.0.1:9", "sfumato_token").data_sets()


@pytest.mark.parametrize(
    "url",
    ["http://curator.example", "ftp://a", "https://", "https://u:p@a", "https://a?b", "https://a#b", "https://[", "x"],
)
def test_addresses_that_would_betray_a_token_are_refused(url: str) -> None:
    with pytest.raises(ParameterError, match="the address"):
        Curator(url, "sfumato_token")


@pytest.mark.parametrize("token", ["", "a\r\nX: y", "a b", "é", "a\0"])
def test_tokens_that_no_header_holds_are_refused(token: str) -> None:
    with pytest.raises(ParameterError, match="the token"):
        Curator("https://curator.example", token)


def test_a_token_is_not_shown() -> None:
    curator = Curator("https://curator.example/rides", "sfumato_secret")
    assert "secret" not in repr(curator) + curator._repr_html_() + repr(curator._connection)


def test_a_strange_refusal_is_still_one() -> None:
    for body in (b"", b"<html>", b"[" * 10_000, b'{"type": 1}'):
        assert "status 418" in str(refusal(418, body))


def test_the_command_line_asks_a_curator(
    served: tuple[str, Door], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place, out = f"{served[0]}/rides", tmp_path / "answer.csv"
    assert run(["query", place, COUNT, "--epsilon", "0.3"]) == 2
    assert "SFUMATO_TOKEN is not set" in capsys.readouterr().err
    monkeypatch.setenv("SFUMATO_TOKEN", served[1].tokens["ana"])
    assert run(["query", place, COUNT, "--epsilon", "0.3", "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith("station,count,count_low,count_high\nA,")
    assert out.with_name("answer.csv.card.json").exists()
    assert (
        run(["query", place, "SELECT hour, COUNT(*) FROM rides GROUP BY hour", "--epsilon", "1", "--keys", "hour=8,9"])
        == 0
    )
    assert capsys.readouterr().out.splitlines()[-1].startswith("9,")
    assert run(["plan", place, COUNT, "--error", "10"]) == 0
    assert run(["query", place, COUNT, "--epsilon", "95"]) == 1
    assert run(["query", place, COUNT, "--epsilon", "1", "--analyst", "bo"]) == 2
    assert "by your token alone" in capsys.readouterr().err


def test_an_address_that_names_nothing_says_what_there_is(served: tuple[str, Door]) -> None:
    reader = Curator(served[0], served[1].tokens["rita"])
    with pytest.raises(CuratorError):
        _ = reader.data_set
    steward = Curator(served[0], served[1].tokens["steward"])
    assert steward.data_set == "rides"
    with pytest.raises(InputError, match="no curator"):
        steward._get("/health", sf.release.card.Card)
