"""Damage to files that must be whole or refused: flipped bits and cuts, and the judge of what a command makes of them.

Disks flip bits and lose ends of files (Bairavasundaram et al. 2008, "An analysis of data corruption in the storage
stack"). Whoever reads such a file must say the same as before, or refuse it in one sentence.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from sfumato.cli.main import run

REFUSED = {1, 2}
FILLED = 0.8  # the share of flips that hit a byte that is not 0: the rest of a page is empty


@dataclass(frozen=True)
class Said:
    """What a command said, and with which exit code."""

    code: int
    out: str
    err: str


def say(*arguments: str) -> Said:
    """Run a command in this process and return what it said."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    return Said(code, out.getvalue(), err.getvalue())


def say_all(*commands: list[str]) -> Said:
    """Run commands one after the other until one is refused; return all that they printed."""
    printed = ""
    for command in commands:
        said = say(*command)
        if said.code:
            return said
        printed += said.out
    return Said(0, printed, "")


def flips(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield contents with one flipped bit each."""
    chance = random.Random(seed)  # noqa: S311 - where a bit flips is no secret
    filled = [place for place, byte in enumerate(content) if byte]
    for _ in range(count):
        place = chance.choice(filled) if chance.random() < FILLED else chance.randrange(len(content))
        damaged = bytearray(content)
        damaged[place] ^= 1 << chance.randrange(8)
        yield bytes(damaged)


def cuts(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield contents that end too early."""
    chance = random.Random(seed)  # noqa: S311
    for _ in range(count):
        yield content[: chance.randrange(len(content))]


def damaged(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield flips, and one cut for every nine of them."""
    yield from flips(content, count - count // 10, seed)
    yield from cuts(content, count // 10, seed)


def judge(said: Said, before: str) -> bool:
    """Return whether a command was harmless; it must be, or have been refused in one sentence."""
    for words in ("internal error", "Traceback"):
        assert words not in said.err, said.err
    if said.code == 0:
        assert said.out == before
        return True
    assert said.code in REFUSED, said
    assert said.err.count("\n") == 1, said.err
    return False


def attack(file: Path, look: Callable[[], Said], count: int, seed: int) -> tuple[int, int]:
    """Damage a file `count` times; return how often that was harmless and how often refused."""
    whole, first = file.read_bytes(), look()
    assert first.code == 0, first.err
    harmless = 0
    for content in damaged(whole, count, seed):
        file.write_bytes(content)
        harmless += judge(look(), first.out)
    file.write_bytes(whole)
    assert look() == first
    return harmless, count - harmless
