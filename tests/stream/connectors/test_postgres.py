"""Tables of PostgreSQL as queues: transactions that end late, rows that are deleted, checkpoints that are put back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from live import LivePostgres
from servers import PostgresServer

from sfumato.checks.connector_runs import connect, run_stream
from sfumato.checks.connectors import STREAM, record
from sfumato.errors import InputError
from sfumato.stream.connectors.postgres import PostgresQueue

pytestmark = pytest.mark.long  # a server is made for them


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    one = PostgresServer()
    one.start()
    yield one
    one.stop()


def connection(server: PostgresServer) -> psycopg.Connection[tuple[int]]:
    return psycopg.connect(host="127.0.0.1", port=server.port, user="sfumato", dbname="postgres")


def test_a_row_that_is_committed_late_is_not_passed_over(server: PostgresServer) -> None:
    address = LivePostgres(server).fresh()
    insert = f"INSERT INTO {address.rpartition('#')[2]} (payload) VALUES (%s)"  # noqa: S608  # the name is ours
    reader = connect(PostgresQueue, address).reader()
    reader.open(STREAM, "")
    with closing(connection(server)) as early, closing(connection(server)) as late:
        late.execute(insert, [record(1)])
        early.execute(insert, [record(2)])
        early.commit()
        assert reader.read(10, 0.0) is None  # row 1 has the lower number, and may still come
        late.commit()
    received = reader.read(10, 0.0)
    reader.close()
    assert received is not None
    assert list(received.payloads) == [record(1), record(2)]


def test_rows_are_deleted_when_a_checkpoint_holds_them_and_an_older_one_is_refused(
    server: PostgresServer, tmp_path: Path
) -> None:
    broker = LivePostgres(server)
    source, target = broker.fresh(), broker.fresh(read=False)
    broker.put(source, [record(value) for value in range(160)])
    places = connect(PostgresQueue, source), connect(PostgresQueue, target)
    run_stream(*places, tmp_path, 40)
    shutil.copytree(tmp_path / "kept", tmp_path / "older")
    run_stream(*places, tmp_path, 160)
    with closing(connection(server)) as one:
        assert one.execute(f"SELECT count(*) FROM {source.rpartition('#')[2]}").fetchone() == (0,)  # noqa: S608
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "older").rename(tmp_path / "kept")
    with pytest.raises(InputError, match="were acknowledged do not come again"):
        run_stream(*places, tmp_path, 160)


def test_a_table_that_is_no_queue_is_refused_with_what_it_needs(server: PostgresServer) -> None:
    with closing(connection(server)) as one:
        one.execute("CREATE TABLE plain (payload text)")
        one.commit()
    reader = connect(PostgresQueue, f"postgresql://sfumato@127.0.0.1:{server.port}/postgres#plain").reader()
    with pytest.raises(InputError, match="xid xid8 NOT NULL DEFAULT pg_current_xact_id"):
        reader.open(STREAM, "")
    reader.close()
