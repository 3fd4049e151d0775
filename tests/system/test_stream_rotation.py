"""A followed file that is rotated: every record once, whatever is done to its name, also over a restart."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.main import run as command
from sfumato.errors import InputError
from sfumato.stream.connectors.file import inlet
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.runtime.batch import WantedColumns
from sfumato.stream.runtime.hooks import Hooks

LOG, HEADER = Path("log.csv"), "v,w\n"
WANTED = WantedColumns(("v",))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inlet, "PATIENCE", 0.002)
    return tmp_path


def write(values: range | list[int], path: Path = LOG, header: str = HEADER) -> None:
    """Append records, behind a header where the file is new or empty."""
    start = "" if path.exists() and path.stat().st_size else header
    with path.open("a") as file:
        file.write(start + "".join(f"{value},x\n" for value in values))


def rename_and_create() -> None:
    LOG.rename("log.csv.1")
    write([])


def copy_and_cut() -> None:
    shutil.copy(LOG, "log.csv.1")
    LOG.open("w").close()


def remove() -> None:
    LOG.unlink()


def rename() -> None:
    LOG.rename("log.csv.1")


def move_over() -> None:
    write([], Path("new.csv"))
    Path("new.csv").replace(LOG)


ROTATIONS: dict[str, Callable[[], None]] = {
    "rename and create": rename_and_create,
    "rename": rename,
    "copy and cut": copy_and_cut,
    "remove": remove,
    "move over": move_over,
}


def taken(batches: Iterator[Any], count: int) -> list[int]:
    """Return the next so many records of a feed."""
    found: list[int] = []
    for batch in batches:
        found += [] if not batch.count else batch.numbers["v"].astype(int).tolist()
        if len(found) >= count:
            break
    return found


@pytest.mark.parametrize("way", ROTATIONS)
def test_a_rotated_file_is_followed(way: str) -> None:
    write(range(10))
    feed = Feed(LOG, WANTED, follow=True)
    batches = feed.batches()
    assert taken(batches, 10) == list(range(10))
    for round_ in range(1, 4):
        ROTATIONS[way]()
        write(range(10 * round_, 10 * round_ + 10))
        assert taken(batches, 10) == list(range(10 * round_, 10 * round_ + 10))
    feed.close()


@pytest.mark.parametrize("way", [way for way in ROTATIONS if way != "copy and cut"])
def test_the_file_before_is_read_to_its_end_first(way: str) -> None:
    write(range(10))
    feed = Feed(LOG, WANTED, follow=True)
    batches = feed.batches()
    taken(batches, 10)
    before = LOG.open("a")
    before.write("10,x\n")
    before.flush()
    ROTATIONS[way]()
    if LOG.exists() and LOG.stat().st_size:
        LOG.write_text("")  # made for a writer that has not gone over to it
    assert taken(batches, 1) == [10]
    before.write("11,x\n12,x")  # it still has the file before
    before.close()
    assert taken(batches, 1) == [11]
    write(range(13, 15))
    assert taken(batches, 3) == [12, 13, 14]
    feed.close()


def test_a_file_that_is_cut_and_outgrows_itself_is_seen(here: Path) -> None:
    del here
    write(range(10))
    feed = Feed(LOG, WANTED, follow=True)
    batches = feed.batches()
    taken(batches, 10)
    LOG.write_text("")
    write(range(100, 200))  # longer than before when it is looked at next
    assert taken(batches, 100) == list(range(100, 200))
    feed.close()


def test_json_lines_have_no_header() -> None:
    LOG.write_text('{"v": 0}\n')
    feed = Feed(LOG, WANTED, follow=True)
    batches = feed.batches()
    assert taken(batches, 1) == [0]
    rename()
    LOG.write_bytes(b'\xef\xbb\xbf\n{"v": 1}\n{"v": 2}\n')
    assert taken(batches, 2) == [1, 2]
    feed.close()


@pytest.mark.parametrize("first", ["w,v\n", "1,x\n", "v;w\n", "\0\0\0\0\0\0\0\n"])
def test_another_header_is_refused_without_being_shown(first: str) -> None:
    write(range(10))
    feed = Feed(LOG, WANTED, follow=True)
    batches = feed.batches()
    taken(batches, 10)
    rename()
    write(range(3), header=first)
    with pytest.raises(InputError, match=r"is not the header of the one before|has zero bytes") as refusal:
        taken(batches, 1)
    assert first.strip() not in str(refusal.value)
    feed.close()


def test_what_is_no_file_is_refused_in_its_place() -> None:
    write(range(10))
    feed = Feed(LOG, WANTED, follow=True)
    batches = feed.batches()
    taken(batches, 10)
    rename()
    LOG.mkdir()
    with pytest.raises(InputError, match="was replaced by what is no file"):
        taken(batches, 1)
    feed.close()


class Reading:
    """How far writer and reader are, as each tells the other."""

    looks = 0
    records = 0
    written = -1


def rotate_at_random(count: int, writer: random.Random, reader: Reading) -> None:
    """Write records and rotate between them; before a copy is cut, wait until all was read."""
    number = 0
    for _ in range(count):
        for _ in range(writer.randrange(1, 6)):
            more = writer.randrange(1, 200)
            write(range(number, number + more))
            number += more
            time.sleep(writer.random() * 0.005)
        way, looks = writer.choice(list(ROTATIONS)), reader.looks
        while reader.looks < looks + 2 or (way == "copy and cut" and reader.records < number):
            time.sleep(0.0005)  # the reader looks in between: of two rotations in one moment it would see one
        ROTATIONS[way]()
    write(range(number, number + 1))
    reader.written = number + 1


@pytest.mark.parametrize(
    "count, seed", [(12, 1), *(pytest.param(60, seed, marks=pytest.mark.long) for seed in range(4))]
)
def test_no_record_is_lost_or_repeated_over_random_rotations(count: int, seed: int) -> None:
    write(range(0))
    feed, reader, found = Feed(LOG, WANTED, follow=True), Reading(), [np.arange(0)]
    chance = random.Random(seed)  # noqa: S311  # no secret
    writer = threading.Thread(target=rotate_at_random, args=(count, chance, reader))
    writer.start()
    for batch in feed.batches():
        if batch.count:
            found.append(batch.numbers["v"].astype(int))
            reader.records += batch.count
        reader.looks += 1
        if reader.records >= reader.written >= 0:
            break
    writer.join()
    assert np.array_equal(np.concatenate(found), np.arange(reader.written))
    feed.close()


@pytest.mark.parametrize("count, seed", [(10, 1), pytest.param(120, 2, marks=pytest.mark.long)])
def test_no_record_is_lost_or_repeated_over_restarts(count: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # no secret
    found: list[int] = []
    number, known, offset = 0, "", 0
    for round_ in range(count):
        more = chance.randrange(2, 300)
        write(range(number, number + more))
        if round_ and chance.random() < 0.8:
            unread = Path(f"log.csv.{round_}")
            copy = chance.random() < 0.5
            shutil.copy(LOG, unread) if copy else LOG.rename(unread)
            if copy:
                LOG.open("w").close()
            time.sleep(0.01)  # so that files differ in age
            write(range(number + more, number + 2 * more))
            number += more
        number += more
        feed = Feed(LOG, WANTED, follow=True, known=known)
        batches = feed.batches(offset)
        while len(found) < number:
            found += taken(batches, 1)
            known, offset = feed.place.mark(), feed.offset
        feed.close()
    assert found == list(range(number))


def stream(monkeypatch: pytest.MonkeyPatch, until: int) -> int:
    """Follow the log at the command line with a checkpoint, until so many records came in all; return the exit code."""
    came = [0]

    @contextmanager
    def hooks(_: Any, *, resumes: bool, setup: Any) -> Iterator[Hooks]:
        del resumes, setup
        deadline = time.monotonic() + 20

        def listen(progress: Any) -> None:
            came[0] = progress.records

        yield Hooks(listen=listen, stop=lambda: came[0] >= until or time.monotonic() > deadline)

    monkeypatch.setattr("sfumato.stream.runtime.hooks.terminal_hooks", hooks)
    options = ["--column", "v", "--publisher", "doca", "--sensitivity", "1", "--delay", "2", "--epsilon", "1e9"]
    arguments = ["log.csv", "-o", "out.csv", *options, "--follow", "--checkpoint", "kept"]
    return command(["stream", *arguments])


def positions() -> list[int]:
    lines = Path("out.csv").read_text().splitlines()[1:]
    return sorted(int(line.split(",")[-1]) for line in lines)


@pytest.mark.parametrize("way", [way for way in ROTATIONS if way not in {"remove", "move over"}])
def test_a_stream_goes_on_over_a_rotation_while_it_was_down(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    write(range(20))
    assert stream(monkeypatch, 20) == 130
    write(range(20, 25))
    ROTATIONS[way]()
    time.sleep(0.01)
    write(range(25, 40))
    assert stream(monkeypatch, 40) == 130
    assert len(positions()) == len(set(positions()))
    write(range(40, 60))
    assert stream(monkeypatch, 60) == 130
    assert positions() == list(range(len(positions())))
    assert len(positions()) >= 58


@pytest.mark.parametrize("way", ["remove", "move over"])
def test_a_file_that_is_gone_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    LOG.write_text(HEADER + "1,x\n" * 20)
    assert stream(monkeypatch, 20) == 130
    before = Path("out.csv").read_bytes()
    kept = LOG.open()  # or its inode might be used again
    ROTATIONS[way]()
    LOG.write_text(HEADER + "1,x\n" * 40)  # begins as the file before did
    capsys.readouterr()
    assert stream(monkeypatch, 60) == 2
    assert "is not what this checkpoint was reading, and that is not beside it" in capsys.readouterr().err
    assert Path("out.csv").read_bytes() == before
    kept.close()


def test_two_rotations_while_it_was_down_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(range(20))
    assert stream(monkeypatch, 20) == 130
    LOG.rename("log.csv.2")
    time.sleep(0.01)
    write(range(20, 40))
    LOG.rename("log.csv.1")
    write(range(40, 60))
    capsys.readouterr()
    assert stream(monkeypatch, 60) == 2
    assert "was rotated more than once since this checkpoint, which was reading 'log.csv.2'" in capsys.readouterr().err


def test_a_stream_that_ran_over_rotations_goes_on_in_the_last_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(range(20))
    Path("log.csv").rename("log.csv.0")
    write(range(20))

    def rotate() -> None:
        time.sleep(0.5)
        rename()
        write(range(20, 40))

    writer = threading.Thread(target=rotate)
    writer.start()
    assert stream(monkeypatch, 40) == 130
    writer.join()
    Path("log.csv.1").unlink()
    write(range(40, 60))
    assert stream(monkeypatch, 60) == 130
    assert positions() == list(range(len(positions())))
    assert len(positions()) >= 58
