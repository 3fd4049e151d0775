"""A checkpoint that is put back repeats itself, word for word, or is refused in one sentence; nobody draws twice."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.main import run as command
from sfumato.random import KEYED
from sfumato.stream.runtime.hooks import Hooks

PUBLISHERS = {
    "rank": ["--publisher", "rank", "--delay", "5", "--block", "2"],
    "adaptive": ["--publisher", "adaptive", "--delay", "5"],
    "linked": ["--publisher", "linked", "--delay", "5"],
    "laplace": ["--publisher", "laplace"],
    "persons": ["--publisher", "rank", "--delay", "5", "--person", "who", "--per-person", "3"],
}
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the command in a folder with an input; it stops after some batches if told to, as by Ctrl-C."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 64)
    values = np.random.default_rng(1).integers(0, 100, 90)
    write_input(values.tolist())

    def stream(name: str = "rank", *more: str, stop: int | None = None, out: str = "out.csv") -> int:
        @contextmanager
        def hooks(_: Any, *, resumes: bool, setup: Any) -> Iterator[Hooks]:
            del resumes, setup
            left = iter(range(10**6))
            yield Hooks(stop=lambda: stop is not None and next(left) >= stop, say=print)

        monkeypatch.setattr("sfumato.stream.runtime.hooks.terminal_hooks", hooks)
        bounds = ["--bounds", "0", "100", "--column", "hours", "--checkpoint", "kept"]
        return command(["stream", "in.csv", "-o", out, *bounds, *PUBLISHERS[name], *more])

    return stream


def write_input(values: list[int]) -> None:
    Path("in.csv").write_text(
        "hours,who\n" + "".join(f"{value},{number % 40}\n" for number, value in enumerate(values))
    )


def put_back(folder: str) -> None:
    shutil.rmtree("kept")
    shutil.copytree(folder, "kept")


@pytest.mark.parametrize("name", PUBLISHERS)
@pytest.mark.parametrize("with_output", [True, False])
def test_an_old_checkpoint_releases_the_same_rows_again(run: Run, name: str, with_output: bool) -> None:
    assert run(name, stop=2) == 130
    shutil.copytree("kept", "early")
    shutil.copy("out.csv", "early.csv")
    assert run(name, stop=3) == 130
    later = Path("out.csv").read_bytes()
    assert later.startswith(Path("early.csv").read_bytes())
    assert len(later) > len(Path("early.csv").read_bytes())
    put_back("early")
    if with_output:
        shutil.copy("early.csv", "out.csv")
    assert run(name) == 0
    final = Path("out.csv").read_bytes()
    assert final.startswith(later)
    assert len(final.splitlines()) == 91
    put_back("early")
    shutil.copy("early.csv", "out.csv")
    assert run(name) == 0
    assert Path("out.csv").read_bytes() == final


def test_another_feed_behind_an_old_checkpoint_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run(stop=2)
    shutil.copytree("kept", "early")
    run(stop=3)
    later = Path("out.csv").read_bytes()
    put_back("early")
    lines = Path("in.csv").read_text().splitlines()
    Path("in.csv").write_text("\n".join([*lines[:45], *(f"99,{n}" for n in range(46))]) + "\n")
    capsys.readouterr()
    for _ in range(2):  # and once more: the refusal itself must not move the checkpoint
        assert run() == 2
        found = capsys.readouterr().err
        assert "output 'out.csv' has other rows from byte" in found
        assert "Traceback" not in found
        assert Path("out.csv").read_bytes() == later


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda text: text[: len(text) // 3], r"where checkpoint 'kept' \(number \d+\) left"),
        (lambda text: text.replace(b"hours", b"HOURS"), "were changed since checkpoint 'kept'"),
        (lambda text: text[:0], r"has 0 bytes where checkpoint 'kept'"),
    ],
)
def test_an_output_that_does_not_fit_is_found(
    run: Run, capsys: pytest.CaptureFixture[str], change: Callable[[bytes], bytes], sentence: str
) -> None:
    run(stop=3)
    run(stop=1)
    changed = change(Path("out.csv").read_bytes())
    Path("out.csv").write_bytes(changed)
    capsys.readouterr()
    assert run() == 2
    found = capsys.readouterr().err
    assert re.search(sentence, found)
    assert len(found.strip().splitlines()) == 1
    assert Path("out.csv").read_bytes() == changed


def test_a_longer_output_than_the_stream_has_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run(stop=2)
    shutil.copytree("kept", "early")
    assert run() == 0
    with Path("out.csv").open("ab") as file:
        file.write(b"7,99,1,99\n")
    put_back("early")
    assert run() == 2
    assert "behind the last row of this stream" in capsys.readouterr().err


def test_a_key_that_is_lost_changed_or_open_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run(stop=2)
    key = Path("kept/.key")
    assert key.stat().st_mode & 0o777 == 0o600
    secret = key.read_bytes()
    key.unlink()
    capsys.readouterr()
    assert run() == 2
    assert capsys.readouterr().err == "sfumato: checkpoint 'kept' has lost its key, '.key'; restore it\n"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    assert run() == 2
    assert "checkpoint 'kept' was edited, or its key is another one" in capsys.readouterr().err
    key.write_bytes(secret)
    key.chmod(0o644)
    assert run() == 2
    assert "can be read by others" in capsys.readouterr().err
    key.chmod(0o600)
    assert run() == 0


def test_the_card_tells_of_the_key_and_carries_the_head(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run(stop=2)
    shutil.copytree("kept", "early")
    first = json.loads(Path("out.csv.card.json").read_text())
    assert KEYED in first["assumptions"]
    number, _, digest = first["checkpoint"].partition(":")
    assert int(number) >= 1
    assert len(digest) == 64
    run(stop=4)
    second = json.loads(Path("out.csv.card.json").read_text())
    assert int(second["checkpoint"].partition(":")[0]) > int(number)
    put_back("early")
    capsys.readouterr()
    assert run() == 0
    assert f"checkpoint 'kept' is number {number}, older than number" in capsys.readouterr().out


def test_without_a_checkpoint_noise_is_fresh(run: Run) -> None:
    del run
    for out in ("a.csv", "b.csv"):
        more = ["--bounds", "0", "100", "--column", "hours", "--publisher", "laplace"]
        assert command(["stream", "in.csv", "-o", out, *more]) == 0
        assert KEYED not in json.loads(Path(f"{out}.card.json").read_text())["assumptions"]
    assert Path("a.csv").read_bytes() != Path("b.csv").read_bytes()


@pytest.mark.parametrize("target", ["out.csv.gz", "out.parquet"])
def test_outputs_that_cannot_be_compared_are_refused_and_stay(
    run: Run, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    run(stop=2, out=target)
    shutil.copytree("kept", "early")
    assert run(out=target) == 0
    before = Path(target).read_bytes()
    put_back("early")
    capsys.readouterr()
    assert run(out=target) == 2
    assert "is further than checkpoint 'kept'" in capsys.readouterr().err
    assert Path(target).read_bytes() == before


def test_what_holds_raw_records_is_for_its_owner_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quarantine is mode 0600 from its first byte, and so is all that lies in the checkpoint's folder."""
    del run
    modes: list[int] = []
    opened = os.open

    def spy(path: Any, flags: int, mode: int = 0o777, **named: Any) -> int:
        if str(path).endswith("bad.jsonl"):
            modes.append(mode)
        return opened(path, flags, mode, **named)

    monkeypatch.setattr(os, "open", spy)
    Path("in.csv").write_text("hours\n5\nsecret\n7\n" * 5)
    before = os.umask(0)
    try:
        options = ["--column", "hours", "--publisher", "doca", "--sensitivity", "10", "--delay", "3"]
        kept = ["--on-bad", "quarantine:bad.jsonl", "--checkpoint", "kept"]
        assert command(["stream", "in.csv", "-o", "out.csv", *options, *kept]) == 0
    finally:
        os.umask(before)
    assert b"secret" in Path("bad.jsonl").read_bytes()
    assert modes == [0o600]
    assert Path("bad.jsonl").stat().st_mode & 0o777 == 0o600
    assert Path("kept").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in Path("kept").iterdir()} == {0o600}
