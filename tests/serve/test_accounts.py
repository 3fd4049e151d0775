"""Accounts, tokens, sign-in links and the log: what is kept of them, and what ends them."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path

import pytest
from curator_calls import Door

from sfumato.errors import InputError
from sfumato.serve import acts, tokens
from sfumato.serve.accounts import Role, open_account
from sfumato.serve.home import Home
from sfumato.serve.tokens import Scope, make_link

FORM = [("content-type", "application/x-www-form-urlencoded")]


def everything_kept(home: Home) -> bytes:
    return b"".join(path.read_bytes() for path in home.path.rglob("*") if path.is_file())


def test_no_token_and_no_code_is_kept(door: Door) -> None:
    made = door.call("POST", "/api/v1/accounts/ana/tokens", "steward", {"scopes": ["read"], "days": 1}).json()
    code = make_link(door.server.home.database, "steward")
    kept = everything_kept(door.server.home)
    for secret in [made["token"], code, *door.tokens.values()]:
        assert secret.removeprefix("sfumato_").encode() not in kept
    assert made["id"].encode() in kept
    assert len(set(door.tokens.values())) == len(door.tokens)


def test_a_token_ends(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    short = door.call("POST", "/api/v1/accounts/ana/tokens", "steward", {"scopes": ["read"], "days": 2}).json()["token"]
    assert door.call("GET", "/api/v1/me", short).status == 200
    later = time.time() + 2 * 86_400 + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert door.call("GET", "/api/v1/me", short).status == 401


def test_a_revoked_token_is_no_good_at_once(door: Door) -> None:
    mine = door.call("GET", "/api/v1/me/tokens", "ana").json()["items"][0]["id"]
    assert door.call("DELETE", f"/api/v1/tokens/{mine}", "bo").status == 404
    assert door.call("GET", "/api/v1/me", "ana").status == 200
    assert door.call("DELETE", f"/api/v1/tokens/{mine}", "ana").status == 204
    assert door.call("GET", "/api/v1/me", "ana").status == 401


def test_a_steward_revokes_anybodys_token(door: Door) -> None:
    theirs = door.call("GET", "/api/v1/accounts/bo/tokens", "steward").json()["items"][0]["id"]
    assert door.call("DELETE", f"/api/v1/tokens/{theirs}", "steward").status == 204
    assert door.call("GET", "/api/v1/me", "bo").status == 401


def test_a_closed_account_is_out_and_its_name_stays_taken(door: Door) -> None:
    assert door.call("DELETE", "/api/v1/accounts/bo", "steward").status == 204
    assert door.call("GET", "/api/v1/me", "bo").status == 401
    assert door.call("DELETE", "/api/v1/accounts/bo", "steward").status == 404
    again = door.call("POST", "/api/v1/accounts", "steward", {"name": "bo", "role": "analyst"})
    assert again.status == 422
    assert door.call("POST", "/api/v1/accounts/bo/tokens", "steward", {"scopes": ["read"]}).status == 422


def test_the_last_steward_stays(door: Door) -> None:
    assert door.call("DELETE", "/api/v1/accounts/steward", "steward").status == 422
    assert door.call("GET", "/api/v1/me", "steward").status == 200


def test_scopes_beyond_the_role_are_refused(door: Door) -> None:
    wrong: list[tuple[str, list[str]]] = [("ana", ["manage"]), ("rita", ["ask"]), ("steward", ["ask"]), ("ana", [])]
    for who, scopes in wrong:
        assert door.call("POST", f"/api/v1/accounts/{who}/tokens", "steward", {"scopes": scopes}).status == 422


def test_names_of_accounts_are_plain(door: Door) -> None:
    for name in ["", "nobody", "home", "analyst", "Ana", "a b", "a\n", "a\0", "\ud800", "-a", "é", "a" * 64]:
        assert door.call("POST", "/api/v1/accounts", "steward", {"name": name, "role": "reader"}).status == 422
        with pytest.raises(InputError):
            open_account(door.server.home.database, name, Role.READER, "home")


def test_a_link_signs_in_once(door: Door) -> None:
    code = make_link(door.server.home.database, "steward")
    page = door.call("GET", f"/sign-in?code={code}")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert f'value="{code}"'.encode() in page.body
    looked = door.call("GET", f"/sign-in?code={code}")
    assert looked.status == 200  # looking does not use it up
    done = door.call("POST", "/sign-in", headers=FORM, parts=[f"code={code}".encode()])
    token = re.search(r"sfumato_[A-Za-z0-9_-]{43}", done.body.decode())
    assert token is not None
    assert door.call("GET", "/api/v1/me", token[0]).json()["role"] == "steward"
    assert door.call("POST", "/sign-in", headers=FORM, parts=[f"code={code}".encode()]).status == 401
    assert door.call("POST", "/api/v1/sign-in", body={"code": code}).status == 401


def test_a_new_link_ends_the_old_one_and_time_ends_both(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    database = door.server.home.database
    first, second = make_link(database, "steward"), make_link(database, "steward")
    assert door.call("POST", "/api/v1/sign-in", body={"code": first}).status == 401
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    assert door.call("POST", "/api/v1/sign-in", body={"code": second}).status == 401


def test_a_form_that_is_none_is_refused(door: Door) -> None:
    for form in [b"", b"code", b"code=a&code=b", b"a=1&b=2&c=3&d=4&e=5", b"\xff", b"code=%ff%00"]:
        assert door.call("POST", "/sign-in", headers=FORM, parts=[form]).status in {400, 401}


def test_a_page_shows_a_hostile_code_as_text(door: Door) -> None:
    page = door.call("GET", "/sign-in?code=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert b"<script" not in page.body
    assert "script-src" not in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_the_log_tells_what_was_done_and_never_changes(door: Door) -> None:
    door.call("POST", "/api/v1/accounts", "steward", {"name": "zoe", "role": "reader"})
    door.call("POST", "/api/v1/accounts/zoe/tokens", "steward", {"scopes": ["read"]})
    page = door.call("GET", "/api/v1/log?limit=200", "steward").json()
    assert [(act["who"], act["what"]) for act in page["items"]][-2:] == [
        ("steward", "opened an account"),
        ("steward", "issued a token"),
    ]
    assert page["broken"] is None
    with door.server.home.database.writing() as book:
        for sql in ("UPDATE act SET who = 'ana' WHERE number = 1", "DELETE FROM act WHERE number = 1"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                book.execute(sql)


def test_a_changed_line_of_the_log_is_found(door: Door) -> None:
    with door.server.home.database.writing() as book:
        book.execute("DROP TRIGGER act_stays")
        book.execute("UPDATE act SET who = 'ana' WHERE number = 3")
    with door.server.home.database.reading() as book:
        assert acts.broken_link(book) == 3
    assert door.call("GET", "/api/v1/log", "steward").json()["broken"] == 3


def test_a_cut_in_the_middle_of_the_log_is_found(door: Door) -> None:
    with door.server.home.database.writing() as book:
        book.execute("DROP TRIGGER act_remains")
        book.execute("DELETE FROM act WHERE number = 2")
    with door.server.home.database.reading() as book:
        assert acts.broken_link(book) == 3


def test_one_process_has_a_home(door: Door) -> None:
    with pytest.raises(InputError, match="in use by another process"):
        Home.open(door.server.home.path)


def test_a_folder_with_other_things_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is not a home"):
        Home.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_token_is_found_by_its_hash_alone(door: Door) -> None:
    with door.server.home.database.reading() as book:
        plan = " ".join(
            row["detail"] for row in book.execute("EXPLAIN QUERY PLAN SELECT * FROM token WHERE digest = ?", (b"",))
        )
    assert "USING INDEX" in plan
    assert Scope.READ in tokens.find_caller(door.server.home.database, door.tokens["ana"]).scopes  # type: ignore[union-attr]
