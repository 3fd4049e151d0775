"""A command in a folder of its own: copies of the files it reads go in, and all that it leaves behind is seen.

Both sides of a twin run find the same names in the same folder, so that no message differs by a path. Files that only
their owner may read (a ledger, a checkpoint) count by name and mode: they are the steward's (Saltzer & Schroeder 1975).
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.seam import watched_by

Main = Callable[[Sequence[str]], int]
Argv = list[str]
OUTPUTS = ("-o", "--output", "--card", "--report", "--checkpoint", "--ledger", "--plot")
OTHERS_READ = 0o044
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
    before: tuple[tuple[str, ...], ...] = ()

    def run(self, changed: Mapping[str, bytes], more: Sequence[str] = ()) -> dict[str, Any]:
        """Return what the public sees when the command runs on files of which some are changed."""
        with empty_folder() as folder:
            given = {**self.files, **changed}
            for name, content in given.items():
                (folder / name).write_bytes(content)
            with watched_by(None):
                for command in self.before:
                    _call(self.main, command)
            made_before = {path.name for path in folder.iterdir()}
            seen = _call(self.main, [*self.argv, *more])
            return {**seen, "files": _left(folder, made_before)}


@contextmanager
def empty_folder() -> Iterator[Path]:
    """Enter a folder that is empty, always called alike, and gone afterwards.

    >>> with empty_folder() as folder:
    ...     folder.name, list(folder.iterdir())
    ('run', [])
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        folder.mkdir()
        with chdir(folder):
            yield folder


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
    printed = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return {
        "exit code": code,
        "standard error": printed[1].splitlines(),
        "standard output": printed[0].splitlines(),
    }


def _left(folder: Path, known: set[str]) -> dict[str, Any]:
    """Return the files that a command made, in folders too: mode and, where others may read them, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).parts[0] not in known:
            mode = path.stat().st_mode & 0o777
            content = path.read_bytes().decode(errors="backslashreplace").splitlines() if mode & OTHERS_READ else []
            found[str(path.relative_to(folder))] = {"mode": oct(mode), "lines": content}
    return found
