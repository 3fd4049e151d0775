"""Every door charges a ledger in PostgreSQL as it charges a file, and a server that is away is told in one sentence."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ledger_places import Schemas

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger

SCHEMA = '[columns.age]\nrole = "quasi"\ntype = "integer"\nbounds = [0, 99]\n'
Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ledger(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the address of a ledger, in a folder with rows and a schema."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{20 + row % 5}\n" for row in range(40)))
    (tmp_path / "people.toml").write_text(SCHEMA)
    schemas = Schemas(postgres)
    yield schemas.at()
    schemas.clear()


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def tell(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return tell


def make(told: Told, ledger: str, *further: str) -> None:
    words = ("--data", "people.csv", "--schema", "people.toml", "--epsilon", "4", "--deadline", "0", *further)
    code, out, err = told("budget", "create", ledger, *words)
    assert code == 0, err
    assert out.startswith(f"{Ledger.open(ledger).name}: budget epsilon 4, protecting a row\n")


def test_a_question_is_paid_once_shown_and_verified(ledger: str, told: Told) -> None:
    make(told, ledger)
    asked = ("query", ledger, "SELECT COUNT(*) FROM people", "--epsilon", "0.5")
    code, _, err = told(*asked, "-o", "n.csv")
    assert (code, err) == (0, "spent epsilon 0.5, left epsilon 3.5\n")
    assert told(*asked)[2] == "spent nothing (asked before), left epsilon 3.5\n"
    shown = json.loads(told("budget", "show", ledger, "--json")[1])
    assert (shown["left"]["epsilon"], len(shown["entries"])) == (3.5, 1)
    assert "version 1, protecting rows" in told("budget", "show", ledger)[1]
    assert told("budget", "verify", ledger, "--against", "n.csv.card.json")[0] == 0
    assert told("budget", "thaw", ledger)[1].endswith("was not frozen\n")
    assert told("plan", ledger, "SELECT COUNT(*) FROM people", "--epsilon", "0.5")[0] == 0
    Path("people.csv").write_text("age\n20\n")
    assert told(*asked[:-1], "0.25")[0] == 2  # the rows are others
    assert told("budget", "new-version", ledger, "--data", "people.csv")[1].endswith("the data are now version 2\n")
    assert told("query", ledger, "SELECT COUNT(*) FROM people", "--epsilon", "9")[0] == 1
    assert told("budget", "create", ledger, "--data", "people.csv", "--schema", "people.toml", "--epsilon", "1")[0] == 2


def test_a_table_is_charged_or_listed(ledger: str, told: Told) -> None:
    make(told, ledger)
    listed = ("anonymize", "people.csv", "--k", "2", "--schema", "people.toml", "--ledger", ledger, "-o", "a.csv")
    code, _, err = told(*listed)
    assert code == 0, err
    (entry,) = Ledger.open(ledger).entries()
    assert (entry.door, entry.outside) == ("table", True)


def test_a_stream_is_charged_before_it_begins(ledger: str, told: Told) -> None:
    make(told, ledger, "--neighbours", "value")
    words = ("--publisher", "laplace", "--column", "age", "--bounds", "0", "99", "--epsilon", "1", "--ledger", ledger)
    code, _, err = told("stream", "people.csv", "-o", "s.csv", *words)
    assert code == 0, err
    assert [(entry.door, str(entry.cost)) for entry in Ledger.open(ledger).entries()] == [("stream", "epsilon 1")]


def test_a_server_that_is_away_ends_a_command_with_code_75(told: Told) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    code, out, err = told("query", f"postgresql://ana@127.0.0.1:{port}/city?ledger=rides", "SELECT 1", "--epsilon", "1")
    assert (code, out, err.count("\n")) == (75, "", 1)
    assert f"ledger 'postgresql://127.0.0.1:{port}/city?ledger=rides' cannot be reached" in err


def test_a_twin_run_never_asks_the_ledger_itself(told: Told) -> None:
    asked = ("query", "postgresql://server/city?ledger=rides", "SELECT COUNT(*) FROM rides", "--epsilon", "1")
    code, _, err = told("audit", "twice", "--", *asked)
    assert (code, err.count("\n")) == (2, 1)
    assert "the ledger is in a database, and a twin run makes ledgers in files" in err


def test_a_password_in_the_address_is_refused_and_not_printed(told: Told) -> None:
    code, out, err = told("budget", "show", "postgresql://ana:geheim@server/city?ledger=rides")
    assert (code, "geheim" in out + err) == (2, False)
    assert "PGPASSWORD" in err
