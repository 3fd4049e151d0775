"""Hostile requests: every one is refused in the words of a problem, with all headers, and nothing of it is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from curator_calls import COUNT, Door, amounts

from sfumato.serve import app
from sfumato.serve.app import HEADERS

ASK = "/api/v1/data-sets/rides/ask"
HOSTILE = ["..", ".", "%2e%2e%2f%2e%2e", "..%2fhome", "%00", "rides%00", "rides%0a", "%ed%a0%80", "Rides", "a" * 64]
HOSTILE += ["rides%2f..%2f..", "%E2%80%AE", "<script>", "CON%20", "rides;", "rides%0d%0aset-cookie:a=b"]


def secured(headers: dict[str, str]) -> bool:
    return all(headers.get(name) == value for name, value in HEADERS.items())


@pytest.mark.parametrize(
    "place,who",
    [("data-sets/{}", "ana"), ("data-sets/{}/left", "ana"), ("files/{}", "steward"), ("accounts/{}/tokens", "steward")],
)
def test_names_lead_nowhere_but_to_what_has_them(door: Door, place: str, who: str) -> None:
    method = "PUT" if place.startswith("files") else "GET"
    before = sorted(door.server.home.path.rglob("*"))
    for name in HOSTILE:
        reply = door.call(method, f"/api/v1/{place.format(name)}", who)
        assert reply.status in {404, 405}, (name, reply.body)
        assert reply.kind in {"not-found", "wrong-method"}
        assert secured(reply.headers)
    assert sorted(door.server.home.path.rglob("*")) == before


def test_another_host_is_refused(door: Door) -> None:
    for host in ["evil.example", "evil.example:8460", "", "127.0.0.1.evil.example", "127.0.0.1@evil"]:
        reply = door.call("GET", "/health", host=host)
        assert (reply.status, reply.kind) == (421, "wrong-host")
        assert secured(reply.headers)


def test_its_own_hosts_are_answered(door: Door) -> None:
    for host in ["127.0.0.1", "127.0.0.1:8460", "localhost:1", "[::1]", "[::1]:8460", "LOCALHOST"]:
        assert door.call("GET", "/health", host=host).status == 200


def test_two_hosts_are_refused(door: Door) -> None:
    assert door.call("GET", "/health", headers=[("host", "evil.example")]).status == 421


SHOWN = ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer sfumato_" + "a" * 43, "Bearer \xff", "bearer x y", "Token a"]


@pytest.mark.parametrize("path", ["/api/v1/me", "/health", "/api/v1/no-such-place"])
def test_a_token_that_is_no_good_opens_nothing(door: Door, path: str) -> None:
    for shown in SHOWN:
        reply = door.call("GET", path, headers=[("authorization", shown)])
        assert reply.status == (404 if path.endswith("place") else 401)
        assert "a" * 43 not in reply.body.decode()
        assert secured(reply.headers)


def test_two_tokens_are_refused(door: Door) -> None:
    good = f"Bearer {door.tokens['ana']}"
    assert door.call("GET", "/api/v1/me", headers=[("authorization", good)]).status == 200
    assert door.call("GET", "/api/v1/me", headers=[("authorization", good)] * 2).status == 401


def bombs() -> dict[str, bytes]:
    return {
        "deep": b'{"sql": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "deep form": b'{"query": ' + b'{"people":' * 20_000 + b"1" + b"}" * 20_000 + b"}",
        "number": b'{"sql": "x", "epsilon": ' + b"9" * 100_000 + b"}",
        "decimal": b'{"sql": "x", "epsilon": "1e999999999"}',
        "not JSON": b"\x00\xff",
        "empty": b"",
        "array": b"[]",
        "surrogate": rb'{"sql": "\ud800", "epsilon": "1"}',
        "not UTF-8": b'{"sql": "\xff", "epsilon": "1"}',
        "unknown field": b'{"sql": "x", "epsilon": "1", "__proto__": {}}',
        "infinite": b'{"sql": "x", "epsilon": 1e999}',
        "nothing asked": b'{"epsilon": "1"}',
        "asked twice": b'{"sql": "x", "query": {"aggregates": [{"function": "count"}]}, "epsilon": "1"}',
        "no aggregate": b'{"query": {"aggregates": []}, "epsilon": "1"}',
        "many keys": json.dumps({"query": {"aggregates": [{"function": "count"}], "by": ["a"] * 101}}).encode(),
        "long SQL": json.dumps({"sql": "x" * 20_001, "epsilon": "1"}).encode(),
        "deep SQL": json.dumps({"sql": "SELECT " + "(" * 9000 + "1" + ")" * 9000, "epsilon": "1"}).encode(),
        "NUL": json.dumps({"sql": "SELECT COUNT(*) FROM rides WHERE station = '\0'", "epsilon": "1"}).encode(),
        "negative": json.dumps({"sql": COUNT, "epsilon": "-1"}).encode(),
        "NaN": json.dumps({"sql": COUNT, "epsilon": "NaN"}).encode(),
        "no price": json.dumps({"sql": COUNT}).encode(),
    }


def test_bodies_that_are_no_questions_cost_nothing(rides: Door) -> None:
    for name, body in bombs().items():
        reply = rides.call("POST", ASK, "ana", body)
        assert (reply.status, reply.kind) == (422, "input"), (name, reply.body)
        assert len(reply.body) < 2000
    assert rides.call("GET", "/api/v1/data-sets/rides/left", "ana").json()["left"] == amounts("1")


def test_a_body_that_is_too_large_is_not_read(rides: Door) -> None:
    said = [("content-type", "application/json"), ("content-length", "999999999")]
    assert rides.call("POST", ASK, "ana", headers=said).kind == "too-large"
    unsaid = rides.call("POST", ASK, "ana", headers=said[:1], parts=[b" " * 65536] * 5)
    assert (unsaid.status, unsaid.kind) == (413, "too-large")
    for length in ("-1", "1e9", "\xb2", "9" * 400, "+5", "0x10"):
        assert rides.call("POST", ASK, "ana", headers=[said[0], ("content-length", length)]).status == 413


def test_a_body_that_comes_too_slowly_is_not_waited_for(rides: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "BODY_SECONDS", 0.2)
    said = [("content-type", "application/json")]
    reply = rides.call("POST", ASK, "ana", headers=said, parts=[b" "] * 1000, pause=0.05)
    assert (reply.status, reply.kind) == (408, "too-slow")


def test_a_body_of_another_type_is_refused(rides: Door) -> None:
    body = json.dumps({"sql": COUNT, "epsilon": "0.1"}).encode()
    for media in ("", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"):
        reply = rides.call("POST", ASK, "ana", headers=[("content-type", media)], parts=[body])
        assert (reply.status, reply.kind) == (415, "wrong-type")


def test_parameters_are_bounded(door: Door) -> None:
    for query in ["limit=0", "limit=201", "limit=x", "limit=1&limit=2", "page=2", "after=" + "a" * 101]:
        assert door.call("GET", f"/api/v1/accounts?{query}", "steward").status == 422


def test_a_place_without_parameters_takes_none(door: Door) -> None:
    assert door.call("GET", "/api/v1/me?debug=1", "ana").status == 422


def test_lists_come_in_parts(door: Door) -> None:
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        page = door.call("GET", f"/api/v1/accounts?limit=3&after={after}", "steward").json()
        names, after = [*names, *(item["name"] for item in page["items"])], page["next"]
    assert names == ["ana", "bo", "rita", "steward"]


def test_what_breaks_is_told_to_nobody(rides: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.serve import data_sets

    def broken(*_: Any) -> None:
        raise ValueError("the cell 'secret-cell' is no number")

    monkeypatch.setattr(data_sets, "describe", broken)
    reply = rides.call("GET", "/api/v1/data-sets/rides", "ana")
    assert (reply.status, reply.kind) == (500, "broken")
    assert b"secret-cell" not in reply.body
    last = json.loads(rides.lines[-1])
    assert (last["error"], last["operation"]) == ("ValueError", "data_set")
    assert "secret-cell" not in rides.lines[-1]


def test_the_home_folder_is_for_its_owner_alone(rides: Door) -> None:
    home = rides.server.home.path
    for entry in [home, *home.rglob("*")]:
        assert entry.stat().st_mode & 0o077 == 0, entry
    assert (home / "data" / "rides").stat().st_mode & 0o077 == 0


def test_no_sentence_tells_where_the_home_is(rides: Door) -> None:
    ledger: Path = rides.server.home.ledger_of("rides")
    ledger.write_bytes(b"damaged")
    for path in ("", "/left"):
        reply = rides.call("GET", f"/api/v1/data-sets/rides{path}", "ana")
        assert reply.status == 422
        assert str(rides.server.home.path) not in reply.body.decode()
