"""A command in a folder of its own: copies of the files it reads go in, and all that it leaves behind is seen.

Both sides of a twin run find the same names in the same folder, so that no message differs by a path. Files that only
their owner may read (a ledger, a checkpoint) count by name and mode: they are the steward's (Saltzer & Schroeder 1975).
"""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.clock import SET_BY
from sfumato.core.seam import watched_by
from sfumato.errors import InputError
from sfumato.release.card import Card

Main = Callable[[Sequence[str]], int]
Argv = list[str]
Commands = tuple[tuple[str, ...], ...]
OUTPUTS = (
    "-o",
    "--output",
    "--card",
    "--report",
    "--parse-report",
    "--checkpoint",
    "--ledger",
    "--plot",
    "--steward-metrics",
)
OTHERS_READ = 0o044
STEWARD = "(for the steward)"
HEAD = re.compile(r"\b(\d+):[0-9a-f]{64}\b")  # of a ledger's chain: under a secret key, it tells nothing
STATE = "XDG_STATE_HOME"
MEMORY = "/dev/shm"  # noqa: S108  # a folder of its own is made in it
CARD = frozenset(Card.__struct_fields__)
LONGEST_LINE = 10_000


@dataclass(frozen=True)
class Sandbox:
    """A command with names in place of paths, the files it needs, and commands that come before it unseen.

    >>> sandbox = Sandbox(lambda argv: print(*argv) or 0, ["check", "in.csv"], {"in.csv": b"x"})
    >>> sandbox.run({})["exit code"], sandbox.run({})["standard output"]
    (0, ['check in.csv'])
    """

    main: Main
    argv: Argv
    files: Mapping[str, bytes]
    before: Commands = ()

    def run(self, changed: Mapping[str, bytes], more: Sequence[str] = ()) -> dict[str, Any]:
        """Return what the public sees when the command runs on files of which some are changed."""
        with empty_folder() as folder:
            given = {**self.files, **changed}
            for name, content in given.items():
                (folder / name).write_bytes(content)
            self._prepare()
            made_before = {path.name for path in folder.iterdir()}
            seen = _call(self.main, [*self.argv, *more])
            return {**seen, "files": _left(folder, made_before)}

    def _prepare(self) -> None:
        """Run the commands that come before, which nobody watches and which must not fail."""
        with watched_by(None):
            for command in self.before:
                seen = _call(self.main, command)
                if seen["exit code"]:
                    raise InputError(f"sfumato {' '.join(command[:2])} fails: {' '.join(seen['standard error'])}")


def quick_folder() -> str | None:
    """Return a folder in memory, where there is one: nothing of a twin run need outlive it, and disks are slow.

    >>> quick_folder() in {None, "/dev/shm"}
    True
    """
    return MEMORY if os.access(MEMORY, os.W_OK) else None


@contextmanager
def empty_folder() -> Iterator[Path]:
    """Enter a folder that is empty, always called alike, and gone afterwards.

    >>> with empty_folder() as folder:
    ...     folder.name, list(folder.iterdir())
    ('run', [])
    """
    with tempfile.TemporaryDirectory(dir=quick_folder()) as place:
        folder = Path(place) / "run"
        folder.mkdir()
        state = str(Path(place) / "state")  # the user's list of ledgers is left alone
        with _environment({STATE: state, SET_BY: "0"}), chdir(folder):  # both sides leave on one day, also at midnight
            yield folder


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment, and put them back as they were."""
    kept = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in kept.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def pack_arguments(argv: Sequence[str]) -> tuple[Argv, dict[str, bytes]]:
    """Return arguments with plain names for paths, and the content of every file among them that is there.

    >>> pack_arguments(["stream", "no/such.csv", "-o", "out/rows.csv"])
    (['stream', 'no/such.csv', '-o', 'rows.csv'], {})
    """
    named: Argv = []
    files: dict[str, bytes] = {}
    for before, text in zip(["", *argv], argv, strict=False):
        path = Path(text)
        if before in OUTPUTS:
            named.append(path.name if text != "-" else text)
        elif not text.startswith("-") and len(text) < LONGEST_LINE and path.is_file():
            files[path.name] = path.read_bytes()
            named.append(path.name)
        else:
            named.append(text)
    return named, files


def _call(main: Main, argv: Sequence[str]) -> dict[str, Any]:
    """Return the exit code of a command and what it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(list(argv))
    printed = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]
    return {
        "exit code": code,
        "standard error": _public_lines(printed[1]),
        "standard output": _public_lines(printed[0]),
    }


def _public_lines(text: str) -> list[str]:
    """Return what is printed without what is marked as the steward's, on a line or beside a card in JSON."""
    text = HEAD.sub(r"\1:…", text)
    if text.startswith("{"):
        with suppress(json.JSONDecodeError):
            found = json.loads(text)
            shown = {name: found[name] for name in found if name in CARD} if "guarantee" in found else found
            return json.dumps(shown, indent=1).splitlines()
    return [line for line in text.splitlines() if STEWARD not in line]


def _left(folder: Path, known: set[str]) -> dict[str, Any]:
    """Return the files that a command made, in folders too: mode and, where others may read them, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).parts[0] not in known:
            mode = path.stat().st_mode & 0o777
            content = _public_lines(path.read_bytes().decode(errors="backslashreplace")) if mode & OTHERS_READ else []
            found[str(path.relative_to(folder))] = {"mode": oct(mode), "lines": content}
    return found
