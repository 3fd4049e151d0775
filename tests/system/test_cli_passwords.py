"""A password in the address of a database is stored nowhere and printed nowhere, in whatever form it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from flips import say

from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise import Budget

NOWHERE = "127.0.0.1:1"  # nobody listens there
FORMS = [
    f"postgresql://ana:geheim@{NOWHERE}/city#rides",
    f"postgresql://ana@{NOWHERE}/city?password=geheim#rides",
    f"postgresql://ana@{NOWHERE}/city?sslmode=require&sslpassword=geheim#rides",
    f"postgres://{NOWHERE}/city?user=ana&pass%77ord=geheim#rides",
    f"postgresql://ana@{NOWHERE}/city?PASSWORD=geheim#rides",
    f"postgresql://ana@{NOWHERE}/city#rides?password=geheim",
    "host=127.0.0.1 port=1 dbname=city user=ana password=geheim",
    "host=127.0.0.1 port=1 dbname=city user=ana password = 'geheim'",
]
SCHEMA = '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [16, 94]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rides.toml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def refused_without_a_word(folder: Path, *arguments: str) -> None:
    said = say(*arguments)
    assert said.code == 2
    assert "geheim" not in said.out + said.err
    assert said.err.count("\n") == 1
    kept = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert not any(b"geheim" in content for content in kept)


@pytest.mark.parametrize("data", FORMS)
def test_a_ledger_takes_no_password(folder: Path, data: str) -> None:
    create = ["budget", "create", "L", "--data", data, "--schema", "rides.toml", "--epsilon", "1"]
    refused_without_a_word(folder, *create)
    assert "PGPASSWORD" in say(*create).err


@pytest.mark.parametrize("data", FORMS)
def test_a_table_that_cannot_be_read_is_refused_without_its_password(folder: Path, data: str) -> None:
    refused_without_a_word(folder, "check", data, "--quasi", "age")
    refused_without_a_word(folder, "anonymize", data, "--quasi", "age", "--k", "2", "-o", "out.csv")


@pytest.mark.parametrize("data", [form for form in FORMS if "://" in form])
def test_a_ledger_that_holds_a_password_from_before_does_not_show_it(folder: Path, data: str) -> None:
    facts = {"data": data, "table": "rides", "protect": "rows", "neighbours": "presence", "schema": SCHEMA}
    Ledger.create(folder / "L", Budget(epsilon=1), facts)
    for arguments in (["budget", "show", "L", "--json"], ["budget", "show", "L"], ["budget", "verify", "L"]):
        said = say(*arguments)
        assert said.code == 0
        assert "geheim" not in said.out + said.err
    said = say("query", "L", "SELECT COUNT(*) FROM rides", "--epsilon", "0.1")
    assert said.code == 2
    assert "geheim" not in said.out + said.err


def test_a_password_file_is_named(folder: Path) -> None:
    address = f"postgresql://ana@{NOWHERE}/city?passfile=/home/ana/.pgpass#rides"
    said = say("budget", "create", "L", "--data", address, "--schema", "rides.toml", "--epsilon", "1")
    assert said.code == 2
    assert "cannot be reached" in said.err
    assert not (folder / "L").exists()
