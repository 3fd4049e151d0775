"""Questions over HTTP: what they cost, who sees them, and what a retry does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from curator_calls import COUNT, ROWS, Door, amounts

import sfumato as sf
from sfumato.dp.ledger.ledger import Ledger
from sfumato.serve import answers
from sfumato.serve.home import Home

BODY = {"sql": COUNT, "epsilon": "0.25"}


def left(door: Door, who: str) -> Any:
    return door.call("GET", "/api/v1/data-sets/rides/left", who).json()["left"]


def test_a_question_is_charged_and_answered(rides: Door) -> None:
    reply = rides.ask("ana", BODY)
    found = reply.json()
    assert reply.status == 200
    assert [row["station"] for row in found["answer"]] == ["A", "B"]
    assert abs(found["answer"][0]["count"] - 51) < 100
    assert (found["spent"], found["left"]) == (amounts("0.25"), amounts("0.75"))
    assert found["card"]["guarantee"]["parameters"]["epsilon"] == 0.25
    assert left(rides, "ana") == amounts("0.75")
    assert left(rides, "bo") == amounts("0.5")


def test_a_question_as_a_form_is_the_same_question(rides: Door) -> None:
    first = rides.ask("ana", BODY).json()
    form = {"aggregates": [{"function": "count"}], "by": ["station"]}
    second = rides.ask("ana", {"query": form, "epsilon": 0.25}).json()
    assert second["answer"] == first["answer"]
    assert second["spent"] == amounts()
    assert left(rides, "ana") == amounts("0.75")


def test_a_retry_with_its_key_is_free_and_gives_the_same_bytes(rides: Door) -> None:
    first = rides.ask("ana", BODY, "key-1")
    again = rides.ask("ana", BODY, "key-1")
    assert (again.status, again.body) == (200, first.body)
    assert len([job for job in rides.server.crew.seen if type(job).__name__ == "Ask"]) == 1  # type: ignore[attr-defined]
    other = rides.ask("ana", {**BODY, "epsilon": "0.1"}, "key-1")
    assert (other.status, other.kind) == (422, "key-used")
    assert left(rides, "ana") == amounts("0.75")


def test_a_key_is_nobody_elses(rides: Door) -> None:
    mine = rides.ask("ana", BODY, "key-1").json()
    theirs = rides.ask("bo", {**BODY, "epsilon": "0.1"}, "key-1").json()
    assert mine["id"] != theirs["id"]
    assert rides.call("GET", f"/api/v1/answers/{mine['id']}", "bo").status == 404
    assert rides.call("GET", f"/api/v1/answers/{mine['id']}", "ana").json() == mine
    assert [item["id"] for item in rides.call("GET", "/api/v1/answers", "bo").json()["items"]] == [theirs["id"]]


def test_a_key_of_one_data_set_is_not_one_of_another(rides: Door) -> None:
    rides.register("trips", ROWS + "7,B\n")
    rides.ask("ana", {"sql": "SELECT COUNT(*) FROM rides", "epsilon": "0.1"}, "key-1")
    body = {"sql": "SELECT COUNT(*) FROM trips", "epsilon": "0.1"}
    assert rides.ask("ana", body, "key-1", "trips").kind == "key-used"


def test_a_key_is_visible_text(rides: Door) -> None:
    for key in ("", " ", "a b", "\xe9", "k" * 201):
        assert rides.ask("ana", BODY, key).status == 422
    assert left(rides, "ana") == amounts("1")


def test_a_key_that_is_being_answered_waits(rides: Door) -> None:
    with rides.server.home.database.writing() as book:
        sql = "INSERT INTO answer (id, account, data_set, key, request, asked) VALUES ('1', 'ana', 'rides', 'k', ?, '')"
        from sfumato.client.wire import AskBody
        from sfumato.serve.answers import Asked

        book.execute(sql, (Asked("ana", "rides", AskBody(sql=COUNT, epsilon="0.25"), "k").digest,))
    assert rides.ask("ana", BODY, "k").kind == "conflict"
    home = rides.server.home.path
    rides.server.close()
    again = Home.open(home)  # a killed server leaves no key behind that waits for ever
    with again.database.reading() as book:
        assert book.execute("SELECT COUNT(*) FROM answer").fetchone()[0] == 0
    again.close()


def test_a_refused_question_frees_its_key(rides: Door) -> None:
    reply = rides.ask("ana", {**BODY, "epsilon": "5"}, "k")
    assert (reply.status, reply.kind) == (409, "budget")
    assert rides.ask("ana", BODY, "k").status == 200


def test_shares_and_the_budget_bound_what_is_spent(rides: Door) -> None:
    assert rides.ask("bo", {**BODY, "epsilon": "0.6"}).kind == "budget"
    assert rides.ask("ana", {**BODY, "epsilon": "0.9"}).status == 200
    assert left(rides, "bo") == amounts("0.3")
    assert rides.ask("bo", {**BODY, "epsilon": "0.4"}).kind == "budget"
    account = rides.call("GET", "/api/v1/data-sets/rides/ledger", "steward").json()
    assert (account["spent"], account["left"]) == (amounts("0.9"), amounts("0.3"))
    assert account["shares"]["ana"] == amounts("0.1")


def test_a_data_set_without_a_share_is_not_there(rides: Door) -> None:
    found = rides.register("secrets", ROWS + "3,A\n", shares={"bo": "1"})
    assert found.status == 201, found.body
    assert rides.call("GET", "/api/v1/data-sets", "ana").json()["items"] == ["rides"]
    assert rides.call("GET", "/api/v1/data-sets", "bo").json()["items"] == ["rides", "secrets"]
    for end, method, body in [
        ("", "GET", None),
        ("/left", "GET", None),
        ("/ask", "POST", BODY),
        ("/plan", "POST", BODY),
    ]:
        there = rides.call(method, f"/api/v1/data-sets/secrets{end}", "ana", body)
        missing = rides.call(method, f"/api/v1/data-sets/nothing{end}", "ana", body)
        assert (there.status, there.body) == (missing.status, missing.body) == (404, there.body)


def test_a_plan_and_a_rehearsal_cost_nothing(rides: Door) -> None:
    plan = rides.call("POST", "/api/v1/data-sets/rides/plan", "ana", {"sql": COUNT, "error": 10}).json()
    assert plan["affordable"] is True
    assert 0.2 < float(plan["epsilon"]) < 0.4
    found = rides.call("POST", "/api/v1/data-sets/rides/rehearse", "ana", {"sql": COUNT, "epsilon": "0.9"}).json()
    assert found["spent"] == amounts()
    assert found["card"]["warnings"][0].startswith("the rows were made up")
    assert abs(found["answer"][0]["count"] - 500) < 150  # half of 1000 made-up rows, not the 101 that are there
    assert left(rides, "ana") == amounts("1")


def test_the_history_is_the_stewards(rides: Door) -> None:
    rides.ask("ana", BODY)
    rides.ask("bo", {**BODY, "epsilon": "0.1"})
    items = rides.call("GET", "/api/v1/data-sets/rides/ledger/entries", "steward").json()["items"]
    assert [(item["analyst"], item["cost"], item["answered"]) for item in items] == [
        ("ana", amounts("0.25"), True),
        ("bo", amounts("0.1"), True),
    ]


def test_a_frozen_data_set_answers_when_its_steward_lifts_that(rides: Door) -> None:
    Ledger.open(rides.server.home.ledger_of("rides")).freeze("of a test")
    assert rides.ask("ana", BODY).kind == "frozen"
    assert rides.call("GET", "/api/v1/data-sets/rides", "ana").json()["frozen"] is True
    assert rides.call("POST", "/api/v1/data-sets/rides/thaw", "steward").json() == {"reason": "of a test"}
    assert rides.ask("ana", BODY).status == 200


def test_no_cell_is_in_a_line_or_an_error(door: Door) -> None:
    canary = "cell-that-nobody-may-see"
    rows = f"hour,station\n8,A\n9,{canary}\n" + "10,B\n" * 300
    assert door.register(rows=rows).status == 201
    replies = [
        door.ask("ana", BODY),
        door.ask("ana", {"sql": "SELECT station FROM rides", "epsilon": "0.1"}),
        door.ask("ana", {"sql": "SELECT COUNT(*) FROM rides WHERE station = 'C'", "epsilon": "0.1"}),
        door.ask("ana", {"sql": "SELECT AVG(station) FROM rides", "epsilon": "0.1"}),
        door.call("GET", "/api/v1/data-sets/rides", "ana"),
        door.call("POST", "/api/v1/data-sets/rides/rehearse", "ana", BODY),
    ]
    assert [reply.status for reply in replies] == [200, 422, 422, 422, 200, 200]
    said = b"".join(reply.body for reply in replies).decode() + "".join(door.lines)
    assert canary not in said
    assert COUNT not in "".join(door.lines)
    for token in door.tokens.values():
        assert token not in "".join(door.lines)
    assert {json.loads(line)["account"] for line in door.lines} == {"steward", "ana"}


def test_the_answer_is_what_a_session_gives(rides: Door) -> None:
    stored = rides.ask("ana", BODY).json()["stored"]
    session = sf.Session.open(rides.server.home.ledger_of("rides"))
    answer = session.sql(COUNT, "0.25", analyst="ana")
    assert str(answer.spent) == "nothing"
    assert [column["values"] for column in stored["columns"]] == [column.values for column in answer.stored.columns]


def test_old_answers_are_forgotten_and_stay_free(rides: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_KEPT", 3)
    for number in range(5):
        assert rides.ask("ana", {**BODY, "epsilon": f"0.0{number + 1}"}, f"k{number}").status == 200
    assert len(rides.call("GET", "/api/v1/answers", "ana").json()["items"]) == 3
    again = rides.ask("ana", {**BODY, "epsilon": "0.01"}, "k0")
    assert again.json()["spent"] == amounts()
    monkeypatch.setattr(answers, "MOST_BYTES", 1)
    assert rides.ask("ana", BODY).status == 200
    assert len(rides.call("GET", "/api/v1/answers", "ana").json()["items"]) == 1
