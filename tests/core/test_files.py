"""Outputs: complete, together, or not at all; nothing that is there is replaced unasked."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sfumato.core.files import Staging, fill, hold_folder, refuse_same_files, write_durably
from sfumato.errors import InputError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_appear_together_at_the_end(tmp_path: Path) -> None:
    with Staging() as staging:
        for name in ("a.csv", "a.card.json"):
            staging.place(tmp_path / name).write_text(name)
        assert not {"a.csv", "a.card.json"} & set(names(tmp_path))
    assert names(tmp_path) == ["a.card.json", "a.csv"]
    assert (tmp_path / "a.csv").read_text() == "a.csv"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, InputError])
def test_an_error_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), Staging() as staging:
        staging.place(tmp_path / "a.csv").write_text("half a row")
        staging.place(tmp_path / "b.csv")
        raise error("stop")
    assert names(tmp_path) == []


def test_a_full_disk_is_an_input_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No space left on device"), Staging() as staging:
        staging.place(tmp_path / "a.csv").write_text("half a row")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == []


def test_a_file_that_exists_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("precious")
    with pytest.raises(InputError, match="exists; remove it"), Staging() as staging:
        staging.place(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "precious"


def test_a_file_that_appears_meanwhile_is_kept_and_the_others_do_not_appear(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b\.csv' appeared meanwhile"), Staging() as staging:
        for name in ("a.csv", "b.csv", "c.csv"):
            staging.place(tmp_path / name).write_text("ours")
        (tmp_path / "b.csv").write_text("theirs")
    assert names(tmp_path) == ["b.csv"]
    assert (tmp_path / "b.csv").read_text() == "theirs"


def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(InputError, match="is a link to nothing"), Staging() as staging:
        staging.place(tmp_path / "a.csv").write_text("ours")
    assert names(tmp_path) == ["a.csv"]


def test_a_file_that_was_never_written_takes_the_others_back(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b\.csv' cannot be written"), Staging() as staging:
        staging.place(tmp_path / "a.csv").write_text("ours")
        staging.place(tmp_path / "b.csv")
    assert names(tmp_path) == []


def test_an_interrupt_while_moving_takes_the_others_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, calls = os.link, []

    def interrupted(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        link(source, target)

    monkeypatch.setattr(os, "link", interrupted)
    with pytest.raises(KeyboardInterrupt), Staging() as staging:
        for name in ("a.csv", "b.csv"):
            staging.place(tmp_path / name).write_text("ours")
    assert names(tmp_path) == []


def no_links(_source: Path, _target: Path) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_without_hard_links_files_still_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    with Staging() as staging:
        staging.place(tmp_path / "a.csv").write_text("ours")
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "ours"


def test_without_hard_links_nothing_is_replaced_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(InputError, match=r"b\.csv' appeared meanwhile"), Staging() as staging:
        for name in ("a.csv", "b.csv"):
            staging.place(tmp_path / name).write_text("ours")
        (tmp_path / "b.csv").write_text("theirs")
    assert names(tmp_path) == ["b.csv"]
    assert (tmp_path / "b.csv").read_text() == "theirs"


@pytest.mark.parametrize("second", ["a.csv", "./a.csv", "sub/../a.csv"])
def test_one_name_for_two_outputs_is_refused(tmp_path: Path, second: str) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(InputError, match="named twice"), Staging() as staging:
        staging.place(tmp_path / "a.csv").write_text("data")
        staging.place(tmp_path / second)
    assert names(tmp_path) == ["sub"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target in (tmp_path / "file" / "a.csv", tmp_path / "no" / "such" / "a.csv"):
        with pytest.raises(InputError, match="there is no folder"), Staging() as staging:
            staging.place(target)
    with pytest.raises(InputError, match="exists"), Staging() as staging:
        staging.place(tmp_path)


def test_a_read_only_folder_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # a superuser may write anywhere
    with pytest.raises(InputError, match="read-only"), Staging() as staging:
        staging.place(tmp_path / "a.csv")


def test_a_folder_that_takes_no_files_is_an_input_error() -> None:
    with pytest.raises(InputError, match="cannot be written"), Staging() as staging:
        staging.place("/proc/a.csv").write_text("data")


def test_a_long_name_is_written_and_a_longer_one_refused(tmp_path: Path) -> None:
    with Staging() as staging:
        staging.place(tmp_path / ("x" * 255)).write_text("data")
    assert names(tmp_path) == ["x" * 255]
    with pytest.raises(InputError, match="File name too long"), Staging() as staging:
        staging.place(tmp_path / ("y" * 256)).write_text("data")
    write_durably(tmp_path / ("z" * 255), b"data")
    assert names(tmp_path) == ["x" * 255, "z" * 255]


def test_the_temporary_name_has_the_ending_of_the_final_one(tmp_path: Path) -> None:
    staging = Staging()
    assert staging.place(tmp_path / "a.csv.gz").suffixes[-2:] == [".csv", ".gz"]
    assert staging.place(tmp_path / "parquet").suffix != ".parquet"


def test_force_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    with Staging(force=True) as staging:
        staging.place(tmp_path / "a.csv").write_text("new")
        assert (tmp_path / "a.csv").read_text() == "old"
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "new"


def test_force_brings_the_old_files_back_when_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(InputError, match=r"b\.csv' cannot be written"), Staging(force=True) as staging:
        staging.place(tmp_path / "a.csv").write_text("new")
        staging.place(tmp_path / "b.csv")
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


@pytest.mark.parametrize("make", [os.link, os.symlink], ids=["hard link", "symbolic link"])
def test_force_never_replaces_an_input_under_another_name(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    (tmp_path / "in.csv").write_text("precious")
    make(tmp_path / "in.csv", tmp_path / "out.csv")
    staging = Staging(force=True, inputs=[tmp_path / "in.csv", None])
    with pytest.raises(InputError, match="--force never replaces an input"), staging:
        staging.place(tmp_path / "out.csv")


def test_force_never_replaces_a_ledger_a_kept_folder_or_a_folder(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger")) as ledger:
        ledger.execute("CREATE TABLE entries (number)")
    with hold_folder(tmp_path / "history", "history", "history") as history:
        (history / "index.json").write_text("{}")
    refused = {"ledger": "is a database", "history/index.json": "history or checkpoint", "history": "not a file"}
    for name, words in refused.items():
        with pytest.raises(InputError, match=words), Staging(force=True) as staging:
            staging.place(tmp_path / name)


def test_a_file_that_becomes_a_ledger_meanwhile_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(InputError, match="is a database"), Staging(force=True) as staging:
        staging.place(tmp_path / "a.csv").write_text("new")
        (tmp_path / "a.csv").write_bytes(b"SQLite format 3\0")
    assert (tmp_path / "a.csv").read_bytes() == b"SQLite format 3\0"


@pytest.mark.parametrize("make", [os.link, os.symlink], ids=["hard link", "symbolic link"])
def test_one_file_in_two_roles_is_refused(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    (tmp_path / "in.csv").write_text("rows")
    make(tmp_path / "in.csv", tmp_path / "bad.csv")
    with pytest.raises(InputError, match=r"'.*bad\.csv' is both the input and the quarantine; name two files"):
        refuse_same_files({"the input": tmp_path / "in.csv", "the card": None, "the quarantine": tmp_path / "bad.csv"})
    with pytest.raises(InputError, match="is both the output and the card"):
        refuse_same_files({"the output": tmp_path / "new", "the card": f"{tmp_path}/x/../new"})
    refuse_same_files({"the input": "-", "the output": "-"})


def test_a_secret_file_is_its_owners_from_the_first_byte(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Staging() as staging:
            secret, public = staging.place(tmp_path / "report.html", secret=True), staging.place(tmp_path / "card.json")
            assert secret.stat().st_mode & 0o777 == 0o600
            fill(secret, "raw")
            fill(public, "{}")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("report.html", "card.json")] == [0o600, 0o644]


def test_a_reserved_path_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="named twice"), Staging() as staging:
        staging.reserve(tmp_path / "report.html")
        staging.place(tmp_path / "report.html")
