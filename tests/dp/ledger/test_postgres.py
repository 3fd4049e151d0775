"""What only a ledger on a server meets: careless settings, lost connections, other users, other ledgers beside it."""

from __future__ import annotations

import os
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ledger_places import Schemas
from psycopg.conninfo import conninfo_to_dict

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.postgres import FORMAT, PostgresStore
from sfumato.dp.ledger.server import _IDLE, close_idle
from sfumato.errors import InputError, ParameterError, UnavailableError
from sfumato.promise.cost import Budget, Cost

TENTH = Cost(epsilon="0.1")
ROWS = {"fingerprint": "ab" * 32}


@pytest.fixture
def schemas(postgres: str) -> Iterator[Schemas]:
    close_idle()
    made = Schemas(postgres)
    yield made
    close_idle()
    made.clear()


@pytest.fixture
def guest(postgres: str) -> Iterator[str]:
    """Give the name of a user who owns nothing."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        role = f"sfumato_guest_{uuid.uuid4().hex[:12]}"
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        yield role
        connection.execute(f"DROP ROLE {role}".encode())


def as_user(place: str, user: str) -> str:
    return re.sub(r"//(\w+@)?", f"//{user}@", place, count=1)


class Proxy:
    """A way to the server that is cut when a commit passes: before the server sees it, or before its answer is seen."""

    def __init__(self, server: str) -> None:
        given = conninfo_to_dict(server)
        host, port = str(given.get("host") or "127.0.0.1"), int(given.get("port") or 5432)
        self._target: Any = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut: str | None = None
        self._sockets: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def _run(self, work: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
                self._sockets += [client, server]
                server.connect(self._target)
                committed = threading.Event()
                self._run(self._ask, client, server, committed)
                self._run(self._answer, client, server, committed)

    def _ask(self, client: socket.socket, server: socket.socket, committed: threading.Event) -> None:
        with suppress(OSError):
            while said := client.recv(1 << 16):
                if self.cut is not None and b"COMMIT\0" in said:
                    committed.set()
                    if self.cut == "before":
                        break
                server.sendall(said)
        hang_up(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, committed: threading.Event) -> None:
        with suppress(OSError):
            while (said := server.recv(1 << 16)) and not committed.is_set():
                client.sendall(said)
        hang_up(client, server)

    def close(self) -> None:
        hang_up(*self._sockets)
        for thread in self._threads:
            thread.join(10)
        for one in self._sockets:
            one.close()


def hang_up(*sockets: socket.socket) -> None:
    """End connections for both sides."""
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy(postgres: str) -> Iterator[Proxy]:
    made = Proxy(postgres)
    yield made
    close_idle()
    made.close()


def through(place: str, proxy: Proxy) -> str:
    found = PostgresStore.at(place).address
    name = found.options["ledger"]
    return f"postgresql://{found.user}@127.0.0.1:{proxy.port}/{found.place[0]}?ledger={name}&fsync=off"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_commit_whose_answer_is_lost_answers_nothing_and_may_have_charged(
    schemas: Schemas, proxy: Proxy, moment: str
) -> None:
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    far = Ledger.open(through(schemas.at(), proxy))
    far.debit("first", 1, "ana", TENTH)
    proxy.cut = moment
    with pytest.raises(UnavailableError, match="the price may have been paid") as caught:
        far.debit("second", 1, "ana", TENTH)
    assert caught.value.exit_code == 75
    proxy.cut = None
    charged = 0.2 if moment == "after" else 0.1
    wait_for(lambda: float(ledger.spent.epsilon) == charged)
    assert far.debit("third", 1, "ana", TENTH).answer is None  # a new connection is made
    assert far.spent == ledger.spent


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something holds; a server may see late that a connection is gone."""
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.02)
    assert condition()


def test_connections_that_were_ended_while_they_waited_are_made_anew(schemas: Schemas, postgres: str) -> None:
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    ledger.debit("first", 1, "ana", TENTH)
    end(postgres, waiting())
    assert ledger.debit("second", 1, "ana", TENTH).number == 2
    end(postgres, waiting())
    assert ledger.spent == Cost("0.2")


def test_a_connection_that_ends_within_a_transaction_keeps_nothing(schemas: Schemas, postgres: str) -> None:
    store = PostgresStore.at(schemas.at())
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    with pytest.raises(UnavailableError, match="was lost"), store.writing() as book:
        book.spend(TENTH)
        end(postgres, [book._statements.execute("SELECT pg_backend_pid()").fetchone()[0]])  # type: ignore[attr-defined]
        book.freeze("it is not kept")
    assert (ledger.spent, ledger.frozen) == (Cost(), None)


def waiting() -> list[int]:
    """Return the numbers by which the server knows the connections of this process that wait."""
    return [made.info.backend_pid for (process, _), idle in _IDLE.items() if process == os.getpid() for made in idle]


def end(postgres: str, connections: list[int]) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        for number in connections:
            assert connection.execute("SELECT pg_terminate_backend(%s, 10000)", [number]).fetchone() == (True,)


def test_a_user_whose_commits_are_not_flushed_is_refused(schemas: Schemas, guest: str, postgres: str) -> None:
    Ledger.create(schemas.at(), Budget(1), {})
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {guest} SET synchronous_commit = off".encode())
    for use in (Ledger.open, lambda place: Ledger.create(place, Budget(1), {})):
        with pytest.raises(InputError, match="synchronous_commit is off for this user and database"):
            use(as_user(schemas.at(), guest))


def test_a_charge_is_flushed_whatever_is_set_after_the_connection_was_made(schemas: Schemas) -> None:
    store = PostgresStore.at(schemas.at())
    Ledger.create(schemas.at(), Budget(1), {})
    with store.writing() as book:
        found = book._statements.execute("SELECT current_setting('synchronous_commit')").fetchone()  # type: ignore[attr-defined]
    assert found == ("on",)


def test_a_server_without_fsync_is_refused_unless_the_address_says_so(schemas: Schemas, postgres: str) -> None:
    with psycopg.connect(postgres) as connection:
        fsync = connection.execute("SHOW fsync").fetchone()
    if fsync == ("on",):
        pytest.skip("the server has fsync")
    Ledger.create(schemas.at(), Budget(1), {})
    with pytest.raises(InputError, match="fsync is off on the server, so a power cut would give budget back"):
        Ledger.open(schemas.at().replace("&fsync=off", ""))


def test_a_user_without_rights_is_told_so(schemas: Schemas, guest: str) -> None:
    Ledger.create(schemas.at(), Budget(1), {})
    with pytest.raises(InputError, match="may not be used by this user"):
        Ledger.open(as_user(schemas.at(), guest))


def test_what_is_no_ledger_or_of_another_format_is_refused(schemas: Schemas, postgres: str) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        Ledger.open(schemas.at())
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {PostgresStore.at(schemas.at('empty')).schema}".encode())
    with pytest.raises(InputError, match="is damaged, nothing was answered"):
        Ledger.open(schemas.at("empty"))
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    schemas.fetch(schemas.at(), "UPDATE format SET number = number + 1")
    for use in (lambda: Ledger.open(schemas.at()), lambda: ledger.debit("q", 1, "ana", TENTH)):
        with pytest.raises(InputError, match=f"has format {FORMAT + 1}, this sfumato reads {FORMAT}"):
            use()


def test_amounts_in_another_type_are_damage(schemas: Schemas) -> None:
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    change = "ALTER TABLE account ALTER epsilon DROP DEFAULT, ALTER epsilon TYPE double precision USING 0"
    schemas.fetch(schemas.at(), change)
    with pytest.raises(InputError, match="is damaged, nothing was answered"):
        ledger.debit("q", 1, "ana", TENTH)


def test_a_text_that_a_database_cannot_keep_is_refused(schemas: Schemas) -> None:
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    with pytest.raises(InputError, match="a character that PostgreSQL does not keep"):
        ledger.debit("a\0b", 1, "ana", TENTH)
    assert ledger.spent == Cost()


def test_the_least_and_the_largest_amounts_stay_exact(schemas: Schemas) -> None:
    ledger = Ledger.create(schemas.at(), Budget("999999999999"), {})
    least = Cost("1e-60")
    ledger.debit("least", 1, "ana", least)
    ledger.debit("rest", 1, "ana", ledger.left)
    assert ledger.spent == ledger.budget.total
    assert ledger.left == Cost()


def test_the_database_itself_refuses_a_total_above_the_budget(schemas: Schemas) -> None:
    store = PostgresStore.at(schemas.at())
    ledger = Ledger.create(schemas.at(), Budget(1), {})
    with pytest.raises(InputError, match="is damaged"), store.writing() as book:
        book.spend(Cost("1.000000001"))
    assert ledger.spent == Cost()


def test_a_second_ledger_over_the_same_rows_is_refused_by_the_database_alone(
    schemas: Schemas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.create(schemas.at("a"), Budget(1), ROWS)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another machine"))
    with pytest.raises(InputError, match=r"_a' knows these rows already"):
        Ledger.create(schemas.at("b"), Budget(1), ROWS)
    with pytest.raises(InputError, match="there is no ledger"):
        Ledger.open(schemas.at("b"))


def test_a_file_and_a_database_know_of_each_other(schemas: Schemas, tmp_path: Path) -> None:
    server = Ledger.create(schemas.at("a"), Budget(1), ROWS)
    with pytest.raises(InputError, match=r"_a' knows these rows already"):
        Ledger.create(tmp_path / "b.ledger", Budget(1), ROWS)
    Ledger.create(tmp_path / "c.ledger", Budget(1), {"fingerprint": "cd" * 32})
    with pytest.raises(InputError, match=r"c\.ledger' knows these rows already"):
        server.declare_version({"fingerprint": "cd" * 32})
    assert server.declare_version(ROWS) == 2  # its own rows are no other ledger's


def test_a_ledger_by_another_name_of_its_server_is_the_same(schemas: Schemas, proxy: Proxy) -> None:
    Ledger.create(schemas.at(), Budget(1), ROWS)
    assert Ledger.open(through(schemas.at(), proxy)).declare_version(ROWS) == 2


def test_a_listed_ledger_whose_server_is_gone_is_no_proof(schemas: Schemas, proxy: Proxy, tmp_path: Path) -> None:
    Ledger.create(through(schemas.at(), proxy), Budget(1), ROWS)
    close_idle()
    proxy.close()
    with pytest.raises(UnavailableError, match="nobody can tell whether it knows these rows"):
        Ledger.create(tmp_path / "b.ledger", Budget(1), {"fingerprint": "cd" * 32})
    schemas.at()


def test_of_several_ledgers_made_at_once_one_is_made(schemas: Schemas) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def refusal(number: int) -> str:
        try:
            Ledger.create(schemas.at(f"n{number}"), Budget(1), ROWS)
        except InputError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(4) as pool:
        refusals = list(pool.map(refusal, range(4)))
    assert sum("knows these rows already" in text for text in refusals) == 3


@pytest.mark.parametrize(
    "address, why",
    [
        ("postgresql://ana:geheim@server/city?ledger=rides", "holds a password"),
        ("postgresql://server/city?ledger=rides&password=geheim", "holds a password"),
        ("postgresql://server/city?ledger=Rides", "names no ledger"),
        ("postgresql://server/city?ledger=a;drop", "names no ledger"),
        ("postgresql://server/?ledger=rides", "names no ledger"),
        ("postgresql://server/city?ledger=rides&legder=x", "did you mean 'ledger'"),
        ("postgresql://server/city?ledger=rides&fsync=on", "fsync"),
        ("redis://server/rides?ledger=rides", "is no place for a ledger"),
    ],
)
def test_an_address_that_names_no_ledger_is_refused(address: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why) as caught:
        Ledger.open(address)
    assert "geheim" not in str(caught.value)


def test_a_server_that_does_not_answer_is_told_in_one_sentence() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        UnavailableError, match=r"cannot be reached \(Connection refused\); nothing was charged"
    ) as caught:
        Ledger.open(f"postgresql://127.0.0.1:{port}/city?ledger=rides")
    assert caught.value.exit_code == 75
