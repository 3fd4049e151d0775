"""What is hashed is what is read: a file or table that changes between the two is never answered under the old name."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest

import sfumato as sf
from sfumato.dp.ledger import Ledger
from sfumato.dp.rows import held_file, open_rows
from sfumato.dp.session import Session
from sfumato.errors import InputError

HUGE = 10**6  # an ε at which the noise is 0 with overwhelming probability
SCHEMA = sf.Schema.from_text(
    "".join(f'[columns.{name}]\nrole = "other"\ntype = "integer"\nbounds = [0, 99]\n' for name in ("age", "hour"))
)
OLD = pl.DataFrame({"age": [20, 30, 40], "hour": [1, 2, 3]})
NEW = pl.DataFrame({"hour": [7, 8, 9, 10], "age": [50, 60, 70, 80]})  # other rows, and the columns changed places
ENDINGS = (".csv", ".csv.gz", ".parquet", ".jsonl", ".arrow")


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".arrow":
        frame.write_ipc(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path)
    return path


def session_on(path: Path, ledger: Path) -> Session:
    session = Session.create(ledger, path, SCHEMA, sf.Budget(epsilon=10**9))
    session.deadline = 0
    return session


def after_the_debit(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Let something happen to the rows after they were checked and before they are read."""
    true_debit = Ledger.debit

    def debit(self: Ledger, *arguments: Any, **options: Any) -> Any:
        entry = true_debit(self, *arguments, **options)
        change()
        return entry

    monkeypatch.setattr(Ledger, "debit", debit)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_put_in_the_others_place_is_never_answered_under_its_name(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(OLD, tmp_path / f"people{ending}")
    session = session_on(path, tmp_path / "L")
    other = write(NEW, tmp_path / f"other{ending}")
    after_the_debit(monkeypatch, lambda: (other.replace(path), None)[1])
    try:
        assert session.ask(sf.sum("age"), epsilon=HUGE).value == 90
    except InputError:
        assert session.ledger.spent.epsilon == HUGE  # charged, and nothing was told
    with pytest.raises(InputError, match="new-version"):
        session.ask(sf.count(), epsilon=HUGE)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_is_written_while_it_is_read_is_refused(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(OLD, tmp_path / f"people{ending}")
    session = session_on(path, tmp_path / "L")
    content = write(NEW, tmp_path / f"other{ending}").read_bytes()
    after_the_debit(monkeypatch, lambda: (path.write_bytes(content), None)[1])
    with pytest.raises(InputError, match="changed while it was read"):
        session.ask(sf.sum("age"), epsilon=HUGE)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_session_notices_a_new_version_and_reads_columns_by_name(ending: str, tmp_path: Path) -> None:
    path = write(OLD, tmp_path / f"people{ending}")
    session = session_on(path, tmp_path / "L")
    assert session.ask(sf.sum("age"), epsilon=HUGE).value == 90
    write(NEW, tmp_path / f"other{ending}").replace(path)
    with pytest.raises(InputError, match="new-version"):
        session.ask(sf.sum("hour"), epsilon=HUGE)
    Session.open(tmp_path / "L").new_version(path)
    answer = session.ask(sf.sum("age"), epsilon=HUGE)
    assert (answer.value, answer.stored.data_version) == (260, 2)
    moved = write(OLD, tmp_path / f"moved{ending}")
    Session.open(tmp_path / "L").new_version(moved)
    answer = session.ask(sf.sum("age"), epsilon=HUGE)
    assert (answer.value, answer.stored.data_version) == (90, 3)


def test_a_dataframe_that_is_not_the_new_version_is_refused(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "L", OLD, SCHEMA, sf.Budget(epsilon=10**9))
    session.deadline = 0
    Session.open(tmp_path / "L", data=OLD).new_version(NEW)
    with pytest.raises(InputError, match="new-version"):
        session.ask(sf.sum("age"), epsilon=HUGE)
    assert Session.open(tmp_path / "L", data=NEW, deadline=0).ask(sf.sum("age"), epsilon=HUGE).value == 260


def test_equal_times_do_not_hide_a_change(tmp_path: Path) -> None:
    """Size and modification time can be set back; the time of the last change of the inode cannot."""
    path = write(OLD, tmp_path / "people.csv")
    rows = open_rows(path, SCHEMA)
    first, times = rows.fingerprint(), path.stat()
    path.write_bytes(path.read_bytes().replace(b"20", b"21"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_mtime_ns == times.st_mtime_ns
    assert rows.fingerprint() != first


def test_without_open_file_names_a_private_copy_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_file, "OPEN_FILES", tmp_path / "nowhere")
    path = write(OLD, tmp_path / "people.csv")
    session = session_on(path, tmp_path / "L")
    held = held_file.HeldFile(path)
    copy = Path(held.place)
    assert copy != path
    assert (copy.stat().st_mode & 0o777, copy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert session.ask(sf.sum("age"), epsilon=HUGE).value == 90
    del held
    assert not copy.exists()
    write(NEW, tmp_path / "other.csv").replace(path)
    with pytest.raises(InputError, match="new-version"):
        session.ask(sf.sum("hour"), epsilon=HUGE)


def test_files_are_closed_when_nobody_reads_them_any_more(tmp_path: Path) -> None:
    path = write(OLD, tmp_path / "people.csv")
    rows = open_rows(path, SCHEMA)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for size in range(1, 6):
        write(NEW.head(size), tmp_path / "other.csv").replace(path)
        rows.fingerprint()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2


def test_a_table_in_a_server_is_hashed_and_read_in_one_snapshot(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("CREATE SCHEMA IF NOT EXISTS sfumato_tests")
        server.execute("DROP TABLE IF EXISTS sfumato_tests.one_look")
        server.execute("CREATE TABLE sfumato_tests.one_look (age int, hour int)")
        server.execute("INSERT INTO sfumato_tests.one_look VALUES (20, 1), (30, 2), (40, 3)")
        address = f"{postgres}#sfumato_tests.one_look"
        session = Session.create(tmp_path / "L", address, SCHEMA, sf.Budget(epsilon=10**9))
        session.deadline = 0

        def change() -> None:
            server.execute("UPDATE sfumato_tests.one_look SET age = 99")

        after_the_debit(monkeypatch, change)
        assert session.ask(sf.sum("age"), epsilon=HUGE).value == 90
        with pytest.raises(InputError, match="new-version"):
            session.ask(sf.count(), epsilon=HUGE)
