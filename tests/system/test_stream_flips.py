"""A checkpoint with a flipped bit or a missing end: the same rows as ever, or one sentence, and never another row."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cli.main import run as command
from sfumato.stream.runtime.hooks import Hooks

STREAMS = {
    "rank": ["--publisher", "rank", "--bounds", "0", "100", "--delay", "5", "--block", "2"],
    "adaptive": ["--publisher", "adaptive", "--bounds", "0", "100", "--delay", "5"],
    "doca": ["--publisher", "doca", "--sensitivity", "100", "--delay", "5", "--on-bad", "quarantine:bad"],
}
FILES = ("out.csv", "bad", "out.csv.card.json")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 64)
    values = [str(value) for value in np.random.default_rng(1).integers(0, 100, 90)]
    Path("in.csv").write_text("\n".join(["hours", *values[:40], "x", *values[40:]]) + "\n")


def run(monkeypatch: pytest.MonkeyPatch, name: str, stop: int | None = None) -> int:
    @contextmanager
    def hooks(_: Any, *, resumes: bool, setup: Any) -> Iterator[Hooks]:
        del resumes, setup
        left = iter(range(10**6))
        yield Hooks(stop=lambda: stop is not None and next(left) >= stop)

    monkeypatch.setattr("sfumato.stream.runtime.hooks.terminal_hooks", hooks)
    arguments = ["--column", "hours", *STREAMS[name], "--checkpoint", "kept"]
    return command(["stream", "in.csv", "-o", "out.csv", *arguments])


def put_back(folder: Path) -> None:
    """Let everything lie as it lay when the stream was stopped."""
    shutil.rmtree("kept")
    shutil.copytree(folder / "kept", "kept")
    for name in FILES:
        Path(name).unlink(missing_ok=True)
        if (folder / name).exists():
            shutil.copy(folder / name, name)


def kept(name: str) -> bytes:
    return Path(name).read_bytes() if Path(name).exists() else b""


def damage(chance: random.Random) -> str:
    """Flip a bit of a file of the checkpoint, or cut its end off; return what was done."""
    file = chance.choice(["checkpoint", "checkpoint", "checkpoint", ".key", ".lock"])
    path = Path("kept") / file
    data = bytearray(path.read_bytes())
    place = chance.randrange(8 * len(data)) if data else 0
    if not data or chance.random() < 0.15:
        path.write_bytes(data[: place // 8])
        return f"{file} cut to {place // 8} bytes"
    data[place // 8] ^= 1 << place % 8
    path.write_bytes(data)
    return f"{file} bit {place}"


def try_damages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, count: int) -> int:
    """Go on from so many damaged checkpoints; return how many were refused."""
    assert run(monkeypatch, name, stop=3) == 130
    before = Path("before")
    before.mkdir()
    shutil.copytree("kept", before / "kept")
    for file in FILES:
        if Path(file).exists():
            shutil.copy(file, before / file)
    assert run(monkeypatch, name) == 0
    final = {file: kept(file) for file in FILES[:2]}
    chance, refused = random.Random(count), 0  # noqa: S311  # no secret
    for _ in range(count):
        put_back(before)
        early = {file: kept(file) for file in FILES}
        done = damage(chance)
        capsys.readouterr()
        code = run(monkeypatch, name)
        said = capsys.readouterr().err
        assert "internal error" not in said, done
        assert "Traceback" not in said, done
        assert code in {0, 2}, done
        if code == 0:
            assert {file: kept(file) for file in FILES[:2]} == final, done
        else:
            refused += 1
            assert len(said.splitlines()) == 1, (done, said)
            assert {file: kept(file) for file in FILES} == early, done
    return refused


@pytest.mark.parametrize("name", STREAMS)
def test_a_damaged_checkpoint_is_harmless_or_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert try_damages(monkeypatch, capsys, name, 20) >= 10


@pytest.mark.long
@pytest.mark.parametrize("name", STREAMS)
def test_hundreds_of_damaged_checkpoints_are_harmless_or_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert try_damages(monkeypatch, capsys, name, 200) >= 100
